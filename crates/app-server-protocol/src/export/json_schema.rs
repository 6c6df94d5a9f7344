//! Writes JSON Schema: a self-contained file per type, and the two bundles.
//!
//! `codex_app_server_protocol.schemas.json` has the types of v2 in a namespace of their own, `v2`;
//! `codex_app_server_protocol.v2.schemas.json` has every type at one level. What a bundle describes itself is any message.
//!
//! The first has intersections where the releases write them, to be compared with theirs; the second and the files of types
//! have none, for generators that do not know them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::intersections::multiplied_out;
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

pub(super) fn files<'a>(selection: &'a Selection<'a>) -> Vec<GeneratedFile> {
    let layout = Layout::json_schema(selection);
    let schemas = JsonSchemas::new(selection);
    let definitions = Definitions::new(&schemas);
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
    files.extend(bundles(&schemas, &layout, &definitions));
    files
}

/// The two bundles alone.
pub(super) fn bundle_files<'a>(selection: &'a Selection<'a>) -> Vec<GeneratedFile> {
    let layout = Layout::json_schema(selection);
    let schemas = JsonSchemas::new(selection);
    let definitions = Definitions::new(&schemas);
    bundles(&schemas, &layout, &definitions).into()
}

fn bundles(
    schemas: &JsonSchemas<'_>,
    layout: &Layout,
    definitions: &Definitions<'_>,
) -> [GeneratedFile; 2] {
    let all = schemas.selection.names().collect();
    let flat = bundle_root("CodexAppServerProtocolV2", |name| name.to_owned());
    [
        GeneratedFile {
            path: BUNDLE.into(),
            text: to_text(&NestedBundle {
                selection: schemas.selection,
                layout,
            }),
        },
        GeneratedFile {
            path: FLAT_BUNDLE.into(),
            text: definitions.append(to_text(&flat), &all),
        },
    ]
}

/// The schemas of all types, without intersections.
struct JsonSchemas<'a> {
    selection: &'a Selection<'a>,
    /// Those that have another form in the selection.
    multiplied_out: BTreeMap<&'a str, Value>,
}

impl<'a> JsonSchemas<'a> {
    fn new(selection: &'a Selection<'a>) -> Self {
        Self {
            selection,
            multiplied_out: multiplied_out(selection),
        }
    }

    fn schema(&self, name: &str) -> &Value {
        let other = self.multiplied_out.get(name);
        other.unwrap_or_else(|| self.selection.schema(name))
    }
}

/// The definitions of all types as they stand in files: each is written once and copied.
struct Definitions<'a> {
    schemas: &'a JsonSchemas<'a>,
    texts: BTreeMap<&'a str, String>,
    /// The types that each type refers to.
    references: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Definitions<'a> {
    fn new(schemas: &'a JsonSchemas<'a>) -> Self {
        let mut texts = BTreeMap::new();
        let mut references = BTreeMap::new();
        for name in schemas.selection.names() {
            let schema = SchemaText::from_schema(schemas.schema(name));
            let text = format!("{name:?}: {}", to_text(&schema).trim_end());
            texts.insert(name, indented(&text));
            let mut direct = BTreeSet::new();
            for_each_reference(schemas.schema(name), &mut |to| {
                direct.insert(to);
            });
            references.insert(name, direct);
        }
        Self {
            schemas,
            texts,
            references,
        }
    }

    /// One type, with the definitions of all that it refers to.
    fn type_file(&self, name: &str) -> String {
        let own = SchemaText::from_schema(self.schemas.schema(name));
        self.append(to_text(&TypeText { name, own }), &self.reached_from(name))
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
    fn append(&self, mut text: String, names: &BTreeSet<&str>) -> String {
        if names.is_empty() {
            return text;
        }
        text.truncate(text.strip_suffix("\n}\n").map_or(text.len(), str::len));
        text += ",\n  \"definitions\": {\n";
        let texts = names.iter().filter_map(|name| self.texts.get(name));
        text.reserve(texts.clone().map(|text| text.len() + 2).sum::<usize>() + 8);
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

/// The bundle that has the types of v2 in a namespace of their own.
struct NestedBundle<'a> {
    selection: &'a Selection<'a>,
    layout: &'a Layout,
}

impl NestedBundle<'_> {
    fn definitions_in(&self, folder: LayoutFolder) -> impl Iterator<Item = (&str, SchemaText<'_>)> {
        let names = self.selection.names();
        let names = names.filter(move |name| self.layout.folder(name) == folder);
        names.map(|name| {
            let schema = self.selection.schema(name);
            let layout = Some(self.layout);
            (name, SchemaText { schema, layout })
        })
    }
}

