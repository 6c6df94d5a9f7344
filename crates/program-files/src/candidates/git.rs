//! What git runs.

use super::{Candidates, FileCandidate};
use crate::line::UNKNOWN;

impl Candidates {
    /// Folders with programs that git runs, and other repositories with settings of their own.
    pub(super) fn git(&mut self, arguments: &[String]) {
        for (index, argument) in arguments.iter().enumerate() {
            if let Some((_, value)) = argument.split_once('=')
                && (argument.contains("hooksPath") || argument.contains("exec-path"))
            {
                self.all.push(FileCandidate::Folder(value.to_owned()));
            }
            let repository = match argument.as_str() {
                "-C" | "--git-dir" | "--work-tree" => arguments.get(index + 1).map(String::as_str),
                joined => joined
                    .strip_prefix("--git-dir=")
                    .or(joined.strip_prefix("--work-tree=")),
            };
            let is_other = |folder: &&str| {
                let name = folder.trim_end_matches('/');
                !name.contains(UNKNOWN) && !["", ".", ".git"].contains(&name)
            };
            if let Some(folder) = repository.filter(is_other) {
                for settings in ["config", ".git", ".git/config"] {
                    self.all
                        .push(FileCandidate::Path(format!("{folder}/{settings}")));
                }
                for hooks in ["hooks", ".git/hooks"] {
                    self.all
                        .push(FileCandidate::Folder(format!("{folder}/{hooks}")));
                }
            }
        }
    }
}
