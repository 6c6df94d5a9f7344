//! The parsed patch: hunks in order, with paths as written.

/// A parsed patch. It may be empty; verification rejects that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub(crate) hunks: Vec<Hunk>,
}

impl Patch {
    /// A patch that writes one file, which may exist.
    #[must_use]
    pub fn new_file(path: &str, content: String) -> Self {
        Self {
            hunks: vec![Hunk::Add {
                path: path.to_owned(),
                content,
            }],
        }
    }

    /// All paths as they are written.
    pub fn named_paths(&self) -> impl Iterator<Item = &str> {
        self.hunks
            .iter()
            .flat_map(|hunk| match hunk {
                Hunk::Add { path, .. } | Hunk::Delete { path } => [Some(path.as_str()), None],
                Hunk::Update { path, move_to, .. } => [Some(path.as_str()), move_to.as_deref()],
            })
            .flatten()
    }
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hunk {
    Add {
        path: String,
        content: String,
    },
    Delete {
        path: String,
    },
    /// Without chunks this is a rename, and `move_to` is set.
    Update {
        path: String,
        move_to: Option<String>,
        chunks: Vec<Chunk>,
    },
}

/// A change at one position in a file, found by its contexts and old lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The texts after `@@`. Each is searched below the one before.
    pub(crate) contexts: Vec<String>,
    pub(crate) lines: Vec<ChunkLine>,
    /// Whether the old lines must be at the end of the file.
    pub(crate) at_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChunkLine {
    Context(String),
    Remove(String),
    Add(String),
}

impl ChunkLine {
    /// The line in the old file, if any.
    pub(crate) fn old_text(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }

    /// The line in the new file, if any.
    pub(crate) fn new_text(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Add(text) => Some(text),
            Self::Remove(_) => None,
        }
    }
}
