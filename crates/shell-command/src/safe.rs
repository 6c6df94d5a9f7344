//! Recognizes commands that change nothing.
//!
//! Safe means that a command writes nothing and starts no unknown program; it may read anything. A safe command runs
//! without approval, but in the sandbox. In doubt a command is not safe: an option that may be in a cluster, abbreviated
//! or produced by a glob counts as present. git is excluded, because a repository's configuration can make any git command
//! run a program.

use codex_system::facts::HAS_GNU_PROGRAMS;

use crate::bash::{SimpleCommand, plain_commands};
use crate::call::{ShellCall, base_name};
use crate::segments::{SegmentKind, segments};
use crate::word::ShellWord;

/// Maximum depth of nested shell calls.
const MAX_NESTED_SHELLS: usize = 4;

/// Questions about the machine, because the name alone does not say which program runs.
pub trait ProgramCheck {
    /// Whether this name (looked up as a shell would) or path is a program of the system.
    fn is_system_program(&self, program: &str) -> bool;
    /// Whether this shell with this script flag runs the script and no startup file that a model may have written.
    fn is_trusted_shell(&self, shell: &str, flag: &str) -> bool;
    /// Whether this environment variable is set for programs.
    fn has_variable(&self, name: &str) -> bool;
}

/// Whether the call is a safe command, or a plain script of safe commands.
pub fn is_known_safe(argv: &[String], programs: &dyn ProgramCheck) -> bool {
    known_safe_parts(argv, programs)
        .into_iter()
        .all(|safe| safe)
}

/// Whether each of the [`segments`] of a call is known to be safe.
pub fn known_safe_parts(argv: &[String], programs: &dyn ProgramCheck) -> Vec<bool> {
    let parts = segments(argv);
    let judge = SafetyCheck { programs };
    let script = ShellCall::posix_script(argv).filter(|_| parts.kind == SegmentKind::Plain);
    match (parts.kind, script.and_then(plain_commands)) {
        (SegmentKind::Plain, Some(commands)) => {
            let trusted = judge.is_trusted_call(argv);
            let position = CommandPosition::Script { depth: 1 };
            (commands.iter())
                .map(|command| trusted && judge.is_safe(&command.words, position))
                .collect()
        }
        (SegmentKind::Whole, _) => {
            let words: Vec<ShellWord> = argv.iter().map(|word| ShellWord::literal(word)).collect();
            vec![judge.is_safe(&words, CommandPosition::Call)]
        }
        (SegmentKind::Heredoc | SegmentKind::Plain, _) => vec![false; parts.commands.len()],
    }
}

/// Where a command was found.
#[derive(Debug, Clone, Copy)]
enum CommandPosition {
    /// It is the call itself.
    Call,
    /// In a script at this depth of nested shells.
    Script { depth: usize },
}

struct SafetyCheck<'a> {
    programs: &'a dyn ProgramCheck,
}

impl SafetyCheck<'_> {
    fn is_trusted_call(&self, argv: &[String]) -> bool {
        let flag = argv.get(1).map(String::as_str).unwrap_or_default();
        let shell = argv.first();
        shell.is_some_and(|shell| self.programs.is_trusted_shell(shell, flag))
    }

    fn is_safe(&self, words: &[ShellWord], position: CommandPosition) -> bool {
        let texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        if let Some(script) = ShellCall::posix_script(&texts) {
            return words.iter().all(ShellWord::is_fixed)
                && self.is_trusted_call(&texts)
                && plain_commands(script)
                    .is_some_and(|commands| self.are_safe(&commands, position));
        }
        let [program, arguments @ ..] = texts.as_slice() else {
            return false;
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let is_builtin = matches!(position, CommandPosition::Script { .. })
            && BUILTINS.contains(&program.as_str());
        if !is_builtin && !self.programs.is_system_program(program) {
            return false;
        }
        let name = base_name(program);
        if is_harmless(name) {
            return true;
        }
        let as_shown = match name {
            // One word may expand to two files.
            "uniq" => words.iter().all(ShellWord::is_fixed),
            _ => !words.iter().any(ShellWord::may_become_option),
        };
        as_shown
            && match name {
                "rg" => safe_rg(&arguments) && !self.programs.has_variable("RIPGREP_CONFIG_PATH"),
                _ => has_safe_arguments(name, &arguments),
            }
    }

    fn are_safe(&self, commands: &[SimpleCommand], position: CommandPosition) -> bool {
        let depth = match position {
            CommandPosition::Call => 0,
            CommandPosition::Script { depth } => depth,
        };
        let inside = CommandPosition::Script { depth: depth + 1 };
        depth < MAX_NESTED_SHELLS
            && commands
                .iter()
                .all(|command| self.is_safe(&command.words, inside))
    }
}

/// Builtins of the shell.
const BUILTINS: [&str; 5] = ["cd", "echo", "false", "pwd", "true"];

