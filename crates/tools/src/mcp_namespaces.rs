//! The namespaces of MCP tools. Models that were trained with namespaces call the tools of a server so.

use std::collections::HashMap;

use codex_model_client::ToolSpec;
use codex_session_base::mcp::OfferedTool;

/// The namespaces of the MCP tools of a turn.
#[derive(Debug, Default)]
pub(super) struct McpNamespaces {
    /// By the full name.
    places: HashMap<String, NamespacePlace>,
    /// Full names by namespace and name, separated by a colon.
    full_names: HashMap<String, String>,
}

#[derive(Debug)]
struct NamespacePlace {
    namespace: String,
    name: String,
    /// That of the namespace.
    description: String,
}

impl McpNamespaces {
    pub(super) fn add(&mut self, tool: &OfferedTool) {
        let (namespace, name) = tool.namespaced();
        let called = format!("{namespace}:{name}");
        self.full_names.insert(called, tool.name.clone());
        let place = NamespacePlace {
            name: name.to_owned(),
            description: tool.namespace_description(),
            namespace,
        };
        self.places.insert(tool.name.clone(), place);
    }

    /// Adds the tools of a recorded session, whose servers are not there.
    pub(super) fn add_recorded(&mut self, spec: &ToolSpec) {
        let ToolSpec::Namespace {
            name: namespace,
            tools,
            ..
        } = spec
        else {
            return;
        };
        for tool in tools {
            let ToolSpec::Function { name, .. } = tool else {
                continue;
            };
            let full = match name.as_str() {
                name if name.starts_with("mcp__") => name.to_owned(),
                // The rest of the name of a tool of an app.
                name if name.starts_with('_') => format!("{namespace}{name}"),
                name => format!("{namespace}__{name}"),
            };
            self.full_names.insert(format!("{namespace}:{name}"), full);
        }
    }

    /// The full name of a tool that is called by namespace and name.
    pub(super) fn full_name(&self, called: &str) -> Option<&str> {
        self.full_names.get(called).map(String::as_str)
    }

    /// Puts tools into their namespaces, each where its first tool was.
    pub(super) fn group(&self, specs: Vec<ToolSpec>) -> Vec<ToolSpec> {
        let mut grouped: Vec<ToolSpec> = Vec::new();
        for mut spec in specs {
            let ToolSpec::Function { name, .. } = &mut spec else {
                grouped.push(spec);
                continue;
            };
            let Some(place) = self.places.get(name) else {
                grouped.push(spec);
                continue;
            };
            name.clone_from(&place.name);
            let known = grouped.iter_mut().find_map(|known| match known {
                ToolSpec::Namespace { name, tools, .. } if *name == place.namespace => Some(tools),
                _ => None,
            });
            match known {
                Some(tools) => tools.push(spec),
                None => grouped.push(ToolSpec::Namespace {
                    name: place.namespace.clone(),
                    description: place.description.clone(),
                    tools: vec![spec],
                }),
            }
        }
        grouped
    }
}
