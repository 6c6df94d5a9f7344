//! Recognizes commands that destroy data without asking.
//!
//! The check is broad: programs are compared by base name, options may be in any order, and commands are searched in all
//! parts of a script and in the arguments of programs that start others.

use crate::call::{ShellCall, ShellKind, base_name};
use crate::reachable::reachable_commands;

/// Whether the call, or any command found in it, is dangerous.
pub fn is_dangerous(argv: &[String]) -> bool {
    let script_is_dangerous = ShellCall::from_argv(argv).is_some_and(|call| match call.shell {
        ShellKind::Posix => false,
        ShellKind::Power => forced_removal(call.script, &POWERSHELL_REMOVAL, &["-force"]),
        ShellKind::Cmd => cmd_removal(call.script),
    });
    let reachable = reachable_commands(argv);
    script_is_dangerous
        || reachable.gave_up
        || reachable.commands.iter().any(|command| {
            let [program, arguments @ ..] = command.words.as_slice() else {
                return false;
            };
            base_name(program) == "rm" && is_forced(arguments)
        })
}

/// `-f` alone or in a cluster, or any abbreviation of `--force` that `rm` accepts. Only files follow `--`.
fn is_forced(arguments: &[String]) -> bool {
    arguments
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| match word.strip_prefix("--") {
            Some(long) => !long.is_empty() && "force".starts_with(long),
            None => word.starts_with('-') && word.contains('f'),
        })
}

const POWERSHELL_REMOVAL: [&str; 8] = [
    "remove-item",
    "ri",
    "rm",
    "rmdir",
    "rd",
    "del",
    "erase",
    "remove-itemproperty",
];

/// Whether one statement of a Windows script contains a removal command and a force flag.
fn forced_removal(script: &str, commands: &[&str], flags: &[&str]) -> bool {
    script
        .to_lowercase()
        .split([';', '\n', '|', '&'])
        .any(|statement| {
            let words: Vec<&str> = statement
                .split(|c: char| c.is_whitespace() || "(){}'\"".contains(c))
                .filter(|word| !word.is_empty())
                .collect();
            words.iter().any(|word| commands.contains(word))
                && flags.iter().all(|flag| words.contains(flag))
        })
}

fn cmd_removal(script: &str) -> bool {
    forced_removal(script, &["del", "erase"], &["/f"])
        || forced_removal(script, &["rd", "rmdir"], &["/s", "/q"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dangerous(words: &[&str]) -> bool {
        is_dangerous(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn forced_removal_is_dangerous_in_any_dress() {
        for command in [
            "rm -f x",
            "rm -rf x",
            "rm -fr x",
            "rm -r -f x",
            "rm x -rf",
            "/bin/rm -rf x",
            "rm -f",
            "rm --force x",
            "rm --fo x",
            "rm -rvf x",
            "sudo rm -rf x",
            "sudo -u root rm -f x",
            "sudo bash -c 'rm -rf x'",
            "env A=1 rm -rf x",
            "nohup rm -rf x",
            "xargs rm -rf",
            "find . -exec rm -rf {} +",
            "timeout 5 rm -rf x",
            "command rm -rf x",
            "sudo env rm -f x",
        ] {
            let words: Vec<String> = crate::parse_plain_commands(command)
                .expect("plain")
                .concat();
            assert!(is_dangerous(&words), "{command}");
            assert!(dangerous(&["bash", "-lc", command]), "bash: {command}");
            assert!(
                dangerous(&["bash", "-lc", &format!("ls && {command}")]),
                "list: {command}"
            );
            assert!(dangerous(&[
                "bash",
                "-lc",
                &format!("for i in a; do {command}; done > /dev/null &")
            ]));
            let nested = crate::quote_command(&["sh", "-c", command]);
            assert!(dangerous(&["bash", "-lc", &nested]), "nested: {nested}");
        }
        assert!(dangerous(&["bash", "-lc", "rm -rf $X"]));
        assert!(dangerous(&["bash", "-lc", "echo $(rm -rf x)"]));
    }

    #[test]
    fn other_commands_are_not() {
        for command in [
            "rm x",
            "rm -r x",
            "rm -- -f",
            "rmdir x",
            "echo rm -rf x",
            "git rm -f x",
            "ls -f",
            "sudo ls -f",
        ] {
            let words: Vec<String> = crate::parse_plain_commands(command)
                .expect("plain")
                .concat();
            assert!(!is_dangerous(&words), "{command}");
            assert!(!dangerous(&["bash", "-lc", command]), "bash: {command}");
        }
        assert!(!dangerous(&["bash", "-lc", "echo 'rm -rf x'"]));
        assert!(!dangerous(&[]));
    }

    #[test]
    fn windows_shells() {
        assert!(dangerous(&[
            "pwsh",
            "-Command",
            "Remove-Item x -Recurse -Force"
        ]));
        assert!(dangerous(&[
            "powershell.exe",
            "-NoProfile",
            "-Command",
            "ls; del -Force x"
        ]));
        assert!(!dangerous(&[
            "pwsh",
            "-Command",
            "Remove-Item x; ls -Force"
        ]));
        for script in [
            "del /f x",
            "ERASE /F x",
            "rd /s /q x",
            "dir & rmdir /q /s x",
        ] {
            assert!(dangerous(&["cmd", "/c", script]), "{script}");
        }
        assert!(!dangerous(&["cmd.exe", "/c", "rd /s x"]));
    }
}
