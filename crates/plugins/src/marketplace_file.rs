//! The text of a marketplace file, before its paths are resolved.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::marketplace::{AuthPolicy, InstallPolicy};

/// The file.
#[derive(Debug, Deserialize)]
pub(crate) struct MarketplaceForm {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) interface: Option<InterfaceForm>,
    pub(crate) plugins: Vec<EntryForm>,
}

/// How a marketplace is presented.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InterfaceForm {
    #[serde(default)]
    pub(crate) display_name: Option<String>,
}

/// A plugin of a marketplace.
#[derive(Debug, Deserialize)]
pub(crate) struct EntryForm {
    pub(crate) name: String,
    #[serde(deserialize_with = "source")]
    pub(crate) source: SourceForm,
    #[serde(default)]
    pub(crate) policy: PolicyForm,
    #[serde(default)]
    pub(crate) category: Option<String>,
}

/// Where a plugin is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SourceForm {
    /// In a folder of the marketplace; an empty path means `./plugins/<name>`.
    Local(String),
    /// Somewhere else. Such plugins are left out.
    Elsewhere,
}

/// The member `policy` of a plugin.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PolicyForm {
    #[serde(default)]
    pub(crate) installation: InstallPolicy,
    #[serde(default)]
    pub(crate) authentication: AuthPolicy,
    #[serde(default)]
    pub(crate) products: Option<Vec<Product>>,
}

/// A product that plugins can be meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Product {
    #[serde(rename = "chatgpt", alias = "CHATGPT")]
    Chatgpt,
    #[serde(rename = "codex", alias = "CODEX")]
    Codex,
    #[serde(rename = "atlas", alias = "ATLAS")]
    Atlas,
}

/// A path, or a table with the kind of source.
fn source<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SourceForm, D::Error> {
    use serde::de::Error as _;
    let path = match Value::deserialize(deserializer)? {
        Value::String(path) => return Ok(SourceForm::Local(path)),
        Value::Object(mut table) => match table.get("source").and_then(Value::as_str) {
            Some("local") => table.remove("path"),
            Some(_) => return Ok(SourceForm::Elsewhere),
            None => return Err(D::Error::missing_field("source")),
        },
        _ => return Err(D::Error::custom("a source is a path or a table")),
    };
    match path {
        Some(Value::String(path)) => Ok(SourceForm::Local(path)),
        _ => Err(D::Error::missing_field("path")),
    }
}
