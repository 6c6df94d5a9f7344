//! What is typed in a terminal of Windows.

use std::borrow::Cow;

/// The enter key writes a carriage return there. A line feed is another key, which ends no line.
pub(crate) fn as_typed(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.contains(&b'\n') {
        return Cow::Borrowed(bytes);
    }
    let mut typed = Vec::with_capacity(bytes.len());
    let mut before = 0;
    for &byte in bytes {
        match byte {
            b'\n' if before == b'\r' => {}
            b'\n' => typed.push(b'\r'),
            byte => typed.push(byte),
        }
        before = byte;
    }
    Cow::Owned(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lines_are_the_enter_key() {
        for (given, typed) in [
            ("", ""),
            ("abc", "abc"),
            ("a\nb\r\nc\r", "a\rb\rc\r"),
            ("\n\n", "\r\r"),
        ] {
            assert_eq!(as_typed(given.as_bytes()), typed.as_bytes(), "{given:?}");
        }
    }
}
