//! Patches on other machines: verified against the files there, and written there.
//!
//! What a patch names is read beforehand, all at once and without a sandbox, as on this machine. The files are written one after the
//! other: unlike here, a patch that fails in the middle leaves what was written before, and says so.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use codex_apply_patch::{FileAccess, FileEntry, Patch, PatchCaller, PatchPlan, PlannedFile};
use codex_environments::wire::{FileFacts, code};
use codex_environments::{MachineError, RemoteMachine, RemotePath};
use codex_gate::{Confinement, PatchElsewhere, Permit};
use codex_protocol::PatchApplyStatus;
use codex_session_base::machines::{RemotePlace, may_write};
use futures::future::join_all;
use tokio::runtime::Handle;

use super::patch_item::{PatchItem, ask, changes_of, unfit};
use super::places::remote_path;
use super::remote_command::sandbox_there;
use super::tool::{ToolContext, ToolFailure};

/// The longest file that a patch changes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The longest sum of the files that are read beforehand.
const MAX_READ: u64 = 256 * 1024 * 1024;

/// How much longer than it was a file may be when it is read.
const GROWTH: u64 = 64 * 1024;

/// How many files are looked at beforehand.
const MAX_PREPARED: usize = 2048;

/// How a patch has ended.
pub(crate) struct PatchOutcome {
    pub output: String,
    pub exit_code: i32,
}

/// Verifies, asks about and applies a patch in a folder of another machine.
pub(crate) async fn apply_there(
    context: &ToolContext,
    place: &RemotePlace,
    patch: &str,
    cwd: &Path,
) -> Result<PatchOutcome, ToolFailure> {
    let planned = plan(place, patch, cwd).await;
    let (plan, roots) = planned.map_err(|problem| unfit(context, patch, cwd, problem))?;
    let outside = outside(context, &plan, &roots);
    let changes = changes_of(&plan);
    let elsewhere = PatchElsewhere {
        machine: place.id().to_owned(),
        outside,
    };
    let permit = ask(context, &plan, &changes, Some(elsewhere.clone())).await?;
    let item = PatchItem::begin(
        context.emitter.clone(),
        &context.call.id,
        changes,
        !permit.is_approved(),
    );
    let applied = apply(context, place, &plan, &permit, &elsewhere.outside).await;
    let outcome = match applied {
        Ok(()) => {
            let output = plan.success_text();
            item.end(PatchApplyStatus::Completed, output.clone(), String::new());
            PatchOutcome {
                output,
                exit_code: 0,
            }
        }
        Err(problem) => {
            item.end(PatchApplyStatus::Failed, String::new(), problem.clone());
            PatchOutcome {
                output: problem,
                exit_code: 1,
            }
        }
    };
    context.diff.emit(&context.emitter).await;
    Ok(outcome)
}

/// What a patch does to the files there, and the roots that these are below.
async fn plan(
    place: &RemotePlace,
    patch: &str,
    cwd: &Path,
) -> Result<(PatchPlan, Vec<RemotePath>), String> {
    let failed = |problem: String| format!("apply_patch verification failed: {problem}");
    let patch = Patch::parse(patch).map_err(|error| failed(error.to_string()))?;
    let folder = remote_path(cwd).map_err(failed)?;
    let prepared = PreparedFiles::read(place, &folder, &patch).await;
    let prepared = prepared.map_err(|error| failed(error.to_string()))?;
    let roots = prepared.roots.clone();
    Ok((verify(patch, cwd.to_owned(), prepared).await?, roots))
}

/// What the sandbox of the turn does not let be written.
fn outside(context: &ToolContext, plan: &PatchPlan, roots: &[RemotePath]) -> Vec<PathBuf> {
    let settings = &context.settings;
    let may_be_written = |path: &&Path| {
        let path = remote_path(path);
        path.is_ok_and(|path| may_write(&settings.sandbox_policy, &path, roots, &settings.cwd))
    };
    let refused = plan.touched_paths().filter(|path| !may_be_written(path));
    refused.map(Path::to_owned).collect()
}

async fn verify(patch: Patch, cwd: PathBuf, files: PreparedFiles) -> Result<PatchPlan, String> {
    let interrupted = Arc::new(());
    let files = RemoteFiles {
        files,
        runtime: Handle::current(),
        interrupted: Arc::downgrade(&interrupted),
    };
    let verifying = tokio::task::spawn_blocking(move || {
        let verified = patch.verify(&cwd, &files, PatchCaller::Tool);
        verified.map_err(|error| error.text(PatchCaller::Tool))
    });
    let verified = verifying
        .await
        .unwrap_or_else(|_| Err("the patch tool crashed".to_owned()));
    drop(interrupted);
    verified
}

