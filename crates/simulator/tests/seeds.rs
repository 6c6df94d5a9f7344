//! Simulations of a few seeds, of all that ever failed, and of one seed twice.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed expectation is the failed test"
)]

use std::path::Path;
use std::process::{Command, Output};

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
fn invariants_hold_for_many_seeds() {
    if can_simulate() {
        passes(&["--seeds", "100", "--jobs", "2", "--no-shrink"]);
    }
}

#[test]
fn full_disks_lose_nothing_that_was_stored() {
    if can_simulate() {
        passes(&["--seeds", "50", "--jobs", "2", "--full-disk", "--no-shrink"]);
    }
}

#[test]
fn power_cuts_lose_nothing_that_was_synchronised() {
    if can_simulate() {
        passes(&["--seeds", "50", "--jobs", "2", "--power-cut", "--no-shrink"]);
        let both = ["--two-engines", "--power-cut", "--no-shrink"];
        passes(&[&["--seeds", "20", "--jobs", "2"][..], &both].concat());
    }
}

#[test]
fn two_processes_share_a_home_folder() {
    if can_simulate() {
        passes(&[
            "--seeds",
            "50",
            "--jobs",
            "2",
            "--two-engines",
            "--no-shrink",
        ]);
    }
}

/// Each file has a plan whose simulation has failed, and why.
#[test]
fn plans_that_failed_before_pass() {
    if !can_simulate() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let failed: serde_json::Value = serde_json::from_str(&text).unwrap();
        passes(&["--plan", &failed["plan"].to_string()]);
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
