//! Applies a plan: all steps or none.
//!
//! New content is first written to staging files beside the destinations and then renamed into place. Every action
//! records its undo, so the first failure restores the previous state. Files are replaced, not overwritten: another
//! hard link to an old file keeps the old content. Only a kill between two renames can leave a patch half applied, and
//! then every old file still exists under a temporary name; a patch of one file needs a single rename.
//! Checks use paths; actions use folders that are held open ([`OpenFolders`]).

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ApplyError, FileProblem};
use crate::files::{DiskFiles, FileAccess, FileEntry, naming_folder};
use crate::location::{FileLocation, OpenFolders};
use crate::plan::{FileStep, NewState, PatchPlan};
use crate::resolve::{LastLink, resolve};

/// Applies the plan to the file system. If it fails, nothing has changed.
///
/// The whole plan fails if a file has changed since verification or is now reached through another link.
pub fn apply(plan: &PatchPlan) -> Result<(), ApplyError> {
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

/// Undoes one action.
enum UndoAction {
    RemoveFolder(FileLocation),
    RemoveFile(FileLocation),
    PutBack {
        kept: FileLocation,
        location: FileLocation,
    },
}

#[derive(Default)]
struct Transaction {
    folders: OpenFolders,
    undo: Vec<UndoAction>,
}

/// The path as written in the patch, and the error.
type StepFailure<'p> = (&'p str, FileProblem);

impl Transaction {
    fn run<'p>(&mut self, plan: &'p PatchPlan) -> Result<(), StepFailure<'p>> {
        for step in &plan.steps {
            check_unchanged(step).map_err(|problem| (step.written.as_str(), problem))?;
            check_replaceable(step).map_err(|error| write_failed(step, error))?;
        }
        let folders: HashSet<&Path> = plan.folders.iter().map(|f| f.path.as_path()).collect();
        // A file that is replaced by a folder is removed first; other removals wait until all new content is on disk.
        let gives_way = |step: &&FileStep| {
            !matches!(step.after, NewState::File { .. }) && folders.contains(step.path.as_path())
        };
        let (giving_way, rest): (Vec<&FileStep>, Vec<&FileStep>) =
            plan.steps.iter().partition(gives_way);
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
        let location = self.folders.location(path)?;
        match fs::create_dir(&location.at) {
            Ok(()) => self.undo.push(UndoAction::RemoveFolder(location)),
            // Another process created the folder first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes the new content of a step to a staging file; none for a removal.
    fn stage(&mut self, step: &FileStep) -> io::Result<Option<FileLocation>> {
        let NewState::File { content, like } = &step.after else {
            return Ok(None);
        };
        let staged = free_name(&self.folders.location(&step.path)?)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&staged.at)?;
        self.undo.push(UndoAction::RemoveFile(staged.clone()));
        file.write_all(content)?;
        if let Ok(model) = codex_mounts::metadata(like) {
            take_after(&file, &model)?;
        }
        Ok(Some(staged))
    }

    /// Renames staged content into place. The last action needs no undo: if it fails, it has changed nothing.
    fn put<'p>(
        &mut self,
        step: &'p FileStep,
        staged: &FileLocation,
        last: bool,
    ) -> Result<(), StepFailure<'p>> {
        self.swap_in(step, staged, last)
            .map_err(|error| write_failed(step, error))
    }

    fn swap_in(&mut self, step: &FileStep, staged: &FileLocation, last: bool) -> io::Result<()> {
        let location = self.folders.location(&step.path)?;
        if last {
            return fs::rename(&staged.at, &location.at);
        }
        if step.before == FileEntry::Missing {
            fs::rename(&staged.at, &location.at)?;
            self.undo.push(UndoAction::RemoveFile(location));
            return Ok(());
        }
        let kept = free_name(&location)?;
        // A hard link keeps the old content while the file is replaced. Some file systems have no links.
        fs::hard_link(&location.at, &kept.at).or_else(|_| fs::rename(&location.at, &kept.at))?;
        let undo = UndoAction::PutBack {
            kept,
            location: location.clone(),
        };
        self.undo.push(undo);
        fs::rename(&staged.at, &location.at)
    }

    fn remove<'p>(&mut self, step: &'p FileStep, last: bool) -> Result<(), StepFailure<'p>> {
        self.take_out(step, last).map_err(|error| {
            let problem = match step.after {
                NewState::MovedAway => FileProblem::RemoveOriginal(error),
                NewState::Deleted | NewState::File { .. } => FileProblem::Delete(error),
            };
            (step.written.as_str(), problem)
        })
    }

    fn take_out(&mut self, step: &FileStep, last: bool) -> io::Result<()> {
        let location = self.folders.location(&step.path)?;
        if last {
            return fs::remove_file(&location.at);
        }
        let kept = free_name(&location)?;
        fs::rename(&location.at, &kept.at)?;
        self.undo.push(UndoAction::PutBack { kept, location });
        Ok(())
    }

    /// Commits: removes the kept old files.
    fn keep(self) {
        for undo in self.undo {
            if let UndoAction::PutBack { kept, .. } = undo {
                // A file that cannot be removed only wastes space.
                let _ = fs::remove_file(kept.at);
            }
        }
    }

    /// Undoes all actions, newest first. Returns the files that could not be restored.
    fn undo(self) -> Vec<(PathBuf, Option<PathBuf>)> {
        let mut left = Vec::new();
        for undo in self.undo.into_iter().rev() {
            match undo {
                UndoAction::RemoveFolder(location) => {
                    if !done_or_missing(fs::remove_dir(&location.at)) {
                        left.push((location.path, None));
                    }
                }
                UndoAction::RemoveFile(location) => {
                    if !done_or_missing(fs::remove_file(&location.at)) {
                        left.push((location.path, None));
                    }
                }
                UndoAction::PutBack { kept, location } => {
                    match fs::rename(&kept.at, &location.at) {
                        // Renaming one of two hard links onto the other leaves both.
                        Ok(()) => drop(fs::remove_file(kept.at)),
                        Err(_) => left.push((location.path, Some(kept.path))),
                    }
                }
            }
        }
        left
    }
}

