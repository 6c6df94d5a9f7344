//! What is shown as reading, listing or searching does nothing else.
//!
//! Clients may allow such commands by themselves. Written and generated scripts that are shown so are run in a temporary
//! folder, which must stay unchanged. Where `strace` is installed, they also open nothing for writing, and start only
//! programs of the system. `CODEX_SAFE_SCRIPTS` sets the number of generated scripts.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use codex_shell_command::{CommandAction, ProgramCheck, command_actions, is_known_safe};
use proptest::prelude::*;

/// A machine on which every program name means the usual program, as in the environment of this test.
struct UsualMachine;

impl ProgramCheck for UsualMachine {
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

/// Scripts that write or run something, and begin with what looks like reading.
const MISLEADING_SCRIPTS: [&str; 54] = [
    "cat payload | tee made",
    "cat payload | tee -a payload",
    "cat payload | awk '{system($0)}'",
    "awk '{system($0)}' payload",
    "awk 'BEGIN{print > \"made\"}' payload",
    "awk -f payload payload",
    "cat payload | sort -o made",
    "cat payload | sort --output=made",
    "cat payload | sort --compress-program=./payload",
    "ls | sort -omade",
    "cat payload | sed '1e touch made'",
    "cat payload | sed 'w made'",
    "cat payload | sed -n '1w made'",
    "sed -n 1p payload -i",
    "sed -n -e '1w made' payload",
    "sed -n '1e touch made' payload",
    "cat payload | sed -f payload",
    "cat payload | uniq - made",
    "uniq payload made",
    "cat payload | column -t > made",
    "cat payload | sh",
    "cat payload | xargs -I{} sh -c {}",
    "ls | xargs sed -n '1w made'",
    "ls | xargs -n 1 rg --pre ./payload x",
    "ls | xargs grep x",
    "rg --pre ./payload x .",
    "rg --pre=./payload x .",
    "rg --hostname-bin ./payload x",
    "rg -z x",
    "rg --search-zip x",
    "rg -uuz x",
    "rg x *",
    "tree -o made",
    "tree . -omade",
    "less payload",
    "less -o made payload",
    "less '+!touch made' payload",
    "more '+!touch made' payload",
    "bat --pager ./payload payload",
    "fd . -x touch made",
    "fd -X touch",
    "find . -name payload -fprint made",
    "find . -name payload -delete",
    "find . -name payload -exec ./payload ';'",
    "find . -name {payload,-delete}",
    "find . *",
    "git grep -O./payload x",
    "git ls-files",
    "ag --pager ./payload x",
    "du --files0-from=payload",
    "./payload payload",
    "python3 -c 'import os; os.listdir(exec(input()))'",
    "cat payload; printf x > made",
    "nl payload | yes | head -1 | tee made",
];

/// Scripts that are shown as reading, listing or searching.
const READING_SCRIPTS: [&str; 16] = [
    "cat payload",
    "cat payload | head -5",
    "cat payload | wc -l",
    "cat payload | cut -d: -f1 | uniq -c",
    "cat payload | tr a b",
    "head -n 1 payload",
    "tail -1 payload",
    "nl -ba payload | sed -n 1,5p",
    "sed -n 1,5p payload",
    "ls -la d",
    "ls && cd d && cat c",
    "grep -rn touch .",
    "find . -name '*.rs'",
    "find d -type f",
    "echo a; ls",
    "cat payload || true",
];

const PROGRAMS: [&str; 25] = [
    "cat",
    "head",
    "tail",
    "nl",
    "sed -n",
    "sed",
    "ls",
    "grep",
    "find",
    "cd d;",
    "wc",
    "tr a b",
    "cut",
    "uniq",
    "echo",
    "true",
    "tee",
    "sort",
    "awk",
    "xargs",
    "rg",
    "column",
    "bash -c",
    "./payload",
    "git",
];

const WORDS: [&str; 34] = [
    "payload",
    "made",
    "d",
    "-",
    "--",
    "*",
    "{payload,made}",
    "{-delete,}",
    "-delete",
    "-fprint",
    "-exec",
    "./payload",
    "\\;",
    ".",
    "-name",
    "-o",
    "-omade",
    "--output=made",
    "-i",
    "-n",
    "1p",
    "1,2p",
    "'1w made'",
    "'1e touch made'",
    "-f",
    "1",
    "-c",
    "> made",
    "2>made",
    "$(touch made)",
    "'touch made'",
    "\"ls | wc\"",
    "--pre",
    "-I",
];

const COMMAND_SEPARATORS: [&str; 6] = [" | ", " && ", " || ", "; ", "\n", " & "];

fn call(script: &str) -> [String; 3] {
    ["/bin/bash".to_owned(), "-c".to_owned(), script.to_owned()]
}

/// Whether the script is shown as anything but unknown.
fn is_claimed(script: &str) -> bool {
    let argv = call(script);
    let actions = command_actions(&argv, &UsualMachine);
    let is_unknown = |action: &CommandAction| matches!(action, CommandAction::Unknown { .. });
    let claimed = !actions.iter().any(is_unknown);
    assert!(
        !claimed || is_known_safe(&argv, &UsualMachine),
        "{script:?}"
    );
    claimed
}

/// A folder in which scripts run.
struct Workplace {
    scratch: tempfile::TempDir,
    tracer: Option<PathBuf>,
}

impl Workplace {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let work = scratch.path().join("work");
        fs::create_dir_all(work.join("d")).unwrap();
        fs::write(work.join("payload"), "#!/bin/sh\ntouch made\n").unwrap();
        let runnable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(work.join("payload"), runnable).unwrap();
        for name in ["-delete", "d/c"] {
            fs::write(work.join(name), "one\ntwo\n").unwrap();
        }
        let tracer = Path::new("/usr/bin/strace");
        Self {
            scratch,
            tracer: tracer.is_file().then(|| tracer.to_owned()),
        }
    }

