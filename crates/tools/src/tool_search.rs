//! `tool_search`: finds tools of apps that are too many to be in each request.
//!
//! The model gets the definitions of what was found, and then calls them like other tools.

use std::collections::BTreeSet;
use std::sync::Arc;

use codex_apps::TextIndex;
use codex_model_client::ToolSpec;
use codex_session_base::mcp::OfferedTool;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::incompatible;
use super::call::ToolPayload;
use super::mcp::McpTool;
use super::mcp_tools::McpTools;
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// How many tools a search finds if the model does not say.
const DEFAULT_LIMIT: usize = 8;
/// How many a search finds at most.
const LARGEST_LIMIT: usize = 100;
/// How many apps the description names.
const LISTED_APPS: usize = 100;

/// The search.
#[derive(Debug)]
pub(crate) struct ToolSearchTool(Arc<SearchedTools>);

#[derive(Debug)]
struct SearchedTools {
    tools: Vec<OfferedTool>,
    index: TextIndex,
}

#[derive(Deserialize)]
struct SearchArguments {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
}

impl ToolSearchTool {
    pub(crate) fn new(tools: &[OfferedTool]) -> Self {
        Self(Arc::new(SearchedTools {
            index: TextIndex::new(tools.iter().map(searched_text)),
            tools: tools.to_vec(),
        }))
    }
}

/// The search for tools of apps, whose calls are accepted.
pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    let McpTools {
        recorded_search,
        searched,
        ..
    } = situation.mcp;
    builder.specs.extend(recorded_search.clone());
    if searched.is_empty() {
        return;
    }
    for tool in searched {
        let found = McpTool(tool.clone());
        builder.deferred.push((None, found.spec()));
        // The name within its namespace, if that is not just the rest of the whole name.
        let (namespace, name) = tool.namespaced();
        builder.accept(&format!("{namespace}:{name}"), found.clone());
        builder.accept(&tool.name, found);
    }
    builder.offer(ToolSearchTool::new(searched));
}

impl Tool for ToolSearchTool {
    fn spec(&self) -> ToolSpec {
        let used = self.0.tools.iter().filter_map(|tool| tool.app.as_ref());
        let names: BTreeSet<&str> = used.map(|app| app.name.as_str()).collect();
        let apps: Vec<_> = names.into_iter().take(LISTED_APPS).collect();
        let number =
            json!({ "type": "number", "description": "How many tools to return, 8 by default." });
        ToolSpec::ToolSearch {
            execution: "client".to_owned(),
            description: format!(
                "Finds tools of the user's connected apps that are not listed among your tools. Search \
                 before you say that something cannot be done with an app. What is found can be called \
                 afterwards. Apps with such tools: {}.",
                apps.join(", ")
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "Words for what the tool should do." },
                    "limit": number,
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
        }
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let tools = Arc::clone(&self.0);
        Box::pin(async move { search(&context, &tools) })
    }
}

fn search(context: &ToolContext, tools: &SearchedTools) -> ToolResult {
    let ToolPayload::ToolSearch(arguments) = &context.call.payload else {
        return Err(incompatible(context));
    };
    let failed = |text: &str| Err(ToolFailure::Model(text.to_owned()));
    let SearchArguments { query, limit } = match SearchArguments::deserialize(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return failed(&format!("failed to parse tool_search arguments: {error}")),
    };
    if query.trim().is_empty() {
        return failed("query must not be empty");
    }
    let limit = match limit {
        Some(0) => return failed("limit must be greater than zero"),
        limit => limit.unwrap_or(DEFAULT_LIMIT).min(LARGEST_LIMIT),
    };
    let found = tools.index.best(&query, limit);
    let found: Vec<_> = found.iter().map(|at| &tools.tools[*at]).collect();
    text(json!(namespaces(&found)).to_string())
}

/// The tools in a namespace for each app, in the order of the best tool of each.
fn namespaces(found: &[&OfferedTool]) -> Vec<ToolSpec> {
    let mut namespaces: Vec<ToolSpec> = Vec::new();
    for tool in found {
        let (namespace, function) = tool.namespaced();
        let spec = ToolSpec::Function {
            name: function.to_owned(),
            description: tool.description.clone(),
            strict: false,
            defer_loading: Some(true),
            parameters: tool.parameters.clone(),
        };
        let known = namespaces.iter_mut().find_map(|known| match known {
            ToolSpec::Namespace { name, tools, .. } if *name == namespace => Some(tools),
            _ => None,
        });
        match known {
            Some(tools) => tools.push(spec),
            None => namespaces.push(ToolSpec::Namespace {
                description: tool.namespace_description(),
                name: namespace,
                tools: vec![spec],
            }),
        }
    }
    namespaces
}

/// What a tool can be found by: its names, its app and its parameters.
fn searched_text(tool: &OfferedTool) -> String {
    let app = tool.app.as_ref();
    let mut words = vec![
        tool.name.as_str(),
        tool.tool.name.as_str(),
        tool.tool.title.as_deref().unwrap_or_default(),
        tool.description.as_str(),
        app.map_or("", |app| app.name.as_str()),
        app.and_then(|app| app.description.as_deref())
            .unwrap_or_default(),
    ];
    if let Some(Value::Object(parameters)) = tool.parameters.get("properties") {
        words.extend(parameters.keys().map(String::as_str));
    }
    words.join(" ")
}
