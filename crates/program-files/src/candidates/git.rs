//! What git runs.

use super::{Candidates, FileCandidate};
use crate::line::{CommandWords, UNKNOWNS};

impl Candidates {
    /// What the settings of the repository name, folders with programs that git runs, and other repositories with settings
    /// of their own.
    pub(super) fn git(&mut self, arguments: &[String]) {
        self.all.push(FileCandidate::Git(command_of(arguments)));
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
            if let Some(folder) = repository {
                self.repository(folder);
            }
        }
    }

    /// The folders that a line with git changes to.
    pub(super) fn repositories(&mut self, commands: &[CommandWords]) {
        for CommandWords(words) in commands {
            if let [program, folder, ..] = words.as_slice()
                && ["cd", "pushd"].contains(&program.as_str())
            {
                self.repository(folder);
            }
        }
    }

    fn repository(&mut self, folder: &str) {
        let name = folder.trim_end_matches('/');
        if !name.contains(UNKNOWNS) && !["", ".", ".git"].contains(&name) {
            self.all.push(FileCandidate::Repository(name.to_owned()));
        }
    }
}

/// The command of git, behind its general options.
fn command_of(arguments: &[String]) -> String {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--exec-path" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => return word.to_owned(),
        }
    }
    String::new()
}
