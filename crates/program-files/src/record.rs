//! What programs ran when they were started last: a record in the home folder, which sandboxed commands cannot write.
//!
//! The first start of a program is recorded. It starts again as long as the files that sandboxed commands may write are
//! those of the record; a person who has changed one accepts it with `codex programs trust`. Files that such commands could
//! never write, programs that a package manager has updated for example, are recorded anew without a question.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::content::{self, ContentError};
use crate::found_files::ProgramFiles;

/// The folder in the home folder.
const FOLDER: &str = "programs";

/// A program that the engine starts outside of the sandbox.
#[derive(Clone, Copy, Debug)]
pub struct StartedProgram<'a> {
    /// What it is for, in the words of the settings: `mcp_servers.docs`.
    pub name: &'a str,
    /// The program and its arguments.
    pub command: &'a [String],
    /// The working folder.
    pub cwd: &'a Path,
}

/// Why a program is not started.
#[derive(Debug, thiserror::Error)]
pub enum NotAsRecorded {
    #[error(
        "commands in the sandbox may write {}, which {name} runs, and it has changed since {name} was started before; \
         look at it, and run `codex programs trust {name}` to go on",
        path.display()
    )]
    Changed { name: String, path: PathBuf },
    #[error(
        "it is not known before what {name} runs ({word}), and commands in the sandbox may have written it; name the file \
         that it runs"
    )]
    Unknown { name: String, word: String },
    #[error("the files that {name} runs cannot be checked: {source}")]
    Content { name: String, source: ContentError },
    #[error("the record of the files that {name} ran before is unusable: {source}")]
    Record { name: String, source: io::Error },
}

/// The record of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordEntry {
    pub name: String,
    pub command: Vec<String>,
    pub cwd: PathBuf,
    /// The files that it may run.
    files: BTreeMap<PathBuf, RecordedFile>,
    /// The files that it was not started with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    refused: BTreeMap<PathBuf, RecordedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedFile {
    /// None as long as no sandboxed command could write it.
    hash: Option<String>,
    /// Whether sandboxed commands of some session may write it.
    writable: bool,
}

impl RecordEntry {
    /// The files that a person is to look at.
    pub fn changed(&self) -> impl Iterator<Item = &Path> {
        let refused = self.refused.iter();
        let changed = refused.filter(|(path, file)| self.differs(path, file));
        changed.map(|(path, _)| path.as_path())
    }

    fn differs(&self, path: &Path, now: &RecordedFile) -> bool {
        match self.files.get(path) {
            Some(known) => known.hash.is_some() && known.hash != now.hash,
            None => now.writable,
        }
    }
}

/// The records of all programs.
#[derive(Clone, Debug)]
pub struct ProgramRecord {
    folder: PathBuf,
}

impl ProgramRecord {
    #[must_use]
    pub fn of_home(home: &Path) -> Self {
        Self {
            folder: home.join(FOLDER),
        }
    }

    /// Whether a program may start with these files. Records its first start.
    ///
    /// # Errors
    /// It may not, or that is not known.
    pub fn check(
        &self,
        program: &StartedProgram<'_>,
        files: &ProgramFiles,
        may_write: &dyn Fn(&Path) -> bool,
    ) -> Result<(), NotAsRecorded> {
        let name = || program.name.to_owned();
        if let Some(word) = &files.unknown
            && may_write(program.cwd)
        {
            let word = word.clone();
            return Err(NotAsRecorded::Unknown { name: name(), word });
        }
        if let Some(path) = files.writable_system_file(may_write) {
            let path = path.to_path_buf();
            return Err(NotAsRecorded::Changed { name: name(), path });
        }
        let unusable = |source| NotAsRecorded::Record {
            name: name(),
            source,
        };
        let path = self.path(program);
        let known = self.read(&path).map_err(unusable)?;
        let now = state_of(files, known.as_ref(), may_write);
        let now = now.map_err(|source| NotAsRecorded::Content {
            name: name(),
            source,
        })?;
        match self.compare(program, known, now).map_err(unusable)? {
            None => Ok(()),
            Some(path) => Err(NotAsRecorded::Changed { name: name(), path }),
        }
    }

