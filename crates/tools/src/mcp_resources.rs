//! Tools that list and read the resources of MCP servers.

use codex_mcp_client::{ListPage, McpError, McpServerConfig, RunningMcpServer};
use codex_model_client::ToolSpec;
use codex_protocol::{CallToolResult, FunctionCallOutputBody, McpInvocation};
use futures::future::{BoxFuture, join_all};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments::{arguments, function};
use super::mcp::McpCallItem;
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult};

/// Lists with more pages count as endless.
const MAX_PAGES: usize = 1000;
const ONE_SERVER: &str = "cursor can only be used when a server is specified";

/// The request of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpResources {
    List,
    Templates,
    Read,
}

/// The arguments of a call. Blank texts count as absent.
#[derive(Debug, Default, Deserialize)]
struct ResourceQuery {
    server: Option<String>,
    cursor: Option<String>,
    #[serde(skip)]
    uri: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ReadResourceArguments {
    server: String,
    uri: String,
}

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    if situation.mcp.has_servers {
        builder.offer(McpResources::List);
        builder.offer(McpResources::Templates);
        builder.offer(McpResources::Read);
    }
}

impl Tool for McpResources {
    fn spec(&self) -> ToolSpec {
        let text = |description: &str| json!({ "type": "string", "description": description });
        let server = text("The name of an MCP server. Without it all servers are listed.");
        let cursor = text("The `nextCursor` of the page before, with the same server.");
        let list = json!({ "server": server, "cursor": cursor });
        match self {
            Self::List => function(
                self.name(),
                "Lists what MCP servers offer for reading: files, database schemas, texts of an \
                 application. Prefer these to a search on the web where they fit.",
                list,
                &[],
            ),
            Self::Templates => function(
                self.name(),
                "Lists the families of resources that MCP servers offer, whose URIs have \
                 parameters to fill in.",
                list,
                &[],
            ),
            Self::Read => function(
                self.name(),
                "Reads a resource of an MCP server.",
                json!({
                    "server": text("The name of the MCP server, as the lists have it."),
                    "uri": text("The URI of the resource, as the lists have it."),
                }),
                &["server", "uri"],
            ),
        }
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        let tool = *self;
        Box::pin(async move { tool.carry_out(&context).await })
    }
}

