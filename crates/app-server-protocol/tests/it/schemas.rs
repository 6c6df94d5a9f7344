//! The generated descriptions: up to date, valid, complete, and true of the messages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use codex_app_server_protocol::export;
use codex_app_server_protocol::export::{Catalogue, GeneratedFile, Request, Surface};
use codex_protocol::Release;
use serde_json::Value;

use crate::checked_in;

const FLAT_BUNDLE: &str = "codex_app_server_protocol.v2.schemas.json";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What this program has, without what only others use.
fn own() -> Request<'static> {
    Request {
        with_unused: false,
        ..Request::current(Surface::Experimental)
    }
}

fn catalogue() -> Catalogue {
    Catalogue::of_types().unwrap()
}

/// The definitions of every type, at one level.
pub(crate) fn definitions() -> Value {
    bundle(&own())["definitions"].clone()
}

fn bundle(request: &Request<'_>) -> Value {
    let files = export::json_schema_bundles(&catalogue(), request);
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
        let files = export::json_schema(&catalogue(), &own());
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

#[test]
fn checked_in_files_are_fresh() {
    let mut expected = checked_in::files(&catalogue());
    let mut stale = Vec::new();
    for folder in ["schema/typescript", "schema/json"] {
        for path in files_below(&workspace().join(folder)) {
            let name = path.strip_prefix(workspace()).unwrap();
            let name = name.to_str().unwrap().replace('\\', "/");
            if !expected.contains_key(&name) {
                stale.push(name);
            }
        }
    }
    expected.retain(|path, text| {
        fs::read_to_string(workspace().join(path)).ok().as_ref() != Some(text)
    });
    stale.extend(expected.into_keys());
    assert!(
        stale.is_empty(),
        "{} files are stale, the first is {}; run `just write-app-server-schema`",
        stale.len(),
        stale[0],
    );
}

/// Generators of code do not know how to make one type of several.
#[test]
fn bundles_at_one_level_have_no_intersections() {
    fn check(place: &str, schema: &Value) {
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            let is_reference = parts.len() == 1 && schema.get("properties").is_none();
            assert!(is_reference, "{place}: {schema}");
        }
        match schema {
            Value::Object(object) => object.values().for_each(|value| check(place, value)),
            Value::Array(values) => values.iter().for_each(|value| check(place, value)),
            _ => {}
        }
    }
    for surface in [Surface::Stable, Surface::Experimental] {
        check("own", &bundle(&Request::current(surface)));
        for release in ["0.117", "0.140", "0.169", "0.171"] {
            let known = Release::parse(release).unwrap();
            check(release, &bundle(&Request::of_release(surface, known)));
        }
    }
}

/// Each kind of generated image has what it needs, and one type of the two parts of a variant.
#[test]
fn intersection_members_are_merged() {
    let definitions = definitions();
    let action = &definitions["LocalShellAction"]["oneOf"][0];
    assert_eq!(action["required"], serde_json::json!(["command", "type"]));
    assert!(action["properties"]["working_directory"].is_object());
    assert_eq!(action["title"], "ExecLocalShellAction");
    let bundle = bundle(&Request::current(Surface::Experimental));
    let items = bundle["definitions"]["ThreadItem"]["oneOf"]
        .as_array()
        .unwrap();
    let images = items
        .iter()
        .find(|item| item["title"] == "GeneratedImageThreadItem");
    let kinds = images.unwrap()["anyOf"].as_array().unwrap();
    let needed: Vec<_> = kinds.iter().map(|kind| &kind["required"]).collect();
    let with = |member: &str| {
        let mut names = ["id", "status", "type", member];
        names.sort_unstable();
        serde_json::json!(names)
    };
    assert_eq!(needed, [&with("fileId"), &with("result")]);
    for kind in kinds {
        assert!(kind["properties"]["completedAtMs"].is_object(), "{kind}");
    }
}

