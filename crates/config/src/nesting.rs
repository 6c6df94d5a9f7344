//! Limits the nesting of settings.
//!
//! All code that traverses settings is recursive, from the parser to the destructor of a table, and a few kilobytes of
//! `a.a.a` would overflow the stack. Text is therefore measured before parsing, and JSON values while they are converted.

use serde::de::Error as _;
use toml::Table;

/// Limit on the names in a key path and on the levels of a value.
pub(crate) const MAX_DEPTH: usize = 32;

/// Limit on the levels of a whole text: a value of maximum depth at a key of maximum length.
const MAX_TEXT_DEPTH: usize = 2 * MAX_DEPTH;

/// Parses TOML whose nesting is within the limit.
///
/// # Errors
/// The text is no TOML, or is nested too deeply.
pub fn parse_table(text: &str) -> Result<Table, toml::de::Error> {
    if depth(text) > MAX_TEXT_DEPTH {
        let message = format!("nested more than {MAX_TEXT_DEPTH} levels deep");
        return Err(toml::de::Error::custom(message));
    }
    text.parse()
}

/// Whether the nesting of a text is within the limit.
pub(crate) fn is_shallow(text: &str) -> bool {
    depth(text) <= MAX_TEXT_DEPTH
}

/// The maximum nesting of a text. For invalid TOML the result may be any number that is at least the depth to which a
/// parser descends before it fails.
fn depth(text: &str) -> usize {
    let mut scan = NestingScanner::default();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'#' => after_comment(after),
            b'"' | b'\'' => after_string(rest, byte),
            _ => {
                scan.take(byte);
                after
            }
        };
    }
    scan.deepest
}

/// The state of a scan over a text.
#[derive(Default)]
struct NestingScanner {
    /// The levels of the last header.
    header: usize,
    /// The dots in the current key or header.
    dots: usize,
    /// For each open bracket, the levels outside it.
    open: Vec<usize>,
    is_in_header: bool,
    is_line_start: bool,
    has_begun: bool,
    deepest: usize,
}

impl NestingScanner {
    fn take(&mut self, byte: u8) {
        let is_line_start = self.is_line_start || !self.has_begun;
        self.has_begun = true;
        match byte {
            b'.' => self.dots += 1,
            b'[' if self.open.is_empty() && is_line_start => {
                self.is_in_header = true;
                self.is_line_start = false;
                (self.header, self.dots) = (0, 0);
                return;
            }
            b'[' if self.is_in_header => {}
            b'[' | b'{' => {
                self.open.push(self.levels());
                self.dots = 0;
            }
            b']' if self.is_in_header => {
                self.header = self.header.max(self.dots + 1);
                self.dots = 0;
            }
            b']' | b'}' => {
                self.open.pop();
                self.dots = 0;
            }
            b',' => self.dots = 0,
            b'\n' => {
                self.is_in_header = false;
                if self.open.is_empty() {
                    self.dots = 0;
                }
            }
            _ => {}
        }
        let is_blank = matches!(byte, b' ' | b'\t' | b'\r');
        self.is_line_start = byte == b'\n' || is_line_start && is_blank;
        self.deepest = self.deepest.max(self.levels());
    }

    fn levels(&self) -> usize {
        let outside = self.open.last().copied();
        outside.map_or(if self.is_in_header { 0 } else { self.header }, |outside| {
            outside + 1
        }) + self.dots
    }
}

fn after_comment(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == b'\n');
    end.map_or(&[], |end| &text[end..])
}

/// The text after a string that begins with `quote`. An unclosed string ends with its line, or with the text if it is a
/// multi-line string.
fn after_string(text: &[u8], quote: u8) -> &[u8] {
    let is_long = text.starts_with(&[quote; 3]);
    let mut at = if is_long { 3 } else { 1 };
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 1,
            b'\n' if !is_long => return &text[at..],
            _ if byte == quote && !is_long => return &text[at + 1..],
            _ if byte == quote && text[at..].starts_with(&[quote; 3]) => {
                let quotes = text[at..].iter().take(5).take_while(|byte| **byte == quote);
                return &text[at + quotes.count()..];
            }
            _ => {}
        }
        at += 1;
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: usize) {
        assert_eq!(depth(text), expected, "{text}");
    }

    #[test]
    fn levels_are_those_of_headers_keys_and_brackets() {
        check("", 0);
        check("a = 1\nb = 'x.y.z' # a.b.c\n", 0);
        check("a.b.c = 1\n", 2);
        check("[a.b]\nc = 1\n", 2);
        check("[a.b]\nc.d = [[1], { e.f = 2 }]\n", 6);
        check("[[a.b]]\nc = { d = 1 }\n", 3);
        check("a = [\n  [1],\n]\n[b]\nc = 1\n", 2);
        check("a = \"\"\"[[[\n\"[\\\"\"\"\"\nb = '''[[['''\n", 0);
        check("\"a.b\".c = 1\n'[[[' = 1\n", 1);
    }

    #[test]
    fn deeply_nested_toml_is_refused_before_parsing() {
        let deep = 100_000;
        let keys = "a.".repeat(deep);
        for text in [
            format!("{keys}a = 1"),
            format!("[{keys}a]"),
            format!("[[{keys}a]]"),
            format!("  [{keys}a]"),
            format!("x = {{ {keys}a = 1 }}"),
            format!("x = {}", "[".repeat(deep)),
            format!("x = {}", "{a=".repeat(deep)),
            format!("x = [\n{}", "[\n".repeat(deep)),
            "a . a\t. ".repeat(deep),
            format!("x = {}", "{a.a=[".repeat(deep)),
            format!("[{}", "[".repeat(deep)),
            format!("[{keys}"),
        ] {
            assert!(parse_table(&text).is_err());
            assert!(
                !is_shallow(&text) || text.starts_with("[[[["),
                "{}",
                &text[..20]
            );
        }
    }

    #[test]
    fn deepest_allowed_nesting_is_read_on_a_small_stack() {
        let work = || {
            let keys = "a.".repeat(MAX_DEPTH - 1);
            let arrays = ("[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
            let text = format!("[{keys}a]\nx = {}1{}\n", arrays.0, arrays.1);
            assert!(parse_table(&text).is_ok(), "{text}");
        };
        let thread = std::thread::Builder::new().stack_size(512 * 1024);
        thread.spawn(work).unwrap().join().unwrap();
    }
}
