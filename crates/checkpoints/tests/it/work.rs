//! A folder that turns work in, and what is in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use codex_checkpoints::{
    Checkpoint, CheckpointLimits, CheckpointStore, OnConflict, RestoreReport, RestoreRequest,
    ThreadRecorder, TurnMark,
};

pub(crate) struct Work {
    _base: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) store: Arc<CheckpointStore>,
    pub(crate) recorder: ThreadRecorder,
}

/// Everything in a folder: the mode and content of each path.
pub(crate) type Picture = BTreeMap<PathBuf, (u32, Vec<u8>)>;

pub(crate) const THREAD: &str = "thread";

impl Work {
    pub(crate) fn new() -> Self {
        Self::with_limits(CheckpointLimits::default())
    }

    pub(crate) fn with_limits(limits: CheckpointLimits) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), limits)
    }

    pub(crate) fn in_folder(base: tempfile::TempDir, limits: CheckpointLimits) -> Self {
        let top = base.path().canonicalize().unwrap();
        let (home, folder) = (top.join("home"), top.join("work"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&folder).unwrap();
        let store = Arc::new(CheckpointStore::new(&home, limits));
        let recorder = ThreadRecorder::new(Arc::clone(&store), THREAD, true);
        Self {
            _base: base,
            home,
            folder,
            store,
            recorder,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// What somebody else does.
    pub(crate) fn person(&self, script: &str) {
        sh(&self.folder, script);
    }

    /// Makes a repository of the folder, with everything in it committed.
    pub(crate) fn commit(&self) {
        self.person("git init -q -b main . && git add -A && git commit -q -m first");
    }

    /// Runs a command in a turn.
    pub(crate) async fn run(&self, turn: &str, script: &str) {
        self.run_in(turn, script, &self.folder).await;
    }

    pub(crate) async fn run_in(&self, turn: &str, script: &str, root: &Path) {
        let mark = mark(turn);
        let roots = [root.to_owned()];
        let running = self.recorder.before_command(&mark, &roots).await;
        sh(&self.folder, script);
        drop(running);
        self.recorder.after_command(&mark, "call").await;
    }

    /// Applies a patch in a turn.
    pub(crate) async fn patch(&self, turn: &str, names: &[&str], apply: impl FnOnce()) {
        let paths = names.iter().map(|name| self.path(name)).collect();
        let record = self
            .recorder
            .before_patch(&mark(turn), "patch", paths)
            .await;
        apply();
        record.end().await;
    }

    pub(crate) async fn end(&self, turn: &str) -> Option<Checkpoint> {
        self.recorder.end_turn(turn).await
    }

    pub(crate) fn checkpoints(&self) -> Vec<Checkpoint> {
        self.store.checkpoints(THREAD).unwrap()
    }

    pub(crate) fn restore(&self, checkpoint: &str) -> RestoreReport {
        self.restore_with(checkpoint, OnConflict::Fail)
    }

    pub(crate) fn restore_with(&self, checkpoint: &str, on_conflict: OnConflict) -> RestoreReport {
        let request = RestoreRequest {
            checkpoint: checkpoint.to_owned(),
            on_conflict,
            ..RestoreRequest::default()
        };
        let dry = RestoreRequest {
            dry_run: true,
            ..request.clone()
        };
        let before = picture(&self.folder);
        let preview = self.store.restore(THREAD, &dry).unwrap();
        assert!(picture(&self.folder) == before);
        let done = self.store.restore(THREAD, &request).unwrap();
        assert_eq!(preview.conflicts, done.conflicts);
        if done.undo_checkpoint.is_some() {
            assert_eq!(preview.changed, done.changed);
        }
        done
    }
}

pub(crate) fn mark(turn: &str) -> TurnMark {
    TurnMark {
        turn: turn.into(),
        label: format!("label of {turn}").into(),
        at: 1,
    }
}

pub(crate) fn sh(folder: &Path, script: &str) {
    let done = Command::new("bash")
        .args(["-e", "-c", script])
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "t")
        .env("GIT_AUTHOR_EMAIL", "t@localhost")
        .env("GIT_COMMITTER_NAME", "t")
        .env("GIT_COMMITTER_EMAIL", "t@localhost")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{script}: {error}");
}

/// What is in a folder, without the folders of git.
pub(crate) fn picture(folder: &Path) -> Picture {
    let mut found = Picture::new();
    add(folder, &mut found, |name| name != ".git");
    found
}

/// What is in a folder, with everything.
pub(crate) fn full_picture(folder: &Path) -> Picture {
    let mut found = Picture::new();
    add(folder, &mut found, |_| true);
    found
}

fn add(folder: &Path, found: &mut Picture, wanted: impl Fn(&str) -> bool + Copy) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if !wanted(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let path = entry.path();
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.permissions().mode();
        let content = if metadata.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            target.as_os_str().as_bytes().to_vec()
        } else if metadata.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        if metadata.is_dir() {
            add(&path, found, wanted);
        }
        found.insert(path, (mode, content));
    }
}
