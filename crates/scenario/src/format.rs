//! The format of scenario files. The schema contains these descriptions; they are the reference for authors.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::realtime_format::RealtimeScript;

/// A scenario: the replies of a scripted model, and a session with it.
///
/// Each thread starts at the beginning of the script. A request gets the first reply that matches it and that this
/// thread has not received yet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the scenario shows, in one sentence.
    pub description: String,
    /// Settings of the engine, as in `config.toml`. Those of the command line and of requests take precedence.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// The speed of streamed text.
    #[serde(default)]
    pub pace: StreamPace,
    /// How often the engine retries.
    #[serde(default)]
    pub retries: RetrySettings,
    /// How the engine sends its requests.
    #[serde(default)]
    pub transport: Transport,
    /// Start again when no reply is left. Otherwise such a request is refused.
    #[serde(default)]
    pub restart: bool,
    /// The user's part, for `codex demo --script`. A server ignores it.
    #[serde(default)]
    pub session: SessionScript,
    /// The replies of the model, one per request.
    pub replies: Vec<ScriptedReply>,
    /// The server of realtime conversations; without it, threads have none.
    #[serde(default)]
    pub realtime: Option<RealtimeScript>,
}

/// How requests are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Each as an HTTP request.
    #[default]
    Http,
    /// Over one websocket per thread.
    Websocket,
}

/// The speed of streamed text.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamPace {
    /// Characters per piece of streamed text.
    #[schemars(range(min = 1))]
    pub characters: usize,
    /// Milliseconds between two pieces.
    pub every_ms: u64,
}

impl Default for StreamPace {
    fn default() -> Self {
        Self {
            characters: 24,
            every_ms: 0,
        }
    }
}

/// How often the engine retries; defaults are those for a real model.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetrySettings {
    /// Retries of a request that got no stream.
    pub requests: Option<u64>,
    /// Retries of a request whose stream was interrupted.
    pub streams: Option<u64>,
    /// Milliseconds of silence after which a stream counts as interrupted.
    pub idle_timeout_ms: Option<u64>,
}

/// The user's part of a session.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionScript {
    /// The user's messages, one per turn. A greeting by default.
    pub prompts: Vec<String>,
    /// Files of the working folder, by relative path.
    pub files: BTreeMap<String, String>,
    /// The answers of `--auto` to approvals, in order; after the last one, `accept`.
    pub answers: Vec<ScriptedApproval>,
}

/// An answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedApproval {
    /// Allow it.
    Accept,
    /// Allow it, and do not ask again for the same in this session.
    AcceptForSession,
    /// Refuse it; the turn continues.
    Decline,
    /// Refuse it and end the turn.
    Cancel,
}

/// A reply of the model: either `steps` or `refuse`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedReply {
    /// The requests that this reply is for; any request by default.
    pub when: Option<RequestCondition>,
    /// Use the reply for every matching request, not only once.
    #[serde(default)]
    pub repeat: bool,
    /// The token usage of the reply; estimated from the length of the texts by default.
    pub usage: Option<ReplyUsage>,
    /// What the model says and does, in order.
    #[serde(default)]
    pub steps: Vec<ReplyStep>,
    /// Refuse the request instead of sending a stream.
    pub refuse: Option<HttpRefusal>,
}

/// A condition on requests. All members that are given must match.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestCondition {
    /// A part of the user's last message.
    pub user: Option<String>,
    /// A part of the output of the last tool call after the user's last message.
    pub output: Option<String>,
    /// The exit code of the last command after the user's last message. A declined command has none.
    pub exit_code: Option<i64>,
    /// The name of the requested model.
    pub model: Option<String>,
}

/// The token usage of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyUsage {
    /// Tokens of the request.
    pub input: i64,
    /// Those of them that came from the server's cache.
    pub cached: i64,
    /// Tokens of the reply.
    pub output: i64,
    /// Those of them that were reasoning.
    pub reasoning: i64,
}

/// Something that the model says or does, or a fault.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyStep {
    /// A message to the user.
    Message(String),
    /// The beginning of a message that is never completed; a fault must follow.
    Unfinished(String),
    /// A summary of the reasoning. An empty line begins the next part.
    Reasoning(String),
    /// The reasoning itself, as open models send it.
    RawReasoning(String),
    /// A shell command, with whichever shell tool the request offers.
    Command(String),
    /// A patch, with whichever patch tool the request offers.
    Patch(String),
    /// The plan, as a list of steps.
    Plan(Vec<ScriptedPlanStep>),
    /// A call of a function tool.
    Tool(ScriptedToolCall),
    /// A call of a tool that takes free text.
    CustomTool(ScriptedCustomToolCall),
    /// Any item of the Responses API, started and completed.
    Item(Map<String, Value>),
    /// Any event of the Responses API, unchanged.
    Event(Map<String, Value>),
    /// A pause in milliseconds.
    WaitMs(u64),
    /// Raw bytes instead of an event; on a websocket a message that is no event.
    Raw(String),
    /// The server ends the response with an error. Must be the last step.
    Fail(ScriptedFailure),
    /// The connection is closed. Must be the last step.
    Cut,
    /// Nothing more is sent, and the connection stays open. Must be the last step.
    Stall,
}

/// A step of a plan.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedPlanStep {
    /// What is to be done.
    pub step: String,
    /// The state of the step.
    pub status: PlanStepStatus,
}

/// The state of a step of a plan.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStepStatus {
    /// Not started.
    Pending,
    /// Started.
    InProgress,
    /// Done.
    Completed,
}

/// A call of a function tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedToolCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// A call of a tool that takes free text.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCustomToolCall {
    /// The name of the tool.
    pub name: String,
    /// The text.
    pub input: String,
}

/// The error with which the server ends a response.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFailure {
    /// The code, for example `context_length_exceeded` or `rate_limit_exceeded`.
    pub code: String,
    /// A sentence for the user.
    #[serde(default)]
    pub message: String,
}

/// An HTTP reply that refuses a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRefusal {
    /// The HTTP status.
    #[schemars(range(min = 300, max = 599))]
    pub status: u16,
    /// The number of seconds in `retry-after`.
    pub retry_after: Option<u64>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The `error` object of the body.
    pub error: Option<Map<String, Value>>,
}

/// The JSON schema of scenario files.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Scenario).to_value()
}
