//! Settings of plugins and marketplaces, which are those of the user alone.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use toml::Value;

use crate::decode::decode;
use crate::schema::{MarketplaceFile, PluginFile};
use crate::stack::LayerStack;

/// Settings of plugins and marketplaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSettings {
    /// The configured plugins by id, and whether they are enabled.
    pub plugins: BTreeMap<String, bool>,
    /// The marketplaces that the user has added, by name.
    pub marketplaces: BTreeMap<String, MarketplaceFile>,
}

impl PluginSettings {
    pub(super) fn resolve(stack: &LayerStack) -> Self {
        let Some(user) = stack.user() else {
            return Self::default();
        };
        let plugins = entries::<PluginFile>(user.table.get("plugins"));
        let plugins = plugins.map(|(id, plugin)| (id, plugin.enabled));
        Self {
            plugins: plugins.collect(),
            marketplaces: entries(user.table.get("marketplaces")).collect(),
        }
    }

    /// The names, kinds and sources of the marketplaces that the user has added.
    pub fn added(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let added = self.marketplaces.iter();
        added.map(|(name, added)| {
            (
                name.as_str(),
                added.source_type.as_str(),
                added.source.as_str(),
            )
        })
    }

    /// The ids of the enabled plugins.
    pub fn enabled(&self) -> impl Iterator<Item = &str> {
        let enabled = self.plugins.iter().filter(|(_, enabled)| **enabled);
        enabled.map(|(id, _)| id.as_str())
    }
}

/// The entries of a table. Those that cannot be decoded are reported elsewhere.
fn entries<T: DeserializeOwned>(table: Option<&Value>) -> impl Iterator<Item = (String, T)> {
    let table = table.and_then(Value::as_table).into_iter().flatten();
    table.filter_map(|(name, entry)| Some((name.clone(), decode(entry.as_table()?).ok()?)))
}
