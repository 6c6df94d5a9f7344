//! The messages that an ACP client may send, for checking recorded conversations.

use agent_client_protocol_schema::v1::{
    AuthenticateRequest, CancelNotification, CloseSessionRequest, CreateElicitationResponse,
    CreateTerminalResponse, DeleteSessionRequest, ForkSessionRequest, InitializeRequest,
    ListSessionsRequest, LoadSessionRequest, LogoutRequest, NewSessionRequest, PromptRequest,
    ReadTextFileResponse, RequestPermissionResponse, ResumeSessionRequest,
    SetSessionConfigOptionRequest, SetSessionModeRequest, SetSessionTitleRequest,
    TerminalOutputResponse, WaitForTerminalExitResponse, WriteTextFileResponse,
};
use codex_client::{MessageSchema, SchemaViolation};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;

use crate::settings::SetModelRequest;
use crate::steering::SteeringRequest;

/// The messages of clients of the Agent Client Protocol, version 1.
pub const CLIENT_SCHEMA: MessageSchema = MessageSchema {
    request,
    notification,
    result,
};

type Checked = Result<(), SchemaViolation>;

fn shape<T: DeserializeOwned>(value: Option<&RawValue>) -> Checked {
    let text = value.map_or("{}", RawValue::get);
    let read = serde_json::from_str::<T>(text);
    read.map(drop)
        .map_err(|error| SchemaViolation::WrongShape(error.to_string()))
}

/// Methods whose names begin with an underscore are extensions, which may have any shape.
fn other(method: &str) -> Checked {
    if method.starts_with('_') {
        Ok(())
    } else {
        Err(SchemaViolation::UnknownMethod)
    }
}

fn request(method: &str, params: Option<&RawValue>) -> Checked {
    match method {
        "initialize" => shape::<InitializeRequest>(params),
        "authenticate" => shape::<AuthenticateRequest>(params),
        "logout" => shape::<LogoutRequest>(params),
        "session/new" => shape::<NewSessionRequest>(params),
        "session/load" => shape::<LoadSessionRequest>(params),
        "session/resume" => shape::<ResumeSessionRequest>(params),
        "session/fork" => shape::<ForkSessionRequest>(params),
        "session/list" => shape::<ListSessionsRequest>(params),
        "session/close" => shape::<CloseSessionRequest>(params),
        "session/delete" => shape::<DeleteSessionRequest>(params),
        "session/set_title" => shape::<SetSessionTitleRequest>(params),
        "session/set_mode" => shape::<SetSessionModeRequest>(params),
        "session/set_config_option" => shape::<SetSessionConfigOptionRequest>(params),
        "session/set_model" => shape::<SetModelRequest>(params),
        "session/prompt" => shape::<PromptRequest>(params),
        "_session/steering" => shape::<SteeringRequest>(params),
        method => other(method),
    }
}

fn notification(method: &str, params: Option<&RawValue>) -> Checked {
    match method {
        "session/cancel" => shape::<CancelNotification>(params),
        "$/cancel_request" => shape::<crate::dispatch::CancelRequest>(params),
        method => other(method),
    }
}

fn result(method: &str, result: Option<&RawValue>) -> Checked {
    match method {
        "session/request_permission" => shape::<RequestPermissionResponse>(result),
        "elicitation/create" => shape::<CreateElicitationResponse>(result),
        "fs/read_text_file" => shape::<ReadTextFileResponse>(result),
        "terminal/create" => shape::<CreateTerminalResponse>(result),
        "terminal/output" => shape::<TerminalOutputResponse>(result),
        "terminal/wait_for_exit" => shape::<WaitForTerminalExitResponse>(result),
        // Clients answer with null as well.
        "fs/write_text_file" => shape::<Option<WriteTextFileResponse>>(result),
        _ => shape::<IgnoredAny>(result),
    }
}
