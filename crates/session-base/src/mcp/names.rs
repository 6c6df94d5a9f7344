//! The names under which models call the tools of servers.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use codex_apps::{ToolApp, ToolApprovalRule, app_slug, tool_name};
use codex_gate::ToolApproval;
use codex_protocol::Tool;
use serde_json::Value;

use super::schema::for_models;
use crate::config::McpServer;

/// The longest name that providers accept.
const MAX_NAME_CHARS: usize = 64;
/// The part of a longer name that is kept, followed by a hash of the whole name.
const KEPT_CHARS: usize = 24;

/// A tool that is offered to the model.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// The name for the model.
    pub name: String,
    pub server: String,
    pub tool: Tool,
    /// The description for the model.
    pub description: String,
    /// The schema of its arguments, reduced to what models understand.
    pub parameters: Value,
    pub approval: ToolApproval,
    pub limit: Duration,
    /// The app that it is of.
    pub app: Option<Arc<ToolApp>>,
    /// What its server says about its tools.
    pub instructions: Option<Arc<str>>,
}

impl OfferedTool {
    /// The namespace of the tool, which is that of its app or else of its server, and the name of the tool in it.
    pub fn namespaced(&self) -> (String, &str) {
        let (namespace, name) = match &self.app {
            Some(app) => {
                let app = app_slug(&app.name).replace('-', "_");
                let namespace = format!("mcp__{}__{app}", self.server);
                let name = self.name.strip_prefix(&namespace);
                (namespace, name)
            }
            None => {
                let namespace = plain(&format!("mcp__{}", self.server));
                let rest = self.name.strip_prefix(&namespace);
                (namespace, rest.and_then(|rest| rest.strip_prefix("__")))
            }
        };
        let name = name.filter(|name| !name.is_empty());
        (namespace, name.unwrap_or(&self.name))
    }

    /// The description of its namespace.
    pub fn namespace_description(&self) -> String {
        if let Some(app) = &self.app {
            let own = app.description.clone();
            return own.unwrap_or_else(|| format!("Tools of the app {}.", app.name));
        }
        match &self.instructions {
            Some(instructions) => instructions.to_string(),
            None => format!("Tools of the MCP server {}.", self.server),
        }
    }
}

/// Whether the settings of apps allow a tool.
fn is_allowed(server: &McpServer, tool: &Tool) -> bool {
    let apps = server.apps.as_ref();
    apps.is_none_or(|apps| apps.rules.allows_tool(tool))
}

/// What a tool is called after its server. Tools of apps have the names of their apps.
fn name_of<'a>(app: Option<&ToolApp>, tool: &'a Tool) -> Cow<'a, str> {
    match app {
        Some(app) => tool_name(&app.name, &app.id, &tool.name).into(),
        None => Cow::Borrowed(&tool.name),
    }
}

fn approval_of(server: &McpServer, tool: &Tool) -> ToolApproval {
    let Some(apps) = &server.apps else {
        let own = server.approval.get(&tool.name).copied();
        return own.unwrap_or(server.default_approval);
    };
    match apps.rules.approval(tool) {
        ToolApprovalRule::Auto => ToolApproval::Auto,
        ToolApprovalRule::Prompt => ToolApproval::Prompt,
        ToolApprovalRule::Approve => ToolApproval::Approve,
    }
}

/// The description of a tool, with a note on the plugins that it comes from.
fn described(own: Option<&str>, plugins: &[String]) -> String {
    let own = own.unwrap_or_default();
    if plugins.is_empty() {
        return own.to_owned();
    }
    let names: Vec<_> = plugins.iter().map(|name| format!("`{name}`")).collect();
    let kind = if names.len() == 1 {
        "plugin"
    } else {
        "plugins"
    };
    let end = match own.chars().last() {
        None => "",
        Some('.' | '!' | '?') => " ",
        Some(_) => ". ",
    };
    format!(
        "{own}{end}This tool is part of {kind} {}.",
        names.join(", ")
    )
}

/// The tools of these servers, with unique names.
pub(super) fn offered(running: &[(&McpServer, Vec<Tool>)]) -> Vec<OfferedTool> {
    let mut taken = HashSet::new();
    let mut all = Vec::new();
    for (configured, tools) in running {
        let server = &configured.server.name;
        let mut seen = HashSet::new();
        for tool in tools {
            if !is_allowed(configured, tool) {
                continue;
            }
            if !seen.insert(&tool.name) {
                tracing::warn!(server, tool = tool.name, "an MCP tool is listed twice");
                continue;
            }
            let Some(parameters) = for_models(&tool.input_schema) else {
                tracing::warn!(server, tool = tool.name, "no model understands an MCP tool");
                continue;
            };
            let app = configured
                .apps
                .as_ref()
                .and_then(|_| ToolApp::from_tool(tool));
            let app = app.map(Arc::new);
            all.push(OfferedTool {
                name: free_name(server, &name_of(app.as_deref(), tool), &mut taken),
                server: server.clone(),
                tool: tool.clone(),
                description: described(tool.description.as_deref(), &configured.plugins),
                parameters,
                approval: approval_of(configured, tool),
                limit: configured.server.request_timeout,
                app,
                instructions: None,
            });
        }
    }
    all.sort_by(|left, right| left.name.cmp(&right.name));
    all
}

/// The name of a tool; with a hash if another tool has the same name.
fn free_name(server: &str, tool: &str, taken: &mut HashSet<String>) -> String {
    let raw = format!("mcp__{server}__{tool}");
    let plain = plain(&raw);
    let name = if plain.len() > MAX_NAME_CHARS || taken.contains(&plain) {
        hashed(&plain, &raw)
    } else {
        plain
    };
    taken.insert(name.clone());
    name
}

/// The name with characters that providers accept.
fn plain(raw: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    raw.chars()
        .map(|character| if is_plain(character) { character } else { '_' })
        .collect()
}

fn hashed(plain: &str, raw: &str) -> String {
    let mut hash = sha1_smol::Sha1::new();
    hash.update(raw.as_bytes());
    let start = &plain[..plain.len().min(KEPT_CHARS)];
    format!("{start}{}", hash.digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_such_as_providers_take_and_differ() {
        let mut taken = HashSet::new();
        let long = "x".repeat(60);
        let mut name = |server, tool| free_name(server, tool, &mut taken);
        assert_eq!(name("t-srv", "echo.it"), "mcp__t_srv__echo_it");
        let other = name("t-srv", "echo-it");
        assert!(other.starts_with("mcp__t_srv__echo_it") && other.len() == 19 + 40);
        let long = name("server", &long);
        assert_eq!(long.len(), MAX_NAME_CHARS);
        assert!(long.starts_with("mcp__server__xxxxxxxxxxx"), "{long}");
        assert_eq!(name("s", "größe"), "mcp__s__gr__e");
    }
}
