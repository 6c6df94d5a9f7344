//! Playing a patch against files without changing them.
//!
//! Hunks are taken in order, each against what the ones before it leave. What cannot be known before trying (whether a
//! place may be written) is left to applying.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Door, FileProblem, VerifyError};
use crate::files::{Entry, Files, NO_SUCH_FILE, into_text};
use crate::net::NetChanges;
use crate::overlay::Overlay;
use crate::patch::{Chunk, Hunk, Patch};
use crate::plan::{After, Mark, Plan};
use crate::replace::replace;
use crate::resolve::{LastLink, Resolved, resolve};

impl Patch {
    /// Fits the patch to the files. Relative paths start at `cwd`, which is absolute.
    pub fn verify(&self, cwd: &Path, files: &dyn Files, door: Door) -> Result<Plan, VerifyError> {
        if self.hunks.is_empty() {
            return Err(VerifyError::Empty);
        }
        let mut verifier = Verifier {
            door,
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
    door: Door,
    overlay: Overlay<'a>,
    net: NetChanges,
    summary: Vec<(Mark, String)>,
}

/// A path of the patch: as spelled, and made absolute.
struct Named<'p> {
    written: &'p str,
    path: PathBuf,
}

impl<'p> Named<'p> {
    fn new(written: &'p str, cwd: &Path) -> Self {
        let path = cwd.join(written);
        Self { written, path }
    }

    /// Names this file in an error.
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
                let file = Named::new(path, cwd);
                let done = self.add(&file, content).map_err(FileProblem::Write);
                file.failed(done)
            }
            Hunk::Delete { path } => {
                let file = Named::new(path, cwd);
                let done = self.delete(&file);
                file.failed(done)
            }
            Hunk::Update {
                path,
                move_to,
                chunks,
            } => {
                let file = Named::new(path, cwd);
                let destination = move_to.as_deref().map(|path| Named::new(path, cwd));
                self.update(&file, destination.as_ref(), chunks)
            }
        }
    }

    fn finish(self) -> Plan {
        let (steps, folders) = self.overlay.finish();
        Plan {
            changes: self.net.finish(),
            summary: self.summary,
            folders,
            steps,
        }
    }

    fn resolve(&self, file: &Named<'_>, last_link: LastLink) -> io::Result<Resolved> {
        resolve(&self.overlay, &file.path, last_link)
    }

    fn add(&mut self, file: &Named<'_>, content: &str) -> io::Result<()> {
        let place = self.resolve(file, LastLink::Follow)?;
        let overwritten = match self.overlay.entry(&place.path)? {
            Entry::File => self.overlay.read(&place.path).ok().map(lossy),
            _ => None,
        };
        let like = self.overlay.like(&place.path);
        let content_bytes = content.as_bytes().to_owned();
        self.write(
            file,
            place,
            After::File {
                content: content_bytes,
                like,
            },
            None,
        )?;
        self.net.add(&file.path, overwritten, content.to_owned());
        self.summary.push((Mark::Added, file.written.to_owned()));
        Ok(())
    }

    fn delete(&mut self, file: &Named<'_>) -> Result<(), FileProblem> {
        let content = self
            .resolve(file, LastLink::Follow)
            .and_then(|target| self.overlay.read(&target.path));
        let content = match self.door {
            Door::Tool => content.and_then(into_text).map_err(FileProblem::Read)?,
            Door::Program => content.map(lossy).unwrap_or_default(),
        };
        self.remove(file, After::Deleted)
            .map_err(FileProblem::Delete)?;
        self.net.delete(&file.path, content);
        self.summary.push((Mark::Deleted, file.written.to_owned()));
        Ok(())
    }

    /// Takes away what stands at the path itself: a link, not its target.
    fn remove(&mut self, file: &Named<'_>, after: After) -> io::Result<()> {
        let place = self.resolve(file, LastLink::Keep)?.path;
        let seen = match self.overlay.entry(&place)? {
            Entry::Missing => return Err(io::Error::from_raw_os_error(NO_SUCH_FILE)),
            Entry::Folder => return Err(io::ErrorKind::IsADirectory.into()),
            Entry::File => self.overlay.read(&place).ok(),
            Entry::Link(_) | Entry::Other => None,
        };
        self.overlay.set(&place, file.written, after, seen)
    }

    fn update(
        &mut self,
        file: &Named<'_>,
        destination: Option<&Named<'_>>,
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
            .push((Mark::Modified, target.written.to_owned()));
        let written = self.write_updated(target, &source, old, new);
        target.failed(written.map_err(FileProblem::Write))?;
        if moves {
            let moved = self.remove(file, After::MovedAway);
            file.failed(moved.map_err(FileProblem::RemoveOriginal))?;
        }
        Ok(())
    }

    /// Whether the target is the file itself, under whatever name: moving a file onto itself moves nothing.
    fn is_same_place(&self, file: &Named<'_>, target: &Named<'_>) -> io::Result<bool> {
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
        target: &Named<'_>,
        source: &Path,
        old: Vec<u8>,
        new: Vec<u8>,
    ) -> io::Result<()> {
        let place = self.resolve(target, LastLink::Follow)?;
        let like = self.overlay.like(source);
        let seen = (place.path == source).then_some(old);
        self.write(target, place, After::File { content: new, like }, seen)
    }

    /// Where an updated file really is, what it holds, and what it will hold.
    fn new_content(
        &self,
        file: &Named<'_>,
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
        file: &Named<'_>,
        place: Resolved,
        after: After,
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
