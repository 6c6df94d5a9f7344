//! Against real folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::*;

struct WatchedFile {
    watch: Watch,
    reported: Receiver<Vec<PathBuf>>,
}

impl WatchedFile {
    fn new(watcher: &Watcher, path: &Path) -> Self {
        let (sender, reported) = channel();
        let watch = watcher.watch(path, move |paths| {
            sender.send(paths).ok();
        });
        Self {
            watch: watch.unwrap(),
            reported,
        }
    }

    /// Waits until all of these were reported; nothing else may be.
    #[track_caller]
    fn expect(&self, expected: &[PathBuf]) {
        let mut missing: Vec<_> = expected.to_vec();
        while !missing.is_empty() {
            let reported = self.reported.recv_timeout(Duration::from_secs(30));
            let reported = reported.unwrap_or_else(|_| panic!("no report of {missing:?}"));
            assert!(reported.is_sorted());
            for path in reported {
                assert!(expected.contains(&path), "report of {path:?}");
                missing.retain(|other| *other != path);
            }
        }
    }
}

#[test]
fn a_folder_reports_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("deep")).unwrap();
    fs::write(at.join("old"), "").unwrap();
    let watcher = Watcher::new().unwrap();
    let watched = WatchedFile::new(&watcher, at);
    fs::write(at.join("deep/file"), "").unwrap();
    fs::write(at.join("b"), "").unwrap();
    fs::write(at.join("a"), "x").unwrap();
    fs::remove_file(at.join("old")).unwrap();
    watched.expect(&[at.join("a"), at.join("b"), at.join("old")]);
}

#[test]
fn a_file_reports_itself_also_when_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "").unwrap();
    let watcher = Watcher::new().unwrap();
    let watched = WatchedFile::new(&watcher, &path);
    for _ in 0..2 {
        fs::write(folder.path().join("other"), "x").unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        watched.expect(std::slice::from_ref(&path));
        fs::write(&path, "more").unwrap();
        watched.expect(std::slice::from_ref(&path));
    }
    fs::remove_file(&path).unwrap();
    watched.expect(std::slice::from_ref(&path));
}

#[test]
fn missing_file_is_reported_when_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/c");
    let watcher = Watcher::new().unwrap();
    let watched = WatchedFile::new(&watcher, &path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    watched.expect(std::slice::from_ref(&path));
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    watched.expect(std::slice::from_ref(&path));
    fs::create_dir_all(&path).unwrap();
    watched.expect(std::slice::from_ref(&path));
    // By now it is a folder.
    fs::write(path.join("child"), "").unwrap();
    watched.expect(&[path.join("child")]);
}

#[test]
fn watches_of_one_path_are_independent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let watcher = Watcher::new().unwrap();
    let first = WatchedFile::new(&watcher, &path);
    let second = WatchedFile::new(&watcher, &path);
    let WatchedFile { watch, reported } = first;
    drop(watch);
    fs::write(&path, "").unwrap();
    second.expect(std::slice::from_ref(&path));
    assert_eq!(
        reported.recv_timeout(Duration::ZERO),
        Err(RecvTimeoutError::Disconnected)
    );
}

#[test]
fn the_thread_ends_with_the_watcher() {
    let folder = tempfile::tempdir().unwrap();
    let watcher = Watcher::new().unwrap();
    let watched = WatchedFile::new(&watcher, folder.path());
    drop(watcher);
    let WatchedFile { watch, reported } = watched;
    drop(watch);
    assert!(reported.recv_timeout(Duration::from_secs(30)).is_err());
}
