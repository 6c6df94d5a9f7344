//! Files that are hidden from the model, in words.

use std::path::{Path, PathBuf};

use codex_hidden_files::{HiddenPath, PatternOwner};
use codex_protocol::RequestPermissionProfile;

use super::turn_policy::{TurnPolicy, grants_of};

/// The number of files that a note names.
const NAMED_FILES: usize = 5;

/// Parts of what programs print about a file that they cannot open or change.
const DENIALS: [&str; 4] = ["denied", "not permitted", "resource busy", "EACCES"];

/// Characters that are part of a name.
const IN_NAMES: [char; 3] = ['_', '.', '-'];

/// Characters that are part of a path.
const IN_PATHS: [char; 4] = ['_', '.', '-', '/'];

/// Whether a text has a name in it that is not the end of a longer one.
fn is_mentioned(text: &str, name: &str, in_longer: &[char]) -> bool {
    let mut found = text.match_indices(name);
    !name.is_empty()
        && found.any(|(at, _)| {
            let before = text[..at].chars().next_back();
            before.is_none_or(|before| !before.is_alphanumeric() && !in_longer.contains(&before))
        })
}

impl TurnPolicy {
    /// Why a tool may not touch a path, if it is hidden.
    pub fn hidden_problem(&self, path: &Path) -> Option<String> {
        let owner = self.hidden_by(path)?;
        Some(format!(
            "`{}` is hidden by {}: neither tools nor commands can read or change it. Do not look for a way around it; \
             ask the user if you need what is in it.",
            path.display(),
            owner.name()
        ))
    }

    /// What the model is told after the output of a command that seems to have met hidden files.
    pub fn hidden_note(&self, argv: &[String], output: &str) -> Option<String> {
        if !DENIALS.iter().any(|denial| output.contains(denial)) {
            return None;
        }
        let found = self.engine.hidden_files.recent();
        let is_named = |path: &Path, before: &[char]| {
            let text = path.to_str().unwrap_or_default();
            let mut words = argv.iter();
            is_mentioned(output, text, before) || words.any(|word| is_mentioned(word, text, before))
        };
        let below = |hidden: &HiddenPath| {
            let path = hidden.path.strip_prefix(&self.cwd);
            path.unwrap_or(&hidden.path).to_owned()
        };
        let of_path = |hidden: &&HiddenPath| is_named(&below(hidden), &IN_PATHS);
        let mut met: Vec<&HiddenPath> = found.iter().filter(of_path).collect();
        if met.is_empty() {
            let name = |hidden: &HiddenPath| hidden.path.file_name().map(PathBuf::from);
            let of_name =
                |hidden: &&HiddenPath| name(hidden).is_some_and(|name| is_named(&name, &IN_NAMES));
            met = found.iter().filter(of_name).collect();
        }
        let named = met
            .into_iter()
            .map(|hidden| format!("`{}` ({})", below(hidden).display(), hidden.owner.name()));
        let mut named: Vec<String> = named.collect();
        let more = named.len().saturating_sub(NAMED_FILES);
        named.truncate(NAMED_FILES);
        if named.is_empty() {
            return None;
        }
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "These exist and are hidden, so that neither commands nor tools can read or change them: {}{more}. \
             Do not look for a way around it; ask the user if you need what is in them.",
            named.join(", ")
        ))
    }

    /// What a question says about hidden files that permissions would let be read.
    pub fn hidden_in_permissions(&self, files: &[PathBuf]) -> Option<String> {
        let hidden = files.iter().filter_map(|path| {
            let owner = self.hidden_by(path)?;
            let path = path.display().to_string();
            let path = codex_visible_text::visible_line(&path);
            Some(match owner {
                PatternOwner::Administrator => {
                    format!("`{path}` stays hidden by {}.", owner.name())
                }
                _ => format!(
                    "`{path}` is hidden by {}; this lets it be read.",
                    owner.name()
                ),
            })
        });
        let sentences: Vec<String> = hidden.collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// The files that a request for permissions wants to be read.
    pub fn read_by(&self, permissions: &RequestPermissionProfile) -> Vec<PathBuf> {
        let profile = codex_protocol::PermissionProfile {
            network: None,
            file_system: permissions.file_system.clone(),
            macos: None,
        };
        grants_of(&profile, &self.cwd).read
    }
}
