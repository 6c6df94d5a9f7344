//! Folders whose files are run.

use super::{Candidates, FileCandidate};
use crate::indirect_runs::{executes_found_files, lists_files};
use crate::known_programs::{LISTERS, base_name};
use crate::line::{CommandWords, UNKNOWNS};

impl Candidates {
    /// The folders whose files a command runs, or lists for one that does.
    pub(super) fn folders_to_run(&mut self, CommandWords(words): &CommandWords, runs_listed: bool) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let name = base_name(program);
        let folders: Vec<&String> = match name {
            "run-parts" => arguments.iter().filter(|it| !it.starts_with('-')).collect(),
            "find" if runs_listed || executes_found_files(arguments) => {
                let is_folder = |word: &&String| !word.starts_with(['-', '(', '!']);
                arguments.iter().take_while(is_folder).collect()
            }
            // Its first operand is a pattern.
            "fd" if executes_found_files(arguments) => {
                let is_folder = |word: &&String| word.contains('/');
                arguments.iter().filter(is_folder).collect()
            }
            "git" if runs_listed && lists_files(arguments) => Vec::new(),
            _ if runs_listed && LISTERS.contains(&name) => {
                arguments.iter().filter(|it| !it.starts_with('-')).collect()
            }
            _ => return,
        };
        for folder in &folders {
            if folder.contains(UNKNOWNS) {
                self.unknown(folder);
            } else {
                self.all.push(FileCandidate::Folder((*folder).clone()));
            }
        }
        if folders.is_empty() {
            self.all.push(FileCandidate::Folder(".".to_owned()));
        }
    }
}
