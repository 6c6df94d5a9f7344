//! Unusual patches: exit code, output and resulting files.

use std::ffi::OsString;

use codex_apply_patch::{ProgramOutput, run_program};

use crate::support::{Folder, patch, tree, with_local_errors};

const HEADER_HELP: &str = "is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', \
                           '*** Delete File: {path}', '*** Update File: {path}'";
const LINE_HELP: &str =
    "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)";

type FileAccess<'a> = &'a [(&'a str, &'a str)];

/// Checks that the patch applies through the tool and through the program. `summary` is the list of files, `after` the
/// resulting content of the folder.
#[track_caller]
fn applies(before: FileAccess<'_>, body: &str, summary: &str, after: FileAccess<'_>) {
    let folder = Folder::with_files(before);
    let verified = folder.verify(body).map(|plan| plan.success_text());
    let output = folder.program(body);
    assert_eq!(output.stderr, "", "{body}");
    assert_eq!(output.exit_code, 0);
    assert_eq!(
        output.stdout,
        format!("Success. Updated the following files:\n{summary}\n")
    );
    assert_eq!(verified.unwrap(), output.stdout, "the tool says the same");
    assert_eq!(folder.tree(), tree(after), "{body}");
}

/// Checks that the patch fails with this text of the program, and that nothing changes.
#[track_caller]
fn fails(before: FileAccess<'_>, body: &str, text: &str) {
    fails_raw(before, &patch(body), text);
}

#[track_caller]
fn fails_raw(before: FileAccess<'_>, text: &str, expected: &str) {
    let folder = Folder::with_files(before);
    let untouched = folder.tree();
    let output = folder.program_raw(text);
    let expected = with_local_errors(expected);
    assert_eq!(output.stderr, format!("{expected}\n"), "{text}");
    assert_eq!((output.exit_code, output.stdout.as_str()), (1, ""));
    assert_eq!(folder.tree(), untouched, "a failing patch changes nothing");
}

#[track_caller]
fn tool_fails(before: FileAccess<'_>, body: &str, text: &str) {
    let expected = with_local_errors(text);
    assert_eq!(Folder::with_files(before).tool_error(body), expected);
}

#[test]
fn no_hunks() {
    fails_raw(
        &[],
        "*** Begin Patch\n*** End Patch",
        "No files were modified.",
    );
    let folder = Folder::with_files(&[]);
    let empty = codex_apply_patch::Patch::parse("*** Begin Patch\n*** End Patch").unwrap();
    let error = empty
        .verify(
            &folder.path(),
            &codex_apply_patch::DiskFiles,
            codex_apply_patch::PatchCaller::Tool,
        )
        .unwrap_err();
    assert_eq!(
        error.text(codex_apply_patch::PatchCaller::Tool),
        "patch rejected: empty patch"
    );
}