#[test]
fn catalogue_that_was_written_describes_the_same() {
    let made = catalogue();
    let read = Catalogue::read(made.text().as_bytes()).unwrap();
    assert_eq!(made.text(), read.text());
    let request = Request::of_release(Surface::Experimental, Release::parse("0.140").unwrap());
    assert_eq!(
        export::typescript(&made, &request),
        export::typescript(&read, &request)
    );
    assert!(Catalogue::read(b"{}").is_err());
}

#[test]
fn checked_in_descriptions_are_small() {
    let sizes = files_below(&workspace().join("schema"));
    let sum: u64 = sizes
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    assert!(sum < 15_000_000, "{sum} bytes");
}

/// The methods and the members of a type that the TypeScript of a release has.
fn typescript_of(release: &str, path: &str) -> Option<String> {
    let request = Request::of_release(Surface::Experimental, Release::parse(release).unwrap());
    let files = export::typescript(&catalogue(), &request);
    let file = files.into_iter().find(|file| file.path == path);
    file.map(|file| file.text)
}

#[test]
fn release_schemas_exclude_later_additions() {
    let requests = |release| typescript_of(release, "ClientRequest.ts").unwrap();
    for (release, has_goals, has_projects) in [
        ("0.117", false, false),
        ("0.140", true, false),
        ("0.169", true, true),
    ] {
        let requests = requests(release);
        assert!(requests.contains("\"thread/start\""), "{release}");
        assert_eq!(requests.contains("thread/goal/set"), has_goals, "{release}");
        assert_eq!(
            requests.contains("project/create"),
            has_projects,
            "{release}"
        );
        assert!(
            !requests.contains("hooks/register"),
            "{release}: no release has it"
        );
        let thread = typescript_of(release, "v2/Thread.ts").unwrap();
        assert_eq!(thread.contains("recencyAt"), has_projects, "{release}");
        assert_eq!(thread.contains("sessionId"), has_goals, "{release}");
    }
    let questions = |release| typescript_of(release, "ServerRequest.ts").unwrap();
    assert!(questions("0.169").contains("currentTime/read"));
    assert!(!questions("0.171").contains("currentTime/read"), "removed");
    assert_eq!(typescript_of("0.117", "v2/ThreadGoalSetParams.ts"), None);
}

#[test]
fn unused_members_appear_in_schemas_only() {
    let bundle = bundle(&Request::current(Surface::Experimental));
    let property = &bundle["definitions"]["TurnError"]["properties"]["misalignment"];
    assert_eq!(property["x-not-used"], true);
    assert_eq!(property.get("description"), None);
    let own = definitions();
    assert_eq!(own["TurnError"]["properties"].get("misalignment"), None);
    let current = Request::current(Surface::Experimental);
    let files = export::typescript(&catalogue(), &current);
    let file = files.iter().find(|file| file.path == "v2/TurnError.ts");
    assert!(!file.unwrap().text.contains("misalignment"));
    let of_release = typescript_of("0.169", "v2/TurnError.ts").unwrap();
    assert!(of_release.contains("misalignment"));
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

#[test]
fn schema_files_use_common_keywords() {
    for file in export::json_schema(&catalogue(), &Request::current(Surface::Experimental)) {
        let schema: Value = serde_json::from_str(&file.text).unwrap();
        if let Err(error) = jsonschema::validator_for(&schema) {
            panic!("{}: {error}", file.path);
        }
        check_keywords(&schema, &file.path);
    }
}

/// The keywords that every generator of code reads.
const COMMON_KEYWORDS: [&str; 20] = [
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
    "x-not-used",
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
                    // Typify takes no `true` for any value.
                    assert!(part.is_object(), "{place}/{name} is {part}");
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
fn used_schema_members_have_descriptions() {
    let definitions = bundle(&Request::current(Surface::Experimental))["definitions"].clone();
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
    if object.contains_key("x-not-used") {
        return;
    }
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
    let definitions = bundle(&Request::current(Surface::Experimental))["definitions"].clone();
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
    let stable: BTreeMap<String, String> =
        export::json_schema(&catalogue(), &Request::current(Surface::Stable))
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
