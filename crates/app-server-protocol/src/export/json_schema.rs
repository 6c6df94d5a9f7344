//! Writes JSON Schema: a self-contained file per type, and the two bundles.
//!
//! `codex_app_server_protocol.schemas.json` has the types of v2 in a namespace of their own, `v2`;
//! `codex_app_server_protocol.v2.schemas.json` has every type at one level.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::catalogue::Catalogue;
use super::layout::{Layout, LayoutFolder};
use super::request::GeneratedFile;
use super::schema::{ALWAYS_WRITTEN, REFERENCE};

const DIALECT: &str = "http://json-schema.org/draft-07/schema#";
const BUNDLE: &str = "codex_app_server_protocol.schemas.json";
const FLAT_BUNDLE: &str = "codex_app_server_protocol.v2.schemas.json";

pub(super) fn files(catalogue: &Catalogue) -> Vec<GeneratedFile> {
    let layout = Layout::json_schema(catalogue);
    let mut files: Vec<GeneratedFile> = catalogue
        .names()
        .map(|name| {
            let path = format!("{}{name}.json", layout.folder(name).prefix());
            GeneratedFile {
                path,
                text: to_text(&type_schema(catalogue, name)),
            }
        })
        .collect();
    let bundles = [
        (BUNDLE, bundle(catalogue, &layout)),
        (FLAT_BUNDLE, flat_bundle(catalogue)),
    ];
    files.extend(bundles.map(|(path, schema)| GeneratedFile {
        path: path.into(),
        text: to_text(&schema),
    }));
    files
}

/// One type, with the definitions of all that it refers to.
fn type_schema(catalogue: &Catalogue, name: &str) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), DIALECT.into());
    schema.insert("title".to_owned(), name.into());
    if let Value::Object(own) = clean(catalogue.schema(name)) {
        schema.extend(own);
    }
    let refers_to_itself = refers_to(catalogue.schema(name), name, catalogue);
    let mut needed = catalogue.closure([name].into_iter());
    if !refers_to_itself {
        needed.remove(name);
    }
    if !needed.is_empty() {
        schema.insert(
            "definitions".to_owned(),
            definitions(catalogue, &needed).into(),
        );
    }
    schema.into()
}

/// Whether a type refers to itself, directly or not.
fn refers_to(schema: &Value, name: &str, catalogue: &Catalogue) -> bool {
    let mut direct = Vec::new();
    super::schema::for_each_reference(schema, &mut |to| direct.push(to.to_owned()));
    catalogue
        .closure(direct.iter().map(String::as_str))
        .contains(name)
}

fn flat_bundle(catalogue: &Catalogue) -> Value {
    let all = catalogue.names().map(str::to_owned).collect();
    json!({
        "$schema": DIALECT,
        "title": "CodexAppServerProtocolV2",
        "type": "object",
        "definitions": definitions(catalogue, &all),
    })
}

fn bundle(catalogue: &Catalogue, layout: &Layout) -> Value {
    let mut root = Map::new();
    let mut v2 = Map::new();
    for name in catalogue.names() {
        let mut schema = clean(catalogue.schema(name));
        name_folders(&mut schema, layout);
        match layout.folder(name) {
            LayoutFolder::Root => root.insert(name.to_owned(), schema),
            LayoutFolder::V2 => v2.insert(name.to_owned(), schema),
        };
    }
    root.insert("v2".to_owned(), v2.into());
    json!({
        "$schema": DIALECT,
        "title": "CodexAppServerProtocol",
        "type": "object",
        "definitions": root,
    })
}

fn definitions(catalogue: &Catalogue, names: &BTreeSet<String>) -> Map<String, Value> {
    names
        .iter()
        .map(|name| (name.clone(), clean(catalogue.schema(name))))
        .collect()
}

/// A schema without the notes that only the other exporters need.
pub(super) fn clean(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => object
            .iter()
            .filter(|(key, _)| *key != ALWAYS_WRITTEN)
            .map(|(key, value)| (key.clone(), clean(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(values) => values.iter().map(clean).collect(),
        other => other.clone(),
    }
}

/// Makes references to types of v2 name their folder.
fn name_folders(schema: &mut Value, layout: &Layout) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get_mut("$ref")
                && let Some(name) = reference.strip_prefix(REFERENCE)
            {
                *reference = format!("{REFERENCE}{}{name}", layout.folder(name).prefix());
            }
            object
                .values_mut()
                .for_each(|value| name_folders(value, layout));
        }
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| name_folders(value, layout)),
        _ => {}
    }
}

pub(super) fn to_text(schema: &Value) -> String {
    format!("{schema:#}\n")
}
