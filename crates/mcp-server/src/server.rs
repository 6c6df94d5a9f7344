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
use serde_json::{Map, Value, json};

use crate::active_call::{ActiveCall, ToolCallRequest};
use crate::revision::{self, Rules};
use crate::{call, events, tools};

/// How long a client without a handshake may keep what it was told about this server: a day, in milliseconds.
const CACHE_TIME: u64 = 24 * 60 * 60 * 1000;

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
    /// Whether a client that shook hands can be asked.
    pub(crate) can_elicit: bool,
    /// Whether it reads events of the engine.
    pub(crate) reads_events: bool,
    /// Calls under way, by their threads.
    pub(crate) calls: HashMap<String, ActiveCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallParams {
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
    /// The answers to the questions in the reply to an earlier request of this call.
    input_responses: Option<Map<String, Value>>,
    /// The call that waits for the answers.
    request_state: Option<String>,
    #[serde(default, rename = "_meta")]
    meta: Value,
}

#[derive(Deserialize)]
struct RequestMeta {
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
        state.can_elicit = revision::has_forms(&request["capabilities"]);
        state.reads_events = events::are_read_by(&request);
        let asked = request["protocolVersion"].as_str().unwrap_or_default();
        let known = revision::WITH_HANDSHAKE
            .into_iter()
            .find(|known| *known == asked);
        Ok(json!({
            "protocolVersion": known.unwrap_or(revision::WITH_HANDSHAKE[0]),
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": self.info(),
        }))
    }

    /// The name and version of this server.
    pub(crate) fn info(&self) -> Value {
        json!({ "name": "codex-mcp-server", "title": "Codex", "version": self.version })
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
    let rules = match params::<RequestMeta>(read).and_then(|params| Rules::from_meta(&params.meta))
    {
        Ok(rules) => rules,
        Err(error) => {
            tokio::spawn(responder.respond(Err::<(), _>(error)));
            return;
        }
    };
    let reply = match (method, rules) {
        ("initialize", Rules::Handshake) => server.initialize(read),
        ("ping", Rules::Handshake) => Ok(json!({})),
        ("tools/list", Rules::Handshake) => Ok(tools::list()),
        ("server/discover", Rules::Stateless { .. }) => Ok(cached(discovered())),
        ("tools/list", Rules::Stateless { .. }) => Ok(cached(tools::list())),
        ("tools/call", _) => match params::<ToolCallParams>(read) {
            Ok(params) => return tool_call(server, responder, rules, params),
            Err(error) => Err(error),
        },
        _ => Err(Error::method_not_found(method)),
    };
    let reply = reply.map(|result| rules.complete(result, &server.info()));
    tokio::spawn(responder.respond(reply));
}

fn discovered() -> Value {
    json!({ "supportedVersions": revision::supported(), "capabilities": { "tools": {} } })
}

/// A result that does not change while this server runs.
fn cached(mut result: Value) -> Value {
    result["ttlMs"] = json!(CACHE_TIME);
    result["cacheScope"] = json!("public");
    result
}

fn tool_call(server: &Arc<McpAdapter>, responder: Responder, rules: Rules, params: ToolCallParams) {
    let request = ToolCallRequest {
        responder,
        rules,
        progress: params.meta.get("progressToken").cloned(),
    };
    let server = Arc::clone(server);
    match params.request_state {
        Some(thread) if rules != Rules::Handshake => {
            let answers = params.input_responses.unwrap_or_default();
            tokio::spawn(call::resume(server, request, thread, answers));
        }
        _ => {
            tokio::spawn(call::run(server, request, params.name, params.arguments));
        }
    }
}