/// Writes the files of a plan.
async fn apply(
    context: &ToolContext,
    place: &RemotePlace,
    plan: &PatchPlan,
    permit: &Permit,
    outside: &[PathBuf],
) -> Result<(), String> {
    let machine = &place.machine;
    // What a person has approved may be written as well, and nothing else.
    let approved: BTreeSet<RemotePath> = (outside.iter())
        .filter_map(|path| remote_path(path).ok()?.parent())
        .collect();
    let approved: Vec<RemotePath> = approved.into_iter().collect();
    let confinement = match permit.confinement() {
        Confinement::OfPerson => &Confinement::None,
        confinement => confinement,
    };
    let sandbox = sandbox_there(context, place, confinement, &approved)?;
    if permit.is_approved() {
        check_unchanged(machine, plan).await?;
    }
    let mut done = Changes::default();
    for folder in plan.new_folders() {
        let path = remote_path(folder)?;
        let created = machine.create_folder(&path, sandbox.as_ref()).await;
        created.map_err(|error| done.problem_of_folder(folder, &error))?;
        done.folders.push(folder.display().to_string());
    }
    // Contents come before removals, so that a moved file is at one of its places at any time.
    let (writes, removals): (Vec<_>, Vec<_>) =
        plan.files().partition(|file| file.content.is_some());
    for file in writes.iter().chain(&removals) {
        let path = remote_path(file.path)?;
        let changed = match file.content {
            Some(content) => machine.write_file(&path, content, sandbox.as_ref()).await,
            None => machine.remove_file(&path, sandbox.as_ref()).await,
        };
        changed.map_err(|error| done.problem_of_file(file.path, &error))?;
        context.diff.record_elsewhere(place.id(), file);
        done.files.push(file.path.display().to_string());
    }
    Ok(())
}

/// What a patch has changed so far.
#[derive(Debug, Default)]
struct Changes {
    folders: Vec<String>,
    files: Vec<String>,
}

impl Changes {
    /// A folder cannot be made.
    fn problem_of_folder(&self, path: &Path, error: &MachineError) -> String {
        let path = path.display();
        format!(
            "failed to make the folder {path}: {error}. No file was changed.{}",
            self.text()
        )
    }

    /// A file cannot be written or removed, or it is not known whether it was.
    fn problem_of_file(&self, path: &Path, error: &MachineError) -> String {
        let path = path.display();
        format!(
            "failed to write {path}: {error}. It may be changed or written in part.{}",
            self.text()
        )
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (what, done) in [
            ("files were changed", &self.files),
            ("folders were made", &self.folders),
        ] {
            if !done.is_empty() {
                text.push_str(&format!(" These {what} before: {}.", done.join(", ")));
            }
        }
        text
    }
}

/// While a person was asked, the files may have changed.
async fn check_unchanged(machine: &RemoteMachine, plan: &PatchPlan) -> Result<(), String> {
    let checks = plan.files().map(|file: PlannedFile<'_>| async move {
        let path = remote_path(file.path)?;
        let Some(seen) = file.seen else {
            return Ok(());
        };
        let size = seen.len() as u64;
        let now = machine.read_file(&path, size, size.max(1), None).await;
        match now {
            Ok(now) if now == seen => Ok(()),
            _ => Err(format!(
                "{} has changed since the patch was verified. Nothing was changed.",
                file.path.display()
            )),
        }
    });
    join_all(checks).await.into_iter().collect()
}

/// What a patch needs of the files of a machine, read at once.
struct PreparedFiles {
    machine: RemoteMachine,
    facts: HashMap<RemotePath, Option<FileFacts>>,
    contents: HashMap<RemotePath, Vec<u8>>,
    /// The real paths of the folders of the work.
    roots: Vec<RemotePath>,
}

