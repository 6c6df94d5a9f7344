//! Commands that are known to change nothing.
//!
//! Safe means "writes nothing and starts nothing unknown", not "may read what it likes". When in doubt a command is
//! not safe: an option hidden in a cluster, shortened, or made by a glob counts as there.

use crate::bash::plain_commands;
use crate::call::{ShellCall, base_name};
use crate::word::Word;

/// How deep shells within shells are followed.
const MAX_NESTED_SHELLS: usize = 4;

/// Folders where a program of a known name is that program.
const SYSTEM_FOLDERS: [&str; 6] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/sbin",
    "/usr/sbin",
    "/opt/homebrew/bin",
];

/// Whether the call is known to be safe: a safe command, or a plain script of nothing else.
pub fn is_known_safe(argv: &[String]) -> bool {
    let words: Vec<Word> = argv.iter().map(|word| Word::literal(word)).collect();
    is_safe(&words, 0)
}

fn is_safe(words: &[Word], depth: usize) -> bool {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    if let Some(script) = ShellCall::posix_script(&texts) {
        return depth < MAX_NESTED_SHELLS
            && words.iter().all(Word::is_fixed)
            && is_system_program(texts[0])
            && plain_commands(script).is_some_and(|commands| {
                commands
                    .iter()
                    .all(|command| is_safe(&command.words, depth + 1))
            });
    }
    let [program, arguments @ ..] = texts.as_slice() else {
        return false;
    };
    if !is_system_program(program) {
        return false;
    }
    let name = base_name(program);
    if is_harmless(name) {
        return true;
    }
    let as_shown = match name {
        // One word may become two files.
        "uniq" => words.iter().all(Word::is_fixed),
        _ => !words.iter().any(Word::may_become_option),
    };
    as_shown && has_safe_arguments(name, arguments)
}

/// Found on the path, or in a folder of the system: `./cat` may be anything.
fn is_system_program(program: &str) -> bool {
    match program.rsplit_once('/') {
        None => true,
        Some((folder, _)) => SYSTEM_FOLDERS.contains(&folder),
    }
}

/// Safe whatever the arguments.
fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || cfg!(target_os = "linux") && matches!(name, "numfmt" | "tac")
}

const HARMLESS: [&str; 23] = [
    "cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd",
    "rev", "seq", "stat", "tail", "tr", "true", "uname", "wc", "which", "whoami",
];

fn has_safe_arguments(name: &str, arguments: &[&str]) -> bool {
    match name {
        "base64" => !arguments
            .iter()
            .any(|word| is_long(word, &["--output"]) || in_cluster(word, 'o')),
        "find" => !arguments.iter().any(|word| FIND_EFFECTS.contains(word)),
        "git" => safe_git(arguments),
        "rg" => !arguments.iter().any(|word| {
            is_long(word, &["--pre", "--hostname-bin", "--search-zip"]) || in_cluster(word, 'z')
        }),
        "sed" => safe_sed(arguments),
        "uniq" => at_most_one_file(arguments),
        _ => false,
    }
}

const FIND_EFFECTS: [&str; 9] = [
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf",
];

/// Whether the word is one of the long options, shortened or with a value.
fn is_long(word: &str, options: &[&str]) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 2
        && name.starts_with("--")
        && options.iter().any(|option| option.starts_with(name))
}

/// Whether the word is a cluster of short options with this one in it, or perhaps in it.
fn in_cluster(word: &str, option: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(option)
}

/// `uniq` takes its second file for its output.
fn at_most_one_file(arguments: &[&str]) -> bool {
    let takes_value = |word: &&&str| matches!(**word, "-f" | "-s" | "-w");
    let values = arguments.iter().filter(takes_value).count();
    let rest = arguments
        .iter()
        .filter(|word| !word.starts_with('-'))
        .count();
    !arguments.contains(&"--") && rest <= values + 1 && (values == 0 || rest <= values)
}

/// Exactly `-n RANGEp` and at most one file, which must not look like an option: those can write and run.
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

/// Options of git subcommands that write, or run other programs.
const GIT_EFFECTS: [&str; 6] = [
    "--output",
    "--ext-diff",
    "--textconv",
    "--exec",
    "--paginate",
    "--open-files-in-pager",
];

fn safe_git(arguments: &[&str]) -> bool {
    let mut rest = arguments.iter();
    let subcommand = loop {
        match rest.next().copied() {
            // Where to look, not what to do.
            Some("-C") => drop(rest.next()),
            Some("--no-pager" | "--bare" | "--literal-pathspecs" | "--no-optional-locks") => {}
            Some(word) => break word,
            None => return false,
        }
    };
    let rest = rest.as_slice();
    match subcommand {
        // `--text` is an option of its own, not short for `--textconv`.
        "status" | "log" | "diff" | "show" => !rest
            .iter()
            .any(|word| *word != "--text" && is_long(word, &GIT_EFFECTS)),
        "branch" => rest.iter().all(|word| is_listing_option(word)),
        _ => false,
    }
}

/// `git branch` with anything else makes, moves or removes one.
fn is_listing_option(word: &str) -> bool {
    word.starts_with("--format=")
        || matches!(
            word,
            "--list"
                | "-l"
                | "--show-current"
                | "-a"
                | "--all"
                | "-r"
                | "--remotes"
                | "-v"
                | "-vv"
                | "--verbose"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safe(script: &str) -> bool {
        is_known_safe(&["/bin/bash", "-lc", script].map(ToOwned::to_owned))
    }

    #[test]
    fn what_only_looks_is_safe() {
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
            "git status",
            "git log --oneline -5",
            "git log --text",
            "git diff HEAD",
            "git show HEAD:x",
            "git -C x status",
            "git --no-pager log -p",
            "git branch",
            "git branch -a -v",
            "git branch --format='%(refname)'",
            "git branch --show-current",
            "sed -n 5p",
            "sed -n 1,5p a",
            "sed -n '1,5p' 'a b'",
            "uniq",
            "uniq -c a",
            "uniq -f 1",
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
        assert_eq!(safe("tac x && numfmt 1"), cfg!(target_os = "linux"));
    }

    #[test]
    fn what_may_write_or_run_is_not_safe() {
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
            is_known_safe(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
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
