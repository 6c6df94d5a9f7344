//! Files of programs: how a system names, finds and protects them.

#[cfg(unix)]
pub(super) use unix::*;
#[cfg(windows)]
pub(super) use windows::*;

#[cfg(unix)]
mod unix {
    use std::collections::BTreeMap;
    use std::ffi::{OsStr, OsString};
    use std::fs::Metadata;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::Path;

    /// The search path if `PATH` is not set.
    pub(crate) const DEFAULT_PATH: &str =
        "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

    /// Whether the name of a program says where it is.
    pub(crate) fn is_path(program: &str) -> bool {
        program.contains('/')
    }

    /// The names that the file of a program may have.
    pub(crate) fn file_names(program: &str) -> [String; 1] {
        [program.to_owned()]
    }

    pub(crate) fn variable<'a>(
        environment: &'a BTreeMap<OsString, OsString>,
        name: &str,
    ) -> Option<&'a OsString> {
        environment.get(OsStr::new(name))
    }

    pub(crate) fn may_be_run(about: &Metadata) -> bool {
        about.permissions().mode() & 0o111 != 0
    }

    /// Whether the file or its folder is open to everybody.
    pub(crate) fn anybody_may_write(file: &Path) -> bool {
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
    pub(crate) fn belongs_to_administrator(file: &Path) -> bool {
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
    pub(crate) const DEFAULT_PATH: &str = "";

    /// Whether the name of a program says where it is.
    pub(crate) fn is_path(program: &str) -> bool {
        program.contains(['/', '\\', ':'])
    }

    /// The names that the file of a program may have.
    pub(crate) fn file_names(program: &str) -> Vec<String> {
        let extended = ["", ".com", ".exe", ".bat", ".cmd"];
        extended
            .map(|extension| format!("{program}{extension}"))
            .into()
    }

    /// The names of variables have no case.
    pub(crate) fn variable<'a>(
        environment: &'a BTreeMap<OsString, OsString>,
        name: &str,
    ) -> Option<&'a OsString> {
        let mut variables = environment.iter();
        variables.find_map(|(own, value)| own.eq_ignore_ascii_case(name).then_some(value))
    }

    pub(crate) fn may_be_run(_: &Metadata) -> bool {
        true
    }

    pub(crate) fn anybody_may_write(_: &Path) -> bool {
        false
    }

    pub(crate) fn belongs_to_administrator(_: &Path) -> bool {
        false
    }
}
