//! Escapes of strings: finding, decoding and writing them.

use std::borrow::Cow;
use std::fmt::Write;

/// How a text between quotes compares with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// It is the content, which needs no escapes.
    None,
    /// It is what a compact text has.
    Canonical,
    /// It has escapes that a compact text does not have.
    Other,
    /// It is the content, which may need escapes: no text between quotes.
    Missing,
}

/// A text as it stands between quotes: only quote, backslash and control characters are escaped.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let mut run = plain_run(text.as_bytes(), 0);
    if run == text.len() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut from = 0;
    while let Some(&byte) = text.as_bytes().get(run) {
        out.push_str(&text[from..run]);
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            // Writing to a string cannot fail.
            _ => drop(write!(out, "\\u{byte:04x}")),
        }
        from = run + 1;
        run = plain_run(text.as_bytes(), from);
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// The end of the bytes from `pos` that are neither quote, backslash nor control character.
///
/// Looks at eight bytes at a time: strings are most of a payload.
pub(super) fn plain_run(bytes: &[u8], mut pos: usize) -> usize {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS;
    while let Some(chunk) = bytes.get(pos..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = has_zero(word ^ (LOW_BITS * u64::from(b'"')));
        let backslash = has_zero(word ^ (LOW_BITS * u64::from(b'\\')));
        let control = word.wrapping_sub(LOW_BITS * 0x20) & !word & HIGH_BITS;
        let special = quote | backslash | control;
        if special != 0 {
            // Borrows only run upwards, so the lowest marked byte is a true one.
            return pos + (special.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    while let Some(&byte) = bytes.get(pos) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        pos += 1;
    }
    pos
}

pub(super) fn hex(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0_u16, |value, &digit| {
        let nibble = char::from(digit).to_digit(16)?;
        Some(value << 4 | nibble as u16)
    })
}

/// Decodes a string body whose escapes were checked by `raw_string`.
pub(crate) fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let escape = rest.as_bytes()[at + 1];
        let mut used = 2;
        match escape {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                used = decode_unicode(&rest.as_bytes()[at..], &mut out);
            }
            other => out.push(char::from(other)),
        }
        rest = &rest[at + used..];
    }
    out.push_str(rest);
    out
}

/// Decodes `\uXXXX` or a surrogate pair; returns the bytes used.
fn decode_unicode(bytes: &[u8], out: &mut String) -> usize {
    let unit = |at: usize| bytes.get(at + 2..at + 6).and_then(hex).unwrap_or_default();
    let first = unit(0);
    if (0xD800..0xDC00).contains(&first) {
        let pair = [first, unit(6)];
        out.extend(char::decode_utf16(pair).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        12
    } else {
        out.push(char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER));
        6
    }
}