#[test]
fn the_command_line() {
    let folder = Folder::with_files(&[]);
    let run = |arguments: &[&str], stdin: &[u8]| {
        run_program(arguments.iter().map(OsString::from), stdin, &folder.path())
    };
    let usage = "Usage: apply_patch 'PATCH'\n       echo 'PATCH' | apply_patch\n";
    let refused = |exit_code, stderr: &str| ProgramOutput {
        exit_code,
        stdout: String::new(),
        stderr: stderr.to_owned(),
    };
    assert_eq!(run(&[], b""), refused(2, usage));
    let two = "Error: apply_patch accepts exactly one argument.\n";
    assert_eq!(run(&["a", "b"], b""), refused(2, two));
    let empty = "Invalid patch: The last line of the patch must be '*** End Patch'\n";
    assert_eq!(run(&[""], b""), refused(1, empty));
    let output = run(&[], patch("*** Add File: a.txt\n+a").as_bytes());
    assert_eq!(
        output.stdout,
        "Success. Updated the following files:\nA a.txt\n"
    );
    assert_eq!(folder.tree(), tree(&[("a.txt", "a\n")]));
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_text() {
    use std::os::unix::ffi::OsStringExt;
    let bad = OsString::from_vec(vec![0xff]);
    let output = run_program(
        [bad].into_iter(),
        std::io::empty(),
        &Folder::with_files(&[]).path(),
    );
    assert_eq!(output.exit_code, 1);
    assert_eq!(
        output.stderr,
        "Error: the patch given to apply_patch is not UTF-8.\n"
    );
}

#[test]
fn markers() {
    let first = "Invalid patch: The first line of the patch must be '*** Begin Patch'";
    let last = "Invalid patch: The last line of the patch must be '*** End Patch'";
    fails_raw(&[], "hello", first);
    fails_raw(&[], "*** Begin Patch\n*** Add File: a\n+a", last);
    fails_raw(&[], "  \n", last);
    tool_fails(
        &[],
        "*** Frobnicate: x",
        &format!(
            "apply_patch verification failed: invalid hunk at line 2, '*** Frobnicate: x' {HEADER_HELP}"
        ),
    );
    fails(
        &[],
        "*** add file: x",
        &format!("Invalid patch hunk on line 2: '*** add file: x' {HEADER_HELP}"),
    );
    fails(
        &[],
        "*** Delete File: ",
        &format!("Invalid patch hunk on line 2: '*** Delete File:' {HEADER_HELP}"),
    );
    let folder = Folder::with_files(&[]);
    let blanks = "\n  *** Begin Patch  \n  *** Add File:  a.txt  \n+a\n *** End Patch \n\n";
    assert_eq!(folder.program_raw(blanks).exit_code, 0);
    assert_eq!(folder.tree(), tree(&[("a.txt", "a\n")]));
}

#[test]
fn heredoc_wrappers() {
    let inner = patch("*** Add File: a.txt\n+a");
    for tag in ["<<EOF", "<<'EOF'", "<<\"EOF\""] {
        let folder = Folder::with_files(&[]);
        let output = folder.program_raw(&format!("{tag}\n{inner}\nEOF"));
        assert_eq!(output.exit_code, 0, "{tag}: {}", output.stderr);
        assert_eq!(folder.tree(), tree(&[("a.txt", "a\n")]));
    }
    let first = "Invalid patch: The first line of the patch must be '*** Begin Patch'";
    fails_raw(&[], &format!("<< 'EOF'\n{inner}\nEOF"), first);
    fails_raw(&[], &format!("<<'PATCH'\n{inner}\nPATCH"), first);
    let last = "Invalid patch: The last line of the patch must be '*** End Patch'";
    fails_raw(&[], "<<EOF\n*** Begin Patch\nfoo\nEOF", last);
}

#[test]
fn add() {
    applies(
        &[],
        "*** Add File: d/e/x.txt\n+x",
        "A d/e/x.txt",
        &[("d/e/x.txt", "x\n")],
    );
    applies(&[], "*** Add File: a.txt", "A a.txt", &[("a.txt", "")]);
    applies(
        &[("a.txt", "old\n")],
        "*** Add File: a.txt\n+new",
        "A a.txt",
        &[("a.txt", "new\n")],
    );
    applies(
        &[],
        "*** Add File: q/../x.txt\n+x",
        "A q/../x.txt",
        &[("q/", ""), ("x.txt", "x\n")],
    );
    applies(
        &[],
        "*** Add File: a.txt\n+*** y\n+",
        "A a.txt",
        &[("a.txt", "*** y\n\n")],
    );
}

#[test]
fn add_with_an_absolute_path() {
    let (folder, other) = (Folder::with_files(&[]), Folder::with_files(&[]));
    let file = other.path().join("x.txt");
    let output = folder.program(&format!("*** Add File: {}\n+x", file.display()));
    assert_eq!(output.exit_code, 0);
    assert_eq!(other.tree(), tree(&[("x.txt", "x\n")]));
    assert_eq!(folder.tree(), tree(&[]));
}

#[test]
fn add_that_cannot_be() {
    let in_the_way = "Failed to write file a: Is a directory (os error 21)";
    fails(&[("a/b", "")], "*** Add File: a\n+x", in_the_way);
    fails(
        &[("a", "")],
        "*** Add File: a/b/c\n+x",
        "Failed to create parent directories for a/b/c: File exists (os error 17)",
    );
    let blank = format!("Invalid patch hunk on line 4: '' {HEADER_HELP}");
    fails(&[], "*** Add File: a\n+x\n\n*** Delete File: b", &blank);
    let bare = format!("Invalid patch hunk on line 4: 'y' {HEADER_HELP}");
    fails(&[], "*** Add File: a\n+x\ny", &bare);
}

#[test]
fn delete() {
    applies(
        &[("a", "x"), ("b", "y")],
        "*** Delete File: a",
        "D a",
        &[("b", "y")],
    );
    let missing = "No such file or directory (os error 2)";
    fails(
        &[],
        "*** Delete File: nope",
        &format!("Failed to delete file nope: {missing}"),
    );
    tool_fails(
        &[],
        "*** Delete File: nope",
        &format!("apply_patch verification failed: Failed to read ~/nope: {missing}"),
    );
    fails(
        &[("d/x", "")],
        "*** Delete File: d",
        "Failed to delete file d: is a directory",
    );
    tool_fails(
        &[("d/x", "")],
        "*** Delete File: d",
        "apply_patch verification failed: Failed to read ~/d: Is a directory (os error 21)",
    );
    let plus = format!("Invalid patch hunk on line 3: '+foo' {HEADER_HELP}");
    fails(&[("a", "")], "*** Delete File: a\n+foo", &plus);
}

#[test]
fn update_of_unreadable_file() {
    let missing = "No such file or directory (os error 2)";
    let body = "*** Update File: a.txt\n-x\n+y";
    fails(
        &[],
        body,
        &format!("Failed to read file to update a.txt: {missing}"),
    );
    tool_fails(
        &[],
        body,
        &format!(
            "apply_patch verification failed: Failed to read file to update ~/a.txt: {missing}"
        ),
    );
    let folder = Folder::with_files(&[]);
    folder.write("a.txt", [b'x', 0xff]);
    let not_text = "stream did not contain valid UTF-8";
    assert_eq!(
        folder.program(body).stderr,
        format!("Failed to read file to update a.txt: {not_text}\n")
    );
    assert_eq!(
        folder.tool_error("*** Delete File: a.txt"),
        format!("apply_patch verification failed: Failed to read ~/a.txt: {not_text}")
    );
    assert_eq!(folder.program("*** Delete File: a.txt").exit_code, 0);
}

#[test]
fn chunk_headers() {
    let file: FileAccess<'_> = &[("a.txt", "x\ny\n")];
    let update = |changes: &str| format!("*** Update File: a.txt\n{changes}");
    applies(file, &update("-x\n+z"), "M a.txt", &[("a.txt", "z\ny\n")]);
    applies(
        file,
        &update("\n@@\n-x\n+z\n\n@@\n-y"),
        "M a.txt",
        &[("a.txt", "z\n")],
    );
    let junk = "Expected update hunk to start with a @@ context marker, got: 'junk'";
    fails(
        file,
        &update("@@\n-x\njunk"),
        &format!("Invalid patch hunk on line 5: {junk}"),
    );
    let none = "Update hunk does not contain any lines";
    fails(
        file,
        &update("@@"),
        &format!("Invalid patch hunk on line 4: {none}"),
    );
    fails(
        file,
        &update("@@\n*** End of File"),
        &format!("Invalid patch hunk on line 4: {none}"),
    );
    fails(
        file,
        &update("@@ x\n@@ y"),
        &format!("Invalid patch hunk on line 5: {none}"),
    );
    let bad = format!("Unexpected line found in update hunk: 'junk'. {LINE_HELP}");
    fails(
        file,
        &update("junk"),
        &format!("Invalid patch hunk on line 3: {bad}"),
    );
    fails(
        file,
        &update("@@ x\njunk"),
        &format!("Invalid patch hunk on line 4: {bad}"),
    );
    let weird = format!("Invalid patch hunk on line 4: '*** weird' {HEADER_HELP}");
    fails(file, &update("-x\n*** weird"), &weird);
    let empty = "Invalid patch hunk on line 2: Update file hunk for path 'a.txt' is empty";
    fails(file, "*** Update File: a.txt", empty);
    applies(
        &[("a.txt", "def a\nx\ndef b\nx\n")],
        &update("@@ def a\n@@ def b\n-x\n+y"),
        "M a.txt",
        &[("a.txt", "def a\nx\ndef b\ny\n")],
    );
}

#[test]
fn hunk_without_match_is_an_error() {
    let file: FileAccess<'_> = &[("a.txt", "x\ny\n")];
    let update = |changes: &str| format!("*** Update File: a.txt\n{changes}");
    fails(
        file,
        &update("-no\n such"),
        "Failed to find expected lines in a.txt:\nno\nsuch",
    );
    tool_fails(
        file,
        &update("-no\n such"),
        "apply_patch verification failed: Failed to find expected lines in ~/a.txt:\nno\nsuch",
    );
    fails(
        file,
        &update("--- a/a.txt\n+++ b/a.txt"),
        "Failed to find expected lines in a.txt:\n-- a/a.txt",
    );
    let range = "Failed to find context '-1,1 +1,1 @@' in a.txt";
    fails(file, &update("@@ -1,1 +1,1 @@\n-x"), range);
    fails(
        file,
        &update("-y\n@@\n-x"),
        "Failed to find expected lines in a.txt:\nx",
    );
    fails(
        file,
        &update("-x\n*** End of File"),
        "Failed to find expected lines in a.txt:\nx",
    );
    // A line belongs to one chunk.
    fails(
        &[("a.txt", "x\ny\nz\n")],
        &update("-x\n y\n@@\n y\n-z"),
        "Failed to find expected lines in a.txt:\ny\nz",
    );
    // An indented move is a line of context.
    fails(
        file,
        &update(" *** Move to: b.txt\n-x"),
        "Failed to find expected lines in a.txt:\n*** Move to: b.txt\nx",
    );
}

#[test]
fn texts_that_differ_a_little() {
    let update = |changes: &str| format!("*** Update File: a.txt\n{changes}");
    for (before, changes, after) in [
        ("x", "-x\n+y", "y\n"),
        ("x\r\nz\r\n", "-x\n+y", "y\r\nz\r\n"),
        ("x\nz\n", "-x\r\n+y\r", "y\nz\n"),
        ("ctx   \nx\n", " ctx\n-x\n+y", "ctx   \ny\n"),
        ("    x\n    z\n", "-x\n+y\n z", "y\n    z\n"),
        ("a \u{2014} \u{201C}b\u{201D}\n", "-a - \"b\"\n+c", "c\n"),
        ("x\n\nz\n", "-x\n\n+y\n z", "\ny\nz\n"),
        ("x\nz\n", "-x\n+y\n", "y\nz\n"),
        ("x\nz\n", " x\n z", "x\nz\n"),
        ("x\nz", " x", "x\nz\n"),
        ("x\n", "-x", ""),
        ("", "+new", "new\n"),
        ("a\n", "+new", "a\nnew\n"),
        ("a\nb\n", "@@ a\n+new", "a\nnew\nb\n"),
        ("x\nq\nx\n", "@@\n-x\n+y\n*** End of File", "x\nq\ny\n"),
        ("x\nx\nx\n", "-x\n+1\n@@\n-x\n+2", "1\n2\nx\n"),
    ] {
        applies(
            &[("a.txt", before)],
            &update(changes),
            "M a.txt",
            &[("a.txt", after)],
        );
    }
}

#[test]
fn moves() {
    let file: FileAccess<'_> = &[("a.txt", "x\n"), ("c.txt", "old\n")];
    let update = |changes: &str| format!("*** Update File: a.txt\n{changes}");
    applies(
        file,
        &update("*** Move to: d/b.txt\n-x\n+y"),
        "M d/b.txt",
        &[("c.txt", "old\n"), ("d/b.txt", "y\n")],
    );
    applies(
        file,
        &update("*** Move to: c.txt\n-x\n+y"),
        "M c.txt",
        &[("c.txt", "y\n")],
    );
    applies(
        file,
        &update("*** Move to: b.txt"),
        "M b.txt",
        &[("b.txt", "x\n"), ("c.txt", "old\n")],
    );
    for same in ["a.txt", "./a.txt", "no/../a.txt"] {
        let folder = Folder::with_files(&[("a.txt", "x\n")]);
        let output = folder.program(&update(&format!("*** Move to: {same}\n-x\n+y")));
        assert_eq!(
            output.stdout,
            format!("Success. Updated the following files:\nM {same}\n")
        );
        assert_eq!(folder.tree()["a.txt"].as_deref(), Some(b"y\n".as_slice()));
    }
}

#[test]
fn hunks_that_build_on_each_other() {
    let x_y_z = "*** Update File: a\n-x\n+y\n*** Update File: a\n-y\n+z";
    applies(&[("a", "x\n")], x_y_z, "M a\nM a", &[("a", "z\n")]);
    let add_update = "*** Add File: n\n+x\n*** Update File: n\n-x\n+y";
    applies(&[], add_update, "A n\nM n", &[("n", "y\n")]);
    let add_delete = "*** Add File: n\n+x\n*** Delete File: n";
    applies(&[], add_delete, "A n\nD n", &[]);
    let move_update = "*** Update File: a\n*** Move to: b\n-x\n+y\n*** Update File: b\n-y\n+z";
    applies(&[("a", "x\n")], move_update, "M b\nM b", &[("b", "z\n")]);
    let delete_add = "*** Delete File: a\n*** Add File: a/b\n+x";
    applies(
        &[("a", "old\n")],
        delete_add,
        "A a/b\nD a",
        &[("a/b", "x\n")],
    );
    let delete_update = "*** Delete File: a\n*** Update File: a\n-x\n+y";
    let missing = "Failed to read file to update a: No such file or directory (os error 2)";
    fails(&[("a", "x\n")], delete_update, missing);
}

#[test]
fn patch_summary_is_ordered_by_kind() {
    let body = "*** Delete File: b.txt\n*** Update File: c.txt\n-x\n+y\n*** Add File: d/n.txt\n+n";
    applies(
        &[("b.txt", ""), ("c.txt", "x\n")],
        body,
        "A d/n.txt\nM c.txt\nD b.txt",
        &[("c.txt", "y\n"), ("d/n.txt", "n\n")],
    );
}
