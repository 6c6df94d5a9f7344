//! `codex debug trace list`, `search`, `pack` and `prune`, and packed bundles in the other trace commands.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

use crate::{codex, repository, stdout_of};

/// A folder with the bundle of a ready scenario.
struct Recorded {
    temporary: TempDir,
    bundle: PathBuf,
}

impl Recorded {
    fn play(scenario: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("demo");
        let script = repository().join("scenarios").join(scenario);
        let [script, path] = [&script, &folder].map(|path| path.to_str().unwrap());
        codex(&["demo", "--script", script, "--auto", "--folder", path]);
        let entry = fs::read_dir(folder.join("traces")).unwrap().next();
        let bundle = entry.unwrap().unwrap().path();
        Self { temporary, bundle }
    }

    fn folder(&self) -> &str {
        self.bundle.parent().unwrap().to_str().unwrap()
    }

    fn bundle(&self) -> &str {
        self.bundle.to_str().unwrap()
    }

    fn packed(&self) -> String {
        format!("{}.tar.zst", self.bundle())
    }

    fn list(&self) -> Vec<Value> {
        let printed = stdout_of(&codex(&["debug", "trace", "list", self.folder(), "--json"]));
        let lines = printed.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn search(&self, more: &[&str]) -> Output {
        codex(&[&["debug", "trace", "search"], more, &[self.folder()]].concat())
    }

    /// Sets the time at which the log was last written.
    fn age(&self, days: u64) {
        let log = File::options()
            .append(true)
            .open(self.bundle.join("trace.jsonl"));
        let time = SystemTime::now() - Duration::from_secs(days * 86_400);
        log.unwrap().set_modified(time).unwrap();
    }

    fn end_early(&self) {
        let log = self.bundle.join("trace.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let lines = text
            .lines()
            .filter(|line| !line.contains("\"rollout_ended\""));
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(log, text).unwrap();
    }
}

fn state_of(bundle: &str, output: &Path) -> Vec<u8> {
    let output = output.to_str().unwrap();
    stdout_of(&codex(&[
        "debug",
        "trace-reduce",
        bundle,
        "--strict",
        "-o",
        output,
    ]));
    fs::read(output).unwrap()
}

#[test]
fn a_packed_bundle_is_smaller_and_serves_all_commands() {
    let recorded = Recorded::play("tour.toml");
    let before = recorded.list();
    assert_eq!(before[0]["packed"], false);
    assert_eq!(before[0]["state"], "complete");
    assert_eq!(before[0]["turns"], 1);
    let prompt = before[0]["prompt"].as_str().unwrap();
    assert!(prompt.starts_with("The discount is wrong"), "{prompt}");
    let [first, second] = ["first", "second"].map(|name| recorded.temporary.path().join(name));
    let state = state_of(recorded.bundle(), &first);

    stdout_of(&codex(&["debug", "trace", "pack", recorded.bundle()]));
    assert!(!recorded.bundle.exists());
    let packed = recorded.packed();
    let mut after = recorded.list();
    assert!(after[0]["bytes"].as_u64().unwrap() * 4 < before[0]["bytes"].as_u64().unwrap());
    for member in ["packed", "bytes", "path"] {
        after[0][member] = before[0][member].clone();
    }
    assert_eq!(before, after);
    assert!(state_of(&packed, &second) == state, "the states differ");
    let printed = stdout_of(&codex(&["debug", "trace-view", &packed]));
    assert_eq!(
        printed.trim_end(),
        format!("{}.view.html", recorded.bundle())
    );
    assert_eq!(
        codex(&["debug", "trace-replay", &packed]).status.code(),
        Some(0)
    );
    let again = codex(&["debug", "trace-diff", &packed, &packed]);
    assert_eq!(again.status.code(), Some(0));
}

#[test]
fn bundle_of_running_session_is_not_packed() {
    let recorded = Recorded::play("hello.toml");
    recorded.end_early();
    let pack = || codex(&["debug", "trace", "pack", "--keep", recorded.bundle()]);
    let refused = pack();
    assert_eq!(refused.status.code(), Some(1));
    let reason = String::from_utf8(refused.stderr).unwrap();
    assert!(reason.contains("still being recorded"), "{reason}");
    recorded.age(1);
    assert_eq!(pack().status.code(), Some(0));
    assert!(recorded.bundle.exists());
    assert_eq!(pack().status.code(), Some(1), "the file exists");
}

#[test]
fn a_damaged_packed_bundle_is_reported() {
    let recorded = Recorded::play("hello.toml");
    stdout_of(&codex(&["debug", "trace", "pack", recorded.bundle()]));
    let packed = recorded.packed();
    let bytes = fs::read(&packed).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for damaged in [&bytes[..bytes.len() / 2], &flipped, b"", b"{}"] {
        fs::write(&packed, damaged).unwrap();
        let reduced = codex(&["debug", "trace-reduce", &packed]);
        assert_eq!(reduced.status.code(), Some(1));
        let reason = String::from_utf8(reduced.stderr).unwrap();
        assert!(reason.contains("cannot be unpacked"), "{reason}");
        let found = recorded.search(&["no such text anywhere"]);
        assert_eq!(found.status.code(), Some(2));
    }
}

#[test]
fn texts_are_found_in_requests_and_outputs() {
    let recorded = Recorded::play("tour.toml");
    for is_packed in [false, true] {
        if is_packed {
            stdout_of(&codex(&["debug", "trace", "pack", recorded.bundle()]));
        }
        let found = stdout_of(&recorded.search(&["the DISCOUNT is wrong"]));
        assert!(found.contains("payloads/"), "{found}");
        let lines = found.lines().count();
        assert!(lines < 5, "each text once: {found}");
        // Keys and words of the format are no texts, and a bundle can be named itself.
        let bundle = found.lines().next().unwrap();
        let own = codex(&["debug", "trace", "search", "raw_payload_id", bundle]);
        assert_eq!(own.status.code(), Some(1));
        let own = codex(&["debug", "trace", "search", "discount is wrong", bundle]);
        assert_eq!(own.status.code(), Some(0));
        assert_eq!(
            stdout_of(&codex(&["debug", "trace", "list", bundle]))
                .lines()
                .count(),
            2
        );
        let status = |arguments: &[&str]| recorded.search(arguments).status.code();
        assert_eq!(
            status(&["the DISCOUNT is wrong", "--case-sensitive"]),
            Some(1)
        );
        assert_eq!(status(&["--regex", "disc.unt is (right|wrong)"]), Some(0));
        assert_eq!(status(&["--regex", "("]), Some(2));
    }
}

#[test]
fn bundles_of_running_sessions_are_kept() {
    let recorded = Recorded::play("hello.toml");
    let prune = |more: &[&str]| {
        let folder = [recorded.folder()];
        stdout_of(&codex(
            &[&["debug", "trace", "prune"], more, &folder].concat(),
        ))
    };
    let line = format!("{}\n", recorded.bundle());
    assert_eq!(prune(&["--max-days", "3"]), "");
    recorded.age(4);
    assert_eq!(prune(&["--max-days", "3", "--dry-run"]), line);
    assert!(recorded.bundle.exists());
    recorded.end_early();
    assert_eq!(prune(&["--max-mib", "0"]), "", "the session may be running");
    recorded.age(4);
    assert_eq!(prune(&["--max-mib", "0"]), line);
    assert!(!recorded.bundle.exists());
}

/// A server that records deletes what the configuration does not let it keep.
#[test]
fn configured_limits_apply_while_sessions_are_recorded() {
    let recorded = Recorded::play("hello.toml");
    recorded.age(40);
    let home = recorded.temporary.path().join("home");
    fs::create_dir(&home).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_codex"));
        let command = command.args(arguments).env("CODEX_HOME", &home);
        command.env("CODEX_ROLLOUT_TRACE_ROOT", recorded.folder());
        command.output().unwrap()
    };
    let refused = run(&["debug", "trace", "prune"]);
    assert_eq!(refused.status.code(), Some(1));
    fs::write(home.join("config.toml"), "[traces]\nmax_days = 30\n").unwrap();
    let listed = stdout_of(&run(&["debug", "trace", "prune", "--dry-run"]));
    assert_eq!(listed.trim_end(), recorded.bundle());
    let server = std::process::Command::new(env!("CARGO_BIN_EXE_codex"))
        .arg("app-server")
        .env("CODEX_HOME", &home)
        .env("CODEX_ROLLOUT_TRACE_ROOT", recorded.folder())
        .stdin(std::process::Stdio::piped())
        .spawn();
    let mut server = server.unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while recorded.bundle.exists() {
        assert!(
            std::time::Instant::now() < until,
            "the bundle is still there"
        );
        std::thread::park_timeout(Duration::from_millis(20));
    }
    drop(server.stdin.take());
    server.wait().unwrap();
}
