//! Reduces a bundle while it is written: each poll reads what was added to the log since the last one.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::format::{LOG_FILE, RolloutStatus};
use crate::ids::{EdgeId, ItemId, ThreadId};
use crate::model::{ConversationItem, InteractionEdge, RolloutTrace};
use crate::reduce::{
    Changes, Problems, Reducer, Reduction, ReplayError, Strictness, read_line, read_manifest,
};

/// So much of the log is read with one poll.
const MOST_PER_POLL: u64 = 64 << 20;

/// A bundle that may still be written.
pub struct BundleFollower {
    bundle: PathBuf,
    reducer: Reducer,
    /// The bytes of the log that were read.
    offset: u64,
    lines: u64,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl BundleFollower {
    /// Opens a bundle. Its log need not be there yet.
    ///
    /// # Errors
    /// There is no bundle, or it has an unknown schema.
    pub fn open(bundle: &Path) -> Result<Self, ReplayError> {
        let manifest = read_manifest(bundle)?;
        Ok(Self {
            bundle: bundle.to_owned(),
            reducer: Reducer::new(bundle, manifest, Strictness::Lenient),
            offset: 0,
            lines: 0,
            partial: Vec::new(),
        })
    }

    /// Reads the complete lines that were added. Returns whether there were any.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn poll(&mut self) -> Result<bool, ReplayError> {
        let mut added = Vec::new();
        self.read_added(&mut added)
            .map_err(|source| ReplayError::ReadLog {
                path: self.bundle.join(LOG_FILE),
                source,
            })?;
        let before = self.lines;
        let text = [std::mem::take(&mut self.partial), added].concat();
        let mut rest = text.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.lines += 1;
            read_line(&mut self.reducer, self.lines, &rest[..end])?;
            rest = &rest[end + 1..];
        }
        self.partial = rest.to_vec();
        Ok(self.lines > before)
    }

    fn read_added(&mut self, added: &mut Vec<u8>) -> io::Result<()> {
        let mut file = match codex_regular_file::open_inside(&self.bundle, Path::new(LOG_FILE)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += file.take(MOST_PER_POLL).read_to_end(added)? as u64;
        Ok(())
    }

    /// Whether the log has its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let trace = self.reducer.trace();
        trace.status != RolloutStatus::Running && trace.recording_complete != Some(false)
    }

    /// Notes what changes from now on.
    pub fn track(&mut self) {
        self.reducer.track();
    }

    /// What changed since the last time.
    pub fn take_changes(&mut self) -> Changes {
        self.reducer.take_changes()
    }

    /// The graph of what was read, without the items of conversations and without edges.
    #[must_use]
    pub fn graph(&self) -> &RolloutTrace {
        self.reducer.trace()
    }

    /// An item of a conversation.
    #[must_use]
    pub fn item(&self, id: ItemId) -> Option<&ConversationItem> {
        self.reducer.item(id)
    }

    /// How many items a thread lists.
    #[must_use]
    pub fn listed_items(&self, thread: &ThreadId) -> usize {
        self.reducer.listed_items(thread)
    }

    /// An edge between agents, if it is known by now where it leads.
    #[must_use]
    pub fn edge(&self, id: &EdgeId) -> Option<InteractionEdge> {
        self.reducer.edge(id)
    }

    /// The graph of what was read.
    #[must_use]
    pub fn snapshot(&self) -> RolloutTrace {
        self.reducer.snapshot()
    }

    /// What is wrong with what was read. Payload files that no event needs are checked at the end.
    #[must_use]
    pub fn problems(&self) -> &Problems {
        self.reducer.problems()
    }

    /// The final reduction, with all checks.
    ///
    /// # Errors
    /// As for a whole bundle.
    pub fn finish(mut self) -> Result<Reduction, ReplayError> {
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            read_line(&mut self.reducer, self.lines + 1, &line)?;
        }
        self.reducer.finish()
    }
}

impl std::fmt::Debug for BundleFollower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BundleFollower")
            .field("bundle", &self.bundle)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}
