//! The scripted realtime server of a scenario file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A scripted server of realtime conversations. Each conversation starts at the beginning of the script.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RealtimeScript {
    /// The version of the protocol.
    pub version: RealtimeProtocol,
    /// What the server says and does. An occasion gets the first reply for it that this conversation has not received yet.
    pub replies: Vec<RealtimeReply>,
}

/// A version of the protocol of realtime servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeProtocol {
    /// The first one.
    #[default]
    V1,
    /// The second one, with responses and calls of functions.
    V2,
}

/// What the server says and does on an occasion.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RealtimeReply {
    /// The occasion.
    pub when: RealtimeOccasion,
    /// Use the reply every time, not only once.
    #[serde(default)]
    pub repeat: bool,
    /// What the server says and does, in order.
    pub steps: Vec<RealtimeStep>,
}

/// Something that the client does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeOccasion {
    /// The conversation starts.
    Start,
    /// A text of the user with this part.
    Text(String),
    /// A result of delegated work with this part.
    Result(String),
    /// So many milliseconds of sound, since the last reply for sound.
    AudioMs(u64),
}

/// Something that the server says or does, or a fault.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RealtimeStep {
    /// The user began to speak. Only the second version has it.
    Speech,
    /// What the user was heard to say.
    Hear(String),
    /// What the model says, as text.
    Say(String),
    /// The voice of the model: so many milliseconds of silence.
    AudioMs(u64),
    /// The model hands work over.
    Delegate(String),
    /// Any event, unchanged.
    Event(Map<String, Value>),
    /// A pause in milliseconds.
    WaitMs(u64),
    /// A message that is no event.
    Raw(String),
    /// A message that is no text.
    Binary,
    /// An error of the server, with a sentence for the user. Must be the last step.
    Fail(String),
    /// The connection is closed. Must be the last step.
    Cut,
    /// Nothing more is sent, and the connection stays open. Must be the last step.
    Stall,
}
