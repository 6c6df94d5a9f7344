//! Tools as a request offers them to the model.
//!
//! How a tool is carried out is the engine's business; a hosted tool is carried out by the server.

use codex_protocol::WebSearchContextSize;
use codex_protocol::WebSearchLocation;
use serde::Serialize;
use serde_json::Value;

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolSpec {
    /// A tool that takes arguments as JSON.
    Function {
        /// Its name.
        name: String,
        /// What it does, for the model.
        description: String,
        /// Whether arguments follow the schema to the letter.
        strict: bool,
        /// Whether the model is only shown the tool once it has searched for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        defer_loading: Option<bool>,
        /// The JSON schema of the arguments.
        parameters: Value,
    },
    /// A tool that takes free text.
    Custom {
        /// Its name.
        name: String,
        /// What it does, for the model.
        description: String,
        /// What the text must look like.
        format: CustomToolFormat,
    },
    /// Functions with a name in common, which calls of them name too.
    Namespace {
        /// The name.
        name: String,
        /// What the functions are for, for the model.
        description: String,
        /// The functions.
        tools: Vec<ToolSpec>,
    },
    /// The shell tool that some models are trained on.
    LocalShell,
    /// Web search, carried out by the server.
    WebSearch {
        /// Whether the web itself may be asked, not only what is stored of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        external_web_access: Option<bool>,
        /// What may be searched.
        #[serde(skip_serializing_if = "Option::is_none")]
        filters: Option<WebSearchFilters>,
        /// Roughly where the user is.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "approximate"
        )]
        user_location: Option<WebSearchLocation>,
        /// How much context a search should bring.
        #[serde(skip_serializing_if = "Option::is_none")]
        search_context_size: Option<WebSearchContextSize>,
        /// Which kinds of content a search may bring.
        #[serde(skip_serializing_if = "Option::is_none")]
        search_content_types: Option<Vec<String>>,
    },
    /// Making images, carried out by the server.
    ImageGeneration {
        /// The file format of the image.
        output_format: String,
    },
    /// The search for tools that are not shown from the start.
    ToolSearch {
        /// Who carries it out: `client` or `server`.
        execution: String,
        /// What can be found, for the model.
        description: String,
        /// The JSON schema of the arguments.
        parameters: Value,
    },
}

/// What the text for a tool must look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CustomToolFormat {
    /// The kind of description, for example `grammar`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The language of the description.
    pub syntax: String,
    /// The description.
    pub definition: String,
}

/// What may be searched on the web.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WebSearchFilters {
    /// The only domains that may be searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<String>>,
}

/// A location as requests carry it: marked as approximate, with what is known of it.
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
