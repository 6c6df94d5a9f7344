//! Plans: the changes that they show, the real paths that they name, and that they are applied completely or not at all.

#[cfg(unix)]
use std::fs;
use std::path::PathBuf;

use codex_apply_patch::{ChangeKind, PatchChange, apply};

use crate::support::{Folder, tree, with_local_errors};

fn shown(folder: &Folder, body: &str) -> Vec<PatchChange> {
    folder.verify(body).expect("a plan").changes().to_vec()
}

fn touched(folder: &Folder, body: &str) -> Vec<PathBuf> {
    let plan = folder.verify(body).expect("a plan");
    let mut paths: Vec<PathBuf> = plan.touched_paths().map(ToOwned::to_owned).collect();
    paths.sort();
    paths
}

fn add(content: &str) -> ChangeKind {
    ChangeKind::Add {
        content: content.to_owned(),
    }
}

fn delete(content: &str) -> ChangeKind {
    ChangeKind::Delete {
        content: content.to_owned(),
    }
}

fn update(diff: &str, move_path: Option<PathBuf>) -> ChangeKind {
    ChangeKind::Update {
        unified_diff: diff.to_owned(),
        move_path,
    }
}

#[test]
fn changes_are_sorted_and_complete() {
    let folder = Folder::with_files(&[("b", "gone\n"), ("c", "1\n2\n3\n4\n"), ("m", "x\n")]);
    let body = "*** Update File: m\n*** Move to: d/m\n-x\n+y\n*** Update File: c\n-2\n+two\n\
                *** Delete File: b\n*** Add File: a\n+new";
    let at = |name: &str| folder.path().join(name);
    let moved = update("@@ -1 +1 @@\n-x\n+y\n", Some(at("d/m")));
    let changes = shown(&folder, body);
    let expected = [
        PatchChange {
            path: at("a"),
            kind: add("new\n"),
        },
        PatchChange {
            path: at("b"),
            kind: delete("gone\n"),
        },
        PatchChange {
            path: at("c"),
            kind: update("@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n", None),
        },
        PatchChange {
            path: at("m"),
            kind: moved,
        },
    ];
    assert_eq!(changes, expected);
    assert_eq!(
        touched(&folder, body),
        ["a", "b", "c", "d", "d/m", "m"].map(at)
    );
}

#[test]
fn a_file_named_twice_shows_its_net_change() {
    let folder = Folder::with_files(&[("a", "x\n")]);
    for (body, expected) in [
        (
            "*** Update File: a\n-x\n+y\n*** Update File: a\n-y\n+z",
            Some(update("@@ -1 +1 @@\n-x\n+z\n", None)),
        ),
        (
            "*** Update File: a\n-x\n+y\n*** Delete File: a",
            Some(delete("x\n")),
        ),
        ("*** Delete File: a\n*** Add File: a\n+n", Some(add("n\n"))),
        (
            "*** Add File: a\n+n\n*** Delete File: a",
            Some(delete("x\n")),
        ),
        (
            "*** Add File: n\n+n\n*** Update File: n\n-n\n+m",
            Some(add("m\n")),
        ),
        ("*** Add File: n\n+n\n*** Delete File: n", None),
        (
            "*** Update File: a\n*** Move to: b\n-x\n+y\n*** Delete File: b",
            Some(delete("x\n")),
        ),
    ] {
        let kinds: Vec<ChangeKind> = shown(&folder, body).into_iter().map(|c| c.kind).collect();
        assert_eq!(kinds, Vec::from_iter(expected), "{body}");
    }
}

#[test]
fn a_move_onto_itself_is_an_update() {
    let folder = Folder::with_files(&[("a", "x\n")]);
    let changes = shown(&folder, "*** Update File: a\n*** Move to: no/../a\n-x\n+y");
    assert_eq!(changes[0].kind, update("@@ -1 +1 @@\n-x\n+y\n", None));
}

