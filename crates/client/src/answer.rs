//! What the server asks, and how a decision of the person becomes an answer.

use codex_app_server_protocol::ServerRequest;
use codex_app_server_protocol::v2::{
    CommandExecutionRequestApprovalParams, FileChangeRequestApprovalParams,
    McpServerElicitationRequest, PermissionsRequestApprovalParams, ToolRequestUserInputParams,
};
use serde_json::{Map, Value, json};

/// A decision about something that the agent wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go ahead.
    Accept,
    /// Go ahead, and do not ask again for the same in this session.
    AcceptForSession,
    /// Do not do it, and go on otherwise.
    Decline,
    /// Do not do it, and end the turn.
    Cancel,
}

impl Decision {
    /// As it stands on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::AcceptForSession => "acceptForSession",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }

    fn is_yes(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptForSession)
    }
}

/// What the server asks, if this client can answer it.
#[derive(Clone, Copy, Debug)]
pub enum Question<'a> {
    /// Whether a command may run.
    Command(&'a CommandExecutionRequestApprovalParams),
    /// Whether a patch may be applied.
    Patch(&'a FileChangeRequestApprovalParams),
    /// Whether the agent gets more rights.
    Permissions(&'a PermissionsRequestApprovalParams),
    /// Whether the person agrees to what an MCP server, or a call of its tool, is about.
    Agreement(&'a str),
    /// Which of some choices the person takes. A yes takes the first of each.
    Choices(&'a ToolRequestUserInputParams),
}

impl<'a> Question<'a> {
    pub(crate) fn of(request: &'a ServerRequest) -> Option<Self> {
        Some(match request {
            ServerRequest::CommandExecutionRequestApproval(params) => Self::Command(params),
            ServerRequest::FileChangeRequestApproval(params) => Self::Patch(params),
            ServerRequest::PermissionsRequestApproval(params) => Self::Permissions(params),
            ServerRequest::ToolRequestUserInput(params) => Self::Choices(params),
            ServerRequest::McpServerElicitationRequest(params) => match &params.request {
                // There is nothing here to fill fields in with.
                McpServerElicitationRequest::Form {
                    message,
                    requested_schema,
                    ..
                } if requested_schema.properties.is_empty() => Self::Agreement(message),
                _ => return None,
            },
            _ => return None,
        })
    }

    pub(crate) fn answer(self, decision: Decision) -> Value {
        match self {
            Self::Command(_) | Self::Patch(_) => json!({ "decision": decision.name() }),
            Self::Permissions(params) => permissions(params, decision),
            Self::Agreement(_) => agreement(decision),
            Self::Choices(params) => choices(params, decision),
        }
    }
}

fn agreement(decision: Decision) -> Value {
    match decision {
        Decision::Accept => json!({ "action": "accept" }),
        Decision::AcceptForSession => {
            json!({ "action": "accept", "_meta": { "persist": "session" } })
        }
        Decision::Decline | Decision::Cancel => json!({ "action": decision.name() }),
    }
}

fn permissions(params: &PermissionsRequestApprovalParams, decision: Decision) -> Value {
    let granted = if decision.is_yes() {
        json!(params.permissions)
    } else {
        json!({})
    };
    let scope = match decision {
        Decision::AcceptForSession => "session",
        _ => "turn",
    };
    json!({ "permissions": granted, "scope": scope })
}

fn choices(params: &ToolRequestUserInputParams, decision: Decision) -> Value {
    let mut answers = Map::new();
    for question in params.questions.iter().filter(|_| decision.is_yes()) {
        let first = question
            .options
            .as_ref()
            .and_then(|options| options.first());
        let labels: Vec<_> = first
            .map(|option| option.label.clone())
            .into_iter()
            .collect();
        answers.insert(question.id.clone(), json!({ "answers": labels }));
    }
    json!({ "answers": answers })
}
