//! Against real folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

use super::*;

/// A folder with these files; what ends in a slash is a folder.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn roots(folders: &[&Path]) -> SearchRoots {
    let name = |folder: &&Path| folder.to_str().unwrap().to_owned();
    SearchRoots {
        folders: folders.iter().map(name).collect(),
        ignore_files: Vec::new(),
    }
}

fn paths(matches: &[SearchMatch]) -> Vec<&str> {
    matches.iter().map(|found| found.path.as_str()).collect()
}

/// All paths below a folder, by a query that everything matches.
#[track_caller]
fn check_all(folder: &Path, expected: &[&str]) {
    let found = search(&roots(&[folder]), "!\u{1}", 1000, &AtomicBool::new(false));
    assert_eq!(paths(&found), expected);
}

#[test]
fn files_and_folders_are_found_in_their_order() {
    let folder = tree(&[
        ("src/alpha.rs", ""),
        ("src/beta.rs", ""),
        ("docs/alphabet.md", ""),
        (".hidden/alp", ""),
    ]);
    let no = AtomicBool::new(false);
    let found = search(&roots(&[folder.path()]), "alp", 50, &no);
    assert_eq!(
        paths(&found),
        [".hidden/alp", "docs/alphabet.md", "src/alpha.rs"]
    );
    assert_eq!(found[1].indices, [5, 6, 7]);
    assert_eq!(found[1].root, folder.path().to_str().unwrap());
    let found = search(&roots(&[folder.path()]), "src", 50, &no);
    assert_eq!((found[0].path.as_str(), found[0].is_folder), ("src", true));
    assert_eq!(search(&roots(&[folder.path()]), "alp", 1, &no).len(), 1);
    assert!(search(&roots(&[folder.path()]), " ", 50, &no).is_empty());
}

#[test]
fn roots_may_be_missing_twice_or_inside_each_other() {
    let folder = tree(&[("a/b/file", ""), ("a/other", "")]);
    let (outer, inner) = (folder.path(), folder.path().join("a/b"));
    let all = roots(&[outer, &inner, &outer.join("missing"), outer]);
    let found = search(&all, "file", 50, &AtomicBool::new(false));
    assert_eq!(paths(&found), ["file"]);
    assert_eq!(found[0].root, inner.to_str().unwrap());
}

#[test]
fn ignore_files_are_respected() {
    let in_repository = [
        (".git/HEAD", ""),
        (".git/info/exclude", "excluded\n"),
        (".gitignore", "/target/\n*.log\n!kept.log\n"),
        ("target/a", ""),
        ("src/target/b", ""),
        ("src/x.log", ""),
        ("src/kept.log", ""),
        ("src/excluded", ""),
        ("src/.gitignore", "!x.log\n"),
        ("src/.ignore", "private\n"),
        ("src/private/c", ""),
    ];
    let folder = tree(&in_repository);
    let kept = [
        ".gitignore",
        "src",
        "src/.gitignore",
        "src/.ignore",
        "src/kept.log",
        "src/target",
        "src/target/b",
        "src/x.log",
    ];
    check_all(folder.path(), &kept);
    // Rules of parent folders apply too.
    let kept = [
        ".gitignore",
        ".ignore",
        "kept.log",
        "target",
        "target/b",
        "x.log",
    ];
    check_all(&folder.path().join("src"), &kept);
}

#[test]
fn without_a_repository_gitignore_means_nothing() {
    let folder = tree(&[
        (".gitignore", "*\n"),
        ("a", ""),
        (".ignore", "b\n"),
        ("b", ""),
    ]);
    check_all(folder.path(), &[".gitignore", ".ignore", "a"]);
}

#[test]
fn a_repository_inside_another_has_its_own_rules() {
    let folder = tree(&[
        (".git/HEAD", ""),
        (".gitignore", "*.x\n"),
        ("a.x", ""),
        ("inner/.git/HEAD", ""),
        ("inner/b.x", ""),
    ]);
    check_all(folder.path(), &[".gitignore", "inner", "inner/b.x"]);
}