impl Serialize for NestedBundle<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = |name: &str| format!("{}{name}", self.layout.folder(name).prefix());
        let root = bundle_root("CodexAppServerProtocol", place);
        let members = root.as_object().into_iter().flatten();
        let members = members.map(|(key, value)| (key.as_str(), BundleMember::Value(value)));
        serializer.collect_map(members.chain([("definitions", BundleMember::Definitions(self))]))
    }
}

enum BundleMember<'a> {
    Value(&'a Value),
    Schema(SchemaText<'a>),
    Definitions(&'a NestedBundle<'a>),
    OfV2(&'a NestedBundle<'a>),
}

impl Serialize for BundleMember<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Schema(schema) => schema.serialize(serializer),
            Self::Definitions(bundle) => {
                let root = bundle.definitions_in(LayoutFolder::Root);
                let root = root.map(|(name, schema)| (name, Self::Schema(schema)));
                serializer.collect_map(root.chain([("v2", Self::OfV2(bundle))]))
            }
            Self::OfV2(bundle) => serializer.collect_map(bundle.definitions_in(LayoutFolder::V2)),
        }
    }
}

/// A schema as it stands in files: without the notes that only the other exporters need. Written without a copy, since all of them
/// together are large.
#[derive(Clone, Copy)]
struct SchemaText<'a> {
    schema: &'a Value,
    /// The folders that references to types of v2 name, if they do.
    layout: Option<&'a Layout>,
}

impl<'a> SchemaText<'a> {
    fn from_schema(schema: &'a Value) -> Self {
        let layout = None;
        Self { schema, layout }
    }

    /// The members of an object.
    fn members(self) -> impl Iterator<Item = (&'a str, Self)> {
        let members = self.schema.as_object().into_iter().flatten();
        members
            .map(|(key, value)| (key.as_str(), value))
            .filter(|(key, _)| !INTERNAL.contains(key))
            .map(move |(key, schema)| (key, Self { schema, ..self }))
    }
}

impl Serialize for SchemaText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.schema {
            Value::Object(_) => serializer.collect_map(self.members()),
            Value::Array(values) => {
                let values = values.iter();
                serializer.collect_seq(values.map(|schema| Self { schema, ..*self }))
            }
            Value::String(text) => match (self.layout, text.strip_prefix(REFERENCE)) {
                (Some(layout), Some(name)) => {
                    let folder = layout.folder(name).prefix();
                    serializer.collect_str(&format_args!("{REFERENCE}{folder}{name}"))
                }
                _ => serializer.serialize_str(text),
            },
            other => other.serialize(serializer),
        }
    }
}

/// A type as the root of its own file.
struct TypeText<'a> {
    name: &'a str,
    own: SchemaText<'a>,
}

impl Serialize for TypeText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (dialect, name) = (Value::from(DIALECT), Value::from(self.name));
        let is_title = |key: &str| key == "title";
        let own_title = self.own.members().find(|(key, _)| is_title(key));
        let title = own_title.unwrap_or(("title", SchemaText::from_schema(&name)));
        let first = [("$schema", SchemaText::from_schema(&dialect)), title];
        let others = self.own.members().filter(|(key, _)| !is_title(key));
        serializer.collect_map(first.into_iter().chain(others))
    }
}

/// Moves all lines to the right, to where definitions stand.
fn indented(text: &str) -> String {
    let mut moved = String::with_capacity(text.len() + text.len() / 4);
    for (index, line) in text.split('\n').enumerate() {
        moved += if index == 0 { "    " } else { "\n    " };
        moved += line;
    }
    moved
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

/// Indented JSON with a line end. Without a formatter between, which would take longer than the writing.
pub(super) fn to_text(schema: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(schema).unwrap_or_default();
    text.push('\n');
    text
}