#[test]
fn a_move_back_and_forth_is_an_update() {
    let folder = Folder::with_files(&[("a", "x\n")]);
    let body =
        "*** Update File: a\n*** Move to: b\n-x\n+y\n*** Update File: b\n*** Move to: a\n-y\n+z";
    let plan = folder.verify(body).unwrap();
    assert_eq!(
        plan.changes()[0].kind,
        update("@@ -1 +1 @@\n-x\n+z\n", None)
    );
    apply(&plan).unwrap();
    assert_eq!(folder.tree(), tree(&[("a", "z\n")]));
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn every_touched_path_is_a_real_one() {
        let (inside, outside) = (
            Folder::with_files(&[("a", "x\n")]),
            Folder::with_files(&[("o", "x\n")]),
        );
        let (here, there) = (inside.path(), outside.path());
        symlink(&there, here.join("out")).unwrap();
        symlink(there.join("o"), here.join("file")).unwrap();
        symlink("file", here.join("twice")).unwrap();
        symlink(there.join("not-yet"), here.join("dangling")).unwrap();
        let check = |body: &str, expected: &[PathBuf]| assert_eq!(touched(&inside, body), expected);
        check("*** Add File: out/n\n+x", &[there.join("n")]);
        check(
            "*** Add File: out/d/n\n+x",
            &[there.join("d"), there.join("d/n")],
        );
        check(
            "*** Add File: out/../n\n+x",
            &[there.parent().unwrap().join("n")],
        );
        check("*** Add File: dangling\n+x", &[there.join("not-yet")]);
        check("*** Update File: file\n-x\n+y", &[there.join("o")]);
        check("*** Update File: twice\n-x\n+y", &[there.join("o")]);
        check("*** Delete File: file", &[here.join("file")]);
        check("*** Delete File: out/o", &[there.join("o")]);
        let mut moved = [here.join("a"), there.join("o")];
        moved.sort();
        check("*** Update File: a\n*** Move to: twice\n-x\n+y", &moved);
        let mut away = [here.join("twice"), here.join("b")];
        away.sort();
        check("*** Update File: twice\n*** Move to: b\n-x\n+y", &away);
    }

    #[test]
    fn links_stay_or_go_as_the_patch_means() {
        let folder = Folder::with_files(&[("target", "x\n")]);
        symlink("target", folder.path().join("link")).unwrap();
        assert_eq!(folder.program("*** Update File: link\n-x\n+y").exit_code, 0);
        assert_eq!(
            folder.tree(),
            tree(&[("link", "-> target"), ("target", "y\n")])
        );
        assert_eq!(
            folder
                .program("*** Update File: link\n*** Move to: link\n-y\n+z")
                .exit_code,
            0
        );
        assert_eq!(
            folder.tree(),
            tree(&[("link", "-> target"), ("target", "z\n")])
        );
        assert_eq!(
            folder
                .program("*** Update File: link\n*** Move to: target\n-z\n+a")
                .exit_code,
            0
        );
        assert_eq!(folder.tree(), tree(&[("target", "a\n")]));
        symlink("target", folder.path().join("link")).unwrap();
        assert_eq!(folder.program("*** Delete File: link").exit_code, 0);
        assert_eq!(folder.tree(), tree(&[("target", "a\n")]));
    }

    #[test]
    fn a_circle_of_links_is_an_error() {
        let folder = Folder::with_files(&[]);
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        let output = folder.program("*** Add File: a\n+x");
        assert_eq!(
            output.stderr,
            "Failed to write file a: too many levels of symbolic links\n"
        );
    }

    #[test]
    fn a_link_that_appears_after_verifying_stops_the_patch() {
        let (inside, outside) = (
            Folder::with_files(&[("d/a", "x\n")]),
            Folder::with_files(&[("a", "x\n")]),
        );
        let plan = inside.verify("*** Update File: d/a\n-x\n+y").unwrap();
        fs::remove_dir_all(inside.path().join("d")).unwrap();
        symlink(outside.path(), inside.path().join("d")).unwrap();
        let error = apply(&plan).unwrap_err().to_string();
        assert_eq!(
            error,
            "Failed to write file d/a: it changed after the patch was checked"
        );
        assert_eq!(outside.tree(), tree(&[("a", "x\n")]));
    }

    /// Another thread keeps replacing a folder by a link; patches must only change files in the folder.
    #[test]
    #[cfg(target_os = "linux")]
    fn flickering_link_does_not_redirect_a_patch() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = Folder::with_files(&[("outside/kept", "")]);
        let path = |name: &str| folder.path().join(name);
        symlink(path("outside"), path("link")).unwrap();
        fs::create_dir(path("d")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let (one, other) = (path("d"), path("link"));
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                }
            });
            for number in 0..500 {
                let body = format!("*** Add File: d/{number}\n+x");
                if let Ok(plan) = folder.verify(&body)
                    && plan
                        .touched_paths()
                        .all(|touched| touched.starts_with(path("d")))
                {
                    // Fails if the folder is being replaced.
                    let _ = apply(&plan);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(path("outside")).unwrap().count(), 1);
    }

    #[test]
    fn another_hard_link_keeps_the_old_content() {
        let (inside, outside) = (Folder::with_files(&[]), Folder::with_files(&[("o", "x\n")]));
        fs::hard_link(outside.path().join("o"), inside.path().join("a")).unwrap();
        assert_eq!(inside.program("*** Update File: a\n-x\n+y").exit_code, 0);
        assert_eq!(inside.tree(), tree(&[("a", "y\n")]));
        assert_eq!(outside.tree(), tree(&[("o", "x\n")]));
    }

    #[test]
    fn the_mode_stays_with_the_file() {
        let folder = Folder::with_files(&[("run.sh", "x\n")]);
        let mode = |name: &str| {
            folder
                .path()
                .join(name)
                .metadata()
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path().join("run.sh"), executable).unwrap();
        folder.program("*** Update File: run.sh\n-x\n+y");
        assert_eq!(mode("run.sh"), 0o755);
        folder.program("*** Update File: run.sh\n*** Move to: go.sh\n-y\n+z");
        assert_eq!(mode("go.sh"), 0o755);
        folder.program("*** Add File: go.sh\n+w");
        assert_eq!(mode("go.sh"), 0o755);
        folder.program("*** Add File: plain\n+w");
        assert_eq!(mode("plain") & 0o111, 0);
        assert_eq!(mode("plain") & 0o600, 0o600);
    }

    #[test]
    fn a_link_deleted_and_added_becomes_a_file() {
        let folder = Folder::with_files(&[("target", "x\n")]);
        symlink("target", folder.path().join("link")).unwrap();
        let output = folder.program("*** Delete File: link\n*** Add File: link\n+y");
        assert_eq!(output.stderr, "");
        assert_eq!(folder.tree(), tree(&[("link", "y\n"), ("target", "x\n")]));
    }

    #[test]
    fn sockets_and_devices_are_left_alone() {
        let folder = Folder::with_files(&[("a", "x\n")]);
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for body in [
            "*** Add File: socket\n+x",
            "*** Update File: a\n*** Move to: socket\n-x\n+y",
            "*** Add File: socket\n+x\n*** Update File: socket\n*** Move to: b\n-x\n+y",
        ] {
            let output = folder.program(body);
            assert_eq!(
                output.stderr,
                "Failed to write file socket: not a regular file\n"
            );
            assert!(
                fs::symlink_metadata(&socket)
                    .unwrap()
                    .file_type()
                    .is_socket()
            );
        }
        let output = folder.program("*** Update File: /dev/zero\n-x\n+y");
        assert_eq!(
            output.stderr,
            "Failed to read file to update /dev/zero: not a regular file\n"
        );
    }
}

