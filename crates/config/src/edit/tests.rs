//! Edits of texts.

mod disk;
mod properties;

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::*;
use crate::environment::Environment;
use crate::features::Feature;
use crate::key_path::KeyPath;
use crate::overrides::Overrides;

/// An edit in short: key path, JSON value.
fn edit(path: &str, value: Json, strategy: MergeStrategy) -> ConfigEdit {
    ConfigEdit::from_json(path, &value, strategy).unwrap()
}

fn replace(path: &str, value: Json) -> ConfigEdit {
    edit(path, value, MergeStrategy::Replace)
}

fn upsert(path: &str, value: Json) -> ConfigEdit {
    edit(path, value, MergeStrategy::Upsert)
}

#[track_caller]
fn check(before: &str, edits: &[ConfigEdit], after: &str) {
    assert_eq!(edit_text(before, edits).unwrap(), after);
}

#[test]
fn values_keep_their_place_and_comments() {
    check(
        "# top\nmodel  =  'a'   # mine\nb = 1\n",
        &[replace("model", json!("x"))],
        "# top\nmodel  =  \"x\"   # mine\nb = 1\n",
    );
    check(
        "[t] # head\n  x = 1\n\n# end\n",
        &[replace("t.x", json!([1, 2.5]))],
        "[t] # head\n  x = [1, 2.5]\n\n# end\n",
    );
    check(
        "a = { b = 1, c = 2 }\n",
        &[replace("a.b", json!(3))],
        "a = { b = 3, c = 2 }\n",
    );
}

#[test]
fn new_keys_go_to_the_end_of_their_table() {
    check("", &[replace("a", json!(1))], "a = 1\n");
    check(
        "a = 1 # one\n\n[t]\nx = 1\n\n[u]\n",
        &[replace("b", json!(2)), replace("t.y", json!(true))],
        "a = 1 # one\nb = 2\n\n[t]\nx = 1\ny = true\n\n[u]\n",
    );
    check(
        "a = { b = 1 }\n",
        &[replace("a.c", json!(2))],
        "a = { b = 1, c = 2 }\n",
    );
    check(
        "a.b = 1\n[t]\n",
        &[replace("a.c", json!(2))],
        "a.b = 1\na.c = 2\n[t]\n",
    );
    check(
        "a.b = 1\n",
        &[replace("a.c.d", json!(2))],
        "a.b = 1\na.c = { d = 2 }\n",
    );
}

#[test]
fn tables_are_made_with_headers() {
    check(
        "a = 1\n",
        &[replace("t.u.x", json!(1)), replace("t.u.y", json!(2))],
        "a = 1\n\n[t.u]\nx = 1\ny = 2\n",
    );
    check(
        "a = 1\n",
        &[replace(
            "projects",
            json!({"/a.b": {"trust_level": "trusted"}}),
        )],
        "a = 1\n\n[projects.\"/a.b\"]\ntrust_level = \"trusted\"\n",
    );
    check(
        "",
        &[replace(
            "s.config",
            json!([{"path": "/x", "enabled": false}]),
        )],
        "[s]\nconfig = [{ enabled = false, path = \"/x\" }]\n",
    );
}

#[test]
fn replacing_takes_the_whole_subtree() {
    check(
        "[t]\nx = 1\n[t.u]\ny = 1\n\n[z]\n",
        &[replace("t", json!({"n": 1}))],
        "[t]\nn = 1\n\n[z]\n",
    );
    check(
        "a = { b = 1 } # c\n",
        &[replace("a", json!({"n": 1}))],
        "a = { n = 1 } # c\n",
    );
    check(
        "[t]\nx = 1\n\n[z]\n",
        &[replace("t", json!(1))],
        "t = 1\n\n[z]\n",
    );
    check(
        "# c\na = 1\nb = 2\n",
        &[replace("a.x", json!(1))],
        "b = 2\n\n# c\n[a]\nx = 1\n",
    );
    check(
        "[[s]]\nx = 1\n[[s]]\nx = 2\n",
        &[replace("s", json!([]))],
        "s = []\n",
    );
}

#[test]
fn upsert_merges_tables_only() {
    check(
        "[t]\nx = 1 # one\n[t.u]\ny = 1\n",
        &[upsert("t", json!({"u": {"z": 2}, "w": 3}))],
        "[t]\nx = 1 # one\nw = 3\n[t.u]\ny = 1\nz = 2\n",
    );
    check("a = [1]\n", &[upsert("a", json!([2]))], "a = [2]\n");
    check("a = 1\n", &[upsert("a", json!({"b": 1}))], "[a]\nb = 1\n");
    check("[t]\nx = 1\n", &[upsert("t", json!({}))], "[t]\nx = 1\n");
}

#[test]
fn null_removes() {
    check(
        "# a\na = 1\nb = 2\n",
        &[replace("a", json!(null))],
        "b = 2\n",
    );
    check(
        "[t]\nx = 1\n[t.u]\ny = 1\n[z]\n",
        &[replace("t", json!(null))],
        "[z]\n",
    );
    check(
        "a = { b = 1, c = 2 }\n",
        &[replace("a.c", json!(null))],
        "a = { b = 1 }\n",
    );
    check("a.b = 1\n", &[replace("a.b", json!(null))], "");
    check("a = 1\n", &[replace("b", json!(null))], "a = 1\n");
    let error = edit_text("a = 1\n", &[replace("a.b", json!(null))]).unwrap_err();
    assert_eq!(error.kind(), EditErrorKind::PathNotFound);
    assert_eq!(error.to_string(), "Path not found");
}

#[test]
fn edit_without_effect_keeps_the_text() {
    let text = "a=1\r\nb = 2\n# odd";
    check(text, &[replace("a", json!(1))], text);
    check(
        text,
        &[replace("a", json!(2)), replace("a", json!(1))],
        text,
    );
}

#[test]
fn habits_of_the_writer_stay() {
    check(
        "a = 1\r\nb = 2\r\n",
        &[replace("b", json!(3))],
        "a = 1\r\nb = 3\r\n",
    );
    check(
        "\u{feff}a = 1\n",
        &[replace("a", json!(2))],
        "\u{feff}a = 2\n",
    );
    check("a = 1", &[replace("a", json!(2))], "a = 2");
}

#[test]
fn edits_that_are_none_are_refused() {
    let error = |path: &str, value: Json| {
        let error = ConfigEdit::from_json(path, &value, MergeStrategy::Replace).unwrap_err();
        assert_eq!(error.kind(), EditErrorKind::Validation);
        error.to_string()
    };
    assert_eq!(error("", json!(1)), "keyPath must not be empty");
    assert_eq!(
        error("a..b", json!(1)),
        "keyPath `a..b` has an empty segment"
    );
    assert_eq!(
        error("a", json!({"b": null})),
        "invalid value: invalid type: null, expected any valid TOML value",
    );
}
