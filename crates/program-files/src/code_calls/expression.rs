//! The value of an expression, as far as it is known.

use super::CodeCall;
use super::names::KNOWN_NAMES;
use super::places::is_part_of_name;
use crate::interpreters::Language;

/// How deeply variables stand for values.
pub(super) const MAX_DEPTH: usize = 4;
/// Collects the literals of an expression, and looks for what is not known.
pub(super) fn read(
    text: &str,
    expression: &str,
    language: Language,
    depth: usize,
    call: &mut CodeCall,
    levels: &mut usize,
) {
    let mut rest = expression;
    let mut prefix = "";
    while let Some(c) = rest.chars().next() {
        match c {
            '"' | '\'' | '`' => {
                let (literal, after) = literal(&rest[1..], c);
                call.is_computed |= is_filled_in(&literal, prefix, c, language);
                call.literals.push(literal);
                (rest, prefix) = (after, "");
            }
            c if is_part_of_name(c) => {
                let end = rest
                    .find(|c: char| !is_part_of_name(c))
                    .unwrap_or(rest.len());
                let name = &rest[..end];
                rest = &rest[end..];
                prefix = name;
                let is_prefix = rest.starts_with(['"', '\'']) && name.len() <= 2;
                if is_prefix || name.starts_with(|c: char| c.is_ascii_digit()) {
                    continue;
                }
                match name {
                    "dirname" | "parent" => *levels += 1,
                    "parents" => *levels += 4,
                    "getcwd" | "cwd" | "pwd" => call.literals.push(".".to_owned()),
                    _ => {}
                }
                if !KNOWN_NAMES.contains(&name) {
                    match value_of(text, name).filter(|_| depth > 0) {
                        Some(value) => read(text, value, language, depth - 1, call, levels),
                        None => call.is_computed = true,
                    }
                }
            }
            c if c == '\0' || is_sigil(language, c) => {
                call.is_computed = true;
                return;
            }
            c => {
                rest = &rest[c.len_utf8()..];
                prefix = "";
            }
        }
    }
}

/// Whether a character begins a variable.
fn is_sigil(language: Language, c: char) -> bool {
    match language {
        Language::Perl => "$@%".contains(c),
        Language::Php => c == '$',
        Language::Ruby => "$@".contains(c),
        _ => false,
    }
}

/// A literal up to its quote, escapes resolved as far as paths need it, and what follows.
pub(super) fn literal(text: &str, quote: char) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.extend(chars.next()),
            c if c == quote => break,
            c => value.push(c),
        }
    }
    (value, chars.as_str())
}

/// Whether values are filled into a literal.
fn is_filled_in(literal: &str, prefix: &str, quote: char, language: Language) -> bool {
    literal.contains('\0')
        || match language {
            Language::Python => prefix.contains(['f', 'F']) && literal.contains('{'),
            Language::JavaScript => quote == '`' && literal.contains("${"),
            Language::Perl | Language::Php => quote == '"' && literal.contains(['$', '@']),
            Language::Ruby => quote == '"' && literal.contains("#{"),
            _ => false,
        }
}

/// The value of a variable that is set exactly once.
fn value_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut value = None;
    for (at, _) in text.match_indices(name) {
        let after = &text[at + name.len()..];
        let before = &text[..at];
        if after.starts_with(is_part_of_name) || before.ends_with(is_part_of_name) {
            continue;
        }
        let word_before = before
            .trim_end()
            .rsplit(|c: char| !is_part_of_name(c))
            .next();
        if matches!(
            word_before,
            Some("for" | "as" | "def" | "lambda" | "function")
        ) {
            return None;
        }
        let after = after.trim_start_matches([' ', '\t']);
        let is_set = after.starts_with('=') && !after.starts_with("==") && !after.starts_with("=>");
        let changes =
            after.len() > 1 && after[1..].starts_with('=') && after.starts_with(['+', '/', '-']);
        if changes || (is_set && value.is_some()) {
            return None;
        }
        if is_set {
            value = after[1..].split([';', '\n']).next();
        }
    }
    value
}