    /// All files with their contents.
    fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut ahead = vec![self.scratch.path().join("work")];
        while let Some(path) = ahead.pop() {
            if path.is_dir() {
                let entries = fs::read_dir(&path).unwrap();
                ahead.extend(entries.map(|entry| entry.unwrap().path()));
            }
            let content = fs::read(&path).unwrap_or_default();
            found.insert(path.display().to_string(), content);
        }
        found
    }

    /// Runs the script and returns what it did besides reading.
    fn effects(&self, script: &str) -> Vec<String> {
        let before = self.contents();
        let trace = self.scratch.path().join("trace");
        let mut words = vec!["timeout".into(), "10".into()];
        if let Some(tracer) = &self.tracer {
            words.extend([tracer.clone().into_os_string(), "-f".into(), "-qq".into()]);
            words.extend([
                "-s".into(),
                "200".into(),
                "-o".into(),
                trace.clone().into_os_string(),
            ]);
            words.extend(["-e".into(), "trace=%file,%desc".into()]);
        }
        words.extend(call(script).map(Into::into));
        let status = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.scratch.path().join("work"))
            .current_dir(self.scratch.path().join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert_ne!(
            status.unwrap().code(),
            Some(124),
            "it does not end: {script:?}"
        );
        let mut effects: Vec<String> = match &self.tracer {
            Some(_) => fs::read_to_string(&trace)
                .unwrap()
                .lines()
                .filter_map(effect)
                .collect(),
            None => Vec::new(),
        };
        if self.contents() != before {
            effects.push("files changed".to_owned());
        }
        effects
    }
}

/// What a line of the trace shows, if it is more than reading.
fn effect(line: &str) -> Option<String> {
    const CHANGES: [&str; 19] = [
        "creat",
        "mkdir",
        "mknod",
        "unlink",
        "rmdir",
        "rename",
        "link",
        "symlink",
        "chmod",
        "fchmod",
        "chown",
        "fchown",
        "lchown",
        "truncate",
        "ftruncate",
        "utime",
        "utimensat",
        "setxattr",
        "fallocate",
    ];
    let call = line.split_once(' ')?.1.trim_start();
    let (name, arguments) = call.split_once('(')?;
    if arguments.contains(") = -1 E") {
        return None;
    }
    let is_change = |change: &&str| {
        name.strip_prefix(*change)
            .is_some_and(|rest| matches!(rest, "" | "at" | "at2"))
    };
    let opens_to_write = name.starts_with("open")
        && ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"]
            .iter()
            .any(|flag| arguments.contains(flag))
        && !["\"/dev/null\"", "\"/dev/tty\""]
            .iter()
            .any(|file| arguments.contains(file));
    let runs_other = name == "execve"
        && !["(\"/bin/", "(\"/usr/bin/"]
            .iter()
            .any(|at| call.contains(at));
    (CHANGES.iter().any(is_change) || opens_to_write || runs_other).then(|| call.to_owned())
}

fn script() -> impl Strategy<Value = String> {
    let command = (
        prop::sample::select(PROGRAMS.to_vec()),
        prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..3),
    );
    let command =
        command.prop_map(|(program, words)| [&[program], words.as_slice()].concat().join(" "));
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

#[test]
fn writing_and_running_commands_are_not_shown_as_reading() {
    for script in MISLEADING_SCRIPTS {
        assert!(!is_claimed(script), "{script:?}");
    }
}

#[test]
fn commands_shown_as_reading_change_no_files() {
    let workplace = Workplace::new();
    for script in READING_SCRIPTS {
        assert!(is_claimed(script), "{script:?}");
        assert_eq!(workplace.effects(script), [""; 0], "{script:?}");
    }
}

/// The check notices effects, so that it proves something.
#[test]
fn effects_are_noticed() {
    for script in [
        "cat payload | tee made",
        "cat payload | awk '{system($0)}'",
        "sed -n '1w made' payload",
    ] {
        assert_ne!(Workplace::new().effects(script), [""; 0], "{script:?}");
    }
}

#[test]
fn generated_scripts_that_are_shown_as_reading_change_nothing() {
    let cases = std::env::var("CODEX_SAFE_SCRIPTS").ok();
    let cases = cases.and_then(|count| count.parse().ok()).unwrap_or(3_000);
    let workplace = Workplace::new();
    let ran = Cell::new(0);
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 0,
        ..ProptestConfig::with_cases(cases)
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&script(), |script| {
        if is_claimed(&script) {
            prop_assert_eq!(workplace.effects(&script), [""; 0], "{:?}", script);
            ran.set(ran.get() + 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        ran.get() * 50 > cases,
        "only {} scripts were shown as reading",
        ran.get()
    );
}
