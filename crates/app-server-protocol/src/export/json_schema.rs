//! Writes JSON Schema: a self-contained file per type, and the two bundles.
//!
//! `codex_app_server_protocol.schemas.json` has the types of v2 in a namespace of their own, `v2`;
//! `codex_app_server_protocol.v2.schemas.json` has every type at one level. What a bundle describes itself is any message.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::layout::{Layout, LayoutFolder};
use super::request::GeneratedFile;
use super::schema::{INTERNAL, REFERENCE, for_each_reference};
use super::selection::Selection;

const DIALECT: &str = "http://json-schema.org/draft-07/schema#";
const BUNDLE: &str = "codex_app_server_protocol.schemas.json";
const FLAT_BUNDLE: &str = "codex_app_server_protocol.v2.schemas.json";

/// The types that a bundle describes: each message on the wire is of one of them.
const MESSAGES: [&str; 6] = [
    "ClientRequest",
    "ServerRequest",
    "ServerNotification",
    "ClientNotification",
    "JSONRPCResponse",
    "JSONRPCError",
];

pub(super) fn files(selection: &Selection<'_>) -> Vec<GeneratedFile> {
    let layout = Layout::json_schema(selection);
    let definitions = Definitions::new(selection);
    let mut files: Vec<GeneratedFile> = Vec::new();
    for name in selection.names() {
        let text = definitions.type_file(name);
        for folder in layout.json_folders(selection, name) {
            files.push(GeneratedFile {
                path: format!("{folder}{name}.json"),
                text: text.clone(),
            });
        }
    }
    files.extend(bundles(selection, &layout, &definitions));
    files
}

/// The two bundles alone.
pub(super) fn bundle_files(selection: &Selection<'_>) -> Vec<GeneratedFile> {
    let layout = Layout::json_schema(selection);
    let definitions = Definitions::new(selection);
    bundles(selection, &layout, &definitions).into()
}

fn bundles(
    selection: &Selection<'_>,
    layout: &Layout,
    definitions: &Definitions<'_>,
) -> [GeneratedFile; 2] {
    let all = selection.names().collect();
    let flat = bundle_root("CodexAppServerProtocolV2", |name| name.to_owned());
    [
        GeneratedFile {
            path: BUNDLE.into(),
            text: to_text(&bundle(selection, layout)),
        },
        GeneratedFile {
            path: FLAT_BUNDLE.into(),
            text: definitions.append(&flat, &all),
        },
    ]
}

/// The definitions of all types as they stand in files: each is written once and copied.
struct Definitions<'a> {
    selection: &'a Selection<'a>,
    texts: BTreeMap<&'a str, String>,
    /// The types that each type refers to.
    references: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Definitions<'a> {
    fn new(selection: &'a Selection<'a>) -> Self {
        let mut texts = BTreeMap::new();
        let mut references = BTreeMap::new();
        for name in selection.names() {
            let schema = clean(selection.schema(name));
            texts.insert(
                name,
                format!("    {name:?}: {schema:#}").replace('\n', "\n    "),
            );
            let mut direct = BTreeSet::new();
            for_each_reference(selection.schema(name), &mut |to| {
                direct.insert(to);
            });
            references.insert(name, direct);
        }
        Self {
            selection,
            texts,
            references,
        }
    }

    /// One type, with the definitions of all that it refers to.
    fn type_file(&self, name: &str) -> String {
        let mut schema = Map::new();
        schema.insert("$schema".to_owned(), DIALECT.into());
        schema.insert("title".to_owned(), name.into());
        if let Value::Object(own) = clean(self.selection.schema(name)) {
            schema.extend(own);
        }
        self.append(&schema.into(), &self.reached_from(name))
    }

    /// The types that a type refers to, directly or not; itself only if one of them does.
    fn reached_from(&self, name: &str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = self.direct(name).collect();
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(self.direct(next));
            }
        }
        found
    }

    fn direct(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.references.get(name).into_iter().flatten().copied()
    }

    /// The text of a schema with definitions as its last member.
    fn append(&self, schema: &Value, names: &BTreeSet<&str>) -> String {
        let mut text = to_text(schema);
        if names.is_empty() {
            return text;
        }
        text.truncate(text.strip_suffix("\n}\n").map_or(text.len(), str::len));
        text += ",\n  \"definitions\": {\n";
        let texts = names.iter().filter_map(|name| self.texts.get(name));
        for (index, definition) in texts.enumerate() {
            text += if index == 0 { "" } else { ",\n" };
            text += definition;
        }
        text + "\n  }\n}\n"
    }
}

/// A bundle without its definitions.
fn bundle_root(title: &str, place: impl Fn(&str) -> String) -> Value {
    let messages = MESSAGES.map(|name| json!({ "$ref": format!("{REFERENCE}{}", place(name)) }));
    json!({
        "$schema": DIALECT,
        "title": title,
        "description": "Any message.",
        "oneOf": messages,
    })
}

fn bundle(selection: &Selection<'_>, layout: &Layout) -> Value {
    let mut root = Map::new();
    let mut v2 = Map::new();
    for name in selection.names() {
        let mut schema = clean(selection.schema(name));
        name_folders(&mut schema, layout);
        match layout.folder(name) {
            LayoutFolder::Root => root.insert(name.to_owned(), schema),
            LayoutFolder::V2 => v2.insert(name.to_owned(), schema),
        };
    }
    root.insert("v2".to_owned(), v2.into());
    let place = |name: &str| format!("{}{name}", layout.folder(name).prefix());
    let mut bundle = bundle_root("CodexAppServerProtocol", place);
    bundle["definitions"] = root.into();
    bundle
}

/// A schema without the notes that only the other exporters need.
pub(super) fn clean(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => object
            .iter()
            .filter(|(key, _)| !INTERNAL.contains(&key.as_str()))
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
