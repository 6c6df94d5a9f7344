//! An app, as the directory or the account describes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// An app.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct App {
    /// The id, by which sources are merged.
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default, alias = "logoUrl")]
    pub logo_url: Option<String>,
    #[serde(default, alias = "logoUrlDark")]
    pub logo_url_dark: Option<String>,
    #[serde(default, alias = "distributionChannel")]
    pub distribution_channel: Option<String>,
    /// Passed on as it is.
    #[serde(default)]
    pub branding: Value,
    /// Passed on as it is.
    #[serde(default, alias = "appMetadata")]
    pub app_metadata: Value,
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(default, alias = "installUrl")]
    pub install_url: Option<String>,
    /// Whether the account has connected it.
    #[serde(skip)]
    pub is_accessible: bool,
}

impl App {
    /// An app of which only the id is known.
    #[must_use]
    pub fn unknown(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            ..Self::default()
        }
    }
}
