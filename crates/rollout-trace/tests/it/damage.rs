//! Damaged bundles: never a panic, never silence.

use std::fs::{self, OpenOptions};

use codex_rollout_trace::{Fault, Strictness, replay_bundle};
use proptest::prelude::*;
use serde_json::json;

use crate::session::{Session, bundle_in, message};
use crate::support::Bundle;

const BUNDLES: [&str; 9] = [
    "schema_two_tools",
    "schema_two_messages",
    "engine_short",
    "engine_mixed",
    "engine_shell",
    "one_turn",
    "tools_and_terminals",
    "cells_and_compaction",
    "agents",
];

#[test]
fn whole_bundles_have_no_damage() {
    for name in BUNDLES {
        let reduction = Bundle::unpack(name).check();
        assert!(
            !reduction.problems.is_damaged(),
            "{name}: {:?}",
            reduction.problems
        );
    }
}

fn cut_at_every_byte_of_the_end(name: &str) {
    let bundle = Bundle::unpack(name);
    let log = OpenOptions::new().write(true).open(bundle.log()).unwrap();
    let whole = log.metadata().unwrap().len();
    for cut in 1..=whole.min(4096) {
        log.set_len(whole - cut).unwrap();
        let reduction = bundle.replay(Strictness::Lenient).unwrap();
        assert!(
            reduction.problems.total() > 0,
            "{name}: {cut} bytes cut in silence"
        );
    }
}

#[test]
fn one_turn_cut_at_every_byte() {
    cut_at_every_byte_of_the_end("one_turn");
}

#[test]
fn cells_and_compaction_cut_at_every_byte() {
    cut_at_every_byte_of_the_end("cells_and_compaction");
}

#[test]
fn engine_short_cut_at_every_byte() {
    cut_at_every_byte_of_the_end("engine_short");
}

#[test]
fn every_payload_is_missed() {
    for name in BUNDLES {
        let bundle = Bundle::unpack(name);
        let log = fs::read_to_string(bundle.log()).unwrap();
        for payload in bundle.payloads() {
            let name_in_log = format!(
                "payloads/{}\"",
                payload.file_name().unwrap().to_str().unwrap()
            );
            if !log.contains(&name_in_log) {
                continue;
            }
            let content = fs::read(&payload).unwrap();
            fs::remove_file(&payload).unwrap();
            let reduction = bundle.check();
            let number = payload.file_stem().unwrap().to_str().unwrap();
            let missed = |fault: &Fault| match fault {
                Fault::OpenPayload { id, .. } => id.as_str() == format!("raw_payload:{number}"),
                _ => false,
            };
            let mut problems = reduction.problems.listed().iter();
            assert!(
                problems.any(|problem| missed(&problem.fault)),
                "{name}: {payload:?}"
            );
            fs::write(&payload, content).unwrap();
        }
    }
}

/// Also of payloads that the reduction does not read.
#[test]
fn every_payload_cut_in_half_is_seen() {
    for name in BUNDLES {
        let bundle = Bundle::unpack(name);
        let log = fs::read_to_string(bundle.log()).unwrap();
        for payload in bundle.payloads() {
            let own_name = payload.file_name().unwrap().to_str().unwrap();
            if !log.contains(&format!("payloads/{own_name}\"")) {
                continue;
            }
            let content = fs::read(&payload).unwrap();
            fs::write(&payload, &content[..content.len() / 2]).unwrap();
            let reduction = bundle.check_lenient();
            assert!(reduction.problems.is_damaged(), "{name}: {payload:?}");
            fs::write(&payload, content).unwrap();
        }
    }
}

