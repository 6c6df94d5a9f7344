//! Bundles for tests, unpacked into a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};

use codex_rollout_trace::{Reduction, replay_bundle};
use tempfile::TempDir;

pub(crate) const NAMES: [&str; 5] = [
    "agents",
    "cells_and_compaction",
    "engine_mixed",
    "one_turn",
    "tools_and_terminals",
];

/// A bundle of its own, to be changed at will.
pub(crate) struct Bundle(TempDir);

impl Bundle {
    /// Unpacks a bundle of the reducer's tests: one line for each file, `["PATH","TEXT"]`.
    pub(crate) fn unpack(name: &str) -> Self {
        let bundles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rollout-trace/tests/bundles");
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("payloads")).unwrap();
        let pack = fs::read_to_string(bundles.join(format!("{name}.jsonl"))).unwrap();
        for line in pack.lines() {
            let (path, text): (String, String) = serde_json::from_str(line).unwrap();
            fs::write(folder.path().join(path), text).unwrap();
        }
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn reduce(&self) -> Reduction {
        replay_bundle(self.path()).unwrap()
    }

    /// Every file with its text, in order.
    pub(crate) fn files(&self) -> Vec<(PathBuf, String)> {
        files(self.path())
    }

    /// Gives the model another name, as JSON writes it.
    pub(crate) fn set_model(&self, name: &str) {
        self.replace(r#""model": "m""#, &format!(r#""model": "{name}""#));
        self.replace(r#""model":"m""#, &format!(r#""model":"{name}""#));
    }

    /// Replaces a text wherever it stands; it must stand somewhere.
    pub(crate) fn replace(&self, from: &str, to: &str) {
        let mut places = 0;
        for (path, text) in self.files() {
            places += text.matches(from).count();
            fs::write(path, text.replace(from, to)).unwrap();
        }
        assert!(places > 0, "{from} is nowhere");
    }
}

pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let payloads = fs::read_dir(folder.join("payloads")).unwrap();
    let mut paths: Vec<PathBuf> = payloads.map(|entry| entry.unwrap().path()).collect();
    paths.extend(["manifest.json", "trace.jsonl"].map(|name| folder.join(name)));
    paths.sort();
    let read = |path: PathBuf| (path.clone(), fs::read_to_string(path).unwrap());
    paths.into_iter().map(read).collect()
}
