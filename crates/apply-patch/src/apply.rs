//! Carrying out a plan: every step or none.
//!
//! New content is first staged in files beside their destinations, then put in place by renaming. Every act notes how
//! to take it back, so that the first failure puts everything back as it was. Files are replaced, never written
//! through: another hard link to an old file keeps the old content. Only being killed between two renames can leave a
//! patch half done, and then with every old file still there under a name of its own; a patch of one file is one rename.
//! Checks look at paths; acts go through folders that are held open ([`OpenFolders`]).

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ApplyError, FileProblem};
use crate::files::{Disk, Entry, Files};
use crate::place::{OpenFolders, Place};
use crate::plan::{After, Plan, Step};
use crate::resolve::{LastLink, resolve};

/// Applies the plan to the machine's own files. When it fails, nothing has changed.
///
/// A file that is no longer what was verified, or is now reached through another link, fails the whole plan.
pub fn apply(plan: &Plan) -> Result<(), ApplyError> {
    let mut transaction = Transaction::default();
    match transaction.run(plan) {
        Ok(()) => {
            transaction.keep();
            Ok(())
        }
        Err((written, problem)) => Err(ApplyError {
            written: written.to_owned(),
            problem,
            not_undone: transaction.undo(),
        }),
    }
}

/// How one act is taken back.
enum Undo {
    RemoveFolder(Place),
    RemoveFile(Place),
    PutBack { kept: Place, place: Place },
}

#[derive(Default)]
struct Transaction {
    folders: OpenFolders,
    undo: Vec<Undo>,
}

/// The path as written, and what went wrong with it.
type Failed<'p> = (&'p str, FileProblem);

impl Transaction {
    fn run<'p>(&mut self, plan: &'p Plan) -> Result<(), Failed<'p>> {
        for step in &plan.steps {
            check_unchanged(step).map_err(|problem| (step.written.as_str(), problem))?;
            check_replaceable(step).map_err(|error| write_failed(step, error))?;
        }
        let folders: HashSet<&Path> = plan.folders.iter().map(|f| f.path.as_path()).collect();
        // A file that gives way to a folder goes first; the other removals wait until all new content is safe on disk.
        let gives_way = |step: &&Step| {
            !matches!(step.after, After::File { .. }) && folders.contains(step.path.as_path())
        };
        let (giving_way, rest): (Vec<&Step>, Vec<&Step>) = plan.steps.iter().partition(gives_way);
        for step in giving_way {
            self.remove(step, false)?;
        }
        for folder in &plan.folders {
            self.make_folder(&folder.path)
                .map_err(|error| (folder.written.as_str(), FileProblem::CreateParents(error)))?;
        }
        let mut staged = Vec::with_capacity(rest.len());
        for step in rest {
            staged.push((step, self.stage(step).map_err(|e| write_failed(step, e))?));
        }
        let last = staged.len().saturating_sub(1);
        for (index, (step, staged)) in staged.into_iter().enumerate() {
            match staged {
                Some(staged) => self.put(step, &staged, index == last)?,
                None => self.remove(step, index == last)?,
            }
        }
        Ok(())
    }

    fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        let place = self.folders.place(path)?;
        match fs::create_dir(&place.at) {
            Ok(()) => self.undo.push(Undo::RemoveFolder(place)),
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes the new content of a step beside its destination; nothing for a removal.
    fn stage(&mut self, step: &Step) -> io::Result<Option<Place>> {
        let After::File { content, like } = &step.after else {
            return Ok(None);
        };
        let staged = free_name(&self.folders.place(&step.path)?)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&staged.at)?;
        self.undo.push(Undo::RemoveFile(staged.clone()));
        file.write_all(content)?;
        if let Ok(model) = fs::metadata(like) {
            take_after(&file, &model)?;
        }
        Ok(Some(staged))
    }

    /// Puts staged content in place. The last act needs no way back: if it fails it has done nothing.
    fn put<'p>(&mut self, step: &'p Step, staged: &Place, last: bool) -> Result<(), Failed<'p>> {
        self.swap_in(step, staged, last)
            .map_err(|error| write_failed(step, error))
    }

    fn swap_in(&mut self, step: &Step, staged: &Place, last: bool) -> io::Result<()> {
        let place = self.folders.place(&step.path)?;
        if last {
            return fs::rename(&staged.at, &place.at);
        }
        if step.before == Entry::Missing {
            fs::rename(&staged.at, &place.at)?;
            self.undo.push(Undo::RemoveFile(place));
            return Ok(());
        }
        let kept = free_name(&place)?;
        // A second name for the old content leaves no moment without the file; not every file system has links.
        fs::hard_link(&place.at, &kept.at).or_else(|_| fs::rename(&place.at, &kept.at))?;
        let undo = Undo::PutBack {
            kept,
            place: place.clone(),
        };
        self.undo.push(undo);
        fs::rename(&staged.at, &place.at)
    }

    fn remove<'p>(&mut self, step: &'p Step, last: bool) -> Result<(), Failed<'p>> {
        self.take_out(step, last).map_err(|error| {
            let problem = match step.after {
                After::MovedAway => FileProblem::RemoveOriginal(error),
                After::Deleted | After::File { .. } => FileProblem::Delete(error),
            };
            (step.written.as_str(), problem)
        })
    }

    fn take_out(&mut self, step: &Step, last: bool) -> io::Result<()> {
        let place = self.folders.place(&step.path)?;
        if last {
            return fs::remove_file(&place.at);
        }
        let kept = free_name(&place)?;
        fs::rename(&place.at, &kept.at)?;
        self.undo.push(Undo::PutBack { kept, place });
        Ok(())
    }

    /// All went well: lets go of what was kept.
    fn keep(self) {
        for undo in self.undo {
            if let Undo::PutBack { kept, .. } = undo {
                // What cannot be removed now does no harm but to take room.
                let _ = fs::remove_file(kept.at);
            }
        }
    }

    /// Puts everything back, newest act first. Returns what could not be.
    fn undo(self) -> Vec<(PathBuf, Option<PathBuf>)> {
        let mut left = Vec::new();
        for undo in self.undo.into_iter().rev() {
            match undo {
                Undo::RemoveFolder(place) => {
                    if !done_or_missing(fs::remove_dir(&place.at)) {
                        left.push((place.path, None));
                    }
                }
                Undo::RemoveFile(place) => {
                    if !done_or_missing(fs::remove_file(&place.at)) {
                        left.push((place.path, None));
                    }
                }
                Undo::PutBack { kept, place } => match fs::rename(&kept.at, &place.at) {
                    // Renaming one of two links to the same file onto the other leaves both.
                    Ok(()) => drop(fs::remove_file(kept.at)),
                    Err(_) => left.push((place.path, Some(kept.path))),
                },
            }
        }
        left
    }
}

