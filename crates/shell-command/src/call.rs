//! Recognizes argument lists that pass a script to a shell.

/// A shell call with a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShellCall<'a> {
    pub(crate) shell: ShellKind,
    pub(crate) flag: &'a str,
    pub(crate) script: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellKind {
    Posix,
    Power,
    Cmd,
}

impl ShellKind {
    /// The kind of a program, if it is a shell whose calls are understood.
    fn from_program(program: &str) -> Option<Self> {
        let name = base_name(program);
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name {
            "bash" | "zsh" | "sh" => Some(Self::Posix),
            _ if is("pwsh") || is("powershell") => Some(Self::Power),
            _ if is("cmd") => Some(Self::Cmd),
            _ => None,
        }
    }
}

impl<'a> ShellCall<'a> {
    /// Recognizes only the exact form: a shell, its script flag, the script.
    pub(crate) fn from_argv<S: AsRef<str>>(argv: &'a [S]) -> Option<Self> {
        let words: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
        let (program, arguments) = words.split_first()?;
        let shell = ShellKind::from_program(program)?;
        let (flag, script) = match (shell, arguments) {
            (ShellKind::Posix, [flag @ ("-lc" | "-c"), script])
            | (ShellKind::Cmd, [flag @ "/c", script]) => (*flag, *script),
            (ShellKind::Power, [flag, script] | ["-NoProfile", flag, script])
                if flag.eq_ignore_ascii_case("-Command") =>
            {
                (*flag, *script)
            }
            _ => return None,
        };
        Some(Self {
            shell,
            flag,
            script,
        })
    }

    /// The script, if the shell is POSIX-like.
    pub(crate) fn posix_script<S: AsRef<str>>(argv: &'a [S]) -> Option<&'a str> {
        Self::from_argv(argv)
            .filter(|call| call.shell == ShellKind::Posix)
            .map(|call| call.script)
    }
}

/// The script of a shell call.
pub fn shell_script<S: AsRef<str>>(argv: &[S]) -> Option<&str> {
    ShellCall::from_argv(argv).map(|call| call.script)
}

/// The program and the flag of a call of a POSIX-like shell.
pub fn posix_shell<S: AsRef<str>>(argv: &[S]) -> Option<(&str, &str)> {
    let call = ShellCall::from_argv(argv).filter(|call| call.shell == ShellKind::Posix)?;
    Some((argv.first()?.as_ref(), call.flag))
}

/// Whether [`shell_call`] knows how this program takes a script.
pub fn is_shell(program: &str) -> bool {
    ShellKind::from_program(program).is_some()
}

/// The call of a shell with a script. A login shell reads the user's startup files; `cmd` has none. Unknown shells are
/// called like POSIX ones.
pub fn shell_call(shell: &str, script: &str, login: bool) -> Vec<String> {
    let flags: &[&str] = match (ShellKind::from_program(shell), login) {
        (Some(ShellKind::Power), true) => &["-Command"],
        (Some(ShellKind::Power), false) => &["-NoProfile", "-Command"],
        (Some(ShellKind::Cmd), _) => &["/c"],
        (Some(ShellKind::Posix) | None, true) => &["-lc"],
        (Some(ShellKind::Posix) | None, false) => &["-c"],
    };
    let words = [&[shell], flags, &[script]].concat();
    words.into_iter().map(ToOwned::to_owned).collect()
}

/// The call of a shell that runs no file before the script, whatever the user has configured.
pub fn shell_call_without_startup_files(shell: &str, script: &str) -> Vec<String> {
    let flags: &[&str] = match base_name(shell) {
        "bash" => &["--noprofile", "--norc"],
        "zsh" => &["-f"],
        "fish" => &["--no-config"],
        name if name.eq_ignore_ascii_case("cmd") => &["/d"],
        _ => &[],
    };
    let call = shell_call(shell, script, false);
    let (program, arguments) = call.split_at(call.len().min(1));
    let flags = flags.iter().map(|&flag| flag.to_owned());
    program
        .iter()
        .cloned()
        .chain(flags)
        .chain(arguments.iter().cloned())
        .collect()
}

/// The call as it is started. Windows PowerShell writes in the code page of the console unless it is told otherwise.
pub fn with_utf8_output(mut argv: Vec<String>) -> Vec<String> {
    let is_powershell =
        ShellCall::from_argv(&argv).is_some_and(|call| call.shell == ShellKind::Power);
    if let Some(script) = argv.last_mut().filter(|_| is_powershell) {
        script.insert_str(0, POWERSHELL_UTF8);
    }
    argv
}

const POWERSHELL_UTF8: &str =
    "try { [Console]::OutputEncoding = [System.Text.UTF8Encoding]::new() } catch { }\n";

/// The name of a program without folder and without `.exe`.
pub fn base_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    match name
        .len()
        .checked_sub(4)
        .and_then(|at| name.split_at_checked(at))
    {
        Some((stem, extension)) if extension.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_shells_are_recognised() {
        for (shell, login, expected) in [
            ("/bin/bash", true, &["/bin/bash", "-lc", "s"][..]),
            ("sh", false, &["sh", "-c", "s"]),
            (r"C:\P\PWSH.exe", true, &[r"C:\P\PWSH.exe", "-Command", "s"]),
            (
                "powershell",
                false,
                &["powershell", "-NoProfile", "-Command", "s"],
            ),
            ("CMD.EXE", true, &["CMD.EXE", "/c", "s"]),
        ] {
            let argv = shell_call(shell, "s", login);
            assert_eq!(argv, expected);
            assert!(is_shell(shell));
            assert_eq!(shell_script(&argv), Some("s"));
        }
        assert!(!is_shell("/usr/bin/fish"));
    }

    #[test]
    fn only_scripts_of_powershell_ask_for_utf8() {
        let started = |shell| with_utf8_output(shell_call(shell, "ls", false)).pop();
        assert_eq!(started("pwsh"), Some(format!("{POWERSHELL_UTF8}ls")));
        assert_eq!(started("cmd").as_deref(), Some("ls"));
        assert_eq!(started("bash").as_deref(), Some("ls"));
    }

    #[test]
    fn shells_are_recognised_by_their_exact_form() {
        for argv in [
            &["bash", "-lc", "s"][..],
            &["/usr/bin/zsh", "-c", "s"],
            &["sh", "-c", "s"],
            &["pwsh", "-Command", "s"],
            &["powershell.exe", "-NoProfile", "-Command", "s"],
            &["C:\\Windows\\cmd.exe", "/c", "s"],
        ] {
            assert_eq!(shell_script(argv), Some("s"), "{argv:?}");
        }
        for argv in [
            &["bash", "-l", "-c", "s"][..],
            &["bash", "-x", "s"],
            &["bash", "s"],
            &["bash", "-lc", "s", "t"],
            &["dash", "-c", "s"],
            &["fish", "-c", "s"],
            &["-c", "s"],
            &[],
        ] {
            assert_eq!(shell_script(argv), None, "{argv:?}");
        }
    }
}
