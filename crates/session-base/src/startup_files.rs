//! The startup files of shells: whether commands in the sandbox may have written what a shell outside of it would run first.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use codex_program_files::{LaunchPlace, ProgramFiles, variable};
use codex_shell_command::{base_name, shell_call_without_startup_files};

/// Variables that name files which shells run first.
pub const STARTUP_VARIABLES: [&str; 2] = ["BASH_ENV", "ENV"];

/// Shells that run files of the user before a script.
const SHELLS: [&str; 9] = [
    "ash", "bash", "dash", "fish", "ksh", "mksh", "pwsh", "sh", "zsh",
];

/// Files of a home that shells run before a script.
const STARTUP_FILES: [&str; 10] = [
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".profile",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// The same below the folder of settings; fish runs all files of its folders.
const STARTUP_SETTINGS: [&str; 4] = [
    "fish/conf.d",
    "fish/config.fish",
    "fish/functions",
    "powershell/profile.ps1",
];

/// The same call without startup files, and the first of these that commands may write; nothing if they may write none, or
/// if it is no call of a shell with a script.
pub fn without_writable_startup_files(
    argv: &[String],
    environment: &BTreeMap<OsString, OsString>,
    may_write: &dyn Fn(&Path) -> bool,
) -> Option<(Vec<String>, PathBuf)> {
    let [shell, flag, script] = argv else {
        return None;
    };
    let is_call =
        SHELLS.contains(&base_name(shell)) && ["-c", "-lc", "-Command"].contains(&flag.as_str());
    if !is_call {
        return None;
    }
    let found = writable_startup_file(environment, may_write)?;
    Some((shell_call_without_startup_files(shell, script), found))
}

/// The variables that name a startup file which commands may write.
pub fn writable_startup_variables(
    environment: &BTreeMap<OsString, OsString>,
    may_write: &dyn Fn(&Path) -> bool,
) -> Vec<OsString> {
    let is_writable = |name: &&&str| {
        let value = variable(environment, name).map(PathBuf::from);
        value.is_some_and(|path| {
            let real = codex_mounts::canonicalize(&path);
            may_write(&path) || real.is_ok_and(|real| may_write(&real)) || path.is_relative()
        })
    };
    let names = STARTUP_VARIABLES.iter().filter(is_writable);
    names.map(OsString::from).collect()
}

/// The first file that a shell may run before a script, and that commands may write.
fn writable_startup_file(
    environment: &BTreeMap<OsString, OsString>,
    may_write: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let value = |name: &str| {
        let value = variable(environment, name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let homes = [value("HOME"), value("ZDOTDIR")];
    let of_homes = homes
        .iter()
        .flatten()
        .flat_map(|home| STARTUP_FILES.map(|name| home.join(name)));
    let settings = homes.iter().flatten().map(|home| home.join(".config"));
    let settings = settings.chain(value("XDG_CONFIG_HOME"));
    let of_settings = settings.flat_map(|folder| STARTUP_SETTINGS.map(|name| folder.join(name)));
    let named = STARTUP_VARIABLES.iter().filter_map(|name| value(name));
    let home = homes
        .iter()
        .flatten()
        .next()
        .map_or(Path::new("/"), PathBuf::as_path);
    let mut files = of_homes.chain(of_settings).chain(named);
    files.find_map(|file| {
        let real = codex_mounts::canonicalize(&file);
        if may_write(&file) || real.is_ok_and(|real| may_write(&real)) {
            return Some(file);
        }
        // What it sources counts, too.
        let command = [OsStr::new("sh"), file.as_os_str()];
        let place = LaunchPlace {
            cwd: home,
            environment,
        };
        let files =
            codex_mounts::exists(&file).then(|| ProgramFiles::of_arguments(&command, place));
        files?.first_writable(may_write).map(Path::to_path_buf)
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_no_files_that_commands_may_write() {
        let home = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let work = work.path().canonicalize().unwrap();
        let environment = BTreeMap::from([
            ("HOME".into(), home.path().into()),
            ("PATH".into(), "/usr/bin:/bin".into()),
        ]);
        let call = |environment: &BTreeMap<OsString, OsString>, in_home: bool| {
            let may_write =
                |path: &Path| path.starts_with(&work) || (in_home && path.starts_with(home.path()));
            let argv = ["/bin/bash", "-lc", "x"].map(str::to_owned);
            let call = without_writable_startup_files(&argv, environment, &may_write);
            call.map(|(argv, _)| argv)
        };
        let without = ["/bin/bash", "--noprofile", "--norc", "-c", "x"].map(str::to_owned);
        assert_eq!(call(&environment, false), None);
        // One that does not exist can be made.
        assert_eq!(call(&environment, true), Some(without.to_vec()));
        // One that another one sources.
        std::fs::write(work.join("aliases.sh"), "").unwrap();
        let profile = format!("[ -f x ] && . {}/aliases.sh", work.display());
        std::fs::write(home.path().join(".bash_profile"), profile).unwrap();
        assert_eq!(call(&environment, false), Some(without.to_vec()));
        std::fs::remove_file(home.path().join(".bash_profile")).unwrap();
        assert_eq!(call(&environment, false), None);
        for (name, path) in [("BASH_ENV", "env.sh"), ("XDG_CONFIG_HOME", "settings")] {
            let mut named = environment.clone();
            named.insert(name.into(), work.join(path).into());
            assert_eq!(call(&named, false), Some(without.to_vec()), "{name}");
        }
        // A folder whose files fish runs.
        std::fs::create_dir_all(home.path().join(".config/fish")).unwrap();
        std::os::unix::fs::symlink(&work, home.path().join(".config/fish/conf.d")).unwrap();
        assert_eq!(call(&environment, false), Some(without.to_vec()));
    }
}