fn write_failed(step: &Step, error: io::Error) -> Failed<'_> {
    (&step.written, FileProblem::Write(error))
}

fn done_or_missing(result: io::Result<()>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Whether the real path of a step still is one, and still holds what was verified.
fn check_unchanged(step: &Step) -> Result<(), FileProblem> {
    let now = || -> io::Result<bool> {
        Ok(
            resolve(&Disk, &step.path, LastLink::Keep)?.path == step.path
                && Disk.entry(&step.path)? == step.before
                && match &step.seen {
                    Some(seen) => Disk.read(&step.path)? == *seen,
                    None => true,
                },
        )
    };
    match now() {
        Ok(true) => Ok(()),
        Ok(false) => Err(FileProblem::Changed),
        Err(error) => Err(FileProblem::Write(error)),
    }
}

/// Renaming would replace or take away even what may not be written or is no file at all.
fn check_replaceable(step: &Step) -> io::Result<()> {
    match (&step.before, &step.after) {
        (Entry::Folder, _) | (Entry::File, After::File { .. }) => {
            OpenOptions::new().write(true).open(&step.path).map(drop)
        }
        (Entry::Other, After::File { .. } | After::MovedAway) => {
            Err(io::Error::other("not a regular file"))
        }
        _ => Ok(()),
    }
}

/// A name beside `place` that is not taken.
fn free_name(place: &Place) -> io::Result<Place> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let candidate = place.beside(&format!(".apply-patch-{}-{number}", std::process::id()));
        match fs::symlink_metadata(&candidate.at) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(candidate),
            Err(error) => return Err(error),
        }
    }
}

/// Gives a staged file the mode of the file it stands for, and its owner where that is allowed.
fn take_after(file: &File, model: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (model.uid(), model.gid()) {
            // Only the owner of the machine may give files away; the content matters more.
            let _ = fchown(file, Some(model.uid()), Some(model.gid()));
        }
    }
    file.set_permissions(model.permissions())
}
