//! Prompts in the `prompts` folder of the home folder.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::Error;

use crate::errors;

/// Longer files are ignored.
const LIMIT: u64 = 256 * 1024;

#[derive(Debug, PartialEq)]
pub(crate) struct SavedPrompt {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) hint: String,
}

fn folder(home: Option<&str>) -> Option<PathBuf> {
    Some(Path::new(home?).join("prompts"))
}

/// All prompts, sorted by name.
pub(crate) fn list(home: Option<&str>) -> Vec<SavedPrompt> {
    let entries = folder(home).and_then(|folder| codex_mounts::read_dir(folder).ok());
    let mut saved: Vec<_> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_stem()?.to_str()?.to_owned();
            let is_prompt = path.extension().is_some_and(|extension| extension == "md");
            Some((name, codex_regular_file::read_text(&path, LIMIT).ok()?)).filter(|_| is_prompt)
        })
        .map(|(name, text)| described(name, &text))
        .collect();
    saved.sort_by(|one, other| one.name.cmp(&other.name));
    saved
}

fn described(name: String, text: &str) -> SavedPrompt {
    let (head, _) = parts(text);
    let field = |field: &str| {
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix(field)?.trim_start().strip_prefix(':'));
        line.map(|value| value.trim().trim_matches(['"', '\'']).to_owned())
    };
    SavedPrompt {
        description: field("description").unwrap_or_else(|| "A saved prompt".to_owned()),
        hint: field("argument-hint").unwrap_or_else(|| "arguments".to_owned()),
        name,
    }
}

/// The front matter and the rest.
fn parts(text: &str) -> (&str, &str) {
    let head = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"));
    head.unwrap_or(("", text))
}

/// The text of a prompt with its arguments filled in.
pub(crate) fn text(home: Option<&str>, name: &str, arguments: &str) -> Result<String, Error> {
    let is_name = !name.contains(['/', '\\']) && !name.is_empty();
    let path = folder(home)
        .filter(|_| is_name)
        .map(|folder| folder.join(format!("{name}.md")));
    let text = path.and_then(|path| codex_regular_file::read_text(&path, LIMIT).ok());
    let text = text.ok_or_else(|| errors::invalid(format!("there is no prompt `{name}`")))?;
    Ok(filled_in(parts(&text).1, arguments))
}

/// `$1` to `$9` are the arguments, `$ARGUMENTS` is all of them, `$NAME` that of `NAME=value`, `$$` a dollar.
fn filled_in(template: &str, arguments: &str) -> String {
    let words = shlex::split(arguments).unwrap_or_else(|| vec![arguments.to_owned()]);
    let named = |name: &str| {
        let mut pairs = words.iter().filter_map(|word| word.split_once('='));
        pairs
            .find(|(given, _)| *given == name)
            .map(|(_, value)| value)
    };
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let length = after
            .chars()
            .take_while(|letter| letter.is_ascii_uppercase() || *letter == '_')
            .count();
        let first = after.chars().next();
        rest = match first {
            Some('$') => {
                filled.push('$');
                &after[1..]
            }
            Some(digit @ '1'..='9') => {
                let index = digit as usize - '1' as usize;
                filled.push_str(words.get(index).map_or("", String::as_str));
                &after[1..]
            }
            _ if after[..length] == *"ARGUMENTS" => {
                filled.push_str(arguments);
                &after[length..]
            }
            _ => match named(&after[..length]) {
                Some(value) => {
                    filled.push_str(value);
                    &after[length..]
                }
                None => {
                    filled.push('$');
                    after
                }
            },
        };
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_filled_in() {
        assert_eq!(filled_in("Fix $1 in $2.", "'a b' c"), "Fix a b in c.");
        assert_eq!(filled_in("All: $ARGUMENTS", "x y"), "All: x y");
        assert_eq!(
            filled_in("$FILE costs $$5 or $OTHER", "FILE=a.rs"),
            "a.rs costs $5 or $OTHER"
        );
        assert_eq!(filled_in("$3|$", "x"), "|$");
    }

    #[test]
    fn the_head_of_a_file_describes_it() {
        let text = "---\ndescription: \"Drafts a note\"\nargument-hint: TOPIC\n---\nWrite about $1";
        let saved = described("note".to_owned(), text);
        assert_eq!(
            (saved.description.as_str(), saved.hint.as_str()),
            ("Drafts a note", "TOPIC")
        );
        assert_eq!(parts(text).1, "Write about $1");
        assert_eq!(parts("plain"), ("", "plain"));
    }

    #[test]
    fn a_name_is_no_path() {
        assert!(text(Some("/"), "../etc/passwd", "").is_err());
        assert!(text(None, "a", "").is_err());
    }
}
