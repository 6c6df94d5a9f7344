//! What is not watched, and what is not kept.

use std::fs;
use std::time::Duration;

use codex_checkpoints::{CheckpointLimits, Coverage, NotKeptReason, ThreadRecorder};

use crate::work::{THREAD, Work, full_picture, mark, picture};

#[tokio::test(flavor = "multi_thread")]
async fn small_ignored_folders_are_restored_and_large_ones_listed() {
    let work = Work::new();
    work.write(".gitignore", "target/\nsmall/\n");
    work.write("small/a", "1\n");
    work.person("mkdir target && cd target && seq 5001 | xargs touch");
    let before = picture(&work.path("small"));
    work.run("t", "echo 2 > small/a; echo x > target/1").await;
    let checkpoint = work.end("t").await.unwrap();
    assert_eq!(checkpoint.files(), 1);
    assert_eq!(checkpoint.coverage, Coverage::Partial);
    assert_eq!(checkpoint.not_kept.len(), 1);
    assert_eq!(checkpoint.not_kept[0].path, work.path("target"));
    assert_eq!(checkpoint.not_kept[0].reason, NotKeptReason::IgnoredFolder);
    work.restore(&checkpoint.id);
    assert!(picture(&work.path("small")) == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_too_large_leaves_the_patches() {
    for limits in [
        CheckpointLimits {
            max_entries: 20,
            ..CheckpointLimits::default()
        },
        CheckpointLimits {
            max_walk: Duration::ZERO,
            ..CheckpointLimits::default()
        },
    ] {
        let work = Work::with_limits(limits);
        for number in 0..21 {
            work.write(&format!("f{number}"), "1\n");
        }
        work.run("t", "echo 2 > f1").await;
        work.patch("t", &["f2"], || work.write("f2", "2\n")).await;
        let checkpoint = work.end("t").await.unwrap();
        assert_eq!(
            (checkpoint.files(), checkpoint.coverage),
            (1, Coverage::Patches)
        );
        assert_eq!(checkpoint.not_kept[0].reason, NotKeptReason::TooManyFiles);
        work.restore(&checkpoint.id);
        assert_eq!(work.read("f2"), "1\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limits_the_smallest_files_are_kept() {
    let work = Work::with_limits(CheckpointLimits {
        max_copied_files: 2,
        max_copied_bytes: 100,
        ..CheckpointLimits::default()
    });
    work.write("a", "1");
    work.write("b", "22");
    work.write("c", "333");
    work.write("d", "x".repeat(101));
    work.run("t", "rm a b c d").await;
    let checkpoint = work.end("t").await.unwrap();
    let lost: Vec<_> = checkpoint
        .not_kept
        .iter()
        .map(|it| it.path.clone())
        .collect();
    assert_eq!(lost, [work.path("c"), work.path("d")]);
    work.restore(&checkpoint.id);
    assert!(work.path("a").exists() && work.path("b").exists() && !work.path("c").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_keeps_no_more() {
    let work = Work::with_limits(CheckpointLimits {
        max_total_bytes: 10,
        ..CheckpointLimits::default()
    });
    work.write("a", "12345678");
    work.write("b", "123456789");
    work.run("t", "rm a b").await;
    let checkpoint = work.end("t").await.unwrap();
    assert_eq!(checkpoint.not_kept.len(), 1);
    assert_eq!(checkpoint.not_kept[0].reason, NotKeptReason::StoreFull);
    work.restore(&checkpoint.id);
    assert!(work.path("a").exists() && !work.path("b").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_home_folder_is_not_watched() {
    let work = Work::new();
    work.write("a", "1\n");
    let top = work.home.parent().unwrap().to_owned();
    work.run_in("t", "echo 2 > a; echo x > ../home/log", &top)
        .await;
    let checkpoint = work.end("t").await.unwrap();
    let paths = checkpoint.changes.iter().map(|it| it.path.clone());
    assert!(paths.eq([work.path("a")]));
}

/// A person who keeps files like `.bashrc` in git has a repository around everything, which ignores most of it.
#[tokio::test(flavor = "multi_thread")]
async fn project_in_a_repository_home_folder_is_restored() {
    let work = Work::new();
    let top = work.home.parent().unwrap().to_owned();
    work.write("src/a", "1\n");
    work.write("../.bashrc", "alias ll='ls -l'\n");
    work.write("../.gitignore", "*\n");
    work.person("cd .. && git init -q -b main && git add -f .bashrc && git commit -q -m 1");
    work.person("mkdir ../cache && cd ../cache && seq 6000 | xargs touch");
    let (project, git) = (picture(&work.folder), full_picture(&top.join(".git")));
    let edit = "rm -r src && echo x > new && echo x >> ../.bashrc && echo x > ../cache/1";
    for root in [&work.folder, &top] {
        let turn = format!("in {}", root.display());
        work.run_in(&turn, edit, root).await;
        let checkpoint = work.end(&turn).await.unwrap();
        let (kept, unwatched) = if root == &top {
            ("alias ll='ls -l'\n", vec![top.join("cache")])
        } else {
            ("alias ll='ls -l'\nx\n", vec![])
        };
        let listed = checkpoint.not_kept.iter();
        assert!(listed.map(|it| it.path.clone()).eq(unwatched), "{turn}");
        let report = work.restore(&checkpoint.id);
        assert_eq!(report.conflicts, [], "{turn}");
        assert!(picture(&work.folder) == project, "{turn}");
        assert_eq!(work.read("../.bashrc"), kept, "{turn}");
        assert!(full_picture(&top.join(".git")) == git, "{turn}");
        work.write("../.bashrc", "alias ll='ls -l'\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_without_commands_is_marked() {
    let work = Work::new();
    work.write("a", "1\n");
    let recorder = ThreadRecorder::new(std::sync::Arc::clone(&work.store), THREAD, false);
    let running = recorder
        .before_command(&mark("t"), std::slice::from_ref(&work.folder))
        .await;
    fs::write(work.path("b"), "x").unwrap();
    drop(running);
    recorder.after_command(&mark("t"), "call").await;
    assert!(recorder.end_turn("t").await.is_none());
    let record = recorder
        .before_patch(&mark("u"), "p", vec![work.path("a")])
        .await;
    work.write("a", "2\n");
    record.end().await;
    let checkpoint = recorder.end_turn("u").await.unwrap();
    assert_eq!(checkpoint.coverage, Coverage::Complete);
    drop(
        recorder
            .before_command(&mark("v"), std::slice::from_ref(&work.folder))
            .await,
    );
    let record = recorder
        .before_patch(&mark("v"), "p", vec![work.path("a")])
        .await;
    work.write("a", "3\n");
    record.end().await;
    let checkpoint = recorder.end_turn("v").await.unwrap();
    assert_eq!(checkpoint.coverage, Coverage::Patches);
}
