//! What the model may suggest to the user: apps that are not connected, plugins that are not installed.

use std::fmt::Debug;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// The kind of a suggestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionKind {
    /// An app of the account.
    Connector,
    /// A plugin.
    Plugin,
}

/// Something that may be suggested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSuggestion {
    /// The kind.
    pub kind: SuggestionKind,
    /// The id.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The page where people connect it.
    pub install_url: Option<String>,
}

/// Knows what may be suggested.
pub trait ToolSuggestions: Debug + Send + Sync {
    /// What may be suggested now. It waits for no request: what is not known yet is left out.
    fn candidates(&self) -> BoxFuture<'static, Vec<ToolSuggestion>>;
}