fn write_failed(step: &FileStep, error: io::Error) -> StepFailure<'_> {
    let error = naming_folder(error, &step.path);
    (&step.written, FileProblem::Write(error))
}

fn done_or_missing(result: io::Result<()>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Checks that the path of a step is still a real path and has the content that was verified.
fn check_unchanged(step: &FileStep) -> Result<(), FileProblem> {
    let now = || -> io::Result<bool> {
        Ok(
            resolve(&DiskFiles, &step.path, LastLink::Keep)?.path == step.path
                && DiskFiles.entry(&step.path)? == step.before
                && match &step.seen {
                    Some(seen) => DiskFiles.read(&step.path)? == *seen,
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

/// Rejects files that are read-only or not regular, because a rename would replace even those.
fn check_replaceable(step: &FileStep) -> io::Result<()> {
    match (&step.before, &step.after) {
        (FileEntry::Folder, _) | (FileEntry::File, NewState::File { .. }) => {
            OpenOptions::new().write(true).open(&step.path).map(drop)
        }
        (FileEntry::Other, NewState::File { .. } | NewState::MovedAway) => {
            Err(io::Error::other("not a regular file"))
        }
        _ => Ok(()),
    }
}

/// An unused name beside `location`.
fn free_name(location: &FileLocation) -> io::Result<FileLocation> {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let candidate = location.beside(&format!(".apply-patch-{}-{number}", std::process::id()));
        match codex_mounts::symlink_metadata(&candidate.at) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(candidate),
            Err(error) => return Err(error),
        }
    }
}

/// Copies mode and, if permitted, owner of the old file to a staging file.
fn take_after(file: &File, model: &fs::Metadata) -> io::Result<()> {
    codex_system::file::take_owner(file, model);
    file.set_permissions(model.permissions())
}
