//! Commands of which some words may be unknown.

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CommandWord {
    Fixed(String),
    /// Computed at run time or read from input. It may expand to any number of words.
    Unknown,
}

impl CommandWord {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Fixed(text) => Some(text),
            Self::Unknown => None,
        }
    }
}

/// A script or command that may be started and must be analyzed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum LaunchTarget {
    Script(String),
    Command(Vec<CommandWord>),
}

impl LaunchTarget {
    /// The approximate memory size.
    pub(crate) fn size(&self) -> usize {
        let word =
            |token: &CommandWord| size_of::<CommandWord>() + token.text().map_or(0, str::len);
        match self {
            Self::Script(script) => script.len(),
            Self::Command(tokens) => tokens.iter().map(word).sum(),
        }
    }
}
