//! Questions of the server, and the reply for each decision of the person.

use codex_app_server_protocol::ServerRequest;
use codex_app_server_protocol::v2::{
    CommandExecutionRequestApprovalParams, FileChangeRequestApprovalParams,
    McpServerElicitationRequest, McpServerElicitationRequestParams,
    PermissionsRequestApprovalParams, ToolRequestUserInputParams,
};
use serde_json::{Map, Value, json};

/// The decision of a person about an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserDecision {
    /// Allow it.
    Accept,
    /// Allow it, and do not ask again for the same in this session.
    AcceptForSession,
    /// Refuse it and continue the turn.
    Decline,
    /// Refuse it and end the turn.
    Cancel,
}

impl UserDecision {
    /// The name on the wire.
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

/// A question that this client can answer.
#[derive(Clone, Copy, Debug)]
pub enum ServerQuestion<'a> {
    /// Whether a command may run.
    Command(&'a CommandExecutionRequestApprovalParams),
    /// Whether a patch may be applied.
    Patch(&'a FileChangeRequestApprovalParams),
    /// Whether to grant more permissions to the agent.
    Permissions(&'a PermissionsRequestApprovalParams),
    /// Whether to accept the message of an MCP server, or a call of its tool.
    Agreement(&'a McpServerElicitationRequestParams),
    /// Questions with choices. Acceptance takes the first choice of each.
    Choices(&'a ToolRequestUserInputParams),
}

impl<'a> ServerQuestion<'a> {
    /// The question of a request, if it is one.
    #[must_use]
    pub fn from_request(request: &'a ServerRequest) -> Option<Self> {
        Some(match request {
            ServerRequest::CommandExecutionRequestApproval(params) => Self::Command(params),
            ServerRequest::FileChangeRequestApproval(params) => Self::Patch(params),
            ServerRequest::PermissionsRequestApproval(params) => Self::Permissions(params),
            ServerRequest::ToolRequestUserInput(params) => Self::Choices(params),
            ServerRequest::McpServerElicitationRequest(params) => match &params.request {
                // A form with fields, which this client cannot fill in.
                McpServerElicitationRequest::Form {
                    requested_schema, ..
                } if requested_schema.properties.is_empty() => Self::Agreement(params),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The reply with a decision.
    #[must_use]
    pub fn answer(self, decision: UserDecision) -> Value {
        match self {
            Self::Command(_) | Self::Patch(_) => json!({ "decision": decision.name() }),
            Self::Permissions(params) => permissions(params, decision),
            Self::Agreement(_) => agreement(decision),
            Self::Choices(params) => choices(params, decision),
        }
    }
}

fn agreement(decision: UserDecision) -> Value {
    match decision {
        UserDecision::Accept => json!({ "action": "accept" }),
        UserDecision::AcceptForSession => {
            json!({ "action": "accept", "_meta": { "persist": "session" } })
        }
        UserDecision::Decline | UserDecision::Cancel => json!({ "action": decision.name() }),
    }
}

fn permissions(params: &PermissionsRequestApprovalParams, decision: UserDecision) -> Value {
    let granted = if decision.is_yes() {
        json!(params.permissions)
    } else {
        json!({})
    };
    let scope = match decision {
        UserDecision::AcceptForSession => "session",
        _ => "turn",
    };
    json!({ "permissions": granted, "scope": scope })
}

fn choices(params: &ToolRequestUserInputParams, decision: UserDecision) -> Value {
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
