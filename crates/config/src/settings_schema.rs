//! The JSON Schema of `config.toml`, for editors, made from the types of the settings and the comments at them. It is kept in
//! `schema/config.json`, from where `codex config schema` has it.

mod document_tests;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::WITHOUT_EFFECT;
use crate::project_scope::is_for_projects;
use crate::schema::{ConfigFile, PROFILE_KEYS};

/// Other spellings that are read: where, and what.
const OTHER_SPELLINGS: &[(&str, &str)] = &[
    ("ApprovalsReviewer", "auto_review"),
    ("FileAccessLevel", "deny"),
    ("WebSearchMode", "indexed"),
];

/// Other names of members that are read: of which table, which member, and its other name.
const OTHER_NAMES: &[(&str, &str, &str)] = &[
    (
        "GhostSnapshotFile",
        "ignore_large_untracked_files",
        "ignore_untracked_files_over_bytes",
    ),
    (
        "GhostSnapshotFile",
        "ignore_large_untracked_dirs",
        "large_untracked_dir_warning_threshold",
    ),
];

/// The JSON Schema of a settings file.
pub(crate) fn settings_schema() -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<ConfigFile>().to_value();
    remove_null(&mut schema);
    refuse_unknown_keys(&mut schema);
    for (name, spelling) in OTHER_SPELLINGS {
        let other = json!({ "const": spelling, "description": "Another spelling." });
        if let Some(Value::Array(variants)) =
            schema.pointer_mut(&format!("/definitions/{name}/oneOf"))
        {
            variants.push(other);
        }
    }
    for (table, member, other) in OTHER_NAMES {
        let members = schema.pointer_mut(&format!("/definitions/{table}/properties"));
        if let Some(Value::Object(members)) = members
            && let Some(setting) = members.get(*member).cloned()
        {
            members.insert((*other).to_owned(), setting);
        }
    }
    schema["title"] = "Settings of codex".into();
    schema["description"] =
        "config.toml, in the home folder or in the .codex folder of a project.".into();
    if let Some(Value::Object(settings)) = schema.get_mut("properties") {
        for (name, setting) in settings {
            setting["x-projects"] = is_for_projects(name).into();
            setting["x-profiles"] = PROFILE_KEYS.contains(&name.as_str()).into();
            if WITHOUT_EFFECT.contains(&name.as_str()) {
                setting["x-without-effect"] = true.into();
            }
        }
    }
    schema
}

/// TOML has no null.
fn remove_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("default") == Some(&Value::Null) {
                members.remove("default");
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(forms)) = members.get_mut("anyOf") {
                forms.retain(|form| form["type"] != "null");
                // A reference with a description beside it: in this draft what is beside `$ref` counts for nothing.
                if let [only] = &forms[..] {
                    let only = only.clone();
                    members.remove("anyOf");
                    members.insert("allOf".to_owned(), json!([only]));
                }
            }
            members.values_mut().for_each(remove_null);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_null),
        _ => {}
    }
}

/// A key that is not known is a mistake, wherever keys are listed.
fn refuse_unknown_keys(schema: &mut Value) {
    let mut close = |members: &mut Map<String, Value>| {
        if members.contains_key("properties") && !members.contains_key("additionalProperties") {
            members.insert("additionalProperties".to_owned(), false.into());
        }
    };
    let Value::Object(root) = schema else { return };
    close(root);
    if let Some(Value::Object(definitions)) = root.get_mut("definitions") {
        for definition in definitions.values_mut() {
            close_all(definition, &mut close);
        }
    }
}

fn close_all(schema: &mut Value, close: &mut impl FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "object") {
                close(members);
            }
            members.values_mut().for_each(|it| close_all(it, close));
        }
        Value::Array(values) => values.iter_mut().for_each(|it| close_all(it, close)),
        _ => {}
    }
}
