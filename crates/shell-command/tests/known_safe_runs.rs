//! Commands that are known to be safe change nothing when bash runs them.
//!
//! Scripts are made of safe programs, dangerous options, quotes and expansions. Those that count as safe are run
//! in a temporary folder, which must stay unchanged. `CODEX_SAFE_SCRIPTS` sets the number of scripts.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use codex_shell_command::{ProgramCheck, is_known_safe};
use proptest::prelude::*;

/// A machine on which every program name means the usual program, as in the environment of this test.
struct Everything;

impl ProgramCheck for Everything {
    fn is_system_program(&self, program: &str) -> bool {
        !program.contains('/') || program.starts_with("/bin/")
    }

    fn is_trusted_shell(&self, shell: &str, _: &str) -> bool {
        self.is_system_program(shell)
    }

    fn has_variable(&self, _: &str) -> bool {
        false
    }
}

/// Leaves out programs that wait for more input, such as `tail -f`.
const PROGRAMS: [&str; 33] = [
    "cat",
    "cd",
    "cut",
    "echo",
    "expr",
    "false",
    "find",
    "find",
    "grep",
    "head",
    "ls",
    "nl",
    "paste",
    "pwd",
    "rev",
    "sed",
    "sed -n",
    "sort",
    "stat",
    "tac",
    "tee",
    "touch",
    "tr",
    "true",
    "uniq",
    "uniq",
    "wc",
    "base64",
    "/bin/cat",
    "./cat",
    "bash -c",
    "env",
    "{touch,made}",
];

const WORDS: [&str; 52] = [
    "a",
    "b",
    "-",
    "--",
    "*",
    "a*",
    "{a,made}",
    "{-delete,}",
    "-delete",
    "-\\delete",
    "'-delete'",
    "-dele[t]e",
    "-fprint",
    "-fprintf",
    "-exec",
    "touch",
    "made",
    "{}",
    "\\;",
    "+",
    ".",
    "-name",
    "-o",
    "-omade",
    "--output=made",
    "--outp",
    "-i",
    "-n",
    "1p",
    "1,2p",
    "w",
    "'w made'",
    "1e",
    "-f",
    "1",
    "-c",
    "-s1",
    "-w",
    "> made",
    ">>a",
    "2>made",
    "&>made",
    "< a",
    "$(touch made)",
    "`touch made`",
    "\"$(touch made)\"",
    "'touch made'",
    "\"ls | wc\"",
    "\\",
    "\\\n",
    "~",
    "#x",
];

const COMMAND_SEPARATORS: [&str; 9] = [
    " && ", " || ", "; ", " | ", "\n", " & ", " |& ", " ;; ", "\\\n",
];

fn script() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => prop::sample::select(WORDS.to_vec()).prop_map(ToOwned::to_owned),
        1 => "[-a-z'\"\\\\${}*<>|;()]{1,4}",
    ];
    let command = (
        prop::sample::select(PROGRAMS.to_vec()),
        prop::collection::vec(word, 0..4),
    );
    let command = command
        .prop_map(|(program, words)| [&[program.to_owned()], words.as_slice()].concat().join(" "));
    let more = (
        prop::sample::select(COMMAND_SEPARATORS.to_vec()),
        command.clone(),
    );
    (command, prop::collection::vec(more, 0..3)).prop_map(|(first, more)| {
        let more = more
            .into_iter()
            .map(|(joint, command)| joint.to_owned() + &command);
        first + &more.collect::<String>()
    })
}

/// All files of a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(path) = ahead.pop() {
        if path.is_dir() {
            ahead.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
        let content = fs::read(&path).unwrap_or_default();
        found.insert(path.display().to_string(), content);
    }
    found
}

fn cases() -> u32 {
    let asked = std::env::var("CODEX_SAFE_SCRIPTS").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

#[test]
fn safe_scripts_change_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let work = scratch.path().join("work");
    fs::create_dir_all(work.join("d")).unwrap();
    for name in ["a", "b", "-delete", "d/c"] {
        fs::write(work.join(name), "one\ntwo\n").unwrap();
    }
    let before = contents(scratch.path());
    let ran = Cell::new(0);
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 0,
        ..ProptestConfig::with_cases(cases())
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&script(), |script| {
        let argv = ["/bin/bash".to_owned(), "-c".to_owned(), script];
        if !is_known_safe(&argv, &Everything) {
            return Ok(());
        }
        let run = Command::new("timeout")
            .args(["10", "/bin/bash", "-c", &argv[2]])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &work)
            .current_dir(&work)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        prop_assert_ne!(
            run.unwrap().code(),
            Some(124),
            "it does not end: {:?}",
            argv[2]
        );
        prop_assert!(
            contents(scratch.path()) == before,
            "it changed something: {:?}",
            argv[2]
        );
        ran.set(ran.get() + 1);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        ran.get() * 50 > cases(),
        "only {} scripts were safe",
        ran.get()
    );
}
