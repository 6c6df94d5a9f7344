//! What stands in code outside of quotes and comments, and how deep in brackets.

use crate::interpreters::Language;

/// What is longer is not read to its end.
const MAX_SCAN: usize = 16 * 1024;
/// How many brackets around a place are looked at.
const MAX_OPEN: usize = 64;

/// The beginning of a text, up to a length.
pub(super) fn beginning(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}

/// The characters of a text outside of quotes and comments: where they are, and the brackets that are open around them. One
/// that opens or closes a bracket is outside of it.
struct CodeCharacters<'t> {
    text: &'t str,
    language: Language,
    at: usize,
    depth: isize,
}

impl Iterator for CodeCharacters<'_> {
    type Item = (usize, char, isize);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.at;
            let rest = &self.text[at..];
            let c = rest.chars().next()?;
            self.at += c.len_utf8();
            if is_quote(c, self.language) {
                self.skip_quoted(c);
                continue;
            }
            if self.begins_comment(at) {
                self.at = at + rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            let depth = match c {
                '(' | '[' | '{' => {
                    self.depth += 1;
                    self.depth - 1
                }
                ')' | ']' | '}' => {
                    self.depth -= 1;
                    self.depth
                }
                _ => self.depth,
            };
            return Some((at, c, depth));
        }
    }
}

impl CodeCharacters<'_> {
    /// Most quotes end with their line, if not before: such a one is an apostrophe.
    fn skip_quoted(&mut self, quote: char) {
        let mut is_escaped = false;
        for (at, c) in self.text[self.at..].char_indices() {
            let is_end = c == quote || (c == '\n' && quote != '`');
            if is_end && !is_escaped {
                self.at += at + c.len_utf8();
                return;
            }
            is_escaped = c == '\\' && !is_escaped;
        }
        self.at = self.text.len();
    }

    fn begins_comment(&self, at: usize) -> bool {
        let (before, rest) = self.text.split_at(at);
        // `$#` and `#{` are none.
        let may_begin =
            !rest.starts_with('#') || before.is_empty() || before.ends_with(char::is_whitespace);
        may_begin && begins_comment(rest, self.language)
    }
}

/// Brackets in a text, and what stands between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bracket {
    pub(super) kind: char,
    /// Where the first of them is.
    pub(super) open: usize,
    /// Where the other one is, or the end of the text.
    pub(super) close: usize,
    /// The place in the list of the ones around these.
    parent: Option<usize>,
}

/// All brackets of a text, in the order in which they open.
#[derive(Debug)]
pub(super) struct Brackets(Vec<Bracket>);

impl Brackets {
    pub(super) fn find(text: &str, language: Language) -> Self {
        let mut found = Self(Vec::new());
        let mut innermost = None;
        let characters = CodeCharacters {
            text,
            language,
            at: 0,
            depth: 0,
        };
        for (at, c, _) in characters {
            innermost = match c {
                '(' | '[' | '{' => {
                    found.0.push(Bracket {
                        kind: c,
                        open: at,
                        close: text.len(),
                        parent: innermost,
                    });
                    Some(found.0.len() - 1)
                }
                ')' => found.close('(', at, innermost),
                ']' => found.close('[', at, innermost),
                '}' => found.close('{', at, innermost),
                _ if begins_declaration(text, at) => found.close_lists(at, innermost),
                _ => innermost,
            };
        }
        found
    }

    /// Closes the innermost brackets of a kind, and those within them. The innermost ones then.
    fn close(&mut self, kind: char, at: usize, innermost: Option<usize>) -> Option<usize> {
        let around = |from: Option<usize>| {
            std::iter::successors(from, |place| self.0[*place].parent).take(MAX_OPEN)
        };
        let closed = around(innermost).find(|place| self.0[*place].kind == kind);
        let Some(closed) = closed else {
            return innermost;
        };
        let within: Vec<usize> = around(innermost)
            .take_while(|place| *place >= closed)
            .collect();
        for place in within {
            self.0[place].close = at;
        }
        self.0[closed].parent
    }

    /// Closes what holds no statements. A quote in a pattern may have hidden its end.
    fn close_lists(&mut self, at: usize, innermost: Option<usize>) -> Option<usize> {
        let mut innermost = innermost;
        while let Some(place) = innermost.filter(|place| self.0[*place].kind != '{') {
            self.0[place].close = at;
            innermost = self.0[place].parent;
        }
        innermost
    }

    /// The innermost brackets around a place.
    pub(super) fn around(&self, at: usize) -> Option<Bracket> {
        let last = self.0.partition_point(|bracket| bracket.open < at);
        let mut place = last.checked_sub(1);
        while let Some(bracket) = place.and_then(|place| self.0.get(place)) {
            if bracket.close > at {
                return Some(*bracket);
            }
            place = bracket.parent;
        }
        None
    }
}

