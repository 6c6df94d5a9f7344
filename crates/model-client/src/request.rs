//! What the engine asks of a model: one request, independent of the protocol that carries it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use codex_protocol::{ReasoningEffort, ReasoningSummary, ResponseItem, ServiceTier, Verbosity};
use serde::Serialize;
use serde_json::Value;

use crate::encoded::Encoded;
use crate::error::ModelError;
use crate::event::Completion;
use crate::prompt::Prompt;
use crate::tool_spec::ToolSpec;
use codex_protocol::Provider;

/// One request to a model.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    /// The model, by the name that it was asked for.
    pub model: String,
    /// The instructions that stand above the conversation.
    pub instructions: Arc<str>,
    /// The conversation.
    pub input: Prompt,
    /// The tools that the model may call.
    pub tools: Encoded<Vec<ToolSpec>>,
    /// Whether it may call several at once.
    pub parallel_tool_calls: bool,
    /// How it should reason; nothing for models that are not asked to.
    pub reasoning: Option<Reasoning>,
    /// The class of service.
    pub service_tier: Option<ServiceTier>,
    /// How long the answer should be.
    pub verbosity: Option<Verbosity>,
    /// The JSON schema that the answer must follow.
    pub output_schema: Option<Value>,
    /// What the request belongs to.
    pub context: RequestContext,
}

/// How a model should reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reasoning {
    /// How much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// Which summary it should give.
    #[serde(skip_serializing_if = "is_no_summary")]
    pub summary: Option<ReasoningSummary>,
}

fn is_no_summary(summary: &Option<ReasoningSummary>) -> bool {
    matches!(summary, None | Some(ReasoningSummary::None))
}

/// What a request belongs to: told to the server in headers, and to those who watch.
#[derive(Clone, Debug, Default)]
pub struct RequestContext {
    /// The thread.
    pub thread_id: String,
    /// Facts about the turn, as JSON.
    pub turn_metadata: Option<String>,
    /// Where the turn's requests are to be routed.
    pub turn_state: TurnState,
    /// The keys of the experimental features that are on.
    pub beta_features: Vec<String>,
    /// What kind of sub-agent asks, if one does.
    pub subagent: Option<String>,
    /// Whether data must stay in the United States.
    pub us_residency: bool,
    /// Headers that continue a distributed trace.
    pub trace_headers: Vec<(String, String)>,
    /// How often this request was sent before because its stream failed.
    pub attempt: u32,
    /// Who wants to know of each time the request is sent.
    pub observer: Option<Arc<dyn AttemptObserver>>,
}

/// What the requests of one turn have in common: where they are to be routed, which the server said in
/// its first reply, and how much their responses brought. Clones share it; a new turn takes a new one.
#[derive(Clone, Debug, Default)]
pub struct TurnState(Arc<SharedState>);

#[derive(Debug, Default)]
struct SharedState {
    routing: OnceLock<String>,
    bytes: AtomicUsize,
}

impl TurnState {
    /// What the server said, if it said anything yet.
    pub fn get(&self) -> Option<&str> {
        self.0.routing.get().map(String::as_str)
    }

    /// Keeps what the server said; the first time counts.
    pub fn remember(&self, value: &str) {
        self.0.routing.get_or_init(|| value.to_owned());
    }

    /// Counts what a response brought; answers the sum of all.
    pub(crate) fn add_bytes(&self, bytes: usize) -> usize {
        let before = self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes)
    }
}

/// Watches a request and its response, for evidence. What it does must be quick and cannot fail.
///
/// One request can take several attempts, when a login is renewed in between. Silent repeats of the
/// first retry layer are not attempts of their own. An attempt that begins has one end at most, and
/// none if it is given up before the server replies.
pub trait AttemptObserver: Send + Sync + fmt::Debug {
    /// An attempt is about to begin. The answer goes out as its id.
    fn name(&self) -> Option<String>;

    /// The attempt is on its way, with this body in the form of the Responses API.
    fn started(&self, provider: &Provider, body: &Bytes);

    /// An item of the response is complete.
    fn item(&self, item: &ResponseItem);

    /// The response is complete.
    fn completed(&self, request_id: Option<&str>, completion: &Completion);

    /// The attempt got no response, or only a part of one.
    fn failed(&self, request_id: Option<&str>, error: &ModelError);

    /// Nobody wants the rest of the response.
    fn dropped(&self, request_id: Option<&str>);
}
