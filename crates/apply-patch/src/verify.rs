//! Verifies a patch against files without changing them.
//!
//! Hunks are verified in order, each against the result of the previous ones. What can only be known by trying (such as
//! write permission) is left to applying.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{FileProblem, PatchCaller, VerifyError};
use crate::files::{FileAccess, FileEntry, NO_SUCH_FILE, into_text};
use crate::net_changes::NetChanges;
use crate::overlay::Overlay;
use crate::patch::{Chunk, Hunk, Patch};
use crate::plan::{NewState, PatchPlan, SummaryMark};
use crate::replace::replace;
use crate::resolve::{LastLink, ResolvedPath, resolve};

impl Patch {
    /// Verifies the patch. Relative paths start at `cwd`, which must be absolute.
    pub fn verify(
        &self,
        cwd: &Path,
        files: &dyn FileAccess,
        caller: PatchCaller,
    ) -> Result<PatchPlan, VerifyError> {
        if self.hunks.is_empty() {
            return Err(VerifyError::Empty);
        }
        let mut verifier = Verifier {
            caller,
            overlay: Overlay::new(files),
            net: NetChanges::default(),
            summary: Vec::new(),
        };
        for hunk in &self.hunks {
            verifier.hunk(hunk, cwd)?;
        }
        Ok(verifier.finish())
    }
}

struct Verifier<'a> {
    caller: PatchCaller,
    overlay: Overlay<'a>,
    net: NetChanges,
    summary: Vec<(SummaryMark, String)>,
}

/// A path of the patch: as written, and absolute.
struct PatchPath<'p> {
    written: &'p str,
    path: PathBuf,
}

impl<'p> PatchPath<'p> {
    fn new(written: &'p str, cwd: &Path) -> Self {
        let path = cwd.join(written);
        Self { written, path }
    }

    /// Adds this path to an error.
    fn failed<T>(&self, result: Result<T, FileProblem>) -> Result<T, VerifyError> {
        result.map_err(|problem| VerifyError::File {
            written: self.written.to_owned(),
            path: self.path.clone(),
            problem,
        })
    }
}

