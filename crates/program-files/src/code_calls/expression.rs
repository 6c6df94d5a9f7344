//! The value of an expression, as far as it is known.

use super::CodeCall;
use super::names::{KNOWN_NAMES, KNOWN_VALUES};
use super::places::is_part_of_name;
use super::scan::statement;
use crate::interpreters::Language;

/// How deeply variables stand for values.
pub(super) const MAX_DEPTH: usize = 6;

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
                // A function or a module is no variable of the same name.
                let is_member = expression[..expression.len() - rest.len() - name.len()]
                    .ends_with(['.', ':', '>']);
                let is_followed = rest.trim_start().starts_with(['.', '(', ':', '=']);
                let is_known = KNOWN_VALUES.contains(&name)
                    || (KNOWN_NAMES.contains(&name) && (is_member || is_followed));
                if !is_known {
                    match value_of(text, name, language).filter(|_| depth > 0) {
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
pub(super) fn value_of<'t>(text: &'t str, name: &str, language: Language) -> Option<&'t str> {
    let mut value = None;
    for (before, after) in uses(text, name) {
        let word_before = before
            .trim_end()
            .rsplit(|c: char| !is_part_of_name(c))
            .next();
        if matches!(
            word_before,
            Some("for" | "as" | "def" | "lambda" | "function")
        ) || is_parameter(before, after, language)
        {
            return None;
        }
        let after = after.trim_start_matches([' ', '\t']);
        let is_set =
            after.starts_with('=') && !["==", "=>", "=~"].iter().any(|it| after.starts_with(it));
        if changes(after) || (is_set && value.is_some()) {
            return None;
        }
        if is_set {
            value = Some(statement(&after[1..], language));
        }
    }
    value
}

/// Whether code adds something to a list after it was set.
pub(super) fn is_changed(text: &str, name: &str) -> bool {
    const METHODS: [&str; 8] = [
        "append", "concat", "extend", "insert", "push", "replace", "splice", "unshift",
    ];
    const FUNCTIONS: [&str; 3] = ["push", "splice", "unshift"];
    uses(text, name).any(|(before, after)| {
        let member = after.strip_prefix('.').unwrap_or_default();
        let before = before.trim_end_matches(['@', '(', ' ', '{', '$']);
        let after = after.trim_start_matches([' ', '\t']);
        let is_element_set = after.starts_with('[')
            && after
                .split_once(']')
                .is_some_and(|(_, rest)| rest.trim_start().starts_with('='));
        METHODS.iter().any(|method| member.starts_with(method))
            || FUNCTIONS.iter().any(|function| before.ends_with(function))
            || after.starts_with("<<")
            || is_element_set
            || changes(after)
    })
}

/// The texts before and behind each place where a variable stands.
fn uses<'t>(text: &'t str, name: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let length = name.len();
    let places = if length == 0 {
        Vec::new()
    } else {
        text.match_indices(name).map(|(at, _)| at).collect()
    };
    let uses = { places }
        .into_iter()
        .map(move |at| (&text[..at], &text[at + length..]));
    uses.filter(|(before, after)| {
        let is_member = before.ends_with('.') && !before.ends_with("...");
        !after.starts_with(is_part_of_name) && !before.ends_with(is_part_of_name) && !is_member
    })
}

/// Whether what follows a variable changes its value.
fn changes(after: &str) -> bool {
    let rest = after.trim_start_matches(['+', '-', '*', '/', '.', '|', '?', '&', '%', '^']);
    rest.len() < after.len() && rest.starts_with('=') && !rest.starts_with("==")
}

/// Whether a name is one of the parameters of a function.
fn is_parameter(before: &str, after: &str, language: Language) -> bool {
    let mut begin = before.rsplit('\n').next().unwrap_or_default().trim_start();
    for word in ["export ", "default ", "async ", "static ", "private "] {
        begin = begin.strip_prefix(word).unwrap_or(begin);
    }
    let rest = after.split('\n').next().unwrap_or_default();
    let is_arrow = || {
        rest.split_once("=>")
            .is_some_and(|(names, _)| !names.contains('('))
    };
    let begins_function = ["def ", "function ", "function(", "sub "]
        .iter()
        .any(|word| begin.starts_with(word));
    begins_function
        || begin.contains("lambda ")
        || (language == Language::JavaScript && is_arrow())
        || (language == Language::Ruby && begin.matches('|').count() % 2 == 1)
}
