//! Reads AGENTS.md files: instructions for the model from the user and the project.
//!
//! The global file comes first, then the files from the project root down to the working folder. The project files share
//! a size limit. Files are read on request; they are not watched.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::project::{find_root, is_root};
use crate::schema::ConfigFile;

const MAX_BYTES: u64 = 32 * 1024;

/// Limit on the size of the global file.
const MAX_GLOBAL_BYTES: u64 = 1 << 20;

const NAME: &str = "AGENTS.md";
const OVERRIDE_NAME: &str = "AGENTS.override.md";

/// Where packages of others are kept.
const PACKAGE_FOLDERS: [&str; 3] = ["node_modules", "third_party", "vendor"];

/// Separates the global text from the project's.
const SEPARATOR: &str = "\n\n--- project-doc ---\n\n";

/// Settings for finding AGENTS.md files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectDocSettings {
    /// Limit on the total size of the project's files; zero reads none.
    pub max_bytes: u64,
    /// Additional file names.
    pub fallback_names: Vec<String>,
    /// Whether models are told when the files change in mid-session, and of those of folders that they enter.
    pub follow_changes: bool,
    /// The markers of a project root. A project's settings cannot change them.
    pub root_markers: Vec<String>,
}

/// The content of all AGENTS.md files.
#[derive(Debug, Default)]
pub struct ProjectDocs {
    /// The text for the model; `None` if there is none.
    pub text: Option<String>,
    /// The files that the text consists of.
    pub files: Vec<PathBuf>,
    /// Why the project's files could not be read.
    pub error: Option<io::Error>,
}

impl ProjectDocSettings {
    pub(crate) fn from_file(file: &ConfigFile) -> Self {
        let names = file.project_doc_fallback_filenames.iter().flatten();
        let names = names.map(|name| name.trim().to_owned());
        let markers = file.project_root_markers.clone();
        Self {
            max_bytes: file.project_doc_max_bytes.unwrap_or(MAX_BYTES),
            fallback_names: names.filter(|name| !name.is_empty()).collect(),
            follow_changes: file.project_doc_follow_changes.unwrap_or(true),
            root_markers: markers.unwrap_or_else(|| vec![".git".to_owned()]),
        }
    }

    /// The names of instruction files, the first of which is read in each folder.
    pub fn names(&self) -> Vec<String> {
        let own = [OVERRIDE_NAME, NAME].map(str::to_owned);
        own.into_iter().chain(self.fallback_names.clone()).collect()
    }

    /// Reads the user's own file, and the files for a working folder.
    pub fn read(&self, home: &Path, cwd: Option<&Path>) -> ProjectDocs {
        self.read_visible(home, cwd, &|_| false)
    }

    /// The same without the project's files that are hidden from models: a link may lead to any file.
    pub fn read_visible(
        &self,
        home: &Path,
        cwd: Option<&Path>,
        is_hidden: &dyn Fn(&Path) -> bool,
    ) -> ProjectDocs {
        let mut docs = ProjectDocs::default();
        let global = read_global(home, &mut docs.files);
        let project = cwd.map_or(Ok(Vec::new()), |cwd| self.read_project(cwd, is_hidden));
        let project = project.unwrap_or_else(|error| {
            docs.error = Some(error);
            Vec::new()
        });
        let texts: Vec<&str> = project.iter().map(|(_, text)| text.as_str()).collect();
        let project_text = (!texts.is_empty()).then(|| texts.join("\n\n"));
        docs.files.extend(project.into_iter().map(|(path, _)| path));
        docs.text = match (global, project_text) {
            (Some(global), Some(project)) => Some(format!("{global}{SEPARATOR}{project}")),
            (global, project) => global.or(project),
        };
        docs
    }

