//! The generated descriptions: up to date, valid, complete, and true of the messages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use codex_app_server_protocol::export;
use codex_app_server_protocol::export::{GeneratedFile, Release, Surface};
use serde_json::Value;

const FLAT_BUNDLE: &str = "codex_app_server_protocol.v2.schemas.json";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The definitions of every type, at one level.
pub(crate) fn definitions() -> Value {
    bundle(Release::Own)["definitions"].clone()
}

fn bundle(release: Release) -> Value {
    let files = export::json_schema(Surface::Experimental, release);
    let bundle = files.iter().find(|file| file.path == FLAT_BUNDLE).unwrap();
    serde_json::from_str(&bundle.text).unwrap()
}

/// The generated schema files, to hold values against.
pub(crate) struct SchemaFiles {
    files: BTreeMap<String, String>,
    validators: BTreeMap<String, jsonschema::Validator>,
}

impl SchemaFiles {
    pub(crate) fn new() -> Self {
        let files = export::json_schema(Surface::Experimental, Release::Own);
        let by_type = |file: GeneratedFile| {
            let name = file
                .path
                .rsplit('/')
                .next()?
                .strip_suffix(".json")?
                .to_owned();
            Some((name, file.text))
        };
        Self {
            files: files.into_iter().filter_map(by_type).collect(),
            validators: BTreeMap::new(),
        }
    }

    /// Whether the schema of this type accepts a value.
    pub(crate) fn validate(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let validator = self.validators.entry(name.to_owned()).or_insert_with(|| {
            let schema: Value = serde_json::from_str(&self.files[name]).unwrap();
            jsonschema::validator_for(&schema).unwrap()
        });
        let fits = validator.validate(value);
        fits.map_err(|error| format!("{name} at {}: {error}", error.instance_path()))
    }
}

/// Holds a checked-in folder against what is generated now.
#[track_caller]
fn check_fresh(folder: &str, generated: Vec<GeneratedFile>) {
    let root = workspace().join(folder);
    let mut expected: BTreeMap<PathBuf, String> = generated
        .into_iter()
        .map(|file| (root.join(file.path), file.text))
        .collect();
    let mut stale = Vec::new();
    for path in files_below(&root) {
        match expected.remove(&path) {
            Some(text) if fs::read_to_string(&path).unwrap() == text => {}
            _ => stale.push(path),
        }
    }
    stale.extend(expected.into_keys());
    assert!(
        stale.is_empty(),
        "{} files below {folder} are stale, the first is {}; run `just write-app-server-schema`",
        stale.len(),
        stale[0].display(),
    );
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// The folders of each kind of description.
const SURFACES: [(&str, Surface, Release); 4] = [
    ("stable", Surface::Stable, Release::Current),
    ("experimental", Surface::Experimental, Release::Current),
    ("stable-0.117", Surface::Stable, Release::V0_117),
    ("experimental-0.117", Surface::Experimental, Release::V0_117),
];

fn check_all_fresh(kind: &str, files: fn(Surface, Release) -> Vec<GeneratedFile>) {
    for (name, surface, release) in SURFACES {
        check_fresh(&format!("schema/{kind}/{name}"), files(surface, release));
    }
}

#[test]
fn typescript_is_fresh() {
    check_all_fresh("typescript", export::typescript);
}

#[test]
fn json_schema_is_fresh() {
    check_all_fresh("json", export::json_schema);
}

#[test]
fn openrpc_is_fresh() {
    check_all_fresh("openrpc", export::openrpc);
}

#[test]
fn method_tables_are_fresh() {
    let file = export::method_tables();
    let path = workspace().join("docs").join(&file.path);
    assert_eq!(
        fs::read_to_string(path).unwrap_or_default(),
        file.text,
        "docs/{} is stale; run `just write-app-server-schema`",
        file.path,
    );
}

#[test]
fn every_schema_file_is_valid_and_keeps_to_common_keywords() {
    for file in export::json_schema(Surface::Experimental, Release::Current) {
        let schema: Value = serde_json::from_str(&file.text).unwrap();
        if let Err(error) = jsonschema::validator_for(&schema) {
            panic!("{}: {error}", file.path);
        }
        check_keywords(&schema, &file.path);
    }
}

/// The keywords that every generator of code reads.
const COMMON_KEYWORDS: [&str; 19] = [
    "$ref",
    "$schema",
    "allOf",
    "anyOf",
    "const",
    "default",
    "description",
    "enum",
    "format",
    "maximum",
    "minimum",
    "oneOf",
    "required",
    "title",
    "type",
    "writeOnly",
    "x-experimental",
    "additionalProperties",
    "items",
];

/// Checks that a schema, and all schemas inside it, have common keywords only.
fn check_keywords(schema: &Value, place: &str) {
    for (keyword, content) in schema.as_object().into_iter().flatten() {
        let place = format!("{place}/{keyword}");
        match keyword.as_str() {
            "$defs" | "definitions" => check_definitions(content, &place),
            "properties" => {
                for (name, part) in content.as_object().unwrap() {
                    check_keywords(part, &format!("{place}/{name}"));
                }
            }
            "allOf" | "anyOf" | "oneOf" => {
                for part in content.as_array().unwrap() {
                    check_keywords(part, &place);
                }
            }
            "additionalProperties" | "items" => check_keywords(content, &place),
            other => assert!(COMMON_KEYWORDS.contains(&other), "{place} is not common"),
        }
    }
}

/// The same for definitions, which may be in groups.
fn check_definitions(definitions: &Value, place: &str) {
    for (name, part) in definitions.as_object().unwrap() {
        let place = format!("{place}/{name}");
        let is_group = (part.as_object())
            .is_some_and(|part| !part.is_empty() && part.values().all(Value::is_object));
        if is_group {
            check_definitions(part, &place);
        } else {
            check_keywords(part, &place);
        }
    }
}

#[test]
fn everything_is_described() {
    let definitions = bundle(Release::Current)["definitions"].clone();
    let mut bare = Vec::new();
    for (name, schema) in definitions.as_object().unwrap() {
        find_bare(schema, name, true, &mut bare);
    }
    assert!(bare.is_empty(), "without a description: {bare:#?}");
}

/// Collects types, members and variants that have no description.
fn find_bare(schema: &Value, path: &str, wants_description: bool, bare: &mut Vec<String>) {
    let Some(object) = schema.as_object() else {
        return;
    };
    if wants_description && !object.contains_key("description") {
        bare.push(path.to_owned());
    }
    let properties = object.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        find_bare(property, &format!("{path}.{name}"), true, bare);
    }
    for key in ["oneOf", "anyOf"] {
        let branches = object
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for (index, branch) in branches.enumerate() {
            let is_named = branch.get("title").is_some() || branch.get("const").is_some();
            find_bare(branch, &format!("{path}|{index}"), is_named, bare);
        }
    }
}

