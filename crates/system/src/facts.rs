//! What is true of the system as a whole.

/// Whether names of environment variables are the same in upper and lower case.
pub const IGNORES_CASE_OF_VARIABLES: bool = cfg!(windows);

/// Whether file systems usually ignore the case of names.
pub const IGNORES_CASE_OF_FILES: bool = cfg!(any(target_os = "macos", windows));

/// Whether commands are confined without a setting that says so. Windows changes access lists for it.
pub const CONFINES_BY_DEFAULT: bool = cfg!(not(windows));

/// Whether the system has a sandbox that only an administrator can prepare, which this program does not do.
pub const LACKS_ELEVATED_SANDBOX: bool = cfg!(windows);

/// Whether terminals of programs behave as on Unix.
pub const HAS_FULL_TERMINALS: bool = cfg!(not(windows));

/// Whether the usual programs of the shell are those of GNU.
pub const HAS_GNU_PROGRAMS: bool = cfg!(target_os = "linux");

/// Whether a process can be limited to the system calls that it needs.
pub const FILTERS_SYSTEM_CALLS: bool = cfg!(target_os = "linux");

/// Whether scripts are batch files instead of files with `#!`.
pub const HAS_BATCH_FILES: bool = cfg!(windows);

/// The shell that every machine has, and its flag for a script.
pub const SHELL: [&str; 2] = if cfg!(windows) {
    ["cmd", "/C"]
} else {
    ["sh", "-c"]
};

/// The shell for commands in a terminal of an editor, and its flag for a script.
pub const TERMINAL_SHELL: [&str; 2] = if cfg!(windows) {
    ["cmd", "/C"]
} else {
    ["/bin/sh", "-c"]
};

/// The environment variables that a program needs to find its user, its folders and its language.
pub const BASIC_VARIABLES: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    &[
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "USER",
        "__CF_USER_TEXT_ENCODING",
        "LANG",
        "LC_ALL",
        "TERM",
        "TMPDIR",
        "TZ",
    ]
};
