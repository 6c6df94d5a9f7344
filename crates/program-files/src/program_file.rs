//! Files of programs: how a system names, finds and protects them.

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;

#[cfg(unix)]
mod unix {
    use std::collections::BTreeMap;
    use std::ffi::{OsStr, OsString};
    use std::fs::Metadata;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    /// The search path if `PATH` is not set.
    pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

    /// Whether the name of a program says where it is.
    pub fn is_path(program: &str) -> bool {
        program.contains('/')
    }

    /// The names that the file of a program may have.
    pub fn file_names(program: &str) -> [String; 1] {
        [program.to_owned()]
    }

    pub fn variable<'a>(
        environment: &'a BTreeMap<OsString, OsString>,
        name: &str,
    ) -> Option<&'a OsString> {
        environment.get(OsStr::new(name))
    }

    pub fn may_be_run(about: &Metadata) -> bool {
        about.permissions().mode() & 0o111 != 0
    }

    /// What changes with every write to a file.
    pub(crate) fn stamp(about: &Metadata) -> Option<[u64; 7]> {
        let time = |value: i64| u64::try_from(value).unwrap_or_default();
        Some([
            about.dev(),
            about.ino(),
            about.len(),
            time(about.mtime()),
            time(about.mtime_nsec()),
            time(about.ctime()),
            time(about.ctime_nsec()),
        ])
    }

    /// When a file was written last, or anything about it changed. Programs cannot set this time.
    pub(crate) fn changed(about: &Metadata) -> Option<SystemTime> {
        let seconds = u64::try_from(about.ctime()).ok()?;
        Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
    }

    /// Whether the file or its folder is open to everybody.
    pub fn anybody_may_write(file: &Path) -> bool {
        let is_open = |path: &Path| {
            let about = path.metadata();
            about.map_or(true, |about| about.permissions().mode() & 0o002 != 0)
        };
        [Some(file), file.parent()]
            .into_iter()
            .flatten()
            .any(is_open)
    }

    /// Files of Homebrew belong to the user who installed it.
    pub fn belongs_to_administrator(file: &Path) -> bool {
        let owned = file.metadata().is_ok_and(|about| about.uid() == 0);
        (owned || file.starts_with("/opt")) && !anybody_may_write(file)
    }
}

/// Access lists are not read. So no program counts as one of the system, and no command is known to be safe.
#[cfg(windows)]
mod windows {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::fs::Metadata;
    use std::path::Path;

    /// There is no search path that a program gets without `PATH`.
    pub const DEFAULT_PATH: &str = "";

    /// Whether the name of a program says where it is.
    pub fn is_path(program: &str) -> bool {
        program.contains(['/', '\\', ':'])
    }

    /// The names that the file of a program may have.
    pub fn file_names(program: &str) -> Vec<String> {
        let extended = ["", ".com", ".exe", ".bat", ".cmd"];
        extended
            .map(|extension| format!("{program}{extension}"))
            .into()
    }

    /// The names of variables have no case.
    pub fn variable<'a>(
        environment: &'a BTreeMap<OsString, OsString>,
        name: &str,
    ) -> Option<&'a OsString> {
        let mut variables = environment.iter();
        variables.find_map(|(own, value)| own.eq_ignore_ascii_case(name).then_some(value))
    }

    pub fn may_be_run(_: &Metadata) -> bool {
        true
    }

    /// Programs can set all times of a file.
    pub(crate) fn stamp(_: &Metadata) -> Option<[u64; 7]> {
        None
    }

    pub(crate) fn changed(_: &Metadata) -> Option<std::time::SystemTime> {
        None
    }

    pub fn anybody_may_write(_: &Path) -> bool {
        false
    }

    pub fn belongs_to_administrator(_: &Path) -> bool {
        false
    }
}
