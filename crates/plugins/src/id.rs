//! Ids of plugins: `<plugin>@<marketplace>`.

use std::fmt;

/// The id of a plugin. Both parts are plain names, so they can be names of folders.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PluginId {
    plugin: String,
    marketplace: String,
}

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPluginId {
    /// It does not have two parts.
    #[error("invalid plugin key `{0}`; expected <plugin>@<marketplace>")]
    Form(String),
    /// A part is not a name.
    #[error("invalid {part} name: only ASCII letters, digits, `_`, and `-` are allowed{}", in_key(.key))]
    Name {
        /// Which part.
        part: &'static str,
        /// The whole id, if there was one.
        key: Option<String>,
    },
}

fn in_key(key: &Option<String>) -> String {
    key.as_ref()
        .map(|key| format!(" in `{key}`"))
        .unwrap_or_default()
}

impl PluginId {
    /// The id of a plugin in a marketplace.
    ///
    /// # Errors
    /// A name has other characters than ASCII letters, digits, `_` and `-`.
    pub fn new(plugin: &str, marketplace: &str) -> Result<Self, InvalidPluginId> {
        for (part, name) in [("plugin", plugin), ("marketplace", marketplace)] {
            if !is_name(name) {
                return Err(InvalidPluginId::Name { part, key: None });
            }
        }
        Ok(Self {
            plugin: plugin.to_owned(),
            marketplace: marketplace.to_owned(),
        })
    }

    /// Parses an id. It is split at the last `@`.
    ///
    /// # Errors
    /// It has another form.
    pub fn parse(key: &str) -> Result<Self, InvalidPluginId> {
        let parts = key.rsplit_once('@');
        let parts =
            parts.filter(|(plugin, marketplace)| !plugin.is_empty() && !marketplace.is_empty());
        let (plugin, marketplace) = parts.ok_or_else(|| InvalidPluginId::Form(key.to_owned()))?;
        Self::new(plugin, marketplace).map_err(|error| match error {
            InvalidPluginId::Name { part, .. } => InvalidPluginId::Name {
                part,
                key: Some(key.to_owned()),
            },
            error @ InvalidPluginId::Form(_) => error,
        })
    }

    /// The name of the plugin.
    #[must_use]
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// The name of the marketplace.
    #[must_use]
    pub fn marketplace(&self) -> &str {
        &self.marketplace
    }
}

impl fmt::Display for PluginId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.plugin, self.marketplace)
    }
}

/// Whether a text consists of ASCII letters, digits, `_` and `-`.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !text.is_empty() && text.len() <= 128 && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(key: &str) -> String {
        PluginId::parse(key).unwrap_err().to_string()
    }

    #[test]
    fn an_id_has_two_names() {
        let id = PluginId::parse("sample-1@team_2").unwrap();
        assert_eq!((id.plugin(), id.marketplace()), ("sample-1", "team_2"));
        assert_eq!(id.to_string(), "sample-1@team_2");
    }

    #[test]
    fn plugin_ids_that_leave_the_folder_are_refused() {
        for key in ["", "p", "@", "p@", "@m"] {
            let expected = format!("invalid plugin key `{key}`; expected <plugin>@<marketplace>");
            assert_eq!(error(key), expected);
        }
        for key in ["../p@m", "a b@c", "p@m@n", "p\0@m", ".@m"] {
            assert_eq!(
                error(key),
                format!(
                    "invalid plugin name: only ASCII letters, digits, `_`, and `-` are allowed in `{key}`"
                )
            );
        }
        assert!(error("p@..").starts_with("invalid marketplace name: "));
        let error = PluginId::new("p", "a/b").unwrap_err().to_string();
        assert_eq!(
            error,
            "invalid marketplace name: only ASCII letters, digits, `_`, and `-` are allowed"
        );
    }
}
