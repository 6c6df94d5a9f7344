//! Simulations of a few seeds, of those that ever failed, and of one seed twice.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed expectation is the failed test"
)]

use std::process::{Command, Output};

/// Seeds whose simulations have failed, and why.
const FAILED_BEFORE: [(u64, &str); 13] = [
    (15, "an empty message of the model was shown and not stored"),
    (38, "the queue of a thread without turns was lost by a kill"),
    (
        161,
        "what a model had written before its answer was cut is not stored",
    ),
    (
        186,
        "the same in a turn that failed, with the end of a declined command twice",
    ),
    (
        267,
        "the queue of a thread without turns was lost by a kill",
    ),
    (
        302,
        "a kill between making the file of a thread and its first line lost accepted input",
    ),
    (433, "the same without questions"),
    (361, "a compaction as the first turn was not stored"),
    (
        432,
        "a command that was allowed and could not start ended as declined",
    ),
    (
        464,
        "a compaction and a goal of a thread without a file were lost",
    ),
    (
        2536,
        "a command that was stopped while it was started ended as declined",
    ),
    (
        50289,
        "turns that waited for a typed command were lost with the end of the server",
    ),
    (
        51143,
        "input for a turn that a compaction replaced was lost",
    ),
];

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_codex-simulator"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Whether this system lets a process have namespaces, which simulations run in.
fn can_simulate() -> bool {
    let can = simulate(&["--seeds", "0"]).status.success();
    if !can {
        eprintln!("not run: there are no namespaces for users here");
    }
    can
}

fn passes(arguments: &[&str]) {
    let output = simulate(arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
}

#[test]
fn what_must_hold_does_for_many_seeds() {
    if can_simulate() {
        passes(&["--seeds", "100", "--jobs", "2", "--no-shrink"]);
    }
}

#[test]
fn full_disks_lose_nothing_that_was_stored() {
    if can_simulate() {
        passes(&["--seeds", "50", "--jobs", "2", "--full-disk", "--no-shrink"]);
        // The beginning of a fork was lost.
        passes(&["--seed", "1320", "--full-disk", "--no-shrink"]);
    }
}

#[test]
fn power_cuts_lose_nothing_that_was_synchronised() {
    if can_simulate() {
        passes(&["--seeds", "60", "--jobs", "2", "--power-cut", "--no-shrink"]);
    }
}

#[test]
fn two_processes_share_a_home_folder() {
    if can_simulate() {
        passes(&[
            "--seeds",
            "60",
            "--jobs",
            "2",
            "--two-engines",
            "--no-shrink",
        ]);
    }
}

#[test]
fn seeds_that_failed_before_pass() {
    if can_simulate() {
        let seeds = FAILED_BEFORE.map(|(seed, _)| seed.to_string());
        passes(&["--list", &seeds.join(","), "--no-shrink"]);
    }
}

#[test]
fn the_same_seed_sends_and_stores_the_same_bytes() {
    if !can_simulate() {
        return;
    }
    // The second time the seeds run after fewer others.
    let hashes = |first: &str, count: &str| {
        let output = simulate(&["--seed", first, "--seeds", count, "--hashes", "--no-shrink"]);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().rev().take(4).map(str::to_owned);
        let lines: Vec<String> = lines.collect();
        assert_eq!(lines.len(), 4, "{text}");
        lines
    };
    assert_eq!(hashes("20", "8"), hashes("24", "4"));
}
