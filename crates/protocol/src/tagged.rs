//! Reads internally tagged enums: `{"type": "message", "role": …}`.
//!
//! When the tag comes first, which is how everybody writes it, the variant is read straight from the
//! input: nothing is buffered and an error keeps its path. When it comes later the object is buffered
//! and the path of an error becomes part of its message. `#[derive(Tagged)]` writes the
//! implementations.

use std::fmt;
use std::marker::PhantomData;

use schemars::Schema;
use schemars::SchemaGenerator;
use schemars::json_schema;
use serde::Deserializer;
use serde::de::Error;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde::de::value::MapAccessDeserializer;
use serde_json::Map;
use serde_json::Value;

use crate::json::JsonError;
use crate::json::Text;

/// An enum whose variants are told apart by a tag among their fields.
pub trait Tagged: Sized {
    /// The name of the field that holds the tag.
    const TAG: &'static str;
    /// The name of the type, for error messages.
    const NAME: &'static str;
    /// Every tag that is known, aliases included.
    const VARIANTS: &'static [&'static str];
    /// Whether an object with another tag is kept as it is.
    const KEEPS_UNKNOWN: bool = false;

    /// Reads the fields that belong to a known tag; `fields` does not hold the tag any more.
    fn read<'de, D: Deserializer<'de>>(tag: &str, fields: D) -> Result<Self, D::Error>;

    /// Keeps an object whose tag is not known.
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
        let Some(Text(first)) = map.next_key()? else {
            return Err(A::Error::missing_field(T::TAG));
        };
        if first == T::TAG {
            let Text(tag) = map.next_value()?;
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
    // Read from text again: by the same code as an object whose tag comes first, so that no type is
    // compiled for another reader.
    let fields = Value::Object(whole).to_string();
    serde_json::Deserializer::from_str(&fields)
        .deserialize_map(FieldsVisitor::<T> {
            tag: &tag,
            of: PhantomData,
        })
        .map_err(|error| E::custom(JsonError::locate(&fields, &error)))
}

/// Reads the fields of a variant whose tag is known.
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

// The published schema shows a variant that keeps unknown objects as one more tag, `other`. No doc
// comment: the description is to be the variant's.
#[derive(schemars::JsonSchema)]
#[schemars(inline)]
pub(crate) struct OtherSchema {
    #[allow(dead_code)] // Only its schema is used.
    #[schemars(schema_with = "other_tag")]
    r#type: String,
}

fn other_tag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "other" })
}

/// Says of the schema of a union that exactly one variant fits. Every variant has a tag of its own,
/// also where schemars cannot tell because one is not tagged by serde.
pub(crate) fn exactly_one(schema: &mut Schema) {
    if let Some(variants) = schema.remove("anyOf") {
        schema.insert("oneOf".to_owned(), variants);
    }
}