    /// The first file that is not as it was.
    fn compare(
        &self,
        program: &StartedProgram<'_>,
        known: Option<RecordEntry>,
        now: BTreeMap<PathBuf, RecordedFile>,
    ) -> io::Result<Option<PathBuf>> {
        let path = self.path(program);
        let mut entry = known.clone().unwrap_or_else(|| RecordEntry {
            name: program.name.to_owned(),
            command: program.command.to_vec(),
            cwd: program.cwd.to_path_buf(),
            files: now.clone(),
            refused: BTreeMap::new(),
        });
        let mut differing = now.iter().filter(|(path, file)| entry.differs(path, file));
        let changed = differing.next().map(|(path, _)| path.clone());
        if changed.is_some() {
            entry.refused = now;
        } else {
            entry.files.extend(now);
            entry.refused.clear();
        }
        if known.as_ref() != Some(&entry) {
            self.write(&path, &entry)?;
        }
        Ok(changed)
    }

    /// All records, by name.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn all(&self) -> io::Result<Vec<RecordEntry>> {
        let mut all = Vec::new();
        for path in self.paths()? {
            all.extend(self.read(&path)?);
        }
        all.sort_by(|one, other| (&one.name, &one.cwd).cmp(&(&other.name, &other.cwd)));
        Ok(all)
    }

    /// Accepts the files that programs of this name were not started with. Returns these records as they were.
    ///
    /// # Errors
    /// A record cannot be read or written.
    pub fn trust(&self, name: &str) -> io::Result<Vec<RecordEntry>> {
        let mut trusted = Vec::new();
        for path in self.paths()? {
            let Some(mut entry) = self.read(&path)? else {
                continue;
            };
            if entry.name != name || entry.refused.is_empty() {
                continue;
            }
            trusted.push(entry.clone());
            entry.files = std::mem::take(&mut entry.refused);
            self.write(&path, &entry)?;
        }
        Ok(trusted)
    }

    fn paths(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match codex_mounts::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    fn path(&self, program: &StartedProgram<'_>) -> PathBuf {
        let mut digest = Sha256::new();
        let words = program.command.iter().map(String::as_str);
        for word in std::iter::once(program.name).chain(words) {
            digest.update(word.as_bytes());
            digest.update([0]);
        }
        digest.update(program.cwd.as_os_str().as_encoded_bytes());
        let hash = content::shown(&digest.finalize().into());
        let name = hash.trim_start_matches("sha256:");
        self.folder.join(format!("{name}.json"))
    }

    fn read(&self, path: &Path) -> io::Result<Option<RecordEntry>> {
        let Some(bytes) = codex_private_files::secret_file::read(path)? else {
            return Ok(None);
        };
        let entry = serde_json::from_slice(&bytes);
        entry.map(Some).map_err(io::Error::other)
    }

    fn write(&self, path: &Path, entry: &RecordEntry) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(entry).map_err(io::Error::other)?;
        codex_private_files::secret_file::replace(path, &text)
    }
}

