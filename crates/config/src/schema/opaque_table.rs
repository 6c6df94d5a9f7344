//! A table of another program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use toml::Table;

use crate::value::table_to_json;

/// A table whose content only another program knows. It is kept and shown as it was written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "serde_json::Map<String, serde_json::Value>")]
pub struct OpaqueTable(Table);

impl Serialize for OpaqueTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        table_to_json(&self.0).serialize(serializer)
    }
}
