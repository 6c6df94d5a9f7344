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

impl<'a> ShellCall<'a> {
    /// Recognizes only the exact form: a shell, its script flag, the script.
    pub(crate) fn of<S: AsRef<str>>(argv: &'a [S]) -> Option<Self> {
        let words: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
        let (shell, flag, script) = match words.as_slice() {
            [program, flag @ ("-lc" | "-c"), script] if is_posix(program) => {
                (ShellKind::Posix, *flag, *script)
            }
            [program, flag, script] | [program, "-NoProfile", flag, script]
                if is_powershell(program) && flag.eq_ignore_ascii_case("-Command") =>
            {
                (ShellKind::Power, *flag, *script)
            }
            [program, flag @ "/c", script] if base_name(program).eq_ignore_ascii_case("cmd") => {
                (ShellKind::Cmd, *flag, *script)
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
        Self::of(argv)
            .filter(|call| call.shell == ShellKind::Posix)
            .map(|call| call.script)
    }
}

/// The script of a shell call.
pub fn shell_script<S: AsRef<str>>(argv: &[S]) -> Option<&str> {
    ShellCall::of(argv).map(|call| call.script)
}

/// The program and the flag of a call of a POSIX-like shell.
pub fn posix_shell<S: AsRef<str>>(argv: &[S]) -> Option<(&str, &str)> {
    let call = ShellCall::of(argv).filter(|call| call.shell == ShellKind::Posix)?;
    Some((argv.first()?.as_ref(), call.flag))
}

fn is_posix(program: &str) -> bool {
    matches!(base_name(program), "bash" | "zsh" | "sh")
}

fn is_powershell(program: &str) -> bool {
    let name = base_name(program);
    name.eq_ignore_ascii_case("pwsh") || name.eq_ignore_ascii_case("powershell")
}

/// The name of a program without folder and without `.exe`.
pub(crate) fn base_name(program: &str) -> &str {
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