#[test]
fn global_ignore_file_applies_in_repositories() {
    let folder = tree(&[("repo/.git/HEAD", ""), ("repo/a.swp", ""), ("b.swp", "")]);
    let own = tree(&[("ignore", "*.swp\n")]);
    let mut roots = roots(&[folder.path()]);
    roots.ignore_files = vec![own.path().join("ignore")];
    let found = search(&roots, "swp", 50, &AtomicBool::new(false));
    assert_eq!(paths(&found), ["b.swp"]);
}

#[test]
fn links_are_followed_but_not_in_circles() {
    let folder = tree(&[("a/file", ""), ("b/", "")]);
    symlink("../a", folder.path().join("b/to-a")).unwrap();
    symlink("..", folder.path().join("a/up")).unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    let found = [
        "a",
        "a/file",
        "a/up",
        "b",
        "b/to-a",
        "b/to-a/file",
        "b/to-a/up",
        "dangling",
    ];
    check_all(folder.path(), &found);
}

#[test]
fn names_that_are_no_text_are_passed_over() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tree(&[("caf\u{e9}", "")]);
    fs::write(folder.path().join(OsStr::from_bytes(b"a\xff")), "").unwrap();
    check_all(folder.path(), &["caf\u{e9}"]);
}

#[test]
fn a_search_that_nobody_wants_any_more_ends() {
    let folder = tree(&[("a/b/c/d", ""), ("x", "")]);
    let found = search(&roots(&[folder.path()]), "d", 50, &AtomicBool::new(true));
    assert!(found.len() <= 1);
}

struct ReceivedEvents(Receiver<SearchEvent>);

impl ReceivedEvents {
    fn next(&self) -> SearchEvent {
        self.0.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    /// The paths of the next answer to a query.
    fn found(&self, expected: &str) -> Vec<String> {
        loop {
            match self.next() {
                SearchEvent::Found { query, matches } if query == expected => {
                    return matches.into_iter().map(|found| found.path).collect();
                }
                _ => {}
            }
        }
    }

    fn complete(&self) {
        while !matches!(self.next(), SearchEvent::Complete { .. }) {}
    }
}

fn session(folder: &Path) -> (SearchSession, ReceivedEvents) {
    let (sender, events) = channel();
    let session = SearchSession::start(roots(&[folder]), 50, move |event| {
        sender.send(event).ok();
    });
    (session.unwrap(), ReceivedEvents(events))
}

fn complete(query: &str) -> SearchEvent {
    SearchEvent::Complete {
        query: query.to_owned(),
    }
}

#[test]
fn session_answers_each_query_until_complete() {
    let folder = tree(&[("src/alpha.rs", ""), ("src/beta.rs", "")]);
    let (session, events) = session(folder.path());
    assert_eq!(events.found(""), [""; 0]);
    assert_eq!(events.next(), complete(""));
    for _ in 0..2 {
        session.query("alp".to_owned());
        assert_eq!(events.found("alp"), ["src/alpha.rs"]);
        assert_eq!(events.next(), complete("alp"));
    }
    session.query("nothing".to_owned());
    assert_eq!(events.found("nothing"), [""; 0]);
    assert_eq!(events.next(), complete("nothing"));
    session.query(String::new());
    assert_eq!(events.found(""), [""; 0]);
    assert_eq!(events.next(), complete(""));
    drop(session);
    // The session ends, and with it the reports.
    assert!(events.0.recv_timeout(Duration::from_secs(30)).is_err());
}

#[test]
fn the_last_query_is_the_one_that_counts() {
    let files: Vec<_> = (0..3000)
        .map(|number| format!("d{}/f{number}", number % 50))
        .collect();
    let files: Vec<_> = files.iter().map(|name| (name.as_str(), "")).collect();
    let folder = tree(&files);
    let (session, events) = session(folder.path());
    for query in ["f", "f2", "f29", "f299", "f2999"] {
        session.query(query.to_owned());
    }
    // Only the result for the last query counts.
    loop {
        let found = events.found("f2999");
        if !found.is_empty() {
            assert_eq!(found, ["d49/f2999"]);
            break;
        }
    }
    events.complete();
}
