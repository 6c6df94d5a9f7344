//! The patch as it was written: hunks in order, paths as spelled, nothing looked up yet.

/// A parsed patch. It may be empty: that is refused when it is verified, not when it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub(crate) hunks: Vec<Hunk>,
}

/// What happens to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hunk {
    Add {
        path: String,
        content: String,
    },
    Delete {
        path: String,
    },
    /// Without chunks it is a bare rename, so then `move_to` is there.
    Update {
        path: String,
        move_to: Option<String>,
        chunks: Vec<Chunk>,
    },
}

/// One place in a file, found by its contexts and its old lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The texts after `@@`; several narrow the place step by step.
    pub(crate) contexts: Vec<String>,
    pub(crate) lines: Vec<ChunkLine>,
    /// The old lines are the last ones of the file.
    pub(crate) at_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChunkLine {
    Context(String),
    Remove(String),
    Add(String),
}

impl ChunkLine {
    /// The text that the file must have, if any.
    pub(crate) fn old_text(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }

    /// The text that the file will have, if any.
    pub(crate) fn new_text(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Add(text) => Some(text),
            Self::Remove(_) => None,
        }
    }
}
