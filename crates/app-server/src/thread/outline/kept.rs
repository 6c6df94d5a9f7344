//! The outlines that are kept: of recently used threads in memory, of large files in the home folder.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use codex_projection::Turns;
use codex_projection::dialect::StoredForm;
use codex_rollout::RolloutChain;
use parking_lot::Mutex;

use super::Outline;
use super::folder::OutlineFolder;
use super::turn_folder::{StoredJson, TurnFolder};
use super::version::FileVersion;

/// The number of outlines in memory.
const MAX_OUTLINES: usize = 8;
/// The outline of a smaller file is made faster than it is read, so it is not stored. A stored one is renewed when its
/// file has grown by this.
const STORED_FROM: u64 = if cfg!(test) { 1 } else { 4 * 1024 * 1024 };

/// Recently used outlines.
#[derive(Debug, Default)]
pub(crate) struct Outlines {
    kept: Mutex<VecDeque<KeptOutline>>,
    folder: Option<OutlineFolder>,
    turns: Option<TurnFolder>,
    /// Stores turns. One thread does at a time.
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// The turns of a file, most of which were stored, and its outline.
#[derive(Debug)]
pub(crate) struct ShownTurns {
    pub(crate) turns: Turns,
    pub(crate) outline: Arc<Outline>,
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
            turns: Some(TurnFolder::of_home(home)),
            ..Self::default()
        }
    }

    /// The current outline of a file. If the file has changed, what changed is read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn get(&self, path: &Path) -> io::Result<Arc<Outline>> {
        let file = codex_regular_file::open(path)?;
        let version = FileVersion::read(&file)?;
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

    /// Adds an outline that was made while its file was read, and the turns of the file.
    pub(crate) fn add(&self, outline: Option<Outline>, form: StoredForm, turns: &Turns) {
        let Some(outline) = outline else {
            return;
        };
        let known = self.take(&outline.file);
        let mut kept = KeptOutline {
            stored: known.map_or(0, |known| known.stored),
            outline: Arc::new(outline),
        };
        self.store(&mut kept);
        self.store_turns(&kept.outline, form, turns);
        self.keep(kept);
    }

    /// Whether turns of this file are stored. They may be those of an earlier state of it.
    pub(crate) fn has_turns(&self, path: &Path) -> bool {
        self.turns.as_ref().is_some_and(|folder| folder.has(path))
    }

    /// The turns of a file if most of them are stored. None if the turn that runs, given by its id, is one of those.
    pub(crate) fn turns(
        &self,
        path: &Path,
        form: StoredForm,
        running: Option<&str>,
    ) -> Option<ShownTurns> {
        let folder = self.turns.as_ref().filter(|folder| folder.has(path))?;
        let outline = self.get(path).ok()?;
        let StoredJson {
            turns,
            json,
            length,
        } = folder.read(&outline, form)?;
        if running.is_some_and(|running| outline.ids().take(turns).any(|id| id == running)) {
            return None;
        }
        let others = outline.turns(turns..outline.ids().len(), form).ok()?;
        let turns = others.after(json);
        if outline.length >= length + STORED_FROM {
            self.store_turns(&outline, form, &turns);
        }
        Some(ShownTurns { turns, outline })
    }

    /// Whether this is still the outline of its file.
    pub(crate) fn is_current(&self, outline: &Arc<Outline>) -> bool {
        let now = self.get(&outline.file);
        now.is_ok_and(|now| Arc::ptr_eq(&now, outline))
    }

    /// Deletes what is stored about a file.
    pub(crate) fn forget(&self, path: &Path) {
        drop(self.take(path));
        if let Some(folder) = &self.folder {
            folder.remove(path);
        }
        if let Some(folder) = &self.turns {
            folder.remove(path);
        }
    }

    fn keep(&self, kept: KeptOutline) {
        let mut all = self.kept.lock();
        all.truncate(MAX_OUTLINES - 1);
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
        if is_one_file(outline) && outline.length >= kept.stored + STORED_FROM {
            kept.stored = outline.length;
            if let Err(error) = folder.write(outline) {
                tracing::debug!(%error, "the outline of a thread is not stored");
            }
        }
    }

    /// Stores the turns of a large file, while the client gets them. Not if others are being stored.
    fn store_turns(&self, outline: &Arc<Outline>, form: StoredForm, turns: &Turns) {
        let Some(folder) = self.turns.clone() else {
            return;
        };
        if !is_one_file(outline) || outline.length < STORED_FROM {
            return;
        }
        let outline = Arc::clone(outline);
        let json = turns.all_but_last().map_err(io::Error::other);
        let write = move || {
            if let Err(error) = json.and_then(|json| folder.write(&outline, form, &json)) {
                tracing::debug!(%error, "the turns of a thread are not stored");
            }
        };
        let mut writer = self.writer.lock();
        if writer.as_ref().is_none_or(JoinHandle::is_finished) {
            let thread = std::thread::Builder::new().name("store turns".to_owned());
            *writer = thread.spawn(write).ok();
        }
    }

    /// Waits until turns are stored.
    #[cfg(test)]
    pub(super) fn wait_for_writer(&self) {
        if let Some(writer) = self.writer.lock().take() {
            let _ = writer.join();
        }
    }
}

/// The outline of a thread that continues another file depends on that file too.
fn is_one_file(outline: &Outline) -> bool {
    outline.length == outline.version.length
}
