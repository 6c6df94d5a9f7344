//! Readers of what others write, with inputs that are damaged in many ways, from a fixed corpus and seed. Each must return, and
//! nothing may panic. The corpus is that of the fuzzers.
//!
//! Frames of websockets have such a test of their own (`transport/src/websocket/tests.rs`), and traces have more
//! (`rollout-trace/tests/it/damage.rs`, `shards.rs`).
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

mod readers;

use std::path::Path;
use std::time::{Duration, Instant};

use codex_test_support::PseudoRandom;

/// Variants of each input of a corpus.
const VARIANTS: usize = 150;

/// The time for one input.
const LIMIT: Duration = Duration::from_secs(5);

/// The files of a corpus, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect()
}

#[test]
fn damaged_inputs_are_read() {
    for (name, read) in readers::READERS {
        with_damage(name, &corpus(name), read);
    }
}

/// Calls `read` with the corpus as it is, and with damaged variants of it.
fn with_damage(name: &str, corpus: &[Vec<u8>], read: fn(&[u8])) {
    let mut random = PseudoRandom::new(name.len() * 7919);
    for input in corpus {
        for number in 0..=VARIANTS {
            let mut bytes = input.clone();
            for _ in 0..number.min(1 + number % 5) {
                damage(&mut bytes, corpus, &mut random);
            }
            let begun = Instant::now();
            read(&bytes);
            let taken = begun.elapsed();
            let shown = String::from_utf8_lossy(&bytes);
            assert!(taken < LIMIT, "{name} took {taken:?}: {shown}");
        }
    }
}

/// Damages bytes once.
fn damage(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut PseudoRandom) {
    let mut below = |limit: usize| random.below(limit.max(1));
    let at = below(bytes.len());
    let end = (at + 1 + below(12)).min(bytes.len());
    match below(9) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let again = bytes[at..end].repeat(1 + below(40));
            bytes.splice(at..at, again);
        }
        3 => bytes.truncate(at),
        4 => {
            let other = &corpus[below(corpus.len())];
            let from = below(other.len());
            bytes.splice(at..end, other[from..].iter().copied());
        }
        5 => {
            let nested = ["[", "{\"a\":", "(", "$(", "\"", "'", "\\"][below(7)];
            bytes.splice(at..at, nested.repeat(1 + below(600)).into_bytes());
        }
        6 => {
            let odd = [
                "\0",
                "\r",
                "\n\n",
                "\u{feff}",
                "\u{202e}",
                "-1",
                "1e999",
                "18446744073709551616",
            ];
            bytes.splice(at..end, odd[below(odd.len())].bytes());
        }
        7 => bytes.insert(at, 0x80 | u8::try_from(below(128)).unwrap_or_default()),
        _ => bytes.splice(at..end, Vec::new()).for_each(drop),
    }
}
