//! Where a name in a text is a call, and what follows it.

use super::names::CallKind;
use super::scan::{statement, until_closed};
use crate::interpreters::Language;

pub(super) fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a name begins and ends here, and is not that of something else.
pub(super) fn is_name_here(text: &str, at: usize, name: &str, kind: CallKind) -> bool {
    let before = &text[..at];
    let after = &text[at + name.len()..];
    let is_continued = after.starts_with(is_part_of_name);
    let is_end = name.starts_with(is_part_of_name) && before.ends_with(is_part_of_name);
    let is_whole = !is_continued && !is_end;
    let is_member = (before.ends_with(['.', '$', '@', '-', '#'])
        || before.ends_with("->")
        || before.ends_with("::")
        || (before.ends_with(':') && before.trim_end_matches(':').ends_with([' ', '(', ','])))
        && !before.ends_with("builtins.")
        && !before.ends_with("Kernel.")
        && !before.ends_with("module.");
    let word_before = before
        .trim_end()
        .rsplit(|c: char| !is_part_of_name(c))
        .next();
    let is_defined = matches!(word_before, Some("def" | "function" | "fn"));
    is_whole && !is_defined && (kind != CallKind::Function || !is_member)
}

/// Whether a place is in a line that is a comment.
pub(super) fn is_comment(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    let line = line.trim_start();
    ["#", "//", "* ", "--"]
        .iter()
        .any(|mark| line.starts_with(mark))
        && !line.starts_with("#!")
}

/// What follows the name of a call. None if it is no call.
pub(super) fn argument<'t>(
    before: &str,
    rest: &'t str,
    language: Language,
    kind: CallKind,
) -> Option<&'t str> {
    let part = || rest.split([';', '\n']).next().unwrap_or_default();
    if kind == CallKind::Folder {
        let part = part();
        let sets = [
            "insert", "append", "extend", "unshift", "push", "=", "<<", "(", ",",
        ];
        let is_perl = language == Language::Perl;
        return (is_perl || sets.iter().any(|set| part.contains(set))).then_some(part);
    }
    let trimmed = rest.trim_start_matches([' ', '\t']);
    // The function may stand in brackets, or its name.
    let mut ends = [")", "\"]", "']"].iter();
    let called = ends.find_map(|end| trimmed.strip_prefix(end));
    let called = called.filter(|rest| rest.starts_with('('));
    if let Some(inner) = called.unwrap_or(trimmed).strip_prefix('(') {
        return Some(until_closed(inner, language));
    }
    let has_statements = matches!(
        language,
        Language::Perl | Language::Ruby | Language::Php | Language::Lua
    );
    if !has_statements || !begins_statement(before) {
        return None;
    }
    // A block, a package by its name, a version or prose is no call.
    let part = statement(rest, language).trim();
    let is_value = part.starts_with(['"', '\'', '$', '@', '`', '<'])
        || part.starts_with("__")
        || part.starts_with("qw");
    let is_word = language == Language::Ruby
        && rest.starts_with(' ')
        && part.starts_with(char::is_alphabetic)
        && (part.starts_with(char::is_uppercase) || !part.contains(' '));
    (is_value || is_word).then_some(part)
}

/// Whether an expression may begin behind a text.
pub(super) fn begins_statement(before: &str) -> bool {
    const WORDS: [&str; 11] = [
        "and", "begin", "do", "else", "if", "local", "not", "or", "return", "then", "unless",
    ];
    let before = before.trim_end_matches([' ', '\t']);
    let word = before
        .rsplit(|c: char| !is_part_of_name(c))
        .next()
        .unwrap_or_default();
    before.is_empty()
        || before.ends_with(['\n', ';', '{', '}', '(', '=', ',', '&', '|', '!', '?'])
        || WORDS.contains(&word)
}
