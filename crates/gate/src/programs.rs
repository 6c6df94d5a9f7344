//! Which file a program name resolves to, and whether the model could have written that file.
//!
//! Nothing is cached: the files are checked for each decision, and only where the result counts (approval
//! policy `untrusted`, rules that allow).

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use codex_program_files::{
    DEFAULT_PATH, SYSTEM_FOLDERS, anybody_may_write, belongs_to_administrator, file_names, is_path,
    may_be_run, variable,
};
use codex_sandbox::{FileRules, Grants};
use codex_shell_command::ProgramCheck;

use super::turn_policy::TurnPolicy;

/// Folders that everybody may write.
const SHARED_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Folders of a home that login shells often put first.
const LOGIN_FOLDERS: [&str; 2] = ["bin", ".local/bin"];

/// Files of a home that shells run before a script.
const LOGIN_FILES: [&str; 6] = [
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zprofile",
    ".zlogin",
    ".bashrc",
];

/// The programs as a command finds them.
pub(super) struct CommandPrograms<'a> {
    turn_policy: &'a TurnPolicy,
    /// The working folder of the command.
    cwd: &'a Path,
    /// Whether it runs on another machine. Nothing is known about the programs there.
    is_elsewhere: bool,
    grants: Grants,
    file_rules: OnceCell<Option<FileRules>>,
}

impl<'a> CommandPrograms<'a> {
    pub(super) fn new(
        turn_policy: &'a TurnPolicy,
        cwd: &'a Path,
        is_elsewhere: bool,
        grants: Grants,
    ) -> Self {
        Self {
            turn_policy,
            cwd,
            is_elsewhere,
            grants,
            file_rules: OnceCell::new(),
        }
    }

    /// Whether the name or path resolves to a program that the model cannot have written.
    pub(super) fn is_foreign_to_model(&self, program: &str) -> bool {
        let files = self.files(program);
        files.is_some_and(|files| {
            !files.is_empty() && files.iter().all(|file| !self.is_of_model(file))
        })
    }

    /// Whether there is no such program.
    pub(super) fn is_missing(&self, program: &str) -> bool {
        self.files(program).is_some_and(|files| files.is_empty())
    }

    /// The file name that a name or path resolves to.
    pub(super) fn resolved_name(&self, program: &str) -> Option<String> {
        let file = self.files(program)?.into_iter().next()?;
        Some(file.file_name()?.to_str()?.to_owned())
    }

    /// The files that may run, links resolved. None if they cannot be determined.
    fn files(&self, program: &str) -> Option<Vec<PathBuf>> {
        if self.is_elsewhere {
            return None;
        }
        if is_path(program) {
            let file = executable(self.cwd, program);
            return Some(file.into_iter().collect());
        }
        let home = self.variable("HOME").map(PathBuf::from);
        let early = home
            .iter()
            .flat_map(|home| LOGIN_FOLDERS.iter().map(|folder| home.join(folder)));
        let mut files: Vec<PathBuf> = early
            .filter_map(|folder| executable(&folder, program))
            .collect();
        let path = self.variable("PATH").unwrap_or(OsStr::new(DEFAULT_PATH));
        for folder in std::env::split_paths(path) {
            // A relative folder depends on the working folder of the command at that moment.
            if !folder.is_absolute() {
                return None;
            }
            if let Some(file) = executable(&folder, program) {
                files.push(file);
                return Some(files);
            }
        }
        Some(files)
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = variable(&self.turn_policy.environment, name)?;
        (!value.is_empty()).then_some(value)
    }

    fn may_be_written(&self, file: &Path) -> bool {
        let rules = self
            .file_rules
            .get_or_init(|| self.turn_policy.file_rules(self.grants.clone()));
        rules.as_ref().is_some_and(|rules| rules.may_write(file))
    }

    /// Links in `file` must be resolved.
    fn is_of_system(&self, file: &Path) -> bool {
        SYSTEM_FOLDERS.iter().any(|folder| file.starts_with(folder))
            && !self.may_be_written(file)
            && belongs_to_administrator(file)
    }

    fn is_of_model(&self, file: &Path) -> bool {
        if self.is_of_system(file) {
            return false;
        }
        let tmpdir = self.turn_policy.tmpdir.as_deref();
        let shared = SHARED_FOLDERS.iter().map(Path::new).chain(tmpdir);
        let own = [self.turn_policy.cwd.as_path(), self.cwd];
        let is_below = |folder: &Path| {
            file.starts_with(
                codex_mounts::canonicalize(folder)
                    .as_deref()
                    .unwrap_or(folder),
            )
        };
        own.into_iter().chain(shared).any(is_below)
            || self.may_be_written(file)
            || anybody_may_write(file)
    }
}

impl ProgramCheck for CommandPrograms<'_> {
    fn is_system_program(&self, program: &str) -> bool {
        let files = self
            .files(program)
            .filter(|_| !is_path(program) || Path::new(program).is_absolute());
        files.is_some_and(|files| {
            !files.is_empty() && files.iter().all(|file| self.is_of_system(file))
        })
    }

    fn is_trusted_shell(&self, shell: &str, flag: &str) -> bool {
        let own =
            Path::new(shell) == self.turn_policy.shell && self.turn_policy.shell.is_absolute();
        let is_shell = if own {
            self.is_foreign_to_model(shell)
        } else {
            self.is_system_program(shell)
        };
        let home = self
            .variable("ZDOTDIR")
            .or_else(|| self.variable("HOME"))
            .map(Path::new);
        let in_home = |name: &str| home.map(|home| home.join(name));
        let login = LOGIN_FILES
            .iter()
            .filter(|_| flag.contains('l'))
            .filter_map(|name| in_home(name));
        let named = ["BASH_ENV", "ENV"]
            .into_iter()
            .filter_map(|name| self.variable(name));
        let mut files = login
            .chain(in_home(".zshenv"))
            .chain(named.map(PathBuf::from));
        is_shell
            && files.all(|file| match codex_mounts::canonicalize(&file) {
                Ok(file) => !self.is_of_model(&file),
                Err(_) => true,
            })
    }

    fn has_variable(&self, name: &str) -> bool {
        self.variable(name).is_some()
    }
}

/// The file of a program in a folder, links resolved, if it is executable.
fn executable(folder: &Path, program: &str) -> Option<PathBuf> {
    let files = file_names(program).into_iter();
    files
        .filter_map(|name| codex_mounts::canonicalize(folder.join(name)).ok())
        .find(|file| {
            file.metadata()
                .is_ok_and(|about| about.is_file() && may_be_run(&about))
        })
}
