//! Writes `schema/scenario.json`.

#![expect(clippy::expect_used, reason = "a tool for contributors")]

use std::fs;
use std::path::Path;

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/scenario.json");
    let schema = serde_json::to_string_pretty(&codex_scenario::schema()).expect("a schema is JSON");
    fs::write(path, schema + "\n").expect("the schema can be written");
}
