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

/// The connected apps, by id.
#[must_use]
pub fn accessible_apps(tools: &[Tool]) -> Vec<App> {
    let mut apps: BTreeMap<&str, App> = BTreeMap::new();
    for tool in tools {
        let Some((id, name)) = connector_of(tool).filter(|(id, _)| !is_hidden(id)) else {
            continue;
        };
        let description = tool.meta["connector_description"].as_str();
        let app = apps.entry(id).or_insert_with(|| App {
            is_accessible: true,
            ..App::unknown(id)
        });
        if app.name == id {
            app.name = name.to_owned();
        }
        if app.description.is_none() {
            app.description = description.map(str::to_owned);
        }
    }
    apps.into_values().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