#[test]
fn a_file_changed_after_verifying_stops_the_patch() {
    let folder = Folder::with_files(&[("a", "x\n"), ("b", "y\n")]);
    let plan = folder
        .verify("*** Delete File: b\n*** Update File: a\n-x\n+y")
        .unwrap();
    folder.write("a", "other\n");
    assert!(apply(&plan).is_err());
    assert_eq!(folder.tree(), tree(&[("a", "other\n"), ("b", "y\n")]));
}

/// The steps before a failing one are undone, and the later ones are not started.
#[test]
fn a_late_failure_undoes_everything() {
    let before = [("a", "x\n"), ("c", "c\n"), ("d", "d\n"), ("busy/in", "")];
    for failing in ["*** Add File: busy\n+x", "*** Add File: a/n\n+x"] {
        let folder = Folder::with_files(&before);
        let body = format!(
            "*** Add File: new/deep/n\n+n\n*** Update File: a\n-x\n+y\n*** Delete File: c\n\
             *** Update File: d\n*** Move to: e\n-d\n+e\n{failing}\n*** Add File: later\n+l"
        );
        let output = folder.program(&body);
        assert_eq!(output.exit_code, 1, "{}", output.stdout);
        assert_eq!(folder.tree(), tree(&before), "{failing}");
    }
}

#[test]
fn a_folder_is_never_taken_for_a_file() {
    let before = [("e/f", "x\n"), ("a", "x\n")];
    let folder = Folder::with_files(&before);
    let output = folder.program("*** Add File: e\n+x\n*** Update File: e\n*** Move to: a\n-x\n+y");
    assert_eq!(
        output.stderr,
        with_local_errors("Failed to write file e: Is a directory (os error 21)\n")
    );
    assert_eq!(folder.tree(), tree(&before));
}

/// A failure after some files were already renamed into place.
#[test]
fn a_failure_between_two_renames_undoes_the_first() {
    let before = [("a", "x\n"), ("b", "x\n")];
    let folder = Folder::with_files(&before);
    // `n` becomes a folder for `n/m`, so the file `n` cannot be renamed into place.
    let body = "*** Delete File: b\n*** Update File: a\n-x\n+y\n*** Add File: n\n+n\n*** Add File: n/m\n+m";
    let output = folder.program(body);
    assert_eq!(
        output.stderr,
        with_local_errors("Failed to write file n: Is a directory (os error 21)\n")
    );
    assert_eq!(folder.tree(), tree(&before));
}
