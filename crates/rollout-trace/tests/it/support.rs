//! Bundles for tests: packed ones from `tests/bundles`, unpacked into a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};

use codex_regular_file::OutputFile;
use codex_rollout_trace::{Reduction, ReplayError, Strictness, replay_bundle_with, write_state};
use tempfile::TempDir;

/// A bundle of its own, to be damaged at will.
pub(crate) struct Bundle {
    folder: TempDir,
}

impl Bundle {
    /// Unpacks `tests/bundles/NAME.jsonl`: one line for each file, `["PATH","TEXT"]`.
    pub(crate) fn unpack(name: &str) -> Self {
        let pack =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/bundles/{name}.jsonl"));
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("payloads")).unwrap();
        for line in fs::read_to_string(pack).unwrap().lines() {
            let (path, text): (String, String) = serde_json::from_str(line).unwrap();
            fs::write(folder.path().join(path), text).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("trace.jsonl")
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let log = fs::read_to_string(self.log()).unwrap();
        log.lines().map(str::to_owned).collect()
    }

    pub(crate) fn set_lines(&self, lines: &[String]) {
        fs::write(self.log(), lines.join("\n") + "\n").unwrap();
    }

    /// Every payload file, sorted.
    pub(crate) fn payloads(&self) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.path().join("payloads")).unwrap();
        let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    pub(crate) fn replay(&self, strictness: Strictness) -> Result<Reduction, ReplayError> {
        replay_bundle_with(self.path(), strictness)
    }

    pub(crate) fn check_lenient(&self) -> Reduction {
        self.replay(Strictness::Lenient).unwrap()
    }

    /// Replays leniently, and holds the result against strict replay: where that succeeds, the graphs are equal.
    pub(crate) fn check(&self) -> Reduction {
        let lenient = self.replay(Strictness::Lenient).unwrap();
        if let Ok(strict) = self.replay(Strictness::Strict) {
            assert_eq!(strict.trace, lenient.trace);
        } else {
            assert!(!lenient.problems.listed().is_empty(), "a silent repair");
        }
        lenient
    }
}

/// The text of the state file.
pub(crate) fn state_text(reduction: &Reduction) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    write_state(&reduction.trace, &OutputFile::named(&path)).unwrap();
    fs::read_to_string(path).unwrap()
}
