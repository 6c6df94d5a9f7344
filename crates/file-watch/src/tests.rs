//! Against real folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::*;

struct Heard {
    watch: Watch,
    told: Receiver<Vec<PathBuf>>,
}

impl Heard {
    fn at(watcher: &Watcher, path: &Path) -> Self {
        let (sender, told) = channel();
        let watch = watcher.watch(path, move |paths| {
            sender.send(paths).ok();
        });
        Self {
            watch: watch.unwrap(),
            told,
        }
    }

    /// Waits until all of these were told; nothing else may be.
    #[track_caller]
    fn expect(&self, expected: &[PathBuf]) {
        let mut missing: Vec<_> = expected.to_vec();
        while !missing.is_empty() {
            let told = self.told.recv_timeout(Duration::from_secs(30));
            let told = told.unwrap_or_else(|_| panic!("not told of {missing:?}"));
            assert!(told.is_sorted());
            for path in told {
                assert!(expected.contains(&path), "told of {path:?}");
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
    let heard = Heard::at(&watcher, at);
    fs::write(at.join("deep/file"), "").unwrap();
    fs::write(at.join("b"), "").unwrap();
    fs::write(at.join("a"), "x").unwrap();
    fs::remove_file(at.join("old")).unwrap();
    heard.expect(&[at.join("a"), at.join("b"), at.join("old")]);
}

#[test]
fn a_file_reports_itself_also_when_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "").unwrap();
    let watcher = Watcher::new().unwrap();
    let heard = Heard::at(&watcher, &path);
    for _ in 0..2 {
        fs::write(folder.path().join("other"), "x").unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        heard.expect(std::slice::from_ref(&path));
        fs::write(&path, "more").unwrap();
        heard.expect(std::slice::from_ref(&path));
    }
    fs::remove_file(&path).unwrap();
    heard.expect(std::slice::from_ref(&path));
}

#[test]
fn what_is_missing_reports_itself_when_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/c");
    let watcher = Watcher::new().unwrap();
    let heard = Heard::at(&watcher, &path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    heard.expect(std::slice::from_ref(&path));
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    heard.expect(std::slice::from_ref(&path));
    fs::create_dir_all(&path).unwrap();
    heard.expect(std::slice::from_ref(&path));
    // By now it is a folder.
    fs::write(path.join("child"), "").unwrap();
    heard.expect(&[path.join("child")]);
}

#[test]
fn watches_of_one_path_are_independent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let watcher = Watcher::new().unwrap();
    let first = Heard::at(&watcher, &path);
    let second = Heard::at(&watcher, &path);
    let Heard { watch, told } = first;
    drop(watch);
    fs::write(&path, "").unwrap();
    second.expect(std::slice::from_ref(&path));
    assert_eq!(
        told.recv_timeout(Duration::ZERO),
        Err(RecvTimeoutError::Disconnected)
    );
}

#[test]
fn the_thread_ends_with_the_watcher() {
    let folder = tempfile::tempdir().unwrap();
    let watcher = Watcher::new().unwrap();
    let heard = Heard::at(&watcher, folder.path());
    drop(watcher);
    let Heard { watch, told } = heard;
    drop(watch);
    assert!(told.recv_timeout(Duration::from_secs(30)).is_err());
}
