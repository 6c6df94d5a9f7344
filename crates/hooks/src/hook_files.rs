//! The files that the line of a hook leads to: what the user has seen of them, and whether sandboxed commands may write them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use codex_program_files::{
    ContentError, LaunchPlace, NotAsRecorded, ProgramFiles, ProgramRecord, StartedProgram, variable,
};

use crate::hook::{Hook, HookAction, HookPlugin};

/// Where hooks run, and what sandboxed commands may write there.
#[derive(Clone, Copy)]
pub struct HookPlace<'a> {
    /// The working folder.
    pub cwd: &'a Path,
    /// The variables of commands.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Whether a sandboxed command may write a file.
    pub may_write: &'a dyn Fn(&Path) -> bool,
    /// What hooks ran before whose contents nobody has trusted; none where commands run without a sandbox.
    pub record: Option<&'a ProgramRecord>,
}

impl fmt::Debug for HookPlace<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("HookPlace");
        shown.field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// What has to be true of the files of a hook when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileCheck {
    /// Their contents have this hash; none for a hook that has no files.
    Content(Option<String>),
    /// No sandboxed command may write them.
    Unwritable,
    /// They are those of the first run, as far as sandboxed commands may write them.
    AsRecorded,
}

/// Why a hook does not run although it may.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    #[error("the files that it runs have changed since it was trusted; trust it again")]
    Changed,
    #[error(
        "commands in the sandbox may write {}, which it runs; trust it as it is now",
        .0.display()
    )]
    Writable(PathBuf),
    #[error("{0}")]
    Unknown(String),
    #[error("{0}")]
    NotAsRecorded(#[from] NotAsRecorded),
}

/// The files of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookFiles {
    /// Those that do not belong to the system, by their paths and by what these lead to.
    pub paths: Vec<PathBuf>,
    /// One that sandboxed commands may write.
    pub(crate) writable: Option<PathBuf>,
    /// A file of the system that sandboxed commands may write.
    pub(crate) system: Option<PathBuf>,
    /// Why it is not known what the hook runs.
    pub(crate) problem: Option<String>,
    /// A hash of their contents.
    pub(crate) content: Option<String>,
}

impl HookFiles {
    /// Whether it is known what the hook runs.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.problem.is_none()
    }

    /// Looks at the files of a line. Reads them.
    pub(crate) fn of_line(line: &str, plugin: Option<&HookPlugin>, place: &HookPlace<'_>) -> Self {
        Self::from_program_files(&found(line, plugin, place), place)
    }

    fn from_program_files(files: &ProgramFiles, place: &HookPlace<'_>) -> Self {
        let unknown = files.unknown.as_ref().map(|word| {
            format!("it is not known before what it runs ({word}); write the path of the file")
        });
        let (content, unreadable) = match files.content_hash() {
            Ok(content) => (content, None),
            Err(error) => (None, Some(unreadable(&error))),
        };
        let own = |path: &Path| path.to_path_buf();
        Self {
            paths: files.protected_paths(),
            writable: files.first_writable(place.may_write).map(own),
            system: files.writable_system_file(place.may_write).map(own),
            problem: unknown.or(unreadable),
            content,
        }
    }
}

/// The files of a line.
fn found(line: &str, plugin: Option<&HookPlugin>, place: &HookPlace<'_>) -> ProgramFiles {
    let mut environment = place.environment.clone();
    if let Some(plugin) = plugin {
        let own = plugin.variables();
        environment.extend(own.map(|(name, path)| (name.into(), path.into())));
    }
    let mut files = ProgramFiles::of_line(
        line,
        LaunchPlace {
            cwd: place.cwd,
            environment: &environment,
        },
    );
    if let Some(plugin) = plugin {
        // The hash of the plugin includes its files.
        files = files.outside_of(&plugin.root);
    }
    files
}

fn unreadable(error: &ContentError) -> String {
    format!("what it runs cannot be checked: {error}")
}

impl Hook {
    /// Whether what the hook runs now is what it may run. Reads files. Returns variables that keep it to that.
    ///
    /// # Errors
    /// It is not, or that is not known.
    pub fn check_files(
        &self,
        place: &HookPlace<'_>,
        home: &Path,
    ) -> Result<Vec<(OsString, OsString)>, FileProblem> {
        let HookAction::Command { line, .. } = &self.action else {
            return Ok(Vec::new());
        };
        let found = found(line, self.plugin.as_deref(), place);
        self.check_found(line, &found, place)?;
        let path = variable(place.environment, "PATH").map(OsString::as_os_str);
        Ok(found.variables(home, path, place.may_write))
    }

    fn check_found(
        &self,
        line: &String,
        found: &ProgramFiles,
        place: &HookPlace<'_>,
    ) -> Result<(), FileProblem> {
        if self.check == FileCheck::AsRecorded {
            let Some(record) = place.record else {
                return Ok(());
            };
            let name = format!("hooks.state.{}", self.key);
            let program = StartedProgram {
                name: &name,
                command: std::slice::from_ref(line),
                cwd: place.cwd,
            };
            return Ok(record.check(&program, found, place.may_write)?);
        }
        let files = HookFiles::from_program_files(found, place);
        if let Some(problem) = files.problem {
            return Err(FileProblem::Unknown(problem));
        }
        if let Some(path) = files.system {
            return Err(FileProblem::Writable(path));
        }
        match &self.check {
            FileCheck::Content(expected) if files.content == *expected => Ok(()),
            FileCheck::Content(_) => Err(FileProblem::Changed),
            FileCheck::Unwritable | FileCheck::AsRecorded => match files.writable {
                Some(path) => Err(FileProblem::Writable(path)),
                None => Ok(()),
            },
        }
    }
}
