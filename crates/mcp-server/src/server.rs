//! The table of methods, and the state that all calls share.

use std::collections::HashMap;
use std::sync::Arc;

use codex_app_server_protocol::rpc::RequestId as EngineRequestId;
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_client::{Adapter, ConnectionHandle};
use codex_json_rpc::{Error, Incoming, JsonRpcId, Peer, Responder, params};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::call::{self, ActiveCall};
use crate::tools;

/// Supported revisions of MCP, the newest first.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

#[derive(Debug)]
pub(crate) struct McpAdapter {
    pub(crate) engine: ConnectionHandle,
    pub(crate) peer: Peer,
    version: &'static str,
    state: Mutex<AdapterState>,
}

#[derive(Debug, Default)]
pub(crate) struct AdapterState {
    is_initialized: bool,
    pub(crate) has_elicitation: bool,
    /// Calls under way, by their threads.
    pub(crate) calls: HashMap<String, ActiveCall>,
}

#[derive(Deserialize)]
struct ToolCallParams {
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
    #[serde(default, rename = "_meta")]
    meta: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled {
    request_id: JsonRpcId,
}

impl McpAdapter {
    pub(crate) fn new(engine: ConnectionHandle, peer: Peer, version: &'static str) -> Arc<Self> {
        Arc::new(Self {
            engine,
            peer,
            version,
            state: Mutex::default(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, AdapterState> {
        self.state.lock()
    }

    fn initialize(&self, request: &RawValue) -> Result<Value, Error> {
        let request: Value = params(request)?;
        let mut state = self.state();
        if state.is_initialized {
            return Err(Error::invalid_request("initialize called more than once"));
        }
        state.is_initialized = true;
        state.has_elicitation = request["capabilities"]["elicitation"].is_object();
        let asked = request["protocolVersion"].as_str().unwrap_or_default();
        let revision = REVISIONS.into_iter().find(|known| *known == asked);
        Ok(json!({
            "protocolVersion": revision.unwrap_or(REVISIONS[0]),
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "codex-mcp-server", "title": "Codex", "version": self.version },
        }))
    }
}

impl Adapter for McpAdapter {
    fn receive(self: &Arc<Self>, incoming: Incoming) {
        match incoming {
            Incoming::Request {
                responder,
                method,
                params,
            } => request(self, responder, &method, &params),
            Incoming::Notification {
                method,
                params: read,
            } => {
                if method == "notifications/cancelled"
                    && let Ok(cancelled) = params::<Cancelled>(&read)
                {
                    call::cancel(self, &cancelled.request_id);
                }
            }
        }
    }

    async fn notified(self: &Arc<Self>, notification: &ServerNotification) {
        call::notified(self, notification).await;
    }

    async fn answer(
        self: Arc<Self>,
        _: &EngineRequestId,
        request: &ServerRequest,
    ) -> Option<Value> {
        call::answer(&self, request).await
    }
}

fn request(server: &Arc<McpAdapter>, responder: Responder, method: &str, read: &RawValue) {
    let reply = match method {
        "initialize" => server.initialize(read),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(tools::list()),
        "tools/call" => match params::<ToolCallParams>(read) {
            Ok(ToolCallParams {
                name,
                arguments,
                meta,
            }) => {
                let request = call::ToolCallRequest {
                    responder,
                    progress: meta.get("progressToken").cloned(),
                };
                tokio::spawn(call::run(Arc::clone(server), request, name, arguments));
                return;
            }
            Err(error) => Err(error),
        },
        _ => Err(Error::method_not_found(method)),
    };
    tokio::spawn(responder.respond(reply));
}
