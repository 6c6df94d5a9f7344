//! Layer: foundation. Text of others, so that all of it shows.
//!
//! A person who decides about something reads texts that a model, a server or a project wrote. Such a text must not look
//! like less than it is, or like the words of this program. Characters that do not show, or that change how others show,
//! become escapes `\u{HEX}`: control characters, marks for the direction of text, characters without width, line
//! separators, and blanks other than the space. Several in a row are written once with their number (`\u{a×3}`), as is a
//! long gap of blanks. A text that contains `\u{` itself has that backslash escaped, so escapes are not ambiguous.
//!
//! Nothing is ever left out. Not covered: letters that look like others, and text that is written from right to left.

use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory, get_general_category};

/// How many blanks of each kind stay as they are between two characters that show, in any order.
#[derive(Clone, Copy, Debug)]
struct Kept {
    spaces: usize,
    line_breaks: usize,
    tabs: usize,
}

const LINE: Kept = Kept {
    spaces: 8,
    line_breaks: 0,
    tabs: 0,
};

const LINES: Kept = Kept {
    line_breaks: 2,
    ..LINE
};

/// Enough for indented code.
const SCRIPT: Kept = Kept {
    spaces: 32,
    line_breaks: 8,
    tabs: 16,
};

/// More marks on one character are escaped, because they cover what is above and below.
const MAX_MARKS: usize = 2;

/// The text as one line.
pub fn visible_line(text: &str) -> String {
    visible(text, LINE).text
}

/// The text with its line breaks. A second empty line in a row is escaped.
pub fn visible_lines(text: &str) -> String {
    visible(text, LINES).text
}

/// The text of a script with its line breaks, tabs and indentation.
pub fn visible_script(text: &str) -> String {
    visible(text, SCRIPT).text
}

/// Whether a script contains what would be escaped.
pub fn script_hides(text: &str) -> bool {
    visible(text, SCRIPT).hides
}

/// Whether the text contains characters that do not show or that change the order of others, besides a byte order mark at
/// its start.
pub fn has_format_characters(text: &str) -> bool {
    use GeneralCategory as G;
    let is_format = |c: char| {
        !c.is_ascii()
            && matches!(
                get_general_category(c),
                G::Format | G::LineSeparator | G::ParagraphSeparator
            )
    };
    text.trim_start_matches('\u{feff}').chars().any(is_format)
}

/// The text as one line in quotation marks that it cannot close.
pub fn quoted(text: &str) -> String {
    let line = visible_line(text).replace('“', r"\u{201c}");
    format!("“{}”", line.replace('”', r"\u{201d}"))
}

/// The number of characters of a text, in words.
pub fn length(text: &str) -> String {
    match text.chars().count() {
        1 => "1 character".to_owned(),
        count => format!("{count} characters"),
    }
}

/// A text as it is shown.
#[derive(Debug, Default)]
struct Shown {
    text: String,
    /// Whether something was escaped that would not show.
    hides: bool,
}

fn visible(text: &str, kept: Kept) -> Shown {
    let mut shown = Shown::default();
    let mut left = kept;
    let mut marks = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = rest.trim_start_matches(first);
        let count = rest[..rest.len() - after.len()].chars().count();
        let is_mark = is_mark(first);
        let is_kept = match first {
            '\n' => take(&mut left.line_breaks, count),
            '\t' => take(&mut left.tabs, count),
            ' ' => take(&mut left.spaces, count),
            _ => {
                left = kept;
                !is_hidden(first)
            }
        };
        if first == '\\' && after.starts_with("u{") {
            shown.keep(first, count - 1);
            escape(&mut shown.text, first, 1);
        } else if is_mark && marks + count > MAX_MARKS {
            let fitting = MAX_MARKS - marks.min(MAX_MARKS);
            shown.keep(first, fitting);
            shown.escape(first, count - fitting);
        } else if is_kept {
            shown.keep(first, count);
        } else {
            shown.escape(first, count);
        }
        marks = if is_mark { marks + count } else { 0 };
        rest = after;
    }
    shown
}

/// Takes so many of what is left, if there are as many.
fn take(left: &mut usize, count: usize) -> bool {
    let rest = left.checked_sub(count);
    *left = rest.unwrap_or(0);
    rest.is_some()
}

impl Shown {
    fn keep(&mut self, character: char, count: usize) {
        self.text.extend(std::iter::repeat_n(character, count));
    }

    fn escape(&mut self, character: char, count: usize) {
        self.hides = true;
        escape(&mut self.text, character, count);
    }
}

fn escape(shown: &mut String, character: char, count: usize) {
    let code = u32::from(character);
    // Writing to a string does not fail.
    let _ = match count {
        1 => write!(shown, "\\u{{{code:x}}}"),
        _ => write!(shown, "\\u{{{code:x}×{count}}}"),
    };
}

fn is_mark(character: char) -> bool {
    use GeneralCategory as G;
    !character.is_ascii()
        && matches!(
            get_general_category(character),
            G::NonspacingMark | G::EnclosingMark | G::SpacingMark
        )
}

/// Whether a character does not show, or changes how others show.
fn is_hidden(character: char) -> bool {
    use GeneralCategory as G;
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    is_shown_as_nothing(character)
        || matches!(
            get_general_category(character),
            G::Control
                | G::Format
                | G::LineSeparator
                | G::ParagraphSeparator
                | G::SpaceSeparator
                | G::PrivateUse
                | G::Surrogate
                | G::Unassigned
        )
}

/// Letters, marks and symbols without a glyph.
fn is_shown_as_nothing(character: char) -> bool {
    matches!(
        character,
        '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fffc}'
            | '\u{ffa0}'
            | '\u{1d159}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests;
