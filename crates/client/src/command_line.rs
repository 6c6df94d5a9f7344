//! Shortens a command line for people: the script, without the shell that runs it.

use codex_shell_command::split_command;

/// The script of `SHELL -lc SCRIPT`; otherwise the line as it is. A shell that is not in a usual folder is part of what is
/// shown, because it may be anybody's program.
pub fn command_script(line: &str) -> String {
    match split_command(line).as_deref() {
        Some([shell, flag, script]) if is_usual_shell(shell) && (flag == "-lc" || flag == "-c") => {
            script.clone()
        }
        _ => line.to_owned(),
    }
}

fn is_usual_shell(program: &str) -> bool {
    const FOLDERS: [&str; 4] = [
        "/bin/",
        "/usr/bin/",
        "/usr/local/bin/",
        "/opt/homebrew/bin/",
    ];
    let name = FOLDERS
        .iter()
        .find_map(|folder| program.strip_prefix(folder));
    name.is_some_and(|name| matches!(name, "bash" | "dash" | "fish" | "sh" | "zsh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_is_left_out() {
        for (line, expected) in [
            ("/bin/bash -lc 'ls -l; pwd'", "ls -l; pwd"),
            ("/usr/bin/bash -c \"it's\"", "it's"),
            ("/bin/zsh -lc ls", "ls"),
            ("/bin/bash -lc $'ls \\u202e'", "ls \u{202e}"),
            ("ls -lc x y", "ls -lc x y"),
            ("/bin/sh -c 'open", "/bin/sh -c 'open"),
        ] {
            assert_eq!(command_script(line), expected);
        }
    }

    #[test]
    fn a_shell_that_may_be_anybodys_is_shown() {
        for line in [
            "bash -lc ls",
            "./bash -c ls",
            "/tmp/bin/bash -lc ls",
            "/bin/../tmp/bash -lc ls",
        ] {
            assert_eq!(command_script(line), line);
        }
    }
}
