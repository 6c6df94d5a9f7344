//! The input of a turn.

use std::sync::Arc;

use codex_protocol::{FunctionCallOutputBody, ResponseItem, UserInput};

use super::SavedInput;
use crate::ports::{ObservedToolOutput, ObservedTurnInput};

/// The prefix of the id of the call that goes with an output of a tool of the client.
pub const CLIENT_CALL: &str = "client_tool_";

/// What a turn starts with, or is given while it runs.
#[derive(Clone, Debug, Default)]
pub struct TurnInput {
    /// The parts of the user's message.
    pub items: Vec<UserInput>,
    /// The client's id of the message.
    pub client_id: Option<String>,
    /// The output of a tool of the client, in place of a message.
    pub tool_output: Option<ToolOutput>,
    /// Items that only the model sees, before the message.
    pub hidden: Vec<ResponseItem>,
    /// Its copy on disk, until the file of the thread has it.
    pub saved: Option<Arc<SavedInput>>,
    /// Whether the caller keeps it until the file of the thread has it, so that it needs no copy.
    pub is_kept: bool,
}

/// The output of a tool of the client that the model did not call.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// The name of the tool.
    pub name: String,
    /// The namespace of the tool.
    pub namespace: Option<String>,
    /// The output.
    pub output: FunctionCallOutputBody,
}

impl ToolOutput {
    /// The output with a call in front, as the model gets them: providers accept no output without a call. `id` is that of
    /// its item.
    pub fn recorded(&self, id: &str) -> [ResponseItem; 2] {
        let call_id = format!("{CLIENT_CALL}{id}");
        let call = ResponseItem::FunctionCall {
            id: None,
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            arguments: "{}".to_owned(),
            call_id: call_id.clone(),
        };
        let output = ResponseItem::FunctionCallOutput {
            call_id,
            output: self.output.clone(),
        };
        [call, output]
    }
}

impl TurnInput {
    /// Whether a client gave it, so that it must not be lost.
    pub fn is_of_client(&self) -> bool {
        !self.items.is_empty() || self.tool_output.is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.tool_output.is_none() && self.hidden.is_empty()
    }
}

impl From<&TurnInput> for ObservedTurnInput {
    fn from(input: &TurnInput) -> Self {
        let TurnInput {
            items,
            client_id,
            tool_output,
            hidden,
            saved: _,
            is_kept: _,
        } = input.clone();
        Self {
            items,
            client_id,
            tool_output: tool_output.map(|tool| ObservedToolOutput {
                name: tool.name,
                namespace: tool.namespace,
                output: tool.output,
            }),
            hidden,
        }
    }
}

impl From<ObservedTurnInput> for TurnInput {
    fn from(input: ObservedTurnInput) -> Self {
        let ObservedTurnInput {
            items,
            client_id,
            tool_output,
            hidden,
        } = input;
        Self {
            items,
            client_id,
            tool_output: tool_output.map(|tool| ToolOutput {
                name: tool.name,
                namespace: tool.namespace,
                output: tool.output,
            }),
            hidden,
            saved: None,
            is_kept: false,
        }
    }
}

impl From<Vec<UserInput>> for TurnInput {
    fn from(items: Vec<UserInput>) -> Self {
        Self {
            items,
            ..Self::default()
        }
    }
}
