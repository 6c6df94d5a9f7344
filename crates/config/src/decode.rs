//! Decodes tables into typed settings. Errors contain the key path; unknown keys are collected.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use toml::Table;

use crate::key_path::write_segment;

/// Why a table cannot be decoded.
#[derive(Debug)]
pub(crate) struct DecodeError {
    pub(crate) message: String,
    /// The key path of the invalid setting.
    pub(crate) path: Path,
}

/// Decodes a table. Not a path of its own, because each type is compiled once for each kind of deserializer.
pub(crate) fn decode<T: DeserializeOwned>(table: &Table) -> Result<T, DecodeError> {
    decode_reporting_unknown(table).map(|(value, _)| value)
}

/// The names on the way to a key; elements of arrays are named by their index.
pub(crate) type KeyNames = Vec<String>;

/// Decodes a table, and returns the unknown keys.
pub(crate) fn decode_reporting_unknown<T: DeserializeOwned>(
    table: &Table,
) -> Result<(T, Vec<KeyNames>), DecodeError> {
    let mut unknown = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let deserializer = serde_path_to_error::Deserializer::new(table.clone(), &mut track);
    let result = serde_ignored::deserialize(deserializer, |path| {
        unknown.push(ignored_path(&path));
    });
    match result {
        Ok(value) => Ok((value, unknown)),
        Err(error) => Err(DecodeError {
            message: message_of(&error),
            path: track.path(),
        }),
    }
}

/// The names on the way to an unknown key.
fn ignored_path(path: &serde_ignored::Path<'_>) -> KeyNames {
    use serde_ignored::Path;
    let (parent, name) = match path {
        Path::Root => return KeyNames::new(),
        Path::Map { parent, key } => (parent, key.clone()),
        Path::Seq { parent, index } => (parent, index.to_string()),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => return ignored_path(parent),
    };
    let mut names = ignored_path(parent);
    names.push(name);
    names
}

fn message_of(error: &toml::de::Error) -> String {
    error.message().to_owned()
}

/// A dotted path, with array elements by index. `None` for the root.
pub(crate) fn dotted(path: &Path) -> Option<String> {
    let mut text = String::new();
    for segment in path {
        if !text.is_empty() && !matches!(segment, Segment::Unknown) {
            text.push('.');
        }
        match segment {
            Segment::Map { key } => write_segment(key, &mut text).ok()?,
            Segment::Enum { variant } => write_segment(variant, &mut text).ok()?,
            Segment::Seq { index } => text.push_str(&index.to_string()),
            Segment::Unknown => {}
        }
    }
    (!text.is_empty()).then_some(text)
}
