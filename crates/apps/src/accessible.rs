//! Which apps an account has connected: those that its tools are of.

use std::collections::BTreeMap;

use codex_protocol::Tool;

use crate::app::App;
use crate::merge::is_hidden;

/// The app that a tool is of: its id and its name.
#[must_use]
pub fn connector_of(tool: &Tool) -> Option<(&str, &str)> {
    let text = |member: &str| {
        tool.meta[member]
            .as_str()
            .filter(|text| !text.trim().is_empty())
    };
    let id = text("connector_id")?;
    let name = text("connector_name").or_else(|| text("connector_display_name"));
    Some((id, name.unwrap_or(id)))
}

/// The app that a tool is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolApp {
    /// The id.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
}

impl ToolApp {
    /// The app, if the tool is of one.
    #[must_use]
    pub fn from_tool(tool: &Tool) -> Option<Self> {
        let (id, name) = connector_of(tool)?;
        let description = tool.meta["connector_description"].as_str();
        Some(Self {
            id: id.to_owned(),
            name: name.to_owned(),
            description: description.map(str::to_owned),
        })
    }
}

/// The connected apps, by id.
#[must_use]
pub fn accessible_apps(tools: &[Tool]) -> Vec<App> {
    let mut apps: BTreeMap<String, App> = BTreeMap::new();
    for tool in tools {
        let Some(of) = ToolApp::from_tool(tool).filter(|app| !is_hidden(&app.id)) else {
            continue;
        };
        let app = apps.entry(of.id.clone()).or_insert_with(|| App {
            is_accessible: true,
            ..App::unknown(&of.id)
        });
        if app.name == of.id {
            app.name = of.name;
        }
        if app.description.is_none() {
            app.description = of.description;
        }
    }
    apps.into_values().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tool(meta: Value) -> Tool {
        serde_json::from_value(json!({ "name": "t", "inputSchema": {}, "_meta": meta })).unwrap()
    }

    #[test]
    fn tools_are_grouped_by_app() {
        let tools = [
            tool(json!({ "connector_id": "b", "connector_display_name": "Bee" })),
            tool(json!({ "connector_id": "a" })),
            tool(
                json!({ "connector_id": "a", "connector_name": "Ay", "connector_description": "d" }),
            ),
            tool(json!({ "connector_id": "connector_openai_x", "connector_name": "X" })),
            tool(json!({ "connector_id": " " })),
            tool(Value::Null),
        ];
        let apps = accessible_apps(&tools);
        let shown: Vec<_> = apps
            .iter()
            .map(|app| {
                (
                    app.id.as_str(),
                    app.name.as_str(),
                    app.description.as_deref(),
                )
            })
            .collect();
        assert_eq!(shown, [("a", "Ay", Some("d")), ("b", "Bee", None)]);
        assert!(apps.iter().all(|app| app.is_accessible));
    }
}