/// The files as they are now. Those that no sandboxed command of any session could write are not read.
fn state_of(
    files: &ProgramFiles,
    known: Option<&RecordEntry>,
    may_write: &dyn Fn(&Path) -> bool,
) -> Result<BTreeMap<PathBuf, RecordedFile>, ContentError> {
    let was_writable = |path: &Path| {
        let file = known.and_then(|entry| entry.files.get(path));
        file.is_some_and(|file| file.writable)
    };
    let mut state = BTreeMap::new();
    for path in files.own_paths() {
        let real = codex_mounts::canonicalize(&path);
        let is_writable = may_write(&path) || real.is_ok_and(|real| may_write(&real));
        let writable = is_writable || was_writable(&path);
        let hash = if writable {
            files.hash_of(&path)?
        } else {
            None
        };
        state.insert(path, RecordedFile { hash, writable });
    }
    Ok(state)
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
mod tests {
    use super::*;
    use crate::launch_place::LaunchPlace;

    struct RecordCase {
        home: tempfile::TempDir,
        work: tempfile::TempDir,
    }

    impl RecordCase {
        fn new() -> Self {
            Self {
                home: tempfile::tempdir().unwrap(),
                work: tempfile::tempdir().unwrap(),
            }
        }

        fn record(&self) -> ProgramRecord {
            ProgramRecord::of_home(self.home.path())
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.work.path().join(name), text).unwrap();
        }

        fn starts(&self, command: &[&str], may_write: bool) -> bool {
            let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            let program = StartedProgram {
                name: "mcp_servers.docs",
                command: &command,
                cwd: self.work.path(),
            };
            let environment = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
            let place = LaunchPlace {
                cwd: self.work.path(),
                environment: &environment,
            };
            let files = ProgramFiles::of_arguments(&command, place);
            let work = dunce::canonicalize(self.work.path()).unwrap();
            let may_write = |path: &Path| may_write && path.starts_with(&work);
            let checked = self.record().check(&program, &files, &may_write);
            checked.is_ok()
        }
    }

    #[test]
    fn changed_program_needs_acceptance_before_it_starts() {
        let case = RecordCase::new();
        let command = ["sh", "a.sh"];
        case.write("a.sh", "one");
        assert!(case.starts(&command, true));
        assert!(case.starts(&command, true));
        case.write("a.sh", "two");
        assert!(!case.starts(&command, true));
        // Also in a session that could not have written it.
        assert!(!case.starts(&command, false));
        case.write("a.sh", "one");
        assert!(case.starts(&command, true));
        case.write("a.sh", "two");
        assert!(!case.starts(&command, true));
        let trusted = case.record().trust("mcp_servers.docs").unwrap();
        assert_eq!(trusted[0].changed().count(), 1);
        assert!(case.starts(&command, true));
        case.write("a.sh", "three");
        assert!(!case.starts(&command, true));
        // What is accepted is what was refused, not what is there now.
        case.write("a.sh", "four");
        case.record().trust("mcp_servers.docs").unwrap();
        assert!(!case.starts(&command, true));
    }

    #[test]
    fn file_missing_at_the_first_start_counts_as_changed() {
        let case = RecordCase::new();
        assert!(case.starts(&["sh", "later.sh"], true));
        case.write("later.sh", "x");
        assert!(!case.starts(&["sh", "later.sh"], true));
    }

    #[test]
    fn files_that_no_command_may_write_may_change() {
        let case = RecordCase::new();
        case.write("a.sh", "one");
        assert!(case.starts(&["sh", "a.sh"], false));
        case.write("a.sh", "two");
        assert!(case.starts(&["sh", "a.sh"], false));
        // From the first session on whose commands may write it, they do not.
        assert!(case.starts(&["sh", "a.sh"], true));
        case.write("a.sh", "three");
        assert!(!case.starts(&["sh", "a.sh"], true));
        assert!(!case.starts(&["sh", "a.sh"], false));
    }

    #[test]
    fn unknown_programs_do_not_start_in_writable_folders() {
        let case = RecordCase::new();
        assert!(!case.starts(&["cargo", "run"], true));
        assert!(case.starts(&["cargo", "run"], false));
        assert!(!case.starts(&["sh", "-c", "bash $(cat x)"], true));
    }

    #[test]
    fn a_record_that_cannot_be_read_starts_nothing() {
        let case = RecordCase::new();
        case.write("a.sh", "one");
        assert!(case.starts(&["sh", "a.sh"], true));
        for path in case.record().paths().unwrap() {
            std::fs::write(path, "{").unwrap();
        }
        assert!(!case.starts(&["sh", "a.sh"], true));
    }
}