/// Whether a line begins here with a word that begins a statement, and nothing else.
fn begins_declaration(text: &str, at: usize) -> bool {
    const WORDS: [&str; 6] = ["const ", "def ", "import ", "let ", "return ", "var "];
    WORDS.iter().any(|word| text[at..].starts_with(word))
        && text[..at].trim_end_matches([' ', '\t']).ends_with('\n')
}

pub(super) fn is_quote(c: char, language: Language) -> bool {
    matches!(c, '"' | '\'') || (c == '`' && language != Language::Python)
}

fn characters(text: &str, language: Language) -> CodeCharacters<'_> {
    CodeCharacters {
        text: beginning(text, MAX_SCAN),
        language,
        at: 0,
        depth: 0,
    }
}

/// Whether a comma of a text is in no brackets that open in it.
pub(super) fn has_comma(text: &str, language: Language) -> bool {
    characters(text, language).any(|(_, c, depth)| c == ',' && depth <= 0)
}

/// What a text has before the first sign that assigns, in the same statement and in the same brackets.
pub(super) fn before_assignment(text: &str, language: Language) -> Option<&str> {
    for (at, c, depth) in characters(text, language) {
        let before = &text[..at];
        let is_continued = before.trim_end_matches([' ', '\t']).ends_with([',', '\\']);
        if depth < 0 || c == ';' || (c == '\n' && !is_continued) {
            return None;
        }
        let assigns = c == '=' && depth == 0 && assigns(&text[at..]);
        if assigns && !before.ends_with(['=', '!', '<', '>']) {
            return Some(before);
        }
    }
    None
}

/// Whether a text begins with a sign that assigns.
pub(super) fn assigns(text: &str) -> bool {
    text.starts_with('=') && !["==", "=>", "=~"].iter().any(|it| text.starts_with(it))
}

/// A text up to the bracket that closes one before it.
pub(super) fn until_closed(text: &str, language: Language) -> &str {
    let end = characters(text, language).find(|(_, _, depth)| *depth < 0);
    end.map_or(beginning(text, MAX_SCAN), |(at, ..)| &text[..at])
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

/// Where the arguments of the call around a place begin.
pub(super) fn enclosing_call(text: &str, at: usize, language: Language) -> Option<usize> {
    let mut open = Vec::new();
    let from = text.ceil_char_boundary(at.saturating_sub(MAX_SCAN));
    for (place, c, _) in characters(&text[from..at], language) {
        match c {
            '(' | '[' | '{' => open.push((place, c)),
            ')' | ']' | '}' => drop(open.pop()),
            _ => {}
        }
    }
    let call = open.iter().rfind(|(_, c)| *c == '(')?;
    Some(from + call.0 + 1)
}

/// A text up to the end of a statement, of the list around it, or of an element of that.
pub(super) fn until_separated(text: &str, language: Language) -> &str {
    let ends =
        |(_, c, depth): &(usize, char, isize)| *depth < 0 || (*depth == 0 && ",;\n".contains(*c));
    let end = characters(text, language).find(ends);
    end.map_or(beginning(text, MAX_SCAN), |(at, ..)| &text[..at])
}

/// A text up to the end of a statement.
pub(super) fn statement(text: &str, language: Language) -> &str {
    const WORDS: [&str; 9] = [
        " and ", " do ", " do\n", " if ", " or ", " rescue ", " unless ", "&&", "||",
    ];
    let has_modifiers = matches!(language, Language::Perl | Language::Ruby | Language::Php);
    let ends = |(at, c, depth): &(usize, char, isize)| {
        let ends_here = ";\n".contains(*c)
            || (*c == ',' && language == Language::JavaScript)
            || (has_modifiers && WORDS.iter().any(|word| text[*at..].starts_with(word)));
        *depth < 0 || (*depth == 0 && ends_here)
    };
    let end = characters(text, language).find(ends);
    end.map_or(beginning(text, MAX_SCAN), |(at, ..)| &text[..at])
}

/// The parts of a text between separators that are in no brackets, and the separators before them.
pub(super) fn split<'t>(
    text: &'t str,
    language: Language,
    separators: &str,
) -> Vec<(Option<char>, &'t str)> {
    let mut parts = Vec::new();
    let mut from = (None, 0);
    for (at, c, depth) in characters(text, language) {
        if depth == 0 && separators.contains(c) {
            parts.push((from.0, &text[from.1..at]));
            from = (Some(c), at + c.len_utf8());
        }
    }
    parts.push((from.0, &text[from.1..]));
    parts
}

/// A text without the blanks and comments at its beginning.
pub(super) fn skip_blanks(text: &str, language: Language) -> &str {
    let mut rest = text.trim_start();
    while begins_comment(rest, language) {
        rest = rest
            .split_once('\n')
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    rest
}

fn begins_comment(text: &str, language: Language) -> bool {
    match language {
        Language::JavaScript => text.starts_with("//"),
        Language::Lua => text.starts_with("--"),
        _ => text.starts_with('#'),
    }
}
