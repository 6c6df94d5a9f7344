//! A private git folder: it has settings, an index and ignore rules of its own, and uses the objects of a
//! repository.
//!
//! Commands that read or write the working tree run with such a folder instead of the repository's. Git then reads
//! neither the repository's nor the user's settings, so no filter, text conversion, file system monitor, hook or
//! pager is configured. Attributes that git applies itself (line ends) still count. Settings that only affect how
//! files are read are copied by name.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The settings that are copied. None of them names a program or a path to write to.
const SETTINGS: [&str; 13] = [
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
];

/// The files that are copied: rules about paths.
const RULES: [&str; 2] = ["info/exclude", "info/sparse-checkout"];
/// Larger ones are not copied.
const RULES_LIMIT: u64 = 1024 * 1024;

/// The command that prints the repository's folders and object format.
pub const LOCATION_COMMAND: [&str; 6] = [
    "rev-parse",
    "--path-format=absolute",
    "--show-toplevel",
    "--git-dir",
    "--git-common-dir",
    "--show-object-format",
];

/// The command that prints settings. It fails if there are none.
pub const SETTINGS_COMMAND: [&str; 4] = ["config", "-z", "--get-regexp", "^core\\."];

/// A repository with a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    object_format: String,
    settings: Vec<(String, String)>,
}

impl Repository {
    /// Reads the output of [`LOCATION_COMMAND`] and [`SETTINGS_COMMAND`]. `None` if `folder` is not in the working
    /// tree: a repository's settings may claim any folder.
    #[must_use]
    pub fn read(folder: &Path, places: &[u8], settings: &[u8]) -> Option<Self> {
        let places = std::str::from_utf8(places).ok()?;
        let lines: Vec<&str> = places.lines().collect();
        let [top, git_dir, common_dir, object_format] = lines.as_slice() else {
            return None;
        };
        let top = codex_mounts::canonicalize(Path::new(top)).ok()?;
        if top_around(folder)? != top {
            return None;
        }
        let settings = settings.split(|byte| *byte == 0);
        let settings =
            settings.filter_map(|entry| std::str::from_utf8(entry).ok()?.split_once('\n'));
        let settings = settings.filter(|(name, _)| SETTINGS.contains(name));
        Some(Self {
            top,
            git_dir: PathBuf::from(git_dir),
            common_dir: PathBuf::from(common_dir),
            object_format: (*object_format).to_owned(),
            settings: settings
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        })
    }

    /// The top of the working tree, with links resolved.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The folder of this working tree alone.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// How objects are named.
    pub(crate) fn object_format(&self) -> &str {
        &self.object_format
    }
}

/// The nearest folder with a `.git` entry.
fn top_around(folder: &Path) -> Option<PathBuf> {
    let folder = codex_mounts::canonicalize(folder).ok()?;
    let top = folder
        .ancestors()
        .find(|folder| codex_project_markers::has_entry(folder, ".git"))?;
    Some(top.to_owned())
}

/// The index that the private folder starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialIndex {
    Empty,
    /// A copy of the repository's index.
    Copy,
}

/// A private git folder. It is removed when dropped.
#[derive(Debug)]
pub struct PrivateGitDir {
    folder: tempfile::TempDir,
    top: PathBuf,
    objects: PathBuf,
}

impl PrivateGitDir {
    /// Creates the folder below `parent`, which sandboxed commands must not be able to write to.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn create(repository: &Repository, parent: &Path, index: InitialIndex) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(".git-")
            .tempdir_in(parent)?;
        let at = folder.path();
        for name in ["refs", "objects", "info"] {
            fs::create_dir(at.join(name))?;
        }
        fs::write(at.join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(at.join("config"), config(repository))?;
        for name in RULES {
            let rules = repository.common_dir.join(name);
            if let Ok(rules) = codex_regular_file::read_start(&rules, RULES_LIMIT) {
                fs::write(at.join(name), rules)?;
            }
        }
        if index == InitialIndex::Copy {
            match codex_regular_file::open(&repository.git_dir.join("index")) {
                Ok(mut index) => {
                    io::copy(&mut index, &mut fs::File::create(at.join("index"))?)?;
                }
                // The repository has no files yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            folder,
            top: repository.top.clone(),
            objects: repository.common_dir.join("objects"),
        })
    }

    /// The top of the working tree.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The path of a file in the folder, for file lists that git reads.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The environment for git, made from `given`.
    #[must_use]
    pub fn environment(&self, given: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let is_for_git = |name: &OsString| name.as_encoded_bytes().starts_with(b"GIT_");
        let given = given.iter().filter(|(name, _)| !is_for_git(name)).cloned();
        let fixed = super::safe_command::VARIABLES.into_iter().chain([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
        ]);
        let fixed = fixed.map(|(name, value)| (name.into(), value.into()));
        let places = [
            ("GIT_DIR", self.folder.path().to_owned()),
            ("GIT_WORK_TREE", self.top.clone()),
            ("GIT_OBJECT_DIRECTORY", self.objects.clone()),
            ("GIT_INDEX_FILE", self.file("index")),
        ];
        let places = places.map(|(name, path)| (name.into(), path.into_os_string()));
        given.chain(fixed).chain(places).collect()
    }
}

/// The text of the folder's `config` file.
fn config(repository: &Repository) -> String {
    let is_sha1 = repository.object_format == "sha1";
    let mut text = format!(
        "[core]\nrepositoryformatversion = {}\nbare = false\nattributesFile = /dev/null\n",
        if is_sha1 { 0 } else { 1 }
    );
    for (name, value) in &repository.settings {
        let name = name.strip_prefix("core.").unwrap_or(name);
        text.push_str(&format!("{name} = \"{}\"\n", escaped(value)));
    }
    if !is_sha1 {
        let format = escaped(&repository.object_format);
        text.push_str(&format!("[extensions]\nobjectFormat = \"{format}\"\n"));
    }
    text
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_without_programs_are_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let top = dunce::canonicalize(folder.path()).unwrap();
        fs::create_dir(top.join(".git")).unwrap();
        let places = |top: &Path| format!("{0}\n{0}/.git\n{0}/.git\nsha256\n", top.display());
        let settings =
            b"core.filemode\nfalse\0core.fsmonitor\n/evil\0core.eol\na\"b\\c\nd\0core.bare\0";
        let repository = Repository::read(&top, places(&top).as_bytes(), settings).unwrap();
        assert_eq!(
            config(&repository),
            "[core]\nrepositoryformatversion = 1\nbare = false\nattributesFile = /dev/null\n\
             filemode = \"false\"\neol = \"a\\\"b\\\\c\\nd\"\n[extensions]\nobjectFormat = \"sha256\"\n"
        );
        // The settings claim a working tree that does not contain the folder.
        for claimed in ["/", "/usr"] {
            let places = places(Path::new(claimed));
            assert_eq!(
                Repository::read(&top, places.as_bytes(), b""),
                None,
                "{claimed}"
            );
        }
    }
}
