//! Listing custom prompts: Markdown files of the user, for clients that expand them.

use std::path::{Path, PathBuf};

use codex_protocol::{CustomPrompt, EventMsg, ListCustomPromptsResponseEvent};

use super::actor::SessionActor;

/// The folder with the prompts, in the home folder.
const FOLDER: &str = "prompts";
/// The size limit of a prompt.
const LIMIT: u64 = 1024 * 1024;
/// The limits on all prompts.
const MAX_PROMPTS: usize = 1000;
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The line around the front matter.
const FENCE: &str = "---";

impl SessionActor {
    /// Lists the custom prompts of the user.
    pub(super) fn list_custom_prompts(&self, id: String) {
        let emitter = self.context.emitter.clone();
        let folder = self.context.config.services.home.join(FOLDER);
        tokio::task::spawn_blocking(move || {
            let custom_prompts = prompts_in(&folder);
            let listed = ListCustomPromptsResponseEvent { custom_prompts };
            emitter.emit(&id, EventMsg::ListCustomPromptsResponse(listed));
        });
    }
}

/// The prompts of a folder, by name. What cannot be read, and what is too much, is left out.
fn prompts_in(folder: &Path) -> Vec<CustomPrompt> {
    let entries = codex_mounts::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|path| is_markdown(path)).collect();
    paths.sort();
    let mut left = MAX_BYTES;
    let within_limit = |prompt: &CustomPrompt| {
        let rest = left.checked_sub(prompt.content.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let prompts = paths.iter().filter_map(|path| prompt(path));
    let mut prompts: Vec<CustomPrompt> = prompts.filter(within_limit).take(MAX_PROMPTS).collect();
    prompts.sort_by(|one, other| one.name.cmp(&other.name));
    prompts
}

fn is_markdown(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

fn prompt(path: &Path) -> Option<CustomPrompt> {
    let text = codex_regular_file::read_text(path, LIMIT).ok()?;
    let (front_matter, content) = split(&text);
    Some(CustomPrompt {
        name: path.file_stem()?.to_str()?.to_owned(),
        path: path.display().to_string(),
        content: content.to_owned(),
        description: value(front_matter, &["description"]),
        argument_hint: value(front_matter, &["argument-hint", "argument_hint"]),
    })
}

/// The front matter and what follows it. Without an end there is no front matter.
fn split(text: &str) -> (&str, &str) {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == FENCE;
        if number == 0 && !is_fence {
            break;
        }
        if number > 0 && is_fence {
            return (&text[..at], &text[at + line.len()..]);
        }
        at += line.len();
    }
    ("", text)
}

/// The value of the first of these keys, without quotes.
fn value(front_matter: &str, keys: &[&str]) -> Option<String> {
    let pairs = || front_matter.lines().filter_map(|line| line.split_once(':'));
    let of = |key: &str| pairs().find(|(name, _)| name.trim().eq_ignore_ascii_case(key));
    let (_, value) = keys.iter().find_map(|key| of(key))?;
    let value = value.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| {
        let inner = value.strip_prefix(*quote)?;
        inner.strip_suffix(*quote)
    });
    Some(quoted.unwrap_or(value).to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_read_with_their_front_matter() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("b.md", "plain $1\n");
        write(
            "a.MD",
            "---\ndescription: \"does it\"\nargument-hint: 'FILE'\n---\nbody\n",
        );
        write("open.md", "---\ndescription: x\nbody\n");
        write("other.txt", "no prompt");
        std::fs::create_dir(folder.path().join("folder.md")).unwrap();
        let prompts = prompts_in(folder.path());
        let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "open"]);
        assert_eq!(prompts[0].content, "body\n");
        assert_eq!(prompts[0].description.as_deref(), Some("does it"));
        assert_eq!(prompts[0].argument_hint.as_deref(), Some("FILE"));
        assert_eq!(prompts[1].content, "plain $1\n");
        assert_eq!(prompts[2].content, "---\ndescription: x\nbody\n");
        assert_eq!(prompts[2].description, None);
        assert!(prompts_in(&folder.path().join("missing")).is_empty());
        for at in 0..20 {
            write(&format!("large-{at}.md"), &"x".repeat(1_000_000));
        }
        assert_eq!(prompts_in(folder.path()).len(), 3 + 16);
    }
}