    /// The project's files with their texts, within the size limit.
    fn read_project(
        &self,
        cwd: &Path,
        is_hidden: &dyn Fn(&Path) -> bool,
    ) -> io::Result<Vec<(PathBuf, String)>> {
        let mut left = self.max_bytes;
        let mut found = Vec::new();
        if left == 0 {
            return Ok(found);
        }
        let cwd = codex_mounts::canonicalize(cwd)?;
        let root = find_root(&cwd, &self.root_markers);
        let mut folders: Vec<&Path> = cwd
            .ancestors()
            .take_while(|folder| folder.starts_with(&root))
            .collect();
        folders.reverse();
        for folder in folders {
            if left == 0 {
                break;
            }
            let Some(path) = self.doc_in(folder)?.filter(|path| !is_hidden(path)) else {
                continue;
            };
            let bytes = codex_regular_file::read_start(&path, left)?;
            let text = String::from_utf8_lossy(&bytes);
            if !text.trim().is_empty() {
                left = left.saturating_sub(bytes.len() as u64);
                found.push((path, text.into_owned()));
            }
        }
        Ok(found)
    }

    /// The folders between a working folder and these paths below it that have a file of their own, outer ones first, with its text.
    /// The files share the size limit: one that no longer fits is left out, so that each always has the same text. What other projects
    /// and packages say is not for this one.
    pub fn read_below(
        &self,
        cwd: &Path,
        paths: &[PathBuf],
        is_hidden: &dyn Fn(&Path) -> bool,
    ) -> Vec<(PathBuf, String)> {
        let Ok(cwd) = codex_mounts::canonicalize(cwd) else {
            return Vec::new();
        };
        let entered: BTreeSet<PathBuf> = (paths.iter())
            .filter_map(|path| existing_folder(path))
            .flat_map(|folder| self.folders_below(&cwd, &folder))
            .collect();
        let (mut left, mut found) = (self.max_bytes, Vec::new());
        for folder in entered {
            let file = self.doc_in(&folder).ok().flatten();
            let file = file.filter(|file| left > 0 && !is_hidden(file));
            let read = file.map(|file| codex_regular_file::read_start(&file, self.max_bytes));
            let Some(Ok(bytes)) = read else {
                continue;
            };
            let text = String::from_utf8_lossy(&bytes);
            let rest = left.checked_sub(bytes.len() as u64);
            if let Some(rest) = rest.filter(|_| !text.trim().is_empty()) {
                left = rest;
                found.push((folder, text.into_owned()));
            }
        }
        found
    }

    /// The folders from below the working folder down to this one, as far as they belong to the same project.
    fn folders_below(&self, cwd: &Path, folder: &Path) -> Vec<PathBuf> {
        let mut at = cwd.to_owned();
        let below = folder.strip_prefix(cwd).into_iter().flatten();
        let below = below.map_while(|name| {
            at.push(name);
            let name = name.to_string_lossy();
            let is_foreign = name.starts_with('.') || PACKAGE_FOLDERS.contains(&&*name);
            (!is_foreign && !is_root(&at, &self.root_markers)).then(|| at.clone())
        });
        below.collect()
    }

