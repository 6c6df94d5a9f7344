//! The diff of a turn: from the content before its first patch to the content on disk.

#[cfg(unix)]
use std::fs;

use codex_apply_patch::{TurnDiff, apply};

use crate::support::Folder;

struct Turn {
    folder: Folder,
    diff: TurnDiff,
}

impl Turn {
    fn with_files(files: &[(&str, &str)]) -> Self {
        let folder = Folder::with_files(files);
        let diff = TurnDiff::default();
        Self { folder, diff }
    }

    fn text(&self) -> String {
        self.diff.text(Some(&self.folder.path()))
    }

    fn patch(&mut self, body: &str) {
        let plan = self.folder.verify(body).unwrap();
        self.diff.before(&plan);
        apply(&plan).unwrap();
        self.diff.after(&plan);
    }
}

// Ids as `git hash-object` prints them.
const NULL_ID: &str = "0000000000000000000000000000000000000000";
const EMPTY_ID: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
const X: &str = "587be6b4c3f93f93c489c0111bba5596147a26cb";
const Y: &str = "975fbec8256d3e8a3797e7a3611380f27c49f4ac";

#[test]
fn several_patches_are_one_diff() {
    let mut turn = Turn::with_files(&[("a", "x\n"), ("gone", "x\n")]);
    assert_eq!(turn.text(), "");
    turn.patch("*** Update File: a\n-x\n+z\n*** Add File: b/n\n+x");
    turn.patch("*** Update File: a\n-z\n+y\n*** Delete File: gone\n*** Add File: e");
    let expected = format!(
        "diff --git a/a b/a\nindex {X}..{Y}\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n\
         diff --git a/b/n b/b/n\nnew file mode 100644\nindex {NULL_ID}..{X}\n--- /dev/null\n+++ b/b/n\n@@ -0,0 +1 @@\n+x\n\
         diff --git a/e b/e\nnew file mode 100644\nindex {NULL_ID}..{EMPTY_ID}\n\
         diff --git a/gone b/gone\ndeleted file mode 100644\nindex {X}..{NULL_ID}\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    );
    assert_eq!(turn.text(), expected);
}

#[test]
fn turn_diff_has_later_writes_to_patched_files() {
    let mut turn = Turn::with_files(&[("a", "x\n"), ("b", "x\n")]);
    turn.patch("*** Update File: a\n-x\n+z");
    turn.folder.write("a", "y\n");
    turn.folder.write("b", "y\n");
    assert_eq!(
        turn.text(),
        format!("diff --git a/a b/a\nindex {X}..{Y}\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n")
    );
    turn.folder.write("a", "x\n");
    assert_eq!(turn.text(), "", "back to what it was");
}

#[test]
fn moves_keep_their_beginning() {
    let mut turn = Turn::with_files(&[("a", "x\n"), ("b", "x\n")]);
    turn.patch("*** Update File: a\n*** Move to: c\n-x\n+z");
    turn.patch("*** Update File: c\n*** Move to: d\n-z\n+y\n*** Update File: b\n*** Move to: z");
    assert_eq!(
        turn.text(),
        format!(
            "diff --git a/a b/d\nindex {X}..{Y}\n--- a/a\n+++ b/d\n@@ -1 +1 @@\n-x\n+y\n\
             diff --git a/b b/z\nsimilarity index 100%\nrename from b\nrename to z\n"
        )
    );
    turn.patch("*** Update File: d\n*** Move to: a\n-y\n+x\n*** Update File: z\n*** Move to: b");
    assert_eq!(turn.text(), "");
}

#[test]
fn a_file_that_came_and_went_is_not_shown() {
    let mut turn = Turn::with_files(&[]);
    turn.patch("*** Add File: a\n+x");
    turn.patch("*** Update File: a\n*** Move to: b");
    turn.patch("*** Delete File: b");
    assert_eq!(turn.text(), "");
}

#[test]
fn content_that_is_no_text() {
    let mut turn = Turn::with_files(&[("a", "x\n")]);
    turn.patch("*** Update File: a\n-x\n+y");
    turn.folder.write("a", [0xff]);
    let text = turn.text();
    assert!(
        text.ends_with("--- a/a\n+++ b/a\nBinary files differ\n"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn modes_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mut turn = Turn::with_files(&[("a", "x\n"), ("l", "")]);
    turn.patch("*** Update File: a\n-x\n+y");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(turn.folder.path().join("a"), executable).unwrap();
    let text = turn.text();
    assert!(
        text.starts_with("diff --git a/a b/a\nold mode 100644\nnew mode 100755\nindex "),
        "{text}"
    );
    turn.folder.write("a", "x\n");
    fs::remove_file(turn.folder.path().join("l")).unwrap();
    symlink("a", turn.folder.path().join("l")).unwrap();
    turn.patch("*** Delete File: l");
    let text = turn.text();
    assert!(text.contains("\ndeleted file mode 120000\n"), "{text}");
    assert!(
        text.ends_with("--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"),
        "{text}"
    );
}

#[test]
fn without_a_repository_paths_are_whole() {
    let folder = Folder::with_files(&[("a", "x\n")]);
    let mut diff = TurnDiff::default();
    let plan = folder.verify("*** Delete File: a").unwrap();
    diff.before(&plan);
    apply(&plan).unwrap();
    let path = folder.path().join("a").display().to_string();
    let path = path.replace('\\', "/");
    assert!(
        diff.text(None)
            .starts_with(&format!("diff --git a/{path} b/{path}\n"))
    );
}
