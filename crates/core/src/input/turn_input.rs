//! The input of a turn.

use codex_protocol::{FunctionCallOutputBody, ResponseItem, UserInput};

use crate::ports::{ObservedToolOutput, ObservedTurnInput};

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

impl TurnInput {
    pub(crate) fn is_empty(&self) -> bool {
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