/// Safe with any arguments.
fn is_harmless(name: &str) -> bool {
    HARMLESS_COMMANDS.contains(&name) || HAS_GNU_PROGRAMS && matches!(name, "numfmt" | "tac")
}

const HARMLESS_COMMANDS: [&str; 23] = [
    "cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd",
    "rev", "seq", "stat", "tail", "tr", "true", "uname", "wc", "which", "whoami",
];

fn has_safe_arguments(name: &str, arguments: &[&str]) -> bool {
    match name {
        "base64" => !arguments
            .iter()
            .any(|word| is_long(word, &["--output"]) || in_cluster(word, 'o')),
        "find" => !arguments.iter().any(|word| FIND_EFFECTS.contains(word)),
        "sed" => safe_sed(arguments),
        "uniq" => safe_uniq(arguments),
        _ => false,
    }
}

const FIND_EFFECTS: [&str; 9] = [
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf",
];

/// Whether the word is one of the long options, possibly abbreviated or with a value.
fn is_long(word: &str, options: &[&str]) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 2
        && name.starts_with("--")
        && options.iter().any(|option| option.starts_with(name))
}

/// Whether the word may be a cluster of short options that contains this one.
fn in_cluster(word: &str, option: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(option)
}

fn safe_rg(arguments: &[&str]) -> bool {
    !arguments.iter().any(|word| {
        is_long(word, &["--pre", "--hostname-bin", "--search-zip"]) || in_cluster(word, 'z')
    })
}

/// `uniq` writes to its second file operand. Safe are options that are known to take no other word, and at most one file.
fn safe_uniq(arguments: &[&str]) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_option = |word: &str| match word.strip_prefix("--") {
        Some(long) => {
            let name = long.split('=').next().unwrap_or(long);
            long.contains('=')
                || matches!(
                    name,
                    "count" | "repeated" | "unique" | "ignore-case" | "zero-terminated"
                )
        }
        None => word.strip_prefix('-').is_some_and(|short| {
            let flags = short.trim_start_matches(|c| "cdDuiz".contains(c));
            !short.is_empty()
                && (flags.is_empty() || flags.strip_prefix(['f', 's', 'w']).is_some_and(is_number))
        }),
    };
    let mut files = 0;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-f" | "-s" | "-w" if rest.next().is_some_and(|value| is_number(value)) => {}
            word if is_option(word) => {}
            word if word == "-" || !word.starts_with(['-', '+']) => files += 1,
            _ => return false,
        }
    }
    files <= 1
}

/// Exactly `-n RANGEp` and at most one file that does not look like an option, because options can write and execute.
fn safe_sed(arguments: &[&str]) -> bool {
    match arguments {
        ["-n", range] => is_print_range(range),
        ["-n", range, file] => is_print_range(range) && !file.starts_with('-'),
        _ => false,
    }
}

