//! What is hidden in real folders.

#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use codex_hidden_files::{
    FindError, HiddenFiles, HidingRules, IGNORE_FILE, PatternList, PatternOwner, WorkspaceFolder,
};

struct HiddenFolder {
    _guard: tempfile::TempDir,
    top: PathBuf,
    files: HiddenFiles,
}

fn work(patterns: &[&str], entries: &[&str]) -> HiddenFolder {
    let guard = tempfile::tempdir().unwrap();
    let top = guard.path().canonicalize().unwrap();
    let top_text = top.to_str().unwrap();
    let patterns: Vec<String> = patterns
        .iter()
        .map(|text| text.replace('@', top_text))
        .collect();
    let list = PatternList::of_settings(PatternOwner::Settings, &patterns, Some(&top)).unwrap();
    let work = HiddenFolder {
        _guard: guard,
        files: HiddenFiles::new(vec![list.into()]),
        top,
    };
    for entry in entries {
        work.write(entry, "x");
    }
    work
}

impl HiddenFolder {
    fn write(&self, name: &str, text: &str) {
        let path = self.top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn rules(&self) -> HidingRules {
        let top = self.top.clone();
        self.files.rules(&[WorkspaceFolder {
            folder: top.clone(),
            top,
        }])
    }

    fn found(&self) -> Vec<String> {
        let found = self.files.find(&self.rules()).unwrap();
        let short = |path: &Path| path.strip_prefix(&self.top).unwrap().display().to_string();
        found.iter().map(|hidden| short(&hidden.path)).collect()
    }

    fn hides(&self, path: &str) -> bool {
        self.rules().hides(&self.top.join(path)).is_some()
    }
}

#[test]
fn files_matching_patterns_are_found() {
    let work = work(
        &["**/.env", "@/keys/**", "@/one/*.pem", "~/literal"],
        &[
            ".env",
            "a/b/.env",
            "a/b/c",
            "keys/x/y",
            "one/a.pem",
            "one/two/b.pem",
            "literal",
            ".git/.env",
        ],
    );
    assert_eq!(
        work.found(),
        [".env", "a/b/.env", "keys", "literal", "one/a.pem"]
    );
    for path in [
        ".env",
        "new/.env",
        "keys",
        "keys/x/new",
        "one/a.pem",
        "a/../.env",
        "a/./b/.env",
        "no/../.env",
    ] {
        assert!(work.hides(path), "{path}");
    }
    for path in ["a", "a/b/c", "one/two/b.pem", ".envrc", ""] {
        assert!(!work.hides(path), "{path}");
    }
}

#[test]
fn new_changed_and_removed_files_are_noticed() {
    let work = work(&["**/.env"], &["a/b/c"]);
    assert!(work.found().is_empty());
    work.write("a/b/.env", "x");
    assert_eq!(work.found(), ["a/b/.env"]);
    fs::rename(work.top.join("a"), work.top.join("z")).unwrap();
    assert_eq!(work.found(), ["z/b/.env"]);
    work.write("z/q/r/.env", "x");
    fs::remove_file(work.top.join("z/b/.env")).unwrap();
    assert_eq!(work.found(), ["z/q/r/.env"]);
}

#[test]
fn a_project_only_adds() {
    let work = work(
        &["**/.env"],
        &[".env", "a/secret.txt", "a/public.txt", "b/c"],
    );
    work.write(IGNORE_FILE, "# comment\n*.txt\n!public.txt\n!.env\n/b/\n");
    assert_eq!(work.found(), [".env", "a/secret.txt", "b"]);
    assert!(!work.hides("a/public.txt"));
    assert!(work.hides("b/new"));
    work.write(IGNORE_FILE, "nothing-here");
    assert_eq!(work.found(), [".env"]);
    assert!(
        work.rules()
            .is_ignore_file(&work.top.join("a/..").join(IGNORE_FILE))
    );
}

#[test]
fn unusable_project_ignore_file_hides_everything() {
    let work = work(&[], &["a/b"]);
    work.write(IGNORE_FILE, "[z-a]\n");
    assert!(work.hides("a/b"));
    let error = work.files.find(&work.rules()).unwrap_err();
    assert!(matches!(error, FindError::IgnoreFile { .. }), "{error}");
}

#[test]
fn a_pattern_that_hides_the_workspace_is_an_error() {
    let work = work(&["@/**"], &["a"]);
    let error = work.files.find(&work.rules()).unwrap_err();
    assert!(matches!(error, FindError::Workspace { .. }), "{error}");
}

#[test]
fn too_many_hidden_files_are_an_error() {
    let names: Vec<String> = (0..1_001).map(|number| format!("{number}.pem")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let work = work(&["**/*.pem"], &names);
    let error = work.files.find(&work.rules()).unwrap_err();
    assert!(matches!(error, FindError::TooManyHidden { .. }), "{error}");
}

#[test]
fn exceptions_of_the_built_in_list_stay_readable() {
    let guard = tempfile::tempdir().unwrap();
    let home = guard.path().canonicalize().unwrap();
    for name in [
        ".ssh/id_rsa",
        ".ssh/id_rsa.pub",
        ".ssh/work",
        ".ssh/config",
        ".ssh/known_hosts",
        ".npmrc",
    ] {
        fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs::write(home.join(name), "x").unwrap();
    }
    let files = HiddenFiles::new(vec![PatternList::built_in(&home).unwrap()]);
    let found = files.find(&files.rules(&[])).unwrap();
    let names = found
        .iter()
        .map(|hidden| hidden.path.strip_prefix(&home).unwrap().to_str().unwrap());
    assert_eq!(
        names.collect::<Vec<_>>(),
        [".npmrc", ".ssh/id_rsa", ".ssh/work"]
    );
    assert!(
        found
            .iter()
            .all(|hidden| hidden.owner == PatternOwner::BuiltIn)
    );
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn targets_of_hidden_links_are_hidden() {
        let work = work(&["**/.env"], &["real/values", "x"]);
        symlink("real/values", work.top.join(".env")).unwrap();
        symlink("../real", work.top.join("real/around")).unwrap();
        assert_eq!(work.found(), ["real/values"]);
        symlink(".env", work.top.join("other")).unwrap();
        work.write("b/.env", "x");
        symlink("b/.env", work.top.join("c")).unwrap();
        symlink("b", work.top.join("d")).unwrap();
        for path in ["c", "d/.env", "d/../b/.env"] {
            assert!(work.hides(path), "{path}");
        }
    }

    #[test]
    fn folders_of_patterns_may_be_links() {
        let guard = tempfile::tempdir().unwrap();
        let top = guard.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/deep")).unwrap();
        symlink("real", top.join("link")).unwrap();
        fs::write(top.join("real/deep/.env"), "x").unwrap();
        let patterns = [format!("{}/link/**/.env", top.display())];
        let list = PatternList::of_settings(PatternOwner::Settings, &patterns, None).unwrap();
        let files = HiddenFiles::new(vec![list.into()]);
        let rules = files.rules(&[]);
        let found = files.find(&rules).unwrap();
        assert_eq!(found[0].path, top.join("real/deep/.env"));
        assert!(rules.hides(&top.join("real/deep/.env")).is_some());
        assert!(rules.hides(&top.join("link/.env")).is_some());
    }

    #[test]
    fn other_names_of_a_file_are_hidden_too() {
        let work = work(&["**/.env"], &["a/.env", "b/c"]);
        assert_eq!(work.found(), ["a/.env"]);
        fs::hard_link(work.top.join("a/.env"), work.top.join("b/name")).unwrap();
        assert_eq!(work.found(), ["a/.env", "b/name"]);
        assert_eq!(work.found(), ["a/.env", "b/name"]);
        fs::remove_file(work.top.join("b/name")).unwrap();
        assert_eq!(work.found(), ["a/.env"]);
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_hidden() {
        let work = work(&["**/.env"], &["closed/.env", "open/x"]);
        let closed = work.top.join("closed");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser lists every folder.
        let expected = match fs::read_dir(&closed) {
            Ok(_) => "closed/.env",
            Err(_) => "closed",
        };
        let found = work.found();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_link_to_the_folder_around_hides_no_workspace() {
        let work = work(&["**/secret"], &["a/b"]);
        symlink("../..", work.top.join("a/secret")).unwrap();
        let error = work.files.find(&work.rules()).unwrap_err();
        assert!(matches!(error, FindError::Workspace { .. }), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn changed_link_rebuilds_built_in_list() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let secrets = home.join("elsewhere/credentials");
    fs::create_dir(home.join("elsewhere")).unwrap();
    fs::write(&secrets, "").unwrap();
    let hides = |list| {
        HiddenFiles::new(vec![list])
            .rules(&[])
            .hides(&secrets)
            .is_some()
    };
    let first = PatternList::built_in(&home).unwrap();
    assert!(!hides(first.clone()));
    std::os::unix::fs::symlink(home.join("elsewhere"), home.join(".aws")).unwrap();
    let second = PatternList::built_in(&home).unwrap();
    assert!(hides(second.clone()) && !hides(first));
    std::os::unix::fs::symlink("nowhere", home.join(".kube")).unwrap();
    assert!(hides(PatternList::built_in(&home).unwrap()));
}
