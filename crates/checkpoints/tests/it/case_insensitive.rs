//! Disks that take `a.rs` and `A.rs` for one name.

use codex_checkpoints::CheckpointLimits;

use crate::work::{Work, picture};

const EDITS: [&str; 9] = [
    "perl -e 'rename \"src/a.rs\", \"src/A.rs\"'",
    "perl -e 'rename \"src/a.rs\", \"src/A.rs\"' && echo changed > src/A.rs",
    "echo changed > src/A.rs",
    "rm SRC/A.RS && echo new > src/A.rs",
    "perl -e 'rename \"src\", \"Src\"'",
    "perl -e 'rename \"src\", \"Src\"' && echo new > src/new && echo changed > src/A.RS",
    "rm -r src && mkdir SRC && echo new > SRC/B.rs",
    "perl -e 'rename \"src/a.rs\", \"src/b.txt\"; rename \"src/b.rs\", \"src/A.rs\"'",
    "rm src/a.rs && mkdir src/A.rs && echo x > src/A.rs/x",
];

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    not(any(target_os = "macos", windows)),
    ignore = "needs a folder on such a disk, CODEX_CASE_INSENSITIVE_FOLDER"
)]
async fn names_that_differ_in_case_alone_go_back() {
    let base = std::env::var_os("CODEX_CASE_INSENSITIVE_FOLDER");
    let base = base.map_or_else(std::env::temp_dir, Into::into);
    for (edit, in_repository) in EDITS.iter().flat_map(|edit| [(edit, false), (edit, true)]) {
        let folder = tempfile::tempdir_in(&base).unwrap();
        let work = Work::in_folder(folder, CheckpointLimits::default());
        work.write("src/a.rs", "one\n");
        work.write("src/b.rs", "two\n");
        assert!(work.path("SRC/A.RS").exists(), "names differ in case here");
        if in_repository {
            work.commit();
        }
        let before = picture(&work.folder);
        work.run("t", edit).await;
        let after = picture(&work.folder);
        let checkpoint = work.end("t").await.unwrap();
        let report = work.restore(&checkpoint.id);
        assert_eq!((report.conflicts, report.not_kept), (vec![], vec![]));
        assert!(picture(&work.folder) == before, "{edit}");
        work.restore(&report.undo_checkpoint.unwrap());
        assert!(picture(&work.folder) == after, "{edit}: the restore undone");
    }
}
