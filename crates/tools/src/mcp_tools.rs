//! Which tools of MCP servers a turn has: those in each request, and those that the model searches for.

use std::collections::BTreeSet;

use codex_model_client::ToolSpec;
use codex_session_base::config::ToolSuggestion;
use codex_session_base::mcp::OfferedTool;

/// From how many tools of apps on they are searched for.
const SEARCHED_FROM: usize = 100;

/// The tools of MCP servers.
#[derive(Clone, Debug, Default)]
pub struct McpTools {
    /// Whether there are servers, with tools or without.
    pub has_servers: bool,
    pub tools: Vec<OfferedTool>,
    /// Tools that the model has to search for.
    pub searched: Vec<OfferedTool>,
    /// What may be suggested to the user.
    pub suggestions: Vec<ToolSuggestion>,
    /// Tools of a recorded session, which are offered and answered from the record.
    pub recorded: Vec<ToolSpec>,
    /// The search for tools of a recorded session.
    pub recorded_search: Option<ToolSpec>,
}

impl McpTools {
    /// The tools of servers. If the model can search and apps have many tools, those of apps that are not selected are
    /// searched for.
    pub fn of_servers(
        tools: Vec<OfferedTool>,
        can_search: bool,
        selected: &BTreeSet<String>,
    ) -> Self {
        let of_apps = tools.iter().filter(|tool| tool.app.is_some()).count();
        let searches = can_search && of_apps >= SEARCHED_FROM;
        let is_searched = |tool: &OfferedTool| {
            let app = tool.app.as_ref();
            searches && app.is_some_and(|app| !selected.contains(&app.id))
        };
        let (searched, tools) = tools.into_iter().partition(is_searched);
        Self {
            has_servers: true,
            tools,
            searched,
            ..Self::default()
        }
    }

    /// The tools of a recorded session.
    pub fn recorded(tools: Vec<ToolSpec>) -> Self {
        let is_search = |tool: &ToolSpec| matches!(tool, ToolSpec::ToolSearch { .. });
        let (search, recorded): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_search);
        Self {
            has_servers: true,
            recorded,
            recorded_search: search.into_iter().next(),
            ..Self::default()
        }
    }
}