impl Verifier<'_> {
    fn hunk(&mut self, hunk: &Hunk, cwd: &Path) -> Result<(), VerifyError> {
        match hunk {
            Hunk::Add { path, content } => {
                let file = PatchPath::new(path, cwd);
                let done = self.add(&file, content).map_err(FileProblem::Write);
                file.failed(done)
            }
            Hunk::Delete { path } => {
                let file = PatchPath::new(path, cwd);
                let done = self.delete(&file);
                file.failed(done)
            }
            Hunk::Update {
                path,
                move_to,
                chunks,
            } => {
                let file = PatchPath::new(path, cwd);
                let destination = move_to.as_deref().map(|path| PatchPath::new(path, cwd));
                self.update(&file, destination.as_ref(), chunks)
            }
        }
    }

    fn finish(self) -> PatchPlan {
        let (steps, folders) = self.overlay.finish();
        PatchPlan {
            changes: self.net.finish(),
            summary: self.summary,
            folders,
            steps,
        }
    }

    fn resolve(&self, file: &PatchPath<'_>, last_link: LastLink) -> io::Result<ResolvedPath> {
        resolve(&self.overlay, &file.path, last_link)
    }

    fn add(&mut self, file: &PatchPath<'_>, content: &str) -> io::Result<()> {
        let place = self.resolve(file, LastLink::Follow)?;
        let overwritten = match self.overlay.entry(&place.path)? {
            FileEntry::File => self.overlay.read(&place.path).ok().map(lossy),
            _ => None,
        };
        let like = self.overlay.like(&place.path);
        let content_bytes = content.as_bytes().to_owned();
        self.write(
            file,
            place,
            NewState::File {
                content: content_bytes,
                like,
            },
            None,
        )?;
        self.net.add(&file.path, overwritten, content.to_owned());
        self.summary
            .push((SummaryMark::Added, file.written.to_owned()));
        Ok(())
    }

    fn delete(&mut self, file: &PatchPath<'_>) -> Result<(), FileProblem> {
        let content = self
            .resolve(file, LastLink::Follow)
            .and_then(|target| self.overlay.read(&target.path));
        let content = match self.caller {
            PatchCaller::Tool => content.and_then(into_text).map_err(FileProblem::Read)?,
            PatchCaller::Program => content.map(lossy).unwrap_or_default(),
        };
        self.remove(file, NewState::Deleted)
            .map_err(FileProblem::Delete)?;
        self.net.delete(&file.path, content);
        self.summary
            .push((SummaryMark::Deleted, file.written.to_owned()));
        Ok(())
    }

    /// Removes the path itself: a link, not its target.
    fn remove(&mut self, file: &PatchPath<'_>, after: NewState) -> io::Result<()> {
        let place = self.resolve(file, LastLink::Keep)?.path;
        let seen = match self.overlay.entry(&place)? {
            FileEntry::Missing => return Err(io::Error::from_raw_os_error(NO_SUCH_FILE)),
            FileEntry::Folder => return Err(io::ErrorKind::IsADirectory.into()),
            FileEntry::File => self.overlay.read(&place).ok(),
            FileEntry::Link(_) | FileEntry::Other => None,
        };
        self.overlay.set(&place, file.written, after, seen)
    }

    fn update(
        &mut self,
        file: &PatchPath<'_>,
        destination: Option<&PatchPath<'_>>,
        chunks: &[Chunk],
    ) -> Result<(), VerifyError> {
        let (source, old, new) = file.failed(self.new_content(file, chunks))?;
        let target = destination.unwrap_or(file);
        let same_place = self.is_same_place(file, target).map_err(FileProblem::Write);
        let moves = !target.failed(same_place)?;
        let shown_at = if moves { &target.path } else { &file.path };
        self.net
            .update(&file.path, shown_at, lossy(old.clone()), lossy(new.clone()));
        self.summary
            .push((SummaryMark::Modified, target.written.to_owned()));
        let written = self.write_updated(target, &source, old, new);
        target.failed(written.map_err(FileProblem::Write))?;
        if moves {
            let moved = self.remove(file, NewState::MovedAway);
            file.failed(moved.map_err(FileProblem::RemoveOriginal))?;
        }
        Ok(())
    }

    /// Whether the target is the same file under any name, so that the move changes nothing.
    fn is_same_place(&self, file: &PatchPath<'_>, target: &PatchPath<'_>) -> io::Result<bool> {
        let own = self.resolve(file, LastLink::Keep)?;
        for last_link in [LastLink::Keep, LastLink::Follow] {
            if self.resolve(target, last_link)?.path == own.path {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write_updated(
        &mut self,
        target: &PatchPath<'_>,
        source: &Path,
        old: Vec<u8>,
        new: Vec<u8>,
    ) -> io::Result<()> {
        let place = self.resolve(target, LastLink::Follow)?;
        let like = self.overlay.like(source);
        let seen = (place.path == source).then_some(old);
        self.write(target, place, NewState::File { content: new, like }, seen)
    }

    /// The real path of an updated file, its old content and its new content.
    fn new_content(
        &self,
        file: &PatchPath<'_>,
        chunks: &[Chunk],
    ) -> Result<(PathBuf, Vec<u8>, Vec<u8>), FileProblem> {
        let source = self
            .resolve(file, LastLink::Follow)
            .map_err(FileProblem::ReadForUpdate)?
            .path;
        let old = self
            .overlay
            .read(&source)
            .map_err(FileProblem::ReadForUpdate)?;
        if chunks.is_empty() {
            return Ok((source, old.clone(), old));
        }
        let text = into_text(old).map_err(FileProblem::ReadForUpdate)?;
        let new = replace(&text, chunks)?;
        Ok((source, text.into_bytes(), new.into_bytes()))
    }

    fn write(
        &mut self,
        file: &PatchPath<'_>,
        place: ResolvedPath,
        after: NewState,
        seen: Option<Vec<u8>>,
    ) -> io::Result<()> {
        self.overlay
            .make_folders(place.missing_folders, file.written);
        self.overlay.set(&place.path, file.written, after, seen)
    }
}

fn lossy(content: Vec<u8>) -> String {
    String::from_utf8(content)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
