//! A schema read as a type: the few shapes that types of this vocabulary take.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::schema::{ALWAYS_WRITTEN, REFERENCE};

/// The shape of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Any,
    Null,
    Boolean,
    Number,
    String,
    Literal(Value),
    Reference(String),
    Array(Box<Shape>),
    Map(Box<Shape>),
    Object(Vec<Field>),
    Union(Vec<Variant>),
    /// A value that has all of these shapes.
    Every(Vec<Shape>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) presence: Presence,
    pub(super) shape: Shape,
}

/// Whether a member can be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    /// Who reads it fills it in; we never leave it out.
    AlwaysWritten,
    Optional,
}

/// One of the shapes of a union.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variant {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) shape: Shape,
}

impl Shape {
    /// Reads a schema; what it does not understand is [`Shape::Any`].
    pub(super) fn read(schema: &Value) -> Self {
        let Value::Object(object) = schema else {
            return Self::Any;
        };
        if let Some(reference) = text(object, "$ref") {
            return Self::Reference(reference.strip_prefix(REFERENCE).unwrap_or_default().into());
        }
        if let Some(value) = object.get("const") {
            return Self::Literal(value.clone());
        }
        if let Some(values) = object.get("enum").and_then(Value::as_array) {
            return Self::union(values.iter().cloned().map(Self::Literal));
        }
        let mut parts = Vec::new();
        if let Some(all) = object.get("allOf").and_then(Value::as_array) {
            parts.extend(all.iter().map(Self::read));
        }
        let union = object
            .get("oneOf")
            .or(object.get("anyOf"))
            .and_then(Value::as_array);
        if let Some(variants) = union {
            parts.push(Self::Union(variants.iter().map(Variant::read).collect()));
        }
        if parts.is_empty() || object.contains_key("properties") {
            parts.push(Self::read_plain(object));
        }
        if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            Self::Every(parts)
        }
    }

    /// A schema that says what it is by `type`.
    fn read_plain(object: &Map<String, Value>) -> Self {
        match object.get("type") {
            Some(Value::String(name)) => Self::read_type(name, object),
            Some(Value::Array(names)) => Self::union(
                names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|name| Self::read_type(name, object)),
            ),
            _ => Self::Any,
        }
    }

    fn read_type(name: &str, object: &Map<String, Value>) -> Self {
        match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" | "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array(Box::new(object.get("items").map_or(Self::Any, Self::read))),
            "object" => Self::read_object(object),
            _ => Self::Any,
        }
    }

    fn read_object(object: &Map<String, Value>) -> Self {
        let rest = object
            .get("additionalProperties")
            .filter(|rest| **rest != Value::Bool(false))
            .map(|rest| Self::Map(Box::new(Self::read(rest))));
        let fields = Field::read_all(object);
        match rest {
            Some(rest) if fields.is_empty() => rest,
            Some(rest) => Self::Every(vec![Self::Object(fields), rest]),
            None => Self::Object(fields),
        }
    }

    /// Whether null is one of the values.
    pub(super) fn has_null(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Union(variants) => variants.iter().any(|variant| variant.shape.has_null()),
            _ => false,
        }
    }

    /// The other values.
    pub(super) fn without_null(&self) -> Cow<'_, Self> {
        if !self.has_null() {
            return Cow::Borrowed(self);
        }
        let Self::Union(variants) = self else {
            return Cow::Owned(Self::Union(Vec::new()));
        };
        let mut others = Vec::new();
        for variant in variants {
            if variant.shape == Self::Null {
                continue;
            }
            others.push(Variant {
                shape: variant.shape.without_null().into_owned(),
                ..variant.clone()
            });
        }
        Cow::Owned(match others.as_slice() {
            [one] if one.description.is_none() => one.shape.clone(),
            _ => Self::Union(others),
        })
    }

    fn union(shapes: impl Iterator<Item = Self>) -> Self {
        let variants = shapes.map(|shape| Variant {
            name: None,
            description: None,
            shape,
        });
        Self::Union(variants.collect())
    }
}

impl Variant {
    fn read(schema: &Value) -> Self {
        Self {
            name: schema.as_object().and_then(|object| text(object, "title")),
            description: description(schema),
            shape: Shape::read(schema),
        }
    }
}

impl Field {
    fn read_all(object: &Map<String, Value>) -> Vec<Self> {
        let listed = |key: &str| -> BTreeSet<&str> {
            let names = object
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            names.filter_map(Value::as_str).collect()
        };
        let required = listed("required");
        let always_written = listed(ALWAYS_WRITTEN);
        let properties = object
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        properties
            .map(|(name, schema)| Self {
                name: name.clone(),
                description: description(schema),
                presence: if required.contains(name.as_str()) {
                    Presence::Required
                } else if always_written.contains(name.as_str()) {
                    Presence::AlwaysWritten
                } else {
                    Presence::Optional
                },
                shape: Shape::read(schema),
            })
            .collect()
    }
}

pub(super) fn description(schema: &Value) -> Option<String> {
    schema
        .as_object()
        .and_then(|object| text(object, "description"))
}

fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}
