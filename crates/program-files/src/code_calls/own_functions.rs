//! Functions of the code itself that start programs.

use std::collections::BTreeSet;

use super::names::{OTHER_PROCESS_NAMES, PROCESS_NAMES};
use super::places::is_part_of_name;
use super::scan::{beginning, statement};
use crate::interpreters::Language;

/// Words that begin a function.
const BEGINNINGS: [&str; 3] = ["def ", "function ", "sub "];
/// Longer functions are read up to here.
const MAX_BODY: usize = 2000;
/// Limit on the functions of a text.
const MAX_FUNCTIONS: usize = 64;

/// The names of functions that call one which starts programs, and other names of such a one.
pub(super) fn own_functions(text: &str) -> BTreeSet<&str> {
    let defined = BEGINNINGS.iter().flat_map(|word| text.split(word).skip(1));
    let defined = defined.filter(|rest| starts_programs(body(rest), true));
    let names = defined.map(name_at_start);
    let lines = text
        .split(['\n', ';'])
        .filter(|line| starts_programs(line, false));
    let set = lines.filter_map(|line| line.split_once('=').map(|(before, _)| name_at_end(before)));
    let lines = text
        .split(['\n', ';'])
        .filter(|line| starts_programs(line, false));
    let renamed = lines.flat_map(|line| line.split([',', '{', '}']).filter_map(new_name));
    let all = names.chain(set).chain(renamed);
    all.filter(|name| !name.is_empty())
        .take(MAX_FUNCTIONS)
        .collect()
}

/// A function, up to the next one.
fn body(text: &str) -> &str {
    let text = beginning(text, MAX_BODY);
    let next = BEGINNINGS
        .iter()
        .filter_map(|word| text.find(&format!("\n{word}")));
    &text[..next.min().unwrap_or(text.len())]
}

/// The function of a name, from its name on.
pub(super) fn body_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut places = BEGINNINGS.iter().flat_map(|word| {
        let places = text.match_indices(word);
        places.map(|(at, word)| &text[at + word.len()..])
    });
    let found = places.find(|rest| name_at_start(rest) == name && !name.is_empty());
    found.map(body)
}

/// The expressions that a function may yield.
pub(super) fn returned(body: &str, language: Language) -> impl Iterator<Item = &str> {
    // In some languages it may be any of its statements.
    let whole = matches!(language, Language::Perl | Language::Ruby).then_some(body);
    let words = ["return ", "return(", "yield "].into_iter();
    let values = words.flat_map(move |word| body.split(word).skip(1));
    whole
        .into_iter()
        .chain(values.map(move |value| statement(value, language)))
}

/// Whether a text has the name of a function that starts programs, or a call of one.
fn starts_programs(text: &str, is_called: bool) -> bool {
    let mut names = PROCESS_NAMES.iter().chain(&OTHER_PROCESS_NAMES);
    names.any(|name| {
        let mut places = text.match_indices(name);
        places.any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            let is_whole =
                !before.ends_with(is_part_of_name) && !after.starts_with(is_part_of_name);
            is_whole && (!is_called || after.trim_start().starts_with(['(', '"', '\'', '$', '@']))
        })
    })
}

/// The new name in `name as new`, or in `name: new` of JavaScript.
fn new_name(part: &str) -> Option<&str> {
    let (name, new) = part.split_once(" as ").or_else(|| part.split_once(':'))?;
    let is_process = starts_programs(name, false) && !name.contains(['(', '"', '\'']);
    is_process.then(|| name_at_start(new.trim()))
}

fn name_at_start(text: &str) -> &str {
    let end = text.find(|c| !is_part_of_name(c)).unwrap_or(text.len());
    &text[..end]
}

fn name_at_end(text: &str) -> &str {
    let text = text.trim_end();
    text.rsplit(|c| !is_part_of_name(c))
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_start_programs_are_found_in_every_form() {
        for (text, expected) in [
            ("def go(c):\n  subprocess.run(c)\n", &["go"][..]),
            (
                "def go(c):\n  print(c)\n\ndef run_it(c): os.system(c)",
                &["run_it"],
            ),
            ("function go(c) { execSync(c) }", &["go"]),
            ("const go = (c, cwd) => execSync(c, { cwd })", &["go"]),
            ("const go = promisify(exec)", &["go"]),
            (
                "go = functools.partial(subprocess.run, check=True)",
                &["go"],
            ),
            ("go = subprocess.run", &["go"]),
            ("from subprocess import run as go, PIPE", &["go"]),
            ("import { execSync as go } from 'child_process'", &["go"]),
            ("const { execSync: go } = require('child_process')", &["go"]),
            ("sub go { system(@_) }", &["go"]),
            ("def log(text): print(text)\nx = 1", &[]),
        ] {
            let found = own_functions(text);
            let found: Vec<&str> = found.into_iter().collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
