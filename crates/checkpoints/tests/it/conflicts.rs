//! Somebody else changes files, too.

use std::fs;
use std::os::unix::fs::symlink;

use codex_checkpoints::{
    CheckpointStore, ConflictReason, OnConflict, RestoreRequest, ThreadRecorder,
};

use crate::work::{THREAD, Work, mark, picture};

#[tokio::test(flavor = "multi_thread")]
async fn user_edits_are_conflicts_and_are_kept() {
    let work = Work::new();
    work.write("a", "1\n");
    work.write("b", "1\n");
    work.patch("t", &["a", "b"], || {
        work.write("a", "2\n");
        work.write("b", "2\n");
    })
    .await;
    let id = work.end("t").await.unwrap().id;
    work.person("echo mine > a");
    let now = picture(&work.folder);
    let report = work.restore(&id);
    assert_eq!(report.conflicts.len(), 1);
    assert_eq!(report.conflicts[0].path, work.path("a"));
    assert_eq!(report.conflicts[0].reason, ConflictReason::ChangedSince);
    assert_eq!((report.changed.len(), report.undo_checkpoint), (0, None));
    assert!(picture(&work.folder) == now);
    let report = work.restore_with(&id, OnConflict::Skip);
    assert_eq!(
        (work.read("a"), work.read("b")),
        ("mine\n".into(), "1\n".into())
    );
    assert!(report.undo_checkpoint.is_some());
    let report = work.restore_with(&id, OnConflict::Overwrite);
    assert_eq!(work.read("a"), "1\n");
    // Even what was overwritten comes back.
    work.restore(&report.undo_checkpoint.unwrap());
    assert_eq!(work.read("a"), "mine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_outside_commands_do_not_belong_to_the_turn() {
    let work = Work::new();
    work.write("a", "1\n");
    work.write("p", "1\n");
    work.run("t1", "echo 2 > a").await;
    work.person("echo mine > p; echo mine > q");
    work.run("t1", "echo x > b").await;
    let first = work.end("t1").await.unwrap();
    assert_eq!(first.files(), 2);
    work.person("echo mine >> a");
    work.run("t2", "echo 3 > a").await;
    work.end("t2").await.unwrap();
    let report = work.restore(&first.id);
    let reasons: Vec<_> = report.conflicts.iter().map(|it| it.reason).collect();
    assert_eq!(reasons, [ConflictReason::ChangedBetween]);
    let report = work.restore_with(&first.id, OnConflict::Overwrite);
    assert_eq!(report.changed.len(), 2);
    assert_eq!(
        (work.read("a"), work.read("p")),
        ("1\n".into(), "mine\n".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn file_restored_by_hand_is_no_conflict() {
    let work = Work::new();
    work.write("a", "1\n");
    work.run("t", "echo 2 > a; echo n > n").await;
    let id = work.end("t").await.unwrap().id;
    work.person("echo 1 > a; rm n");
    let report = work.restore(&id);
    assert_eq!((report.changed.len(), report.conflicts.len()), (0, 0));
    assert_eq!(report.undo_checkpoint, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_became_links_are_not_entered() {
    let work = Work::new();
    work.write("in/a", "1\n");
    work.write("in/b", "1\n");
    work.run("t", "echo 2 > in/a; rm in/b").await;
    let id = work.end("t").await.unwrap().id;
    let outside = work.home.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a"), "2\n").unwrap();
    work.person("mv in away");
    symlink(&outside, work.path("in")).unwrap();
    let report = work.restore_with(&id, OnConflict::Overwrite);
    assert_eq!(report.conflicts.len(), 2);
    let reasons = report.conflicts.iter().map(|it| it.reason);
    assert!(reasons.eq([ConflictReason::Unreachable; 2]));
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "2\n");
    assert!(!outside.join("b").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_with_something_else_in_them_stay() {
    let work = Work::new();
    work.run("t", "mkdir -p new/deep; echo x > new/deep/x")
        .await;
    let id = work.end("t").await.unwrap().id;
    work.person("echo mine > new/mine");
    let report = work.restore(&id);
    assert_eq!(report.conflicts, []);
    assert_eq!(work.read("new/mine"), "mine\n");
    assert!(!work.path("new/deep").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_threads_in_one_folder_restore_their_own_changes() {
    let work = Work::new();
    work.write("a", "1\n");
    work.write("b", "1\n");
    let store = CheckpointStore::new(&work.home, *work.store.limits());
    let store = std::sync::Arc::new(store);
    let other = ThreadRecorder::new(std::sync::Arc::clone(&store), "other", true);
    let roots = [work.folder.clone()];
    work.run("t", "echo 2 > a").await;
    let running = other.before_command(&mark("o"), &roots).await;
    work.person("echo 2 > b");
    drop(running);
    other.after_command(&mark("o"), "call").await;
    work.run("t", "echo 3 > a; echo c > c").await;
    let (mine, theirs) = (
        work.end("t").await.unwrap(),
        other.end_turn("o").await.unwrap(),
    );
    assert_eq!((mine.files(), theirs.files()), (2, 1));
    work.restore(&mine.id);
    assert_eq!(
        (work.read("a"), work.read("b")),
        ("1\n".into(), "2\n".into())
    );
    let request = RestoreRequest {
        checkpoint: theirs.id,
        ..RestoreRequest::default()
    };
    assert_eq!(store.restore("other", &request).unwrap().conflicts, []);
    assert_eq!(work.read("b"), "1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_during_commands_of_two_threads_are_conflicts() {
    let work = Work::new();
    work.write("a", "1\n");
    let store = std::sync::Arc::clone(&work.store);
    let other = ThreadRecorder::new(store, "other", true);
    let roots = [work.folder.clone()];
    // A command of each thread runs while the file is changed, and while a patch makes another one.
    let running = other.before_command(&mark("o"), &roots).await;
    work.run("t", "echo 2 > a").await;
    work.patch("t", &["new"], || work.write("new", "mine\n"))
        .await;
    drop(running);
    other.after_command(&mark("o"), "call").await;
    let mine = work.end("t").await.unwrap();
    let theirs = other.end_turn("o").await.unwrap();
    let request = RestoreRequest {
        checkpoint: theirs.id,
        ..RestoreRequest::default()
    };
    let refused = work.store.restore("other", &request).unwrap();
    let reasons = refused.conflicts.iter().map(|it| it.reason);
    assert!(reasons.eq([ConflictReason::OtherThread; 2]));
    assert_eq!(work.read("a"), "2\n");
    // The patch is certainly of this thread.
    let refused = work.restore(&mine.id);
    let conflicts: Vec<_> = refused.conflicts.iter().map(|it| it.path.clone()).collect();
    assert_eq!(conflicts, [work.path("a")]);
    let done = work.restore_with(&mine.id, OnConflict::Overwrite);
    assert_eq!(done.changed.len(), 2);
    assert_eq!(work.read("a"), "1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn some_paths_alone_go_back_and_differences_are_shown() {
    let work = Work::new();
    work.write("src/a", "1\nsame\n");
    work.write("b", b"\0binary");
    work.run("t1", "echo 2 > src/a; echo new > src/new; echo 2 > b")
        .await;
    work.run("t2", "").await;
    let first = work.end("t1").await;
    let first = first
        .or_else(|| work.checkpoints().into_iter().next())
        .unwrap();
    work.run("t2", "echo 3 > src/a; rm src/new").await;
    let second = work.end("t2").await.unwrap();
    let between = work
        .store
        .diff(THREAD, &first.id, Some(&second.id), &[])
        .unwrap();
    assert_eq!(between.files.len(), 3);
    assert!(between.text.contains("-1\n-same\n+2\n"), "{}", between.text);
    let now = work
        .store
        .diff(THREAD, &first.id, None, &[work.path("src")])
        .unwrap();
    assert_eq!(now.files.len(), 1);
    assert!(now.text.contains("+3\n"), "{}", now.text);
    assert!(
        work.store
            .diff(THREAD, &second.id, Some(&first.id), &[])
            .is_err()
    );
    assert!(work.store.diff(THREAD, "none", None, &[]).is_err());
    let request = RestoreRequest {
        checkpoint: first.id,
        paths: vec![work.path("src")],
        ..RestoreRequest::default()
    };
    let report = work.store.restore(THREAD, &request).unwrap();
    assert_eq!(report.changed.len(), 1);
    assert_eq!(work.read("src/a"), "1\nsame\n");
    assert_eq!(work.read("b"), "2\n");
}
