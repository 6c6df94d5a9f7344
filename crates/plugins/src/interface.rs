//! How a plugin is presented to people: the member `interface` of its manifest.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::contained;

/// The number of suggested requests that are used.
const PROMPTS: usize = 3;
/// The limit on the characters of a suggested request.
const PROMPT_LENGTH: usize = 128;

/// How a plugin is presented to people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginInterface {
    pub display_name: Option<String>,
    pub short_description: Option<String>,
    pub long_description: Option<String>,
    pub developer_name: Option<String>,
    pub category: Option<String>,
    pub capabilities: Vec<String>,
    pub website_url: Option<String>,
    pub privacy_policy_url: Option<String>,
    pub terms_of_service_url: Option<String>,
    /// Requests to start with.
    pub default_prompt: Option<Vec<String>>,
    pub brand_color: Option<String>,
    /// Images, as absolute paths.
    pub composer_icon: Option<PathBuf>,
    pub logo: Option<PathBuf>,
    pub logo_dark: Option<PathBuf>,
    pub screenshots: Vec<PathBuf>,
}

/// The member as written.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
pub(crate) struct InterfaceForm {
    display_name: Option<String>,
    short_description: Option<String>,
    long_description: Option<String>,
    developer_name: Option<String>,
    category: Option<String>,
    capabilities: Vec<String>,
    #[serde(alias = "websiteURL")]
    website_url: Option<String>,
    #[serde(alias = "privacyPolicyURL")]
    privacy_policy_url: Option<String>,
    #[serde(alias = "termsOfServiceURL")]
    terms_of_service_url: Option<String>,
    #[serde(deserialize_with = "prompts")]
    default_prompt: Vec<String>,
    brand_color: Option<String>,
    composer_icon: Option<String>,
    logo: Option<String>,
    logo_dark: Option<String>,
    screenshots: Vec<String>,
}

/// A text or a list. Texts that are too long or blank, and other values, are left out.
fn prompts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let written = match Value::deserialize(deserializer)? {
        Value::Array(list) => list,
        single => vec![single],
    };
    let texts = written.iter().filter_map(Value::as_str);
    let usable = texts.map(collapse).filter(|text| {
        let length = text.chars().count();
        length > 0 && length <= PROMPT_LENGTH
    });
    Ok(usable.take(PROMPTS).collect())
}

/// The text with each run of white space as one space.
pub(crate) fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl InterfaceForm {
    /// The interface of the plugin in `root`; none if it says nothing.
    pub(crate) fn resolve(self, root: &Path) -> Option<PluginInterface> {
        let image = |written: String| match contained::join(root, &written, "plugin") {
            Ok(path) => Some(path),
            Err(error) => {
                tracing::warn!(
                    "an image of {} is left out: its path {error}",
                    root.display()
                );
                None
            }
        };
        let interface = PluginInterface {
            display_name: self.display_name.filter(|name| !name.trim().is_empty()),
            short_description: self.short_description,
            long_description: self.long_description,
            developer_name: self.developer_name,
            category: self.category,
            capabilities: self.capabilities,
            website_url: self.website_url,
            privacy_policy_url: self.privacy_policy_url,
            terms_of_service_url: self.terms_of_service_url,
            default_prompt: (!self.default_prompt.is_empty()).then_some(self.default_prompt),
            brand_color: self.brand_color,
            composer_icon: self.composer_icon.and_then(image),
            logo: self.logo.and_then(image),
            logo_dark: self.logo_dark.and_then(image),
            screenshots: self.screenshots.into_iter().filter_map(image).collect(),
        };
        (interface != PluginInterface::default()).then_some(interface)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn interface(written: Value) -> Option<PluginInterface> {
        let form: InterfaceForm = serde_json::from_value(written).unwrap();
        form.resolve(Path::new("/p"))
    }

    #[test]
    fn images_are_absolute_and_inside_of_the_plugin() {
        let shown = interface(json!({
            "logo": "./assets/l.png", "composerIcon": "/abs.png", "logoDark": "./../x.png",
            "screenshots": ["./a.png", "b.png", "./../c.png"],
        }))
        .unwrap();
        assert_eq!(shown.logo.unwrap(), Path::new("/p/assets/l.png"));
        assert_eq!(shown.screenshots, [PathBuf::from("/p/a.png")]);
        assert_eq!((shown.composer_icon, shown.logo_dark), (None, None));
    }

    #[test]
    fn suggested_requests_are_few_and_short() {
        let prompts = |written: Value| {
            interface(json!({ "defaultPrompt": written })).and_then(|shown| shown.default_prompt)
        };
        assert_eq!(prompts(json!("a  b\n")).unwrap(), ["a b"]);
        let many = json!(["1", "x".repeat(129), 3, " ", "2", "3", "4"]);
        assert_eq!(prompts(many).unwrap(), ["1", "2", "3"]);
        assert_eq!(prompts(json!(["x".repeat(129)])), None);
        assert_eq!(prompts(json!({})), None);
    }

    #[test]
    fn both_spellings_of_addresses_count() {
        let shown = interface(json!({ "websiteURL": "w", "privacyPolicyUrl": "p" })).unwrap();
        assert_eq!(shown.website_url.as_deref(), Some("w"));
        assert_eq!(shown.privacy_policy_url.as_deref(), Some("p"));
        assert_eq!(interface(json!({ "displayName": "  ", "other": 1 })), None);
    }
}