/// `Np` or `M,Np`.
pub(crate) fn is_print_range(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.strip_suffix('p')
        .is_some_and(|range| match range.split_once(',') {
            Some((from, to)) => is_number(from) && is_number(to),
            None => is_number(range),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which every name is a program of the system.
    struct Usual;

    impl ProgramCheck for Usual {
        fn is_system_program(&self, program: &str) -> bool {
            !program.contains('/')
                || program.starts_with("/usr/bin/")
                || program.starts_with("/bin/")
        }

        fn is_trusted_shell(&self, shell: &str, _: &str) -> bool {
            self.is_system_program(shell)
        }

        fn has_variable(&self, _: &str) -> bool {
            false
        }
    }

    fn call(script: &str) -> Vec<String> {
        ["/bin/bash", "-lc", script].map(ToOwned::to_owned).to_vec()
    }

    fn safe(script: &str) -> bool {
        is_known_safe(&call(script), &Usual)
    }

    #[test]
    fn safety_depends_on_the_program_path() {
        for argv in [
            ["/work/sub/bash", "-c", "ls"],
            ["./sub/bash", "-c", "ls"],
            ["/tmp/sh", "-lc", "ls"],
        ] {
            let argv = argv.map(ToOwned::to_owned);
            assert!(!is_known_safe(&argv, &Usual), "{argv:?}");
        }
        assert!(is_known_safe(&call("ls"), &Usual));
    }

    #[test]
    fn each_script_part_is_judged_separately() {
        let parts = |script| known_safe_parts(&call(script), &Usual);
        assert_eq!(parts("ls && touch x; cat y"), [true, false, true]);
        assert_eq!(parts("find . {-delete,}; ls"), [false, true]);
        assert_eq!(parts("cat <<'E'\nE"), [false]);
        assert_eq!(parts("ls > x"), [false]);
    }

    #[test]
    fn reading_commands_are_safe() {
        for script in [
            "ls",
            "ls -la *.rs",
            "cat a | head -5 | wc -l",
            "pwd && whoami; true || false",
            "echo a\nid",
            "/bin/ls",
            "/usr/bin/cat x",
            "base64 -d x",
            "base64",
            "find . -name '*.rs'",
            "find src/* -type f",
            "rg foo src",
            "rg -n foo *",
            "rg --files",
            "sed -n 5p",
            "sed -n 1,5p a",
            "sed -n '1,5p' 'a b'",
            "uniq",
            "uniq -c a",
            "uniq -f 1",
            "uniq -f 1 a",
            "uniq -cd -w3 -",
            "uniq --skip-fields=1 a",
            "grep -rn x .",
            "tail -f x",
            "which ls",
            "bash -c 'ls'",
            "bash -lc \"sh -c 'ls | wc'\"",
            "expr 1 + 1",
            "seq 3",
            "cd x && ls",
        ] {
            let hidden_by_glob = script == "rg -n foo *";
            assert_eq!(safe(script), !hidden_by_glob, "{script}");
        }
        assert_eq!(safe("tac x && numfmt 1"), HAS_GNU_PROGRAMS);
    }

    #[test]
    fn writing_and_running_commands_are_not_safe() {
        for script in [
            "",
            "touch a",
            "rm a",
            "tee x",
            "sort x",
            "less x",
            "env ls",
            "sudo ls",
            "xargs ls",
            "time ls",
            "base64 -o x",
            "base64 -ox",
            "base64 -Do x",
            "base64 --output=x",
            "base64 --outp x",
            "find . -delete",
            "find . -exec rm {} +",
            "find . -execdir x",
            "find . -ok x",
            "find . -okdir x",
            "find . -fls x",
            "find . -fprint x",
            "find . -fprint0 x",
            "find . -fprintf x",
            "find . -\\delete",
            "find . '-delete'",
            "find . {-delete,}",
            "find . *",
            "find . -dele[t]e",
            "rg --pre x y",
            "rg --pre=x y",
            "rg --hostname-bin=x y",
            "rg --search-zip y",
            "rg -z y",
            "rg -nz y",
            "git push",
            "git status",
            "git log",
            "git diff HEAD",
            "git show",
            "git branch",
            "git branch x",
            "git branch -d x",
            "git branch --list x",
            "git stash list",
            "git",
            "git -C",
            "git -c a=b status",
            "git -ca=b status",
            "git --config-env=a=b status",
            "git -p log",
            "git --git-dir=x status",
            "git --exec-path=x status",
            "git diff --output=x",
            "git diff --output x",
            "git diff --outp=x",
            "git log --exec=x",
            "git show --ext-diff",
            "git show --textconv",
            "git log --paginate",
            "sed -n 1p a b",
            "sed -n 1,p",
            "sed -n '1,$p' a",
            "sed -i s/a/b/ x",
            "sed 1p",
            "sed -n 1p -fx",
            "sed -n 1p -i",
            "sed -n -e 1p a",
            "sed -n 1e",
            "uniq a b",
            "cat x | uniq - /any/file",
            "uniq - -",
            "uniq -c - a",
            "uniq a -c b",
            "uniq -f a b",
            "uniq --skip-fields 1 a b",
            "uniq -cf 1 a b",
            "git -C x status",
            "git --bare status",
            "cd sub && git status",
            "git status; cd x",
            "bash -c 'cd sub'; cd x; bash -c 'git status'",
            "git log --format=%G?",
            "git diff --submodule=diff",
            "git status --help",
            "git log --show-sig",
            "uniq -f 1 a b",
            "uniq -- a b",
            "uniq a{,b}",
            "uniq a*",
            "find . \"\"{-delete,}",
            "sed -n 1p {-i,a}",
            "./ls",
            "/tmp/cat x",
            "bin/ls",
            "bash -c 'touch x'",
            "./bash -c ls",
            "bash x",
            "bash -x ls",
            "ls > f",
            "ls $(touch x)",
            "X=1 ls",
            "cat <<E\nE",
            "ls; touch b",
            "ls &",
            "[ -f x ]",
        ] {
            assert!(!safe(script), "{script}");
        }
    }

    #[test]
    fn a_direct_call_is_judged_by_its_words() {
        let direct = |words: &[&str]| {
            is_known_safe(
                &words.iter().map(ToString::to_string).collect::<Vec<_>>(),
                &Usual,
            )
        };
        assert!(direct(&["ls", "-la"]));
        assert!(direct(&["find", "*"]));
        assert!(direct(&["cat", "$x; rm y"]));
        assert!(!direct(&[]));
        assert!(!direct(&[""]));
        assert!(!direct(&["ls; rm"]));
        assert!(!direct(&["pwsh", "-Command", "ls"]));
        assert!(!direct(&["cmd", "/c", "dir"]));
    }

    #[test]
    fn shells_are_followed_only_so_deep() {
        let mut script = "ls".to_owned();
        for depth in 1..8 {
            assert_eq!(safe(&script), depth <= MAX_NESTED_SHELLS, "{script}");
            script = crate::quote_command(&["bash", "-c", &script]);
        }
    }
}