impl PreparedFiles {
    async fn read(
        place: &RemotePlace,
        folder: &RemotePath,
        patch: &Patch,
    ) -> Result<Self, MachineError> {
        let machine = &place.machine;
        let named: BTreeSet<RemotePath> =
            patch.named_paths().map(|path| folder.join(path)).collect();
        let above = |path: &RemotePath| std::iter::successors(path.parent(), RemotePath::parent);
        let mut paths: BTreeSet<RemotePath> = named.iter().flat_map(above).collect();
        paths.extend(named.iter().cloned());
        paths.retain(|path| path.as_str() != "/");
        let paths: Vec<RemotePath> = paths.into_iter().take(MAX_PREPARED).collect();
        let roots = join_all(place.roots.iter().map(|root| machine.real_path(root)));
        let facts = join_all(paths.iter().map(|path| machine.metadata(path)));
        let (roots, facts) = tokio::join!(roots, facts);
        // A folder that does not exist has nothing in it that could be written unasked.
        let roots = roots.into_iter().filter_map(Result::ok).collect();
        let facts: Vec<_> = facts.into_iter().collect::<Result<_, _>>()?;
        let facts: HashMap<RemotePath, Option<FileFacts>> = paths.into_iter().zip(facts).collect();
        let plain = named.iter().filter_map(|path| {
            let facts = (*facts.get(path)?)?;
            (facts.is_file && !facts.is_symlink).then_some((path, facts.size))
        });
        let plain: Vec<(&RemotePath, u64)> = plain.collect();
        let sum = (plain.iter()).fold(0, |sum: u64, (_, size)| sum.saturating_add(*size));
        if sum > MAX_READ {
            return Err(MachineError::Refused {
                code: code::FAILED,
                message: format!("the files of the patch have more than {MAX_READ} bytes"),
                kind: None,
            });
        }
        let reads = plain.into_iter().map(|(path, size)| async move {
            let limit = size.saturating_add(GROWTH).min(MAX_FILE);
            let content = machine.read_file(path, size, limit, None).await?;
            Ok::<_, MachineError>((path.clone(), content))
        });
        let contents = join_all(reads)
            .await
            .into_iter()
            .collect::<Result<_, _>>()?;
        Ok(Self {
            machine: machine.clone(),
            facts,
            contents,
            roots,
        })
    }
}

/// The files of another machine, until the turn is interrupted.
struct RemoteFiles {
    files: PreparedFiles,
    runtime: Handle,
    interrupted: Weak<()>,
}

impl RemoteFiles {
    fn path(&self, path: &Path) -> io::Result<RemotePath> {
        if self.interrupted.strong_count() == 0 {
            return Err(io::Error::other("the turn was interrupted"));
        }
        remote_path(path).map_err(io::Error::other)
    }
}

impl FileAccess for RemoteFiles {
    fn entry(&self, path: &Path) -> io::Result<FileEntry> {
        let path = self.path(path)?;
        let machine = &self.files.machine;
        let facts = match self.files.facts.get(&path) {
            Some(facts) => *facts,
            None => {
                let asked = self.runtime.block_on(machine.metadata(&path));
                asked.map_err(io_error)?
            }
        };
        Ok(match facts {
            None => FileEntry::Missing,
            Some(facts) if facts.is_symlink => {
                let real = self.runtime.block_on(machine.real_path(&path));
                FileEntry::Link(PathBuf::from(real.map_err(io_error)?.as_str()))
            }
            Some(facts) if facts.is_directory => FileEntry::Folder,
            Some(facts) if facts.is_file => FileEntry::File,
            Some(_) => FileEntry::Other,
        })
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = self.path(path)?;
        if let Some(content) = self.files.contents.get(&path) {
            return Ok(content.clone());
        }
        let machine = &self.files.machine;
        let read = async {
            let facts = machine.metadata(&path).await?;
            let size = facts.map_or(0, |facts| facts.size);
            machine.read_file(&path, size, MAX_FILE, None).await
        };
        self.runtime.block_on(read).map_err(io_error)
    }
}

fn io_error(error: MachineError) -> io::Error {
    if error.is_not_found() {
        return io::Error::new(io::ErrorKind::NotFound, error.to_string());
    }
    io::Error::other(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_patch_error_lists_earlier_changes() {
        let error = MachineError::Interrupted;
        let mut done = Changes::default();
        let first = done.problem_of_folder(Path::new("/a"), &error);
        assert!(first.ends_with("No file was changed."), "{first}");
        done.folders.push("/a".to_owned());
        let second = done.problem_of_file(Path::new("/a/b"), &error);
        assert!(
            second.contains("/a/b") && second.contains("in part"),
            "{second}"
        );
        assert!(
            second.ends_with("These folders were made before: /a."),
            "{second}"
        );
        done.files.push("/a/b".to_owned());
        let third = done.problem_of_file(Path::new("/a/c"), &error);
        assert!(
            third.contains("These files were changed before: /a/b."),
            "{third}"
        );
    }
}