/// What this program records has checksums: a bit that flips is seen where the state stays possible too.
#[test]
fn every_flipped_bit_of_a_recorded_bundle_is_seen() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(root.path());
    session.start_turn();
    session.request("i1", json!({"input": [message("user", "hi")]}));
    session.respond("i1", json!([message("assistant", "yo")]));
    session.end();
    let bundle = bundle_in(root.path());
    let payloads = fs::read_dir(bundle.join("payloads")).unwrap();
    let mut files: Vec<_> = payloads.map(|file| file.unwrap().path()).collect();
    files.push(bundle.join("trace.jsonl"));
    for file in files {
        let content = fs::read(&file).unwrap();
        for at in (0..content.len()).step_by(7) {
            let mut flipped = content.clone();
            flipped[at] ^= 1 << (at % 7);
            fs::write(&file, flipped).unwrap();
            let reduction = replay_bundle(&bundle).unwrap();
            let is_own_checksum = content[..at].ends_with(b"\"xxh3\":\"");
            assert!(
                reduction.problems.is_damaged() || is_own_checksum,
                "{}: byte {at}",
                file.display()
            );
        }
        fs::write(&file, content).unwrap();
    }
    assert!(!replay_bundle(&bundle).unwrap().problems.is_damaged());
}

#[test]
fn every_repeated_line_is_seen() {
    for name in BUNDLES {
        let bundle = Bundle::unpack(name);
        let lines = bundle.lines();
        for at in 0..lines.len() {
            let mut repeated = lines.clone();
            repeated.insert(at, lines[at].clone());
            bundle.set_lines(&repeated);
            assert!(bundle.check().problems.is_damaged(), "{name}: line {at}");
        }
    }
}

#[test]
fn every_swap_is_seen() {
    for name in BUNDLES {
        let bundle = Bundle::unpack(name);
        let lines = bundle.lines();
        for at in 1..lines.len() {
            let mut swapped = lines.clone();
            swapped.swap(at - 1, at);
            bundle.set_lines(&swapped);
            assert!(bundle.check().problems.is_damaged(), "{name}: line {at}");
        }
    }
}

#[test]
fn every_lost_line_is_seen() {
    for name in BUNDLES {
        let bundle = Bundle::unpack(name);
        let lines = bundle.lines();
        for at in 0..lines.len() {
            let mut fewer = lines.clone();
            fewer.remove(at);
            bundle.set_lines(&fewer);
            assert!(bundle.check().problems.total() > 0, "{name}: line {at}");
        }
    }
}

/// What may be done to the bytes of a file.
#[derive(Debug, Clone)]
enum Blow {
    Set(usize, u8),
    Remove(usize, usize),
    Insert(usize, Vec<u8>),
}

impl Blow {
    fn strike(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Self::Set(at, byte) => {
                let at = at % bytes.len();
                bytes[at] = *byte;
            }
            Self::Remove(at, count) => {
                let at = at % bytes.len();
                let end = bytes.len().min(at + count);
                bytes.drain(at..end);
            }
            Self::Insert(at, new) => {
                let at = at % bytes.len();
                bytes.splice(at..at, new.iter().copied());
            }
        }
    }
}

fn blows() -> impl Strategy<Value = Vec<Blow>> {
    let odd_bytes = prop_oneof![
        Just(b"null".to_vec()),
        Just(b"\"".to_vec()),
        Just(b"\\ud800".to_vec()),
        Just(b"[[[[".to_vec()),
        Just(b"\n".to_vec()),
        Just(vec![0xff, 0]),
        Just(b"-1e9".to_vec()),
    ];
    let blow = prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Blow::Set(at, byte)),
        (any::<usize>(), 1..40_usize).prop_map(|(at, count)| Blow::Remove(at, count)),
        (any::<usize>(), odd_bytes).prop_map(|(at, new)| Blow::Insert(at, new)),
    ];
    prop::collection::vec(blow, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_beaten_log_is_reduced(name in prop::sample::select(&BUNDLES), blows in blows()) {
        let bundle = Bundle::unpack(name);
        let mut bytes = fs::read(bundle.log()).unwrap();
        for blow in &blows {
            blow.strike(&mut bytes);
        }
        fs::write(bundle.log(), bytes).unwrap();
        bundle.check();
    }

    #[test]
    fn a_beaten_payload_is_reduced(
        name in prop::sample::select(&BUNDLES),
        file in any::<prop::sample::Index>(),
        blows in blows(),
    ) {
        let bundle = Bundle::unpack(name);
        let payloads = bundle.payloads();
        let path = file.get(&payloads);
        let mut bytes = fs::read(path).unwrap();
        for blow in &blows {
            blow.strike(&mut bytes);
        }
        fs::write(path, bytes).unwrap();
        bundle.check();
    }
}
