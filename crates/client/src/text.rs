//! Text of others, made fit for a terminal.

/// The text without what a terminal would take for a command. Tabs become spaces.
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

/// Marks that change the order in which text is shown, so that it reads otherwise than it is.
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
