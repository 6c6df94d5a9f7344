//! A request to a model, independent of the protocol.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use codex_protocol::Provider;
use codex_protocol::{ReasoningEffort, ReasoningSummary, ResponseItem, ServiceTier, Verbosity};
use serde::Serialize;
use serde_json::Value;

use crate::encoded::Encoded;
use crate::error::ModelError;
use crate::event::Completion;
use crate::prompt::Prompt;
use crate::thread_connection::ThreadConnection;
use crate::tool_spec::ToolSpec;

#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    /// The name of the model.
    pub model: String,
    /// The instructions before the conversation.
    pub instructions: Arc<str>,
    /// The history.
    pub input: Prompt,
    /// The tools that the model may call.
    pub tools: Encoded<Vec<ToolSpec>>,
    /// Whether the model may call none of them, although it sees them.
    pub calls_no_tools: bool,
    /// Whether the model may call several tools at once.
    pub parallel_tool_calls: bool,
    /// Reasoning options; `None` for models without any.
    pub reasoning: Option<Reasoning>,
    /// The service tier.
    pub service_tier: Option<ServiceTier>,
    /// The length of the answer.
    pub verbosity: Option<Verbosity>,
    /// The JSON schema that the answer must follow.
    pub output_schema: Option<Value>,
    /// What the request belongs to.
    pub context: RequestContext,
}

/// Reasoning options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// The kind of summary.
    #[serde(skip_serializing_if = "is_no_summary")]
    pub summary: Option<ReasoningSummary>,
}

fn is_no_summary(summary: &Option<ReasoningSummary>) -> bool {
    matches!(summary, None | Some(ReasoningSummary::None))
}

/// What a request belongs to. Sent in headers, and passed to observers.
#[derive(Clone, Debug, Default)]
pub struct RequestContext {
    pub thread_id: String,
    /// What the provider finds the beginning of the request by; that of the thread by default.
    pub cache_key: Option<String>,
    /// Metadata of the turn as JSON.
    pub turn_metadata: Option<String>,
    /// Whether some of it is of the client. Then it is in the body too, where not every provider accepts it.
    pub has_client_metadata: bool,
    /// The routing state that the requests of a turn share.
    pub turn_state: TurnState,
    /// The websocket of the thread. Requests without one use HTTP.
    pub connection: Option<ThreadConnection>,
    /// The keys of the enabled experimental features.
    pub beta_features: Vec<String>,
    /// The kind of sub-agent that sends the request, if it is one.
    pub subagent: Option<String>,
    /// Whether data must stay in the United States.
    pub us_residency: bool,
    /// Headers that continue a distributed trace.
    pub trace_headers: Vec<(String, String)>,
    /// How often the request was already sent, because its stream failed.
    pub attempt: u32,
    /// Observes every attempt to send the request.
    pub observer: Option<Arc<dyn AttemptObserver>>,
}

impl ModelRequest {
    pub(crate) fn tool_choice(&self) -> &'static str {
        if self.calls_no_tools { "none" } else { "auto" }
    }
}

impl RequestContext {
    pub(crate) fn cache_key(&self) -> &str {
        self.cache_key.as_deref().unwrap_or(&self.thread_id)
    }
}

/// The state that the requests of one turn share: the routing state from the first reply, and the size of all
/// responses. Clones share it; a new turn gets a new one.
#[derive(Clone, Debug, Default)]
pub struct TurnState(Arc<SharedState>);

#[derive(Debug, Default)]
struct SharedState {
    routing: OnceLock<String>,
    bytes: AtomicUsize,
}

impl TurnState {
    /// The routing state, once the server has sent it.
    pub fn get(&self) -> Option<&str> {
        self.0.routing.get().map(String::as_str)
    }

    /// Stores the routing state. Only the first call has an effect.
    pub fn remember(&self, value: &str) {
        self.0.routing.get_or_init(|| value.to_owned());
    }

    /// Adds to the size of all responses and returns the sum.
    pub(crate) fn add_bytes(&self, bytes: usize) -> usize {
        let before = self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes)
    }
}

/// Observes a request and its response for tracing. Its methods must be fast and cannot fail.
///
/// A request can take several attempts, because a login may be renewed in between. Retries inside the first retry
/// layer do not count as attempts. An attempt ends at most once, and not at all if it is cancelled before the
/// server replies.
pub trait AttemptObserver: Send + Sync + fmt::Debug {
    /// An attempt is about to start. The returned id is sent with it.
    fn name(&self) -> Option<String>;

    /// The attempt was sent, with this body in the format of the Responses API.
    fn started(&self, provider: &Provider, body: &Bytes);

    /// An item of the response is complete.
    fn item(&self, item: &ResponseItem);

    /// The response is complete.
    fn completed(&self, request_id: Option<&str>, completion: &Completion);

    /// The attempt failed without a response, or within one.
    fn failed(&self, request_id: Option<&str>, error: &ModelError);

    /// The caller has dropped the response.
    fn dropped(&self, request_id: Option<&str>);
}
