//! Whether data that code reads decides which program it starts.

use super::code_call::MAX_CALLS;
use super::names::PROCESS_NAMES;
use super::origins::Origins;
use super::own_functions::body_of;
use super::places::is_part_of_name;
use super::scan::{split, until_closed};
use super::value::{Evaluator, named};
use crate::indirect_runs::runs_unknown_command;
use crate::interpreters::{Language, runs_arguments};
use crate::known_programs::base_name;
use crate::line::{CommandWords, UNKNOWN_CHAR};

/// Settings of a call that name another program, or options for it.
const PROGRAM_SETTINGS: [&str; 4] = ["execArgv", "execPath", "executable", "shell"];
/// What a program reads on its input.
const INPUT_SETTINGS: [&str; 3] = ["input", "stdin", "stdin_data"];

/// The parts of a call that decide what it runs.
#[derive(Default)]
struct DecidingParts<'t> {
    /// The program, alone or at the beginning.
    program: Option<&'t str>,
    /// What an interpreter gets, and settings.
    others: Vec<&'t str>,
}

/// Whether data decides which program a call starts, or which code that gets.
pub(super) fn program_is_data<'t>(evaluator: Evaluator<'t>, name: &str, argument: &'t str) -> bool {
    let parts = deciding_parts(evaluator, name, argument);
    let program = parts.program;
    program.is_some_and(|part| Origins::program_is_data(evaluator, part))
        || parts
            .others
            .into_iter()
            .any(|part| Origins::is_data(evaluator, part))
}

/// Whether a function of the code starts what it gets as arguments. One that is not found may.
pub(super) fn starts_its_arguments(evaluator: Evaluator<'_>, name: &str) -> bool {
    let Some(body) = body_of(evaluator.text, name) else {
        return true;
    };
    let list = body
        .split_once('(')
        .map_or("", |(_, rest)| until_closed(rest, evaluator.language));
    let parameters: Vec<&str> = list
        .split(|c| !is_part_of_name(c))
        .filter(|it| !it.is_empty())
        .collect();
    // Some languages name no parameters.
    let is_one = |word: &str| parameters.contains(&word) || word == "_" || word == "args";
    let has_parameter = |part: &str| part.split(|c| !is_part_of_name(c)).any(is_one);
    let calls = PROCESS_NAMES
        .iter()
        .chain(&["run", "call", "exec", "execa", "sh"]);
    let calls = calls
        .flat_map(|call| body.match_indices(call))
        .take(MAX_CALLS);
    { calls }.any(|(at, call)| {
        let after = &body[at + call.len()..];
        let argument = match after.strip_prefix('(') {
            Some(inner) => until_closed(inner, evaluator.language),
            None => after.lines().next().unwrap_or_default(),
        };
        let parts = deciding_parts(evaluator, call, argument);
        parts
            .program
            .into_iter()
            .chain(parts.others)
            .any(has_parameter)
    })
}

fn deciding_parts<'t>(
    evaluator: Evaluator<'t>,
    name: &str,
    argument: &'t str,
) -> DecidingParts<'t> {
    let language = evaluator.language;
    let elements = split(argument, language, ",")
        .into_iter()
        .map(|(_, it)| it.trim());
    let elements: Vec<&str> = elements.collect();
    let is_mode = name.contains("spawn") && argument.contains("P_");
    let begin = usize::from(is_mode);
    let first = elements.get(begin).copied().unwrap_or_default();
    let program = match named(first) {
        Some((_, value)) if !first.starts_with(['{', '[', '"', '\'', '(']) => value,
        _ => first,
    };
    let words = evaluator.words(program);
    let word = words.first().map_or("", String::as_str);
    let begins = word.split_whitespace().next().unwrap_or_default();
    let rest = elements.get(begin + 1..).unwrap_or_default();
    let others = rest.iter().flat_map(|element| evaluator.words(element));
    let all: Vec<String> = words.iter().cloned().chain(others).collect();
    let mut parts = DecidingParts {
        others: settings(argument, language, &PROGRAM_SETTINGS),
        ..DecidingParts::default()
    };
    if begins.starts_with(UNKNOWN_CHAR) || begins.is_empty() || name.ends_with("fork") {
        parts.program = Some(program);
    } else if runs_arguments(base_name(begins)) || runs_unknown_words(&all) {
        if all.iter().any(|word| word.contains(UNKNOWN_CHAR)) {
            // Settings follow the arguments in JavaScript.
            let count = match language {
                Language::JavaScript => 1,
                _ => usize::MAX,
            };
            let rest = rest.iter().take(count).filter(|it| named(it).is_none());
            parts.others.extend(rest);
            parts.others.push(program);
        }
        parts
            .others
            .extend(settings(argument, language, &INPUT_SETTINGS));
    }
    parts
}

/// Whether a program and its arguments, or a line, run a word that is not known.
pub(super) fn runs_unknown_words(words: &[String]) -> bool {
    let words = match words {
        [line] => line.split_whitespace().map(str::to_owned).collect(),
        words => words.to_vec(),
    };
    runs_unknown_command(&CommandWords(words))
}

/// The values of settings in the arguments of a call, also in braces.
fn settings<'t>(argument: &'t str, language: Language, names: &[&str]) -> Vec<&'t str> {
    let elements = split(argument, language, ",")
        .into_iter()
        .map(|(_, it)| it.trim());
    elements
        .flat_map(|element| match element.strip_prefix('{') {
            Some(inner) => settings(until_closed(inner, language), language, names),
            None => named(element)
                .filter(|(name, _)| names.contains(name))
                .map(|(_, value)| value)
                .into_iter()
                .collect(),
        })
        .collect()
}
