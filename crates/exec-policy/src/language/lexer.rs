//! Converts text to tokens. As in Python, indentation forms blocks, and line breaks inside brackets are ignored.

use super::{ScriptError, SourcePosition};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) position: SourcePosition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    Name(String),
    Number(i64),
    /// A string; more than one part only if it is an f-string.
    Text(Vec<TextPart>),
    /// One of `( ) [ ] , = + += : ;`, or another sign that rules files do not use.
    Sign(&'static str),
    Newline,
    Indent,
    Dedent,
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextPart {
    Text(String),
    Name(String, SourcePosition),
}

/// Longer signs come before their prefixes.
const SIGNS: [&str; 28] = [
    "==", "!=", "<=", ">=", "+=", "-=", "*=", "//", "(", ")", "[", "]", "{", "}", ",", "=", "+",
    ":", ";", ".", "-", "*", "/", "%", "<", ">", "|", "&",
];

pub(super) fn tokens(source: &str) -> Result<Vec<Token>, ScriptError> {
    let mut lexer = Lexer {
        rest: source.strip_prefix('\u{feff}').unwrap_or(source),
        position: SourcePosition { line: 1, column: 1 },
        indents: vec![0],
        open: 0,
        tokens: Vec::new(),
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    position: SourcePosition,
    /// The indentation widths of the open blocks.
    indents: Vec<usize>,
    /// The number of open brackets. Line breaks inside brackets are ignored.
    open: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<(), ScriptError> {
        let mut line_start = true;
        loop {
            if line_start && self.open == 0 {
                self.indentation()?;
            }
            line_start = false;
            self.skip_while(|c| matches!(c, ' ' | '\t' | '\r'));
            if self.rest.starts_with('#') {
                self.skip_while(|c| c != '\n');
            }
            let position = self.position;
            let Some(c) = self.rest.chars().next() else {
                break;
            };
            if c == '\n' {
                self.advance();
                line_start = true;
                if self.open == 0 {
                    self.push(TokenKind::Newline, position);
                }
            } else if self.rest.starts_with("\\\n") {
                self.advance();
                self.advance();
            } else {
                let kind = self.token(c)?;
                self.push(kind, position);
            }
        }
        let end = self.position;
        self.push(TokenKind::Newline, end);
        while self.indents.pop().is_some_and(|width| width > 0) {
            self.push(TokenKind::Dedent, end);
        }
        self.push(TokenKind::End, end);
        Ok(())
    }

    fn push(&mut self, kind: TokenKind, position: SourcePosition) {
        self.tokens.push(Token { kind, position });
    }

    fn advance(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        if c == '\n' {
            self.position = SourcePosition {
                line: self.position.line + 1,
                column: 1,
            };
        } else {
            self.position.column += 1;
        }
        Some(c)
    }

    /// Skips text that is known to come next.
    fn skip(&mut self, text: &str) {
        for _ in text.chars() {
            self.advance();
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) -> usize {
        let mut skipped = 0;
        while self.rest.starts_with(&wanted) {
            self.advance();
            skipped += 1;
        }
        skipped
    }

    /// Reads the indentation of a line. Blank lines and comments do not change it.
    fn indentation(&mut self) -> Result<(), ScriptError> {
        let width = self.skip_while(|c| c == ' ');
        let position = self.position;
        if self.rest.starts_with('\t') {
            return Err(ScriptError::new(
                position,
                "indentation must be made of spaces",
            ));
        }
        let blank = self.rest.trim_start_matches('\r').starts_with(['\n', '#']);
        if blank || self.rest.trim_start().is_empty() {
            return Ok(());
        }
        if width > self.indents.last().copied().unwrap_or(0) {
            self.indents.push(width);
            self.push(TokenKind::Indent, position);
            return Ok(());
        }
        while self.indents.last().is_some_and(|open| *open > width) {
            self.indents.pop();
            self.push(TokenKind::Dedent, position);
        }
        if self.indents.last() != Some(&width) {
            return Err(ScriptError::new(
                position,
                "indentation does not match any open block",
            ));
        }
        Ok(())
    }

    fn token(&mut self, c: char) -> Result<TokenKind, ScriptError> {
        if let Some(prefix) = string_prefix(self.rest) {
            self.skip(prefix);
            return self.string(prefix.contains('r'), prefix.contains('f'));
        }
        if c.is_ascii_digit() {
            return self.number();
        }
        if c.is_alphabetic() || c == '_' {
            return Ok(TokenKind::Name(self.name()));
        }
        match SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
            Some(sign) => {
                self.skip(sign);
                match *sign {
                    "(" | "[" | "{" => self.open += 1,
                    ")" | "]" | "}" => self.open = self.open.saturating_sub(1),
                    _ => {}
                }
                Ok(TokenKind::Sign(sign))
            }
            None => Err(ScriptError::new(
                self.position,
                format!("unexpected character {c:?}"),
            )),
        }
    }

    fn name(&mut self) -> String {
        let start = self.rest;
        self.skip_while(|c| c.is_alphanumeric() || c == '_');
        start[..start.len() - self.rest.len()].to_owned()
    }

    fn number(&mut self) -> Result<TokenKind, ScriptError> {
        let position = self.position;
        self.name()
            .parse()
            .map(TokenKind::Number)
            .map_err(|_| ScriptError::new(position, "only whole decimal numbers are known"))
    }

    /// Reads a string after its prefix.
    fn string(&mut self, raw: bool, formatted: bool) -> Result<TokenKind, ScriptError> {
        let start = self.position;
        let unfinished = || ScriptError::new(start, "string is not closed");
        let quote = self.advance().ok_or_else(unfinished)?;
        let triple: String = [quote, quote].iter().collect();
        let triple = self.rest.starts_with(&triple);
        let closing = if triple {
            quote.to_string().repeat(3)
        } else {
            quote.to_string()
        };
        if triple {
            self.advance();
            self.advance();
        }
        let mut parts = Vec::new();
        let mut text = String::new();
        while !self.rest.starts_with(&closing) {
            let position = self.position;
            match self.advance().ok_or_else(unfinished)? {
                '\n' if !triple => return Err(unfinished()),
                '\\' if raw => {
                    text.push('\\');
                    text.extend(self.advance());
                }
                '\\' => self.escape(&mut text, position)?,
                '{' if formatted && self.rest.starts_with('{') => text.extend(self.advance()),
                '{' if formatted => {
                    parts.push(TextPart::Text(std::mem::take(&mut text)));
                    parts.push(self.field()?);
                }
                '}' if formatted => {
                    if self.advance() != Some('}') {
                        return Err(ScriptError::new(
                            position,
                            "a lone `}` is written `}}` in an f-string",
                        ));
                    }
                    text.push('}');
                }
                c => text.push(c),
            }
        }
        self.skip(&closing);
        parts.push(TextPart::Text(text));
        Ok(TokenKind::Text(parts))
    }

    /// Reads a name in braces inside an f-string.
    fn field(&mut self) -> Result<TextPart, ScriptError> {
        let position = self.position;
        let name = self.name();
        if name.is_empty()
            || name.starts_with(|c: char| c.is_ascii_digit())
            || self.advance() != Some('}')
        {
            return Err(ScriptError::new(
                position,
                "braces of an f-string may hold only a name",
            ));
        }
        Ok(TextPart::Name(name, position))
    }

    /// Reads an escape sequence after its backslash.
    fn escape(&mut self, text: &mut String, position: SourcePosition) -> Result<(), ScriptError> {
        let bad = || ScriptError::new(position, "invalid escape in string");
        let c = self.advance().ok_or_else(bad)?;
        let (digits, radix) = match c {
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='7' => {
                let more = self
                    .rest
                    .chars()
                    .take(2)
                    .take_while(|c| ('0'..='7').contains(c))
                    .count();
                let value = self
                    .digits(more, 8, c.to_digit(8).unwrap_or(0))
                    .ok_or_else(bad)?;
                text.push(value);
                return Ok(());
            }
            _ => {
                match c {
                    '\n' => {}
                    'a' => text.push('\x07'),
                    'b' => text.push('\x08'),
                    'f' => text.push('\x0c'),
                    'n' => text.push('\n'),
                    'r' => text.push('\r'),
                    't' => text.push('\t'),
                    'v' => text.push('\x0b'),
                    '\\' | '\'' | '"' => text.push(c),
                    other => text.extend(['\\', other]),
                }
                return Ok(());
            }
        };
        text.push(self.digits(digits, radix, 0).ok_or_else(bad)?);
        Ok(())
    }

    fn digits(&mut self, count: usize, radix: u32, mut value: u32) -> Option<char> {
        for _ in 0..count {
            value = value
                .checked_mul(radix)?
                .checked_add(self.advance()?.to_digit(radix)?)?;
        }
        char::from_u32(value)
    }
}

/// The prefix of a string literal (`r`, `f`), or none if no string begins here.
fn string_prefix(rest: &str) -> Option<&'static str> {
    ["rf", "fr", "r", "f", ""].into_iter().find(|prefix| {
        rest.strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(['"', '\'']))
    })
}
