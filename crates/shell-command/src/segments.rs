//! Splits a call into the commands that rules are applied to.

use crate::bash::{self, plain_commands};
use crate::call::{ShellCall, ShellKind};
use crate::heredoc::Heredoc;

/// The commands of a call. Empty only if the call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    pub kind: SegmentKind,
    pub commands: Vec<Vec<String>>,
}

/// How the call was split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// A script of simple commands; each is a segment.
    Plain,
    /// A single command with a heredoc. Rules may match it, but it is not known to be safe, and no rule should be derived
    /// from it.
    Heredoc,
    /// Not a script, or one that is not understood: the whole argument list is the only segment.
    Whole,
}

impl Segments {
    /// A call that is not split.
    pub fn whole(argv: &[String]) -> Self {
        Self {
            kind: SegmentKind::Whole,
            commands: vec![argv.to_vec()],
        }
    }
}

/// Splits a call into segments.
pub fn segments(argv: &[String]) -> Segments {
    let script = ShellCall::posix_script(argv);
    if let Some(commands) = script.and_then(plain_commands) {
        let commands = commands.iter().map(bash::SimpleCommand::texts).collect();
        return Segments {
            kind: SegmentKind::Plain,
            commands,
        };
    }
    match script.and_then(heredoc_command) {
        Some(command) => Segments {
            kind: SegmentKind::Heredoc,
            commands: vec![command],
        },
        None => Segments::whole(argv),
    }
}

/// The command of a script that is a single command with a heredoc, if the body runs no command.
fn heredoc_command(script: &str) -> Option<Vec<String>> {
    let heredoc = Heredoc::parse(script)?;
    if !heredoc.literal && !is_inert_body(&heredoc.body) {
        return None;
    }
    match heredoc.commands.as_slice() {
        [command] => Some(command.texts()),
        _ => None,
    }
}

/// Whether bash expands only plain variables in the body. Other expansions, such as `${x@P}`, can run commands.
fn is_inert_body(body: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
    !body.contains(['`', '\\'])
        && body
            .split('$')
            .skip(1)
            .all(|after| after.starts_with(is_name))
}

/// A canonical form that is equal for equivalent calls, for storing approvals.
pub fn canonical_command(argv: &[String]) -> Vec<String> {
    let Some(call) = ShellCall::from_argv(argv) else {
        return argv.to_vec();
    };
    let script = call.script.to_owned();
    match call.shell {
        ShellKind::Posix => match plain_commands(call.script).as_deref() {
            Some([command]) if command.words.iter().all(crate::word::ShellWord::is_fixed) => {
                command.texts()
            }
            _ => vec![
                "__codex_shell_script__".to_owned(),
                call.flag.to_owned(),
                script,
            ],
        },
        ShellKind::Power => vec!["__codex_powershell_script__".to_owned(), script],
        ShellKind::Cmd => argv.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[&str]) -> Vec<String> {
        line.iter().map(ToString::to_string).collect()
    }

    fn bash(script: &str) -> Vec<String> {
        words(&["/bin/bash", "-lc", script])
    }

    #[track_caller]
    fn check(argv: &[String], kind: SegmentKind, commands: &[&[&str]]) {
        let commands = commands.iter().map(|line| words(line)).collect();
        assert_eq!(segments(argv), Segments { kind, commands });
    }

    #[test]
    fn calls_are_cut_into_segments() {
        check(
            &bash("git add . && git push"),
            SegmentKind::Plain,
            &[&["git", "add", "."], &["git", "push"]],
        );
        check(
            &bash("cat <<'E'\n$(rm x)\nE"),
            SegmentKind::Heredoc,
            &[&["cat"]],
        );
        check(
            &bash("python3 - x <<E\nprint($y)\nE\n"),
            SegmentKind::Heredoc,
            &[&["python3", "-", "x"]],
        );
        check(&words(&["ls", "-l"]), SegmentKind::Whole, &[&["ls", "-l"]]);
        for script in [
            "cat <<E\n$(git push)\nE",
            "cat <<E\n${x:=\"$\"(git push)}${x@P}\nE",
            "cat <<E\n$[x]\nE",
            "cat <<E | git push\nx\nE",
            "cat <<E > f\nx\nE",
            "cat <<E\nx\nE\nls",
            "X=1 ls",
            "ls $(pwd)",
        ] {
            check(
                &bash(script),
                SegmentKind::Whole,
                &[&["/bin/bash", "-lc", script]],
            );
        }
    }

    #[test]
    fn calls_that_do_the_same_have_one_canonical_form() {
        let list = words(&["ls", "-l"]);
        assert_eq!(canonical_command(&bash("ls -l")), list);
        assert_eq!(
            canonical_command(&words(&["sh", "-c", " 'ls'  \"-l\""])),
            list
        );
        assert_eq!(canonical_command(&list), list);
        let script = "ls *";
        assert_eq!(
            canonical_command(&bash(script)),
            words(&["__codex_shell_script__", "-lc", script])
        );
        let powershell = words(&["pwsh", "-Command", "ls"]);
        assert_eq!(
            canonical_command(&powershell),
            words(&["__codex_powershell_script__", "ls"])
        );
    }
}
