//! Variables that name places of code, as the words of commands set them.

use super::{Candidates, FileCandidate};
use crate::code_variables::places_code;
use crate::line::UNKNOWNS;

impl Candidates {
    /// A variable that names places of code, in an assignment or an argument.
    pub(super) fn variable(&mut self, argument: &str) {
        if let Some((_, folder)) = argument.split_once("pycache_prefix=") {
            // Compiled code is taken from there.
            self.all.push(FileCandidate::Folder(folder.to_owned()));
        }
        let Some((before, value)) = argument.split_once('=') else {
            return;
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = before
            .rsplit(|c: char| !is_part(c))
            .next()
            .unwrap_or_default();
        if !places_code(name) {
            return;
        }
        if value.contains(UNKNOWNS) {
            self.uncertain(argument);
            return self.unknown(argument);
        }
        self.all
            .push(FileCandidate::Variable(name.to_owned(), value.to_owned()));
    }

    /// An assignment in several words: `export PYTHONPATH := lib` of make, `set -x PYTHONPATH lib` of fish.
    pub(super) fn variable_words(&mut self, words: &[String]) {
        let Some(at) = words
            .iter()
            .position(|word| places_code(word.trim_start_matches("$env:")))
        else {
            return;
        };
        let sets = at == 0 || matches!(words[0].as_str(), "export" | "override" | "set" | "setenv");
        let is_value =
            |word: &&String| sets && !word.is_empty() && word.chars().any(char::is_alphanumeric);
        for value in words[at + 1..].iter().filter(is_value) {
            let name = words[at].trim_start_matches("$env:");
            self.variable(&format!("{name}={value}"));
        }
    }
}