    fn doc_in(&self, folder: &Path) -> io::Result<Option<PathBuf>> {
        for name in self.names() {
            let path = folder.join(name);
            match codex_mounts::metadata(&path) {
                Ok(metadata) if metadata.is_file() => return Ok(Some(path)),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// The nearest folder of a path that exists, without links.
fn existing_folder(path: &Path) -> Option<PathBuf> {
    let found = path
        .ancestors()
        .find_map(|at| codex_mounts::canonicalize(at).ok())?;
    match codex_mounts::metadata(&found) {
        Ok(metadata) if metadata.is_dir() => Some(found),
        _ => found.parent().map(Path::to_owned),
    }
}

fn read_global(home: &Path, files: &mut Vec<PathBuf>) -> Option<String> {
    for name in [OVERRIDE_NAME, NAME] {
        let path = home.join(name);
        let Ok(bytes) = codex_regular_file::read_start(&path, MAX_GLOBAL_BYTES) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if !text.is_empty() {
            files.push(path);
            return Some(text.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Folders {
        _guard: tempfile::TempDir,
        home: PathBuf,
        root: PathBuf,
        cwd: PathBuf,
    }

    fn folders(files: &[(&str, &[u8])]) -> Folders {
        let guard = tempfile::tempdir().unwrap();
        let top = dunce::canonicalize(guard.path()).unwrap();
        let (home, root) = (top.join("home"), top.join("root"));
        let cwd = root.join("a/b");
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(&home).unwrap();
        for (path, content) in files {
            fs::write(top.join(path), content).unwrap();
        }
        Folders {
            _guard: guard,
            home,
            root,
            cwd,
        }
    }

    #[test]
    fn instruction_files_below_are_visible_and_limited() {
        let folders = folders(&[]);
        let cwd = &folders.root;
        for folder in ["a", "a/b", "c", "vendor/p", "third_party", ".dot", "hidden"] {
            fs::create_dir_all(cwd.join(folder)).unwrap();
            fs::write(cwd.join(folder).join(NAME), "12345678").unwrap();
        }
        let paths = [
            "a/b/new/x",
            "c",
            "vendor/p/x",
            "third_party/x",
            ".dot/x",
            "hidden/x",
            "../home",
        ];
        let paths = paths.map(|path| cwd.join(path));
        let is_hidden = |file: &Path| file.starts_with(cwd.join("hidden"));
        let found = |limit: u64, paths: &[PathBuf]| {
            let settings = format!("project_doc_max_bytes = {limit}");
            let settings = ProjectDocSettings::from_file(&toml::from_str(&settings).unwrap());
            settings.read_below(cwd, paths, &is_hidden)
        };
        let expected = |folders: &[&str], text: &str| -> Vec<(PathBuf, String)> {
            let found = folders
                .iter()
                .map(|folder| (cwd.join(folder), text.to_owned()));
            found.collect()
        };
        assert_eq!(found(100, &paths), expected(&["a", "a/b", "c"], "12345678"));
        assert_eq!(found(20, &paths), expected(&["a", "a/b"], "12345678"));
        assert_eq!(found(5, &paths), expected(&["a"], "12345"));
        assert_eq!(found(5, &paths[1..]), expected(&["c"], "12345"));
        assert_eq!(found(0, &paths), []);
    }

    #[track_caller]
    fn check(files: &[(&str, &[u8])], settings: &str, expected: Option<&str>) {
        let folders = folders(files);
        let settings = ProjectDocSettings::from_file(&toml::from_str(settings).unwrap());
        let docs = settings.read(&folders.home, Some(&folders.cwd));
        assert_eq!(docs.text.as_deref(), expected);
        assert!(docs.error.is_none());
    }

    #[test]
    fn instruction_files_are_ordered_from_the_root() {
        check(&[], "", None);
        check(
            &[
                ("home/AGENTS.md", b" global \n"),
                ("root/AGENTS.md", b"root\n"),
                ("root/a/AGENTS.md", b" \n"),
                ("root/a/b/AGENTS.md", b"deep"),
            ],
            "",
            Some("global\n\n--- project-doc ---\n\nroot\n\n\ndeep"),
        );
        check(&[("home/AGENTS.md", b"global")], "", Some("global"));
        check(&[("root/AGENTS.md", b"root")], "", Some("root"));
    }

    #[test]
    fn overrides_and_further_names() {
        check(
            &[
                ("home/AGENTS.override.md", b"\n"),
                ("home/AGENTS.md", b"global"),
                ("root/AGENTS.override.md", b"over"),
                ("root/AGENTS.md", b"root"),
                ("root/a/OTHER.md", b"other"),
            ],
            "project_doc_fallback_filenames = [' OTHER.md ', ' ']",
            Some("global\n\n--- project-doc ---\n\nover\n\nother"),
        );
    }

    #[test]
    fn the_budget_is_shared() {
        let files: &[(&str, &[u8])] = &[
            ("root/AGENTS.md", b"12345"),
            ("root/a/AGENTS.md", b"678"),
            ("root/a/b/AGENTS.md", b"9"),
        ];
        check(files, "project_doc_max_bytes = 7", Some("12345\n\n67"));
        check(files, "project_doc_max_bytes = 5", Some("12345"));
        check(files, "project_doc_max_bytes = 0", None);
        check(files, "project_root_markers = []", Some("9"));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        check(&[("root/AGENTS.md", b"a\xffb")], "", Some("a\u{fffd}b"));
    }

    #[test]
    fn a_folder_that_is_gone_leaves_the_global_text() {
        let folders = folders(&[("home/AGENTS.md", b"global")]);
        let settings = ProjectDocSettings::from_file(&ConfigFile::default());
        let docs = settings.read(&folders.home, Some(&folders.root.join("gone")));
        assert_eq!(docs.text.as_deref(), Some("global"));
        assert!(docs.error.is_some());
    }
}
