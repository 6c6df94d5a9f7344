//! The programs that code starts, as lines for a shell.

use super::code_call::{CodeCall, MAX_CALL, MAX_CALLS};
use super::origins::Origins;
use super::paths::{EXPANSION_MARK, quoted};
use super::places::is_part_of_name;
use super::scan::{literal, split, until_closed};
use super::value::Evaluator;
use super::variables::is_changed;
use crate::builders::{builds_or_runs_recipes, is_builder};
use crate::interpreters::Language;
use crate::line::UNKNOWN_CHAR;
use crate::recipe_runners::recipe_request;

/// Longer lines are prose.
const MAX_ARGUMENTS: usize = 16;

/// What a call that starts a program runs, as lines for a shell.
pub(super) fn lines_of_call(evaluator: Evaluator<'_>, name: &str, argument: &str) -> Vec<String> {
    if argument.len() > MAX_CALL {
        return Vec::new();
    }
    // In JavaScript, settings follow the program and the list of its arguments.
    let count = match evaluator.language {
        Language::JavaScript => 2,
        _ => usize::MAX,
    };
    let elements = split(argument, evaluator.language, ",").into_iter();
    let words = elements
        .take(count)
        .flat_map(|(_, element)| evaluator.words(element));
    let mut words: Vec<String> = words.collect();
    let is_unknown = |word: &String| word.contains(UNKNOWN_CHAR);
    // How it is to be started, before the program and its own name.
    if name.starts_with("spawn") && words.first().is_some_and(is_unknown) && words.len() > 1 {
        words.remove(0);
    }
    if words.len() > 1 && words[0] == words[1] {
        words.remove(0);
    }
    if name == "fork" {
        words.insert(0, "node".to_owned());
    }
    match words.first() {
        Some(program) if program.starts_with(UNKNOWN_CHAR) => Vec::new(),
        Some(line) if line.contains(char::is_whitespace) => vec![expanded(line)],
        _ => Vec::from_iter(quoted_line(&words)),
    }
}

/// Lists of a program and its arguments, wherever they stand, and lines that quotes of their own run.
pub(super) fn lines_without_calls(evaluator: Evaluator<'_>) -> Vec<CodeCall> {
    let Evaluator { text, language, .. } = evaluator;
    let mut lines: Vec<String> = listed_programs(evaluator)
        .iter()
        .filter_map(|words| quoted_line(words))
        .collect();
    lines.extend(quoted_by_words(text, language));
    if matches!(language, Language::Perl | Language::Php | Language::Ruby) {
        let is_code = |line: &&str| !line.trim_start().starts_with(['#', '/', '*']);
        let code = text.lines().filter(is_code).collect::<Vec<_>>().join("\n");
        let between = |mark: char| code.split(mark).skip(1).step_by(2);
        lines.extend(between('`').map(str::to_owned));
        // A pipe from a program.
        let piped = between('"')
            .chain(between('\''))
            .filter(|part| part.ends_with('|') || part.starts_with('|'));
        lines.extend(piped.map(|part| part.trim_matches('|').to_owned()));
    }
    let mut data = None;
    if matches!(language, Language::Perl | Language::Php | Language::Ruby) {
        let begins_unknown = |line: &&String| {
            evaluator
                .interpolated(line)
                .trim_start()
                .starts_with(UNKNOWN_CHAR)
        };
        let is_data = |line: &&String| {
            let part = text
                .find(line.as_str())
                .map(|at| &text[at..at + line.len()]);
            part.is_none_or(|part| Origins::text_is_data(evaluator, part))
        };
        data = lines.iter().filter(begins_unknown).find(is_data).cloned();
        lines = lines
            .iter()
            .map(|line| evaluator.interpolated(line))
            .collect();
    }
    lines.extend(literal_lines(text));
    lines.retain(|line| !line.is_empty() && line.len() <= MAX_CALL);
    lines.truncate(MAX_CALLS);
    let calls = lines.into_iter().map(|line| CodeCall {
        shown: line.clone(),
        lines: vec![line],
        ..CodeCall::default()
    });
    let data = data.map(|shown| CodeCall {
        shown,
        is_computed: true,
        ..CodeCall::default()
    });
    calls.chain(data).collect()
}

