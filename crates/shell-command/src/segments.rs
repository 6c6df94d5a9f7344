//! The commands inside a call, as rules see them.

use crate::bash::{self, plain_commands};
use crate::call::{Shell, ShellCall};
use crate::heredoc::Heredoc;

/// How deep shells within shells are followed.
const MAX_NESTED_SHELLS: usize = 4;

/// The parts of a call that are judged one by one. Never empty unless the call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    pub kind: SegmentKind,
    pub commands: Vec<Vec<String>>,
}

/// How well the call was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// A script of simple commands; each is a segment.
    Plain,
    /// A single command that is fed a heredoc. Rules may speak about it; it is not known safe, and no rule should be
    /// derived from it.
    Heredoc,
    /// Not a script, or none that is understood: the whole argument list is the one segment.
    Whole,
}

/// Splits a call into its segments.
pub fn segments(argv: &[String]) -> Segments {
    let script = ShellCall::posix_script(argv);
    if let Some(commands) = script.and_then(plain_commands) {
        let commands = commands.iter().map(bash::Simple::texts).collect();
        return Segments {
            kind: SegmentKind::Plain,
            commands,
        };
    }
    let (kind, command) = match script.and_then(heredoc_command) {
        Some(command) => (SegmentKind::Heredoc, command),
        None => (SegmentKind::Whole, argv.to_vec()),
    };
    Segments {
        kind,
        commands: vec![command],
    }
}

/// The one command of a script that is a command with a heredoc, and no command in the body.
fn heredoc_command(script: &str) -> Option<Vec<String>> {
    let heredoc = Heredoc::parse(script)?;
    if !heredoc.literal && (heredoc.body.contains("$(") || heredoc.body.contains(['`', '\\'])) {
        return None;
    }
    match heredoc.commands.as_slice() {
        [command] => Some(command.texts()),
        _ => None,
    }
}

/// Every command that can be found anywhere in the call: in scripts that are not plain, in substitutions, in shells
/// within shells. A word that cannot be resolved is given as written.
///
/// This finds more than [`segments`], but not everything that could run. Use it to forbid, never to allow.
pub fn all_commands(argv: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut ahead = vec![(argv.to_vec(), 0)];
    while let Some((argv, depth)) = ahead.pop() {
        if depth < MAX_NESTED_SHELLS
            && let Some(script) = nested_script(&argv)
        {
            ahead.extend(
                commands_in(script)
                    .into_iter()
                    .map(|command| (command, depth + 1)),
            );
        }
        found.push(argv);
    }
    found
}

/// The script of a call of a POSIX shell, also when its flags are in a form that is not a plain call.
fn nested_script(argv: &[String]) -> Option<&str> {
    if let Some(script) = ShellCall::posix_script(argv) {
        return Some(script);
    }
    let shell = argv
        .first()
        .map(|program| crate::call::base_name(program))?;
    if !matches!(shell, "bash" | "zsh" | "sh" | "dash" | "ksh" | "eval") {
        return None;
    }
    let is_flag = |word: &&String| word.starts_with(['-', '+']);
    argv.iter()
        .skip(1)
        .find(|word| !is_flag(word))
        .map(String::as_str)
}

fn commands_in(script: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let Some(tree) = bash::parse(script) else {
        return commands_by_sight(script);
    };
    let mut ahead = vec![tree.root_node()];
    while let Some(node) = ahead.pop() {
        if node.kind() == "command" {
            commands.push(words_as_found(node, script));
        }
        ahead.extend(node.children(&mut node.walk()));
    }
    commands
}

/// For scripts that cannot be parsed: everything between separators may be a command.
fn commands_by_sight(script: &str) -> Vec<Vec<String>> {
    script
        .split(|c: char| ";|&\n(){}`".contains(c))
        .map(|part| {
            let bare = |word: &str| word.replace(['\'', '"', '\\'], "");
            part.split_whitespace().map(bare).collect::<Vec<String>>()
        })
        .filter(|words| !words.is_empty())
        .collect()
}

/// The words of a command as far as they can be told; assignments and redirections are left out.
fn words_as_found(node: tree_sitter::Node<'_>, script: &str) -> Vec<String> {
    node.named_children(&mut node.walk())
        .filter(|child| {
            !matches!(
                child.kind(),
                "variable_assignment" | "file_redirect" | "herestring_redirect"
            )
        })
        .filter_map(|child| script.get(child.byte_range()))
        .map(|source| match crate::word::Word::parse(source) {
            Some(word) => word.text,
            None => source.to_owned(),
        })
        .collect()
}

/// A form of the call that is the same for calls that do the same, for remembering what was approved.
pub fn canonical_command(argv: &[String]) -> Vec<String> {
    let Some(call) = ShellCall::of(argv) else {
        return argv.to_vec();
    };
    let script = call.script.to_owned();
    match call.shell {
        Shell::Posix => match plain_commands(call.script).as_deref() {
            Some([command]) if command.words.iter().all(crate::word::Word::is_fixed) => {
                command.texts()
            }
            _ => vec![
                "__codex_shell_script__".to_owned(),
                call.flag.to_owned(),
                script,
            ],
        },
        Shell::Power => vec!["__codex_powershell_script__".to_owned(), script],
        Shell::Cmd => argv.to_vec(),
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
    fn hidden_commands_are_found() {
        let push = words(&["git", "push"]);
        for script in [
            "git push",
            "FOO=1 git push",
            "echo $(git push)",
            "bash -c 'git push'",
            "bash -l -c 'git push'",
            "eval 'git push'",
            "cat <<E | git push\nE",
            "for i in a; do git push; done",
            "(git push) &",
            "'git' pu\\sh > /dev/null",
            "sh -c \"bash -c 'git push'\"",
            "if (",
        ] {
            assert_eq!(
                all_commands(&bash(script)).contains(&push),
                script != "if (",
                "{script}"
            );
        }
        let padded = format!("# {}\nls; git push", "x".repeat(1 << 20));
        assert!(
            all_commands(&bash(&padded)).contains(&push),
            "too long to be parsed"
        );
        assert!(all_commands(&bash("git push $x")).contains(&words(&["git", "push", "$x"])));
        assert_eq!(all_commands(&push), std::slice::from_ref(&push));
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
