//! The text of a marketplace file, before its paths are resolved.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::marketplace::{AuthPolicy, InstallPolicy};
use crate::plugin_source::RepositoryForm;

/// The file.
#[derive(Debug, Deserialize)]
pub(crate) struct MarketplaceForm {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) interface: Option<InterfaceForm>,
    pub(crate) plugins: Vec<EntryForm>,
}

/// The texts of the entries of a file.
#[derive(Debug, Deserialize)]
pub(crate) struct EntryTexts<'a> {
    #[serde(borrow)]
    pub(crate) plugins: Vec<&'a RawValue>,
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
    /// In a repository.
    Repository(RepositoryForm),
    /// Somewhere else, for this reason. Such plugins are left out.
    Elsewhere(String),
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
    let table = match Value::deserialize(deserializer)? {
        Value::String(path) => return Ok(SourceForm::Local(path)),
        Value::Object(table) => table,
        _ => return Err(D::Error::custom("a source is a path or a table")),
    };
    match table.get("source").and_then(Value::as_str) {
        Some("local") => match table.get("path").and_then(Value::as_str) {
            Some(path) => Ok(SourceForm::Local(path.to_owned())),
            None => Err(D::Error::missing_field("path")),
        },
        Some("git-subdir") if !table.contains_key("path") => {
            Ok(SourceForm::Elsewhere("its source has no `path`".to_owned()))
        }
        Some("url" | "git-subdir" | "github") => {
            let form = serde_json::from_value(Value::Object(table));
            Ok(form.map_or_else(
                |error| SourceForm::Elsewhere(format!("its source is invalid: {error}")),
                SourceForm::Repository,
            ))
        }
        Some(kind) => Ok(SourceForm::Elsewhere(format!(
            "sources of the kind `{kind}` are not supported"
        ))),
        None => Err(D::Error::missing_field("source")),
    }
}