/// What stands in the quotes that words begin in Perl and Ruby, between any signs.
fn quoted_by_words(text: &str, language: Language) -> Vec<String> {
    let word = match language {
        Language::Perl => "qx",
        Language::Ruby => "%x",
        _ => return Vec::new(),
    };
    let quoted = text.match_indices(word).filter_map(|(at, _)| {
        let rest = text[at + word.len()..].trim_start_matches([' ', '\t']);
        let open = rest
            .chars()
            .next()
            .filter(|c| !is_part_of_name(*c) && !c.is_whitespace())?;
        let close = match open {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            other => other,
        };
        let inner = rest[open.len_utf8()..].split_once(close);
        inner
            .map(|(inner, _)| inner.to_owned())
            .filter(|_| !text[..at].ends_with(is_part_of_name))
    });
    quoted.collect()
}

/// The literals in a text that ask a program for recipes. Those that are prose ask for recipes that there are not.
fn literal_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '`']) {
        let quote = rest[at..].chars().next().unwrap_or('"');
        let (line, after) = literal(&rest[at + 1..], quote);
        let mut words = line.split_whitespace().map(str::to_owned);
        let program = words.next().unwrap_or_default();
        let arguments: Vec<String> = words.take(MAX_ARGUMENTS).collect();
        let asks = !arguments.is_empty() && recipe_request(&program, &arguments).is_some();
        if asks && !is_builder(&program, &arguments) && lines.len() < MAX_CALLS {
            lines.push(line);
        }
        rest = after;
    }
    lines
}

/// The lists in a text that begin with a program which runs recipes or builds. A list of the names of programs is none.
fn listed_programs(evaluator: Evaluator<'_>) -> Vec<Vec<String>> {
    let Evaluator { text, language, .. } = evaluator;
    let mut lists: Vec<Vec<String>> = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['"', '\'', '`']) {
        let begin = at + found;
        let quote = text[begin..].chars().next().unwrap_or('"');
        let (word, after) = literal(&text[begin + 1..], quote);
        at = text.len() - after.len();
        if builds_or_runs_recipes(&word) && lists.len() < MAX_CALLS {
            lists.extend(list_from(
                evaluator,
                begin,
                text[..begin].trim_end(),
                language,
            ));
        }
    }
    lists
}

/// The list whose first element begins somewhere.
fn list_from(
    evaluator: Evaluator<'_>,
    begin: usize,
    before: &str,
    language: Language,
) -> Option<Vec<String>> {
    let inner = until_closed(&evaluator.text[begin..], language);
    if inner.len() > MAX_CALL {
        return None;
    }
    let before_it = before.strip_suffix(['[', '(']).unwrap_or_default();
    let opened = before_it.trim_end();
    let is_index =
        opened.len() == before_it.len() && opened.ends_with(|c| is_part_of_name(c) || c == ')');
    let is_brackets = before.ends_with('[') && !is_index;
    let is_tuple = before.ends_with('(') && opened.ends_with(['=', '(', ',']);
    let is_list = is_brackets || is_tuple;
    let is_next_program = |word: &String| builds_or_runs_recipes(word);
    let is_known = |word: &String| !word.contains(UNKNOWN_CHAR);
    let mut words = Vec::new();
    for (_, element) in split(inner, language, ",") {
        let element = evaluator.words(element);
        let is_element = !element.is_empty() && (is_list || element.iter().all(is_known));
        if !is_element || (!words.is_empty() && element.iter().any(is_next_program)) {
            break;
        }
        words.extend(element);
    }
    let variable = opened.strip_suffix('=').unwrap_or_default().trim_end();
    let variable = variable
        .rsplit(|c| !is_part_of_name(c))
        .next()
        .unwrap_or_default();
    let behind = evaluator.text[begin + inner.len()..].trim_start_matches([']', ')', ' ']);
    if is_list && (is_changed(evaluator.text, variable) || behind.starts_with('+')) {
        words.push(UNKNOWN_CHAR.to_string());
    }
    (words.len() > 1).then_some(words)
}

fn quoted_line(words: &[String]) -> Option<String> {
    let program = words.first()?;
    if program.is_empty() || program.contains(char::is_whitespace) {
        return None;
    }
    Some(
        words
            .iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// A line with what a shell expands.
fn expanded(line: &str) -> String {
    line.replace(EXPANSION_MARK, "")
}
