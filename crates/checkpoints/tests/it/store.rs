//! What is kept for how long, and by how many processes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use codex_checkpoints::{CheckpointLimits, CheckpointStore, ThreadRecorder};

use crate::work::{THREAD, Work, mark};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn blobs(home: &Path) -> usize {
    let folders = fs::read_dir(home.join("checkpoints/blobs")).unwrap();
    folders
        .map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count())
        .sum()
}

async fn change(work: &Work, thread: &str, name: &str, content: &str) {
    let recorder = ThreadRecorder::new(Arc::clone(&work.store), thread, true);
    let record = recorder
        .before_patch(&mark("t"), "p", vec![work.path(name)])
        .await;
    work.write(name, content);
    record.end().await;
    recorder.end_turn("t").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_go_with_the_threads_that_need_them() {
    let work = Work::new();
    work.write("a", "one");
    change(&work, "first", "a", "two").await;
    change(&work, "second", "a", "three").await;
    assert_eq!(blobs(&work.home), 3);
    let later = SystemTime::now() + 2 * DAY;
    work.store.sweep(later).unwrap();
    assert_eq!(blobs(&work.home), 3);
    work.store.delete_thread("first").unwrap();
    work.store.delete_thread("first").unwrap();
    assert!(work.store.checkpoints("first").unwrap().is_empty());
    // Not at once: somebody may be about to refer to it.
    work.store.sweep(SystemTime::now()).unwrap();
    assert_eq!(blobs(&work.home), 3);
    work.store.sweep(later).unwrap();
    assert_eq!(blobs(&work.home), 2);
    work.store.sweep(SystemTime::now() + 31 * DAY).unwrap();
    assert_eq!(blobs(&work.home), 0);
    assert!(work.store.checkpoints("second").unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_too_much_the_oldest_threads_are_forgotten() {
    let work = Work::with_limits(CheckpointLimits {
        max_total_bytes: 3_000,
        ..CheckpointLimits::default()
    });
    for (number, thread) in ["first", "second", "third"].into_iter().enumerate() {
        change(&work, thread, thread, &number.to_string().repeat(1_000)).await;
        let path = work
            .home
            .join(format!("checkpoints/threads/{thread}.jsonl"));
        let at = SystemTime::now() - DAY + Duration::from_secs(number as u64);
        fs::File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(at)
            .unwrap();
    }
    let smaller = CheckpointLimits {
        max_total_bytes: 2_500,
        ..*work.store.limits()
    };
    let other = CheckpointStore::new(&work.home, smaller);
    other.sweep(SystemTime::now()).unwrap();
    assert!(other.checkpoints("first").unwrap().is_empty());
    assert_eq!(other.checkpoints("second").unwrap().len(), 1);
    assert_eq!(other.checkpoints("third").unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_are_private_and_stay_in_their_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let work = Work::new();
    work.write("a", "one");
    change(&work, THREAD, "a", "two").await;
    let mut folders = vec![work.home.join("checkpoints")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", entry.path().display());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    for name in ["", "../x", "a/b", "."] {
        assert!(work.store.checkpoints(name).is_err(), "{name}");
        assert!(work.store.delete_thread(name).is_err(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_turn_is_restored_as_far_as_recorded() {
    let work = Work::new();
    work.write("a", "1\n");
    work.run("t", "echo 2 > a").await;
    // The turn never ends; another process looks.
    let other = CheckpointStore::new(&work.home, *work.store.limits());
    let found = other.checkpoints(THREAD).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].coverage, codex_checkpoints::Coverage::Partial);
    work.restore(&found[0].id);
    assert_eq!(work.read("a"), "1\n");
}
