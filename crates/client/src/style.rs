//! Text styles for terminals. Only the sixteen basic colours, which are readable on every background.

/// Whether text has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colours.
    Plain,
    /// Colours of the terminal.
    Colour,
}

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Heading,
    Bold,
    Dim,
    Good,
    Bad,
    Question,
    Code,
}

impl Style {
    pub(crate) fn mark(self, mark: Mark, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("{}{text}{RESET}", mark.code()),
        }
    }
}

pub(crate) const RESET: &str = "\x1b[0m";

impl Mark {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Heading => "\x1b[1;36m",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Good => "\x1b[32m",
            Self::Bad => "\x1b[31m",
            Self::Question => "\x1b[1;33m",
            Self::Code => "\x1b[36m",
        }
    }
}