impl McpResources {
    fn name(self) -> &'static str {
        match self {
            Self::List => "list_mcp_resources",
            Self::Templates => "list_mcp_resource_templates",
            Self::Read => "read_mcp_resource",
        }
    }

    fn query(self, context: &ToolContext) -> Result<ResourceQuery, ToolFailure> {
        let query = match self {
            Self::Read => {
                let ReadResourceArguments { server, uri } = arguments(context)?;
                ResourceQuery {
                    server: Some(server),
                    uri: Some(uri),
                    cursor: None,
                }
            }
            Self::List | Self::Templates if is_blank(context) => ResourceQuery::default(),
            Self::List | Self::Templates => arguments(context)?,
        };
        let text = |text: Option<String>| {
            let text = text.as_deref().map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Ok(ResourceQuery {
            server: text(query.server),
            cursor: text(query.cursor),
            uri: text(query.uri),
        })
    }

    /// The method, and the name of the list in its result.
    fn method(self) -> (&'static str, &'static str) {
        match self {
            Self::List => ("resources/list", "resources"),
            Self::Templates => ("resources/templates/list", "resourceTemplates"),
            Self::Read => ("resources/read", "contents"),
        }
    }

    async fn carry_out(self, context: &ToolContext) -> ToolResult {
        let ResourceQuery {
            server,
            cursor,
            uri,
        } = self.query(context)?;
        let given = (!is_blank(context)).then(|| arguments::<Value>(context));
        let item = McpCallItem::begin(
            context,
            McpInvocation {
                server: server.clone().unwrap_or_else(|| "codex".to_owned()),
                tool: self.name().to_owned(),
                arguments: given.transpose()?,
            },
            None,
        );
        let began = context.session.clock.elapsed();
        let answer = match (self, server) {
            (Self::Read, server) => read(context, server, uri).await,
            (_, Some(server)) => self.list_one(context, &server, cursor.as_deref()).await,
            (_, None) if cursor.is_some() => Err(ONE_SERVER.to_owned()),
            (_, None) => Ok(self.list_all(context).await),
        };
        let took = context.session.clock.elapsed().saturating_sub(began);
        match answer {
            Ok(answer) => {
                let text = answer.to_string();
                let result = CallToolResult {
                    content: vec![json!({ "type": "text", "text": text })],
                    is_error: Some(false),
                    ..CallToolResult::default()
                };
                item.end(took, Ok(result));
                Ok(FunctionCallOutputBody::Text(text.into()))
            }
            Err(message) => {
                item.end(took, Err(message.clone()));
                Err(ToolFailure::Model(message))
            }
        }
    }

    async fn list_one(
        self,
        context: &ToolContext,
        server: &str,
        cursor: Option<&str>,
    ) -> Result<Value, String> {
        let (method, key) = self.method();
        let failed = |cause: String| format!("{method} failed: {cause}");
        let servers = context.services.mcp.current();
        let (configured, running) = servers
            .running(server)
            .await
            .map_err(|error| failed(error.0))?;
        let page = self.page(&running, configured, cursor).await;
        let ListPage { items, next, .. } = page.map_err(|error| failed(error.to_string()))?;
        let mut answer = Map::new();
        answer.insert("server".to_owned(), server.into());
        answer.insert(key.to_owned(), with_server(server, items).into());
        if let Some(next) = next {
            answer.insert("nextCursor".to_owned(), next.into());
        }
        Ok(answer.into())
    }

    /// Lists the items of all servers. Servers that fail are left out.
    async fn list_all(self, context: &ToolContext) -> Value {
        let servers = context.services.mcp.current();
        let running = servers.all_running().await;
        let lists = running.iter().map(|(configured, running)| async {
            let (mut all, mut cursor) = (Vec::new(), None::<String>);
            for _ in 0..MAX_PAGES {
                let page = self.page(running, configured, cursor.as_deref()).await;
                let Ok(ListPage { items, next, .. }) = page else {
                    return Vec::new();
                };
                all.extend(with_server(&configured.name, items));
                match next {
                    None => return all,
                    next => cursor = next,
                }
            }
            // The list is endless.
            Vec::new()
        });
        let all: Vec<Value> = join_all(lists).await.into_iter().flatten().collect();
        let mut answer = Map::new();
        answer.insert(self.method().1.to_owned(), all.into());
        answer.into()
    }

    async fn page(
        self,
        running: &RunningMcpServer,
        server: &McpServerConfig,
        cursor: Option<&str>,
    ) -> Result<ListPage<Value>, McpError> {
        let (method, key) = self.method();
        let connection = &running.connection;
        let page = connection.page(method, key, cursor, server.request_timeout);
        page.await
    }
}

async fn read(
    context: &ToolContext,
    server: Option<String>,
    uri: Option<String>,
) -> Result<Value, String> {
    let missing = |name: &str| format!("{name} must be provided");
    let server = server.ok_or_else(|| missing("server"))?;
    let uri = uri.ok_or_else(|| missing("uri"))?;
    let failed = |cause: String| format!("resources/read failed: {cause}");
    let servers = context.services.mcp.current();
    let (configured, running) = servers
        .running(&server)
        .await
        .map_err(|error| failed(error.0))?;
    let read = running.connection.read(&uri, configured.request_timeout);
    let read = read.await.map_err(|error| failed(error.to_string()))?;
    let mut answer = Map::new();
    answer.insert("server".to_owned(), server.into());
    answer.insert("uri".to_owned(), uri.into());
    if let Value::Object(read) = read {
        answer.extend(read);
    }
    Ok(answer.into())
}

fn is_blank(context: &ToolContext) -> bool {
    matches!(&context.call.payload, crate::ToolPayload::Function(text) if text.trim().is_empty())
}

/// Adds the name of the server to each item.
fn with_server(server: &str, items: Vec<Value>) -> Vec<Value> {
    let with = |item: Value| {
        let mut all = Map::new();
        all.insert("server".to_owned(), server.into());
        if let Value::Object(item) = item {
            all.extend(item);
        }
        all.into()
    };
    items.into_iter().map(with).collect()
}
