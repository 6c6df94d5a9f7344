//! What a scenario file may say. The descriptions of the members are the reference for authors: they
//! stand in the schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A scenario: what the model answers, and what a session with it looks like.
///
/// Each thread plays the script from its beginning. A request takes the first reply that fits it and
/// has not been given to this thread yet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the scenario shows, in a sentence.
    pub description: String,
    /// Settings of the engine, as in `config.toml`, below those of the command line and of requests.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// How fast text comes.
    #[serde(default)]
    pub pace: Pace,
    /// How often the engine tries again.
    #[serde(default)]
    pub retries: Retries,
    /// Begin again when no reply is left. Otherwise such a request is refused.
    #[serde(default)]
    pub restart: bool,
    /// The person's part, for `codex demo --script`. A server ignores it.
    #[serde(default)]
    pub session: Session,
    /// The replies of the model, one for each of its requests.
    pub replies: Vec<Reply>,
}

/// How fast text comes.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pace {
    /// Characters in one piece of streamed text.
    #[schemars(range(min = 1))]
    pub characters: usize,
    /// Milliseconds between two pieces.
    pub every_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            characters: 24,
            every_ms: 0,
        }
    }
}

/// How often the engine tries again; what is not given is as with a real model.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retries {
    /// Repeats of a request that got no stream.
    pub requests: Option<u64>,
    /// Repeats of a request whose stream broke off.
    pub streams: Option<u64>,
    /// Milliseconds of silence after which a stream counts as broken off.
    pub idle_timeout_ms: Option<u64>,
}

/// The person's part of a session.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Session {
    /// What the person says, a turn each. One line of greeting unless given.
    pub prompts: Vec<String>,
    /// Files of the folder to work in, by their relative paths.
    pub files: BTreeMap<String, String>,
    /// What `--auto` answers to approvals, in order; after the last, `accept`.
    pub answers: Vec<Answer>,
}

/// An answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Go ahead.
    Accept,
    /// Go ahead, and do not ask again for the same in this session.
    AcceptForSession,
    /// Do not do it, and go on otherwise.
    Decline,
    /// Do not do it, and end the turn.
    Cancel,
}

/// A reply of the model: either `steps` or `refuse`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Which requests the reply is for; any unless given.
    pub when: Option<When>,
    /// Give the reply as often as it fits, not once.
    #[serde(default)]
    pub repeat: bool,
    /// What the reply costs; estimated from the length of the texts unless given.
    pub usage: Option<Usage>,
    /// What the model says and does, in order.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// No stream: the server refuses the request.
    pub refuse: Option<Refusal>,
}

/// What must hold of a request. All that is given must.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// A part of what the person said last.
    pub user: Option<String>,
    /// A part of the output of the tool that was called last, after the person spoke.
    pub output: Option<String>,
    /// The exit code of the command that was run last, after the person spoke. A command that was
    /// declined has none.
    pub exit_code: Option<i64>,
    /// The name of the model that is asked for.
    pub model: Option<String>,
}

/// Tokens that a reply costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Tokens of the request.
    pub input: i64,
    /// Those among them that the server had in its cache.
    pub cached: i64,
    /// Tokens of the reply.
    pub output: i64,
    /// Those among them that were reasoning.
    pub reasoning: i64,
}

/// Something that the model says or does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A message to the person.
    Message(String),
    /// The beginning of a message that is never completed; a fault follows.
    Unfinished(String),
    /// A summary of its reasoning. An empty line begins the next part.
    Reasoning(String),
    /// Reasoning itself, as open models show it.
    RawReasoning(String),
    /// A shell command, by whichever shell tool the request offers.
    Command(String),
    /// A patch to files, by whichever patch tool the request offers.
    Patch(String),
    /// The plan, as a list of steps.
    Plan(Vec<PlanStep>),
    /// A call of a function tool.
    Tool(ToolCall),
    /// A call of a tool that takes free text.
    CustomTool(CustomToolCall),
    /// Any item of the Responses API, begun and completed.
    Item(Map<String, Value>),
    /// Any event of the Responses API, as it is.
    Event(Map<String, Value>),
    /// Silence of so many milliseconds.
    WaitMs(u64),
    /// Bytes in place of an event.
    Raw(String),
    /// The server gives the response up and says why. The last step.
    Fail(Failure),
    /// The connection is cut. The last step.
    Cut,
    /// Nothing comes any more, and the connection stays open. The last step.
    Stall,
}

/// A step of a plan.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// What is to be done.
    pub step: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step of a plan is.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

/// A call of a function tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// A call of a tool that takes free text.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomToolCall {
    /// The tool.
    pub name: String,
    /// The text.
    pub input: String,
}

/// Why the server gives a response up.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The code, for example `context_length_exceeded` or `rate_limit_exceeded`.
    pub code: String,
    /// A sentence.
    #[serde(default)]
    pub message: String,
}

/// How the server refuses a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The HTTP status.
    #[schemars(range(min = 300, max = 599))]
    pub status: u16,
    /// Seconds that the server asks to wait.
    pub retry_after: Option<u64>,
    /// Headers by their names.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The `error` object of the body.
    pub error: Option<Map<String, Value>>,
}

/// The schema of scenario files.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Scenario).to_value()
}
