//! Removes control sequences from untrusted text, for terminals.

/// The text without control and invisible characters. Tabs become spaces.
#[must_use]
pub fn harmless(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => harmless.push('\n'),
            '\t' => harmless.push_str("    "),
            '\r' => {}
            character if character.is_control() || is_invisible(character) => {
                harmless.push('\u{fffd}');
            }
            character => harmless.push(character),
        }
    }
    harmless
}

/// Characters that are invisible or change the direction of text.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_reaches_the_terminal() {
        for (text, expected) in [
            ("a\tb\r\nc", "a    b\nc"),
            ("\x1b[2J", "\u{fffd}[2J"),
            ("\u{9b}2J", "\u{fffd}2J"),
            ("a\u{202e}b", "a\u{fffd}b"),
            ("é 世", "é 世"),
        ] {
            assert_eq!(harmless(text), expected);
        }
    }
}
