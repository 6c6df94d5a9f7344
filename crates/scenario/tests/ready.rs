//! The scenarios of this repository, and the schema of all scenarios.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use codex_scenario::Scenario;
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn ready() -> Vec<PathBuf> {
    let folder = fs::read_dir(repository().join("scenarios")).unwrap();
    folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect()
}

#[test]
fn the_schema_is_fresh() {
    let schema = fs::read_to_string(repository().join("schema/scenario.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(
        schema == codex_scenario::schema(),
        "write it again: cargo run -p codex-scenario --example write_scenario_schema"
    );
}

#[test]
fn every_ready_scenario_loads_and_fits_the_schema() {
    let validator = jsonschema::validator_for(&codex_scenario::schema()).unwrap();
    let ready = ready();
    assert!(ready.len() >= 12);
    for path in ready {
        Scenario::load(&path).unwrap();
        let value: Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        if let Err(error) = validator.validate(&value) {
            panic!("{}: {error}", path.display());
        }
    }
}
