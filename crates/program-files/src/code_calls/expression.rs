//! The value of an expression, as far as it is known.

use super::code_call::CodeCall;
use super::names::{KNOWN_NAMES, KNOWN_VALUES};
use super::places::is_part_of_name;
use super::scan::literal;
use super::value::Evaluator;
use crate::interpreters::Language;

/// Collects the literals of an expression, and looks for what is not known.
pub(super) fn read(
    evaluator: Evaluator<'_>,
    expression: &str,
    depth: usize,
    call: &mut CodeCall,
    levels: &mut usize,
) {
    let language = evaluator.language;
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
                // A function or a module is no variable of the same name.
                let is_member = expression[..expression.len() - rest.len() - name.len()]
                    .ends_with(['.', ':', '>']);
                let is_followed = rest.trim_start().starts_with(['.', '(', ':', '=']);
                let is_known = KNOWN_VALUES.contains(&name)
                    || (KNOWN_NAMES.contains(&name) && (is_member || is_followed));
                if !is_known {
                    match evaluator.variable(name).filter(|_| depth > 0) {
                        Some((value, _)) => read(evaluator, value, depth - 1, call, levels),
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
