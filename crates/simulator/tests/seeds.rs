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

/// Plans of simulations that have failed, and why.
const PLANS_FAILED_BEFORE: [(&str, &str); 4] = [
    (
        r#"{"seed":2,"clients":[{"release":"0.171","is_experimental":true,"read_delay":0}],"actions":[{"phase":0,"at":0,"client":0,"kind":"startThread","number":137620158637346},{"phase":0,"at":45467,"client":0,"kind":"setName","number":6616005035979},{"phase":1,"at":121,"client":0,"kind":"addToQueue","number":62074282323609},{"phase":1,"at":170,"client":0,"kind":"resumeThread","number":146505387270548},{"phase":1,"at":216,"client":0,"kind":"archive","number":265400929856941}],"kills":[{"after":14,"since":{"kind":"questionSettled","number":12}}]}"#,
        "a turn that was stopped while its calls ran ended as failed, and was stored as interrupted",
    ),
    (
        r#"{"seed":152,"clients":[{"release":null,"is_experimental":false,"read_delay":0},{"release":"0.117","is_experimental":true,"read_delay":0},{"release":null,"is_experimental":true,"read_delay":0}],"actions":[{"phase":0,"at":0,"client":0,"kind":"startThread","number":234605936849003},{"phase":0,"at":21546,"client":0,"kind":"startTurn","number":205491662013865},{"phase":0,"at":36901,"client":1,"kind":"addToQueue","number":144941875766591},{"phase":0,"at":57551,"client":2,"kind":"disconnect","number":115180661431608},{"phase":1,"at":0,"client":2,"kind":"resumeThread","number":263221224645911},{"phase":1,"at":0,"client":0,"kind":"resumeThread","number":279618548719811},{"phase":1,"at":819,"client":0,"kind":"startTurn","number":279618548719811},{"phase":1,"at":23177,"client":2,"kind":"steer","number":75830753605548}],"kills":[{"after":51}],"has_two_engines":true,"second_begins":[7561,13525]}"#,
        "two clients that resumed a thread at once got two, of which one could not be written",
    ),
    (
        r#"{"seed":288,"clients":[{"release":"0.117","is_experimental":true,"read_delay":0},{"release":"0.117","is_experimental":true,"read_delay":0},{"release":"0.169","is_experimental":true,"read_delay":0}],"actions":[{"phase":0,"at":0,"client":0,"kind":"startThread","number":185976900729560},{"phase":0,"at":102,"client":2,"kind":"setGoal","number":252619740625182},{"phase":0,"at":468,"client":1,"kind":"addToQueue","number":42054906454413},{"phase":0,"at":17718,"client":1,"kind":"resumeThread","number":225693474034698},{"phase":0,"at":17718,"client":0,"kind":"addToQueue","number":225693474034703},{"phase":0,"at":17718,"client":1,"kind":"listQueue","number":225693474034708},{"phase":0,"at":19718,"client":1,"kind":"addToQueue","number":225693474034706}],"kills":[{"after":33}],"has_two_engines":true,"second_begins":[0,25379]}"#,
        "a message of the queue was said twice: the next process found the copy of its input",
    ),
    (
        r#"{"seed":237,"clients":[{"release":"0.140","is_experimental":true,"read_delay":0},{"release":"0.169","is_experimental":true,"read_delay":0},{"release":"0.169","is_experimental":true,"read_delay":0}],"actions":[{"phase":0,"at":22496,"client":0,"kind":"startThread","number":124777328481701},{"phase":0,"at":55986,"client":2,"kind":"setName","number":49901487533018},{"phase":2,"at":0,"client":0,"kind":"resumeThread","number":60312305584287},{"phase":2,"at":166,"client":0,"kind":"startTurn","number":60312305584287},{"phase":2,"at":229,"client":0,"kind":"unsubscribe","number":207109616927330},{"phase":2,"at":5720,"client":0,"kind":"resumeThread","number":116027940449334}],"kills":[{"after":10,"since":{"kind":"questionSettled","number":1}},{"after":0,"since":{"kind":"turnStarted","number":1}}],"has_two_engines":true,"second_begins":[0,21936,0]}"#,
        "a client that came back was told of the end of a command and not of its begin",
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
fn invariants_hold_for_many_seeds() {
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
fn plans_that_failed_before_pass() {
    if can_simulate() {
        for (plan, _) in PLANS_FAILED_BEFORE {
            passes(&["--plan", plan]);
        }
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
