//! The tools in a request.
//!
//! The engine executes tools; hosted tools are executed by the server.

use codex_protocol::{WebSearchContextSize, WebSearchLocation};
use serde::Serialize;
use serde_json::Value;

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolSpec {
    /// A tool with JSON arguments.
    Function {
        name: String,
        /// The description for the model.
        description: String,
        /// Whether arguments must follow the schema exactly.
        strict: bool,
        /// Whether the model must search for the tool before it sees it.
        #[serde(skip_serializing_if = "Option::is_none")]
        defer_loading: Option<bool>,
        /// The JSON schema of the arguments.
        parameters: Value,
    },
    /// A tool with free text as input.
    Custom {
        name: String,
        /// The description for the model.
        description: String,
        /// The format of the text.
        format: CustomToolFormat,
    },
    /// Functions with a common namespace, which their calls contain.
    Namespace {
        name: String,
        /// The description for the model.
        description: String,
        tools: Vec<ToolSpec>,
    },
    /// The shell tool that some models are trained on.
    LocalShell,
    /// Web search, executed by the server.
    WebSearch {
        /// Whether live pages may be read, not only cached ones.
        #[serde(skip_serializing_if = "Option::is_none")]
        external_web_access: Option<bool>,
        /// Restricts the search.
        #[serde(skip_serializing_if = "Option::is_none")]
        filters: Option<WebSearchFilters>,
        /// The approximate location of the user.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "approximate"
        )]
        user_location: Option<WebSearchLocation>,
        /// How much context a search returns.
        #[serde(skip_serializing_if = "Option::is_none")]
        search_context_size: Option<WebSearchContextSize>,
        /// The content types that a search may return.
        #[serde(skip_serializing_if = "Option::is_none")]
        search_content_types: Option<Vec<String>>,
    },
    /// Image generation, executed by the server.
    ImageGeneration {
        /// The file format of the image.
        output_format: String,
    },
    /// The search for deferred tools.
    ToolSearch {
        /// Who executes the search: `client` or `server`.
        execution: String,
        /// The description for the model.
        description: String,
        /// The JSON schema of the arguments.
        parameters: Value,
    },
}

impl ToolSpec {
    /// The name that the model knows it by.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Function { name, .. }
            | Self::Custom { name, .. }
            | Self::Namespace { name, .. } => name,
            Self::LocalShell => "local_shell",
            Self::WebSearch { .. } => "web_search",
            Self::ImageGeneration { .. } => "image_generation",
            Self::ToolSearch { .. } => "tool_search",
        }
    }
}

/// The format of the input of a free-text tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CustomToolFormat {
    /// The kind of format, for example `grammar`.
    #[serde(rename = "type")]
    pub kind: String,
    pub syntax: String,
    pub definition: String,
}

/// Restricts a web search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WebSearchFilters {
    /// The only domains that may be searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<String>>,
}

/// Serializes a location marked as approximate.
fn approximate<S: serde::Serializer>(
    location: &Option<WebSearchLocation>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;

    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("type", "approximate")?;
    if let Some(location) = location {
        let parts = [
            ("country", &location.country),
            ("region", &location.region),
            ("city", &location.city),
            ("timezone", &location.timezone),
        ];
        for (name, value) in parts {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(spec: ToolSpec, expected: Value) {
        assert_eq!(serde_json::to_value(spec).unwrap(), expected);
    }

    #[test]
    fn each_kind_has_its_form() {
        check(ToolSpec::LocalShell, json!({"type": "local_shell"}));
        check(
            ToolSpec::Namespace {
                name: "n".to_owned(),
                description: "d".to_owned(),
                tools: vec![ToolSpec::LocalShell],
            },
            json!({"type": "namespace", "name": "n", "description": "d",
                   "tools": [{"type": "local_shell"}]}),
        );
        check(
            ToolSpec::Function {
                name: "f".to_owned(),
                description: "d".to_owned(),
                strict: false,
                defer_loading: None,
                parameters: json!({}),
            },
            json!({"type": "function", "name": "f", "description": "d", "strict": false,
                   "parameters": {}}),
        );
        check(
            ToolSpec::Custom {
                name: "c".to_owned(),
                description: "d".to_owned(),
                format: CustomToolFormat {
                    kind: "grammar".to_owned(),
                    syntax: "lark".to_owned(),
                    definition: "x".to_owned(),
                },
            },
            json!({"type": "custom", "name": "c", "description": "d",
                   "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}),
        );
        check(
            ToolSpec::WebSearch {
                external_web_access: Some(true),
                filters: None,
                user_location: Some(WebSearchLocation {
                    country: Some("DE".to_owned()),
                    region: None,
                    city: None,
                    timezone: None,
                }),
                search_context_size: Some(WebSearchContextSize::Low),
                search_content_types: None,
            },
            json!({"type": "web_search", "external_web_access": true, "search_context_size": "low",
                   "user_location": {"type": "approximate", "country": "DE"}}),
        );
    }
}