#[test]
fn every_object_variant_has_a_name_of_its_own() {
    let definitions = bundle(Release::Current)["definitions"].clone();
    let types = definitions.as_object().unwrap();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (name, schema) in types {
        for key in ["oneOf", "anyOf"] {
            for branch in schema
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if branch.get("properties").is_none() {
                    continue;
                }
                let Some(title) = branch["title"].as_str() else {
                    panic!("a variant of {name} has no name: {branch}");
                };
                assert!(names.insert(title), "{title} names two variants");
                assert!(
                    !types.contains_key(title),
                    "{title} names a variant and a type"
                );
            }
        }
    }
    assert!(names.len() > 200);
}

#[test]
fn the_stable_surface_has_no_experimental_methods_or_fields() {
    let stable: BTreeMap<String, String> = export::json_schema(Surface::Stable, Release::Current)
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect();
    let bundle = &stable["codex_app_server_protocol.schemas.json"];
    for absent in [
        "mock/experimentalMethod",
        "mockExperimentalField",
        "dynamicTools",
    ] {
        assert!(!bundle.contains(absent), "{absent} is in the stable bundle");
    }
    assert!(!stable.contains_key("v2/MockExperimentalMethodParams.json"));
    assert!(stable.contains_key("v2/ThreadStartParams.json"));
}

#[test]
fn generating_twice_gives_the_same() {
    assert_eq!(
        export::typescript(Surface::Stable, Release::Current),
        export::typescript(Surface::Stable, Release::Current)
    );
    assert_eq!(
        export::json_schema(Surface::Stable, Release::Current),
        export::json_schema(Surface::Stable, Release::Current)
    );
    assert_eq!(
        export::openrpc(Surface::Stable, Release::Current),
        export::openrpc(Surface::Stable, Release::Current)
    );
}
