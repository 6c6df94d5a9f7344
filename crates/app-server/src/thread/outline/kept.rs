//! The outlines that are kept: of recently used threads in memory, of large files in the home folder.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;

use codex_rollout::RolloutChain;
use parking_lot::Mutex;

use super::Outline;
use super::folder::OutlineFolder;
use super::version::FileVersion;

/// The number of outlines in memory.
const KEPT: usize = 8;
/// The outline of a smaller file is made faster than it is read, so it is not stored. A stored one is renewed when its
/// file has grown by this.
const STORED_FROM: u64 = 4 * 1024 * 1024;

/// Recently used outlines.
#[derive(Debug, Default)]
pub(crate) struct Outlines {
    kept: Mutex<VecDeque<KeptOutline>>,
    folder: Option<OutlineFolder>,
}

#[derive(Debug)]
struct KeptOutline {
    outline: Arc<Outline>,
    /// The length of the file when its outline was stored.
    stored: u64,
}

impl Outlines {
    /// Those of the threads of a home folder.
    pub(crate) fn of_home(home: &Path) -> Self {
        Self {
            folder: Some(OutlineFolder::of_home(home)),
            ..Self::default()
        }
    }

    /// The current outline of a file. If the file has changed, what changed is read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn get(&self, path: &Path) -> io::Result<Arc<Outline>> {
        let file = codex_regular_file::open(path)?;
        let version = FileVersion::of(&file)?;
        let known = self.take(path).or_else(|| self.stored(path));
        let mut kept = match known {
            Some(kept) if kept.outline.version == version => kept,
            Some(kept) if kept.outline.version.is_continued_by(&version, &file)? => {
                let outline = Arc::unwrap_or_clone(kept.outline);
                let chain = RolloutChain::open(path)?;
                let outline = match outline.extended(version, &chain)? {
                    Some(outline) => outline,
                    None => Outline::read(path, version, &chain)?,
                };
                KeptOutline {
                    outline: Arc::new(outline),
                    stored: kept.stored,
                }
            }
            _ => KeptOutline {
                outline: Arc::new(Outline::read(path, version, &RolloutChain::open(path)?)?),
                stored: 0,
            },
        };
        let outline = Arc::clone(&kept.outline);
        self.store(&mut kept);
        self.keep(kept);
        Ok(outline)
    }

    /// Adds an outline that was made while its file was read.
    pub(crate) fn add(&self, outline: Option<Outline>) {
        let Some(outline) = outline else {
            return;
        };
        let known = self.take(&outline.file);
        let mut kept = KeptOutline {
            stored: known.map_or(0, |known| known.stored),
            outline: Arc::new(outline),
        };
        self.store(&mut kept);
        self.keep(kept);
    }

    fn keep(&self, kept: KeptOutline) {
        let mut all = self.kept.lock();
        all.truncate(KEPT - 1);
        all.push_front(kept);
    }

    fn take(&self, path: &Path) -> Option<KeptOutline> {
        let mut kept = self.kept.lock();
        let known = kept.iter().position(|kept| kept.outline.file == path)?;
        kept.remove(known)
    }

    fn stored(&self, path: &Path) -> Option<KeptOutline> {
        let outline = self.folder.as_ref()?.read(path)?;
        Some(KeptOutline {
            stored: outline.length,
            outline: Arc::new(outline),
        })
    }

    fn store(&self, kept: &mut KeptOutline) {
        let Some(folder) = &self.folder else {
            return;
        };
        let outline = &kept.outline;
        // The outline of a thread that continues another file depends on that file too.
        let is_one_file = outline.length == outline.version.length;
        if is_one_file && outline.length >= kept.stored + STORED_FROM {
            kept.stored = outline.length;
            if let Err(error) = folder.write(outline) {
                tracing::debug!(%error, "the outline of a thread is not stored");
            }
        }
    }
}
