//! One fuzzer for each reader: the binary has its name.
#![no_main]

#[path = "../crates/simulator/tests/readers/mod.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::read(env!("CARGO_BIN_NAME"), bytes));
