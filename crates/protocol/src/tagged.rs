//! Deserializes internally tagged enums: `{"type": "message", "role": …}`.
//!
//! If the tag comes first, as usual, the variant is read directly from the input: nothing is buffered and errors keep their
//! path. Otherwise the object is buffered and the path of an error becomes part of its message. `#[derive(Tagged)]`
//! generates the implementations.

use std::fmt;
use std::marker::PhantomData;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserializer;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::json::{BorrowedText, JsonError};

/// An enum whose variants are distinguished by a tag among their fields.
pub trait Tagged: Sized {
    /// The name of the tag field.
    const TAG: &'static str;
    /// The name of the type, for errors.
    const NAME: &'static str;
    /// All known tags, including aliases.
    const VARIANTS: &'static [&'static str];
    /// Whether objects with an unknown tag are kept.
    const KEEPS_UNKNOWN: bool = false;

    /// Deserializes the fields for a known tag; `fields` does not contain the tag.
    fn read<'de, D: Deserializer<'de>>(tag: &str, fields: D) -> Result<Self, D::Error>;

    /// Keeps an object with an unknown tag.
    fn unknown(_whole: Value) -> Option<Self> {
        None
    }
}

/// `Deserialize::deserialize` of a tagged enum.
pub fn deserialize<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "an object with a `{}` field ({})",
            T::TAG,
            T::NAME
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let Some(BorrowedText(first)) = map.next_key()? else {
            return Err(A::Error::missing_field(T::TAG));
        };
        if first == T::TAG {
            let BorrowedText(tag) = map.next_value()?;
            return read_after_tag(&tag, map);
        }
        let mut whole = Map::new();
        whole.insert(first.into_owned(), map.next_value()?);
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            whole.insert(key, value);
        }
        read_buffered(whole)
    }
}

fn read_after_tag<'de, T: Tagged, A: MapAccess<'de>>(tag: &str, mut map: A) -> Result<T, A::Error> {
    if !T::KEEPS_UNKNOWN || T::VARIANTS.contains(&tag) {
        return T::read(tag, MapAccessDeserializer::new(map));
    }
    let mut whole = Map::new();
    whole.insert(T::TAG.to_owned(), Value::from(tag));
    while let Some((key, value)) = map.next_entry::<String, Value>()? {
        whole.insert(key, value);
    }
    keep::<T, A::Error>(whole)
}

fn read_buffered<T: Tagged, E: Error>(mut whole: Map<String, Value>) -> Result<T, E> {
    let tag = match whole.get(T::TAG) {
        Some(Value::String(tag)) => tag.clone(),
        Some(_) => return Err(E::custom(format_args!("{}: expected a string", T::TAG))),
        None => return Err(E::missing_field(T::TAG)),
    };
    if T::KEEPS_UNKNOWN && !T::VARIANTS.contains(&tag.as_str()) {
        return keep::<T, E>(whole);
    }
    whole.shift_remove(T::TAG);
    // Parsed from text again with the same code as an object whose tag comes first, so that no type is compiled for another
    // deserializer.
    let fields = Value::Object(whole).to_string();
    serde_json::Deserializer::from_str(&fields)
        .deserialize_map(FieldsVisitor::<T> {
            tag: &tag,
            of: PhantomData,
        })
        .map_err(|error| E::custom(JsonError::locate(&fields, &error)))
}

/// Deserializes the fields of a variant with a known tag.
struct FieldsVisitor<'a, T> {
    tag: &'a str,
    of: PhantomData<T>,
}

impl<'de, T: Tagged> Visitor<'de> for FieldsVisitor<'_, T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the fields of {}", T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read(self.tag, MapAccessDeserializer::new(map))
    }
}

fn keep<T: Tagged, E: Error>(whole: Map<String, Value>) -> Result<T, E> {
    T::unknown(Value::Object(whole)).ok_or_else(|| E::missing_field(T::TAG))
}

// The published schema shows a variant for unknown objects as another tag, `other`. No doc comment, because the description
// must be that of the variant.
#[derive(schemars::JsonSchema)]
#[schemars(inline)]
pub(crate) struct OtherSchema {
    #[expect(dead_code, reason = "only its schema is used")]
    #[schemars(schema_with = "other_tag")]
    r#type: String,
}

fn other_tag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "other" })
}

/// Marks the schema of a union so that exactly one variant matches. Every variant has its own tag, also where schemars
/// cannot know because one is not tagged by serde.
pub(crate) fn exactly_one(schema: &mut Schema) {
    if let Some(variants) = schema.remove("anyOf") {
        schema.insert("oneOf".to_owned(), variants);
    }
}
