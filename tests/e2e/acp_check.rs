//! Holds the messages between an editor and the agent against the types of ACP.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    CancelNotification, CloseSessionRequest, CloseSessionResponse, CreateElicitationRequest,
    CreateElicitationResponse, CreateTerminalRequest, CreateTerminalResponse, ForkSessionRequest,
    ForkSessionResponse, InitializeRequest, InitializeResponse, ListSessionsRequest,
    ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, NewSessionRequest,
    NewSessionResponse, PromptRequest, PromptResponse, ReadTextFileRequest, ReadTextFileResponse,
    ReleaseTerminalRequest, ReleaseTerminalResponse, RequestPermissionRequest,
    RequestPermissionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionNotification,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse, TerminalOutputRequest, TerminalOutputResponse,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse, WriteTextFileRequest,
    WriteTextFileResponse,
};
use codex_test_support::MessageCheck;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What was asked and is not yet answered, by id.
#[derive(Debug, Default)]
pub(crate) struct AcpCheck {
    requests: HashMap<String, Value>,
    /// The methods of the agent's requests.
    questions: HashMap<String, String>,
}

impl MessageCheck for AcpCheck {
    fn sent(&mut self, message: &Value) {
        let id = message["id"].to_string();
        match (message["method"].as_str(), message.get("id")) {
            (Some(_), Some(_)) => {
                self.requests.insert(id, message.clone());
            }
            (Some("session/cancel"), None) => reads::<CancelNotification>(&message["params"]),
            (Some(_), None) => {}
            (None, _) => {
                let method = self.questions.remove(&id);
                if let (Some(method), Some(result)) = (method, message.get("result")) {
                    check_answer(&method, result);
                }
            }
        }
    }

    fn received(&mut self, message: &Value) {
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            self.questions.insert(id.to_string(), method.to_owned());
        }
        check(message);
        if message.get("method").is_none()
            && let Some(request) = self.requests.remove(&message["id"].to_string())
            && let Some(result) = message.get("result")
        {
            check_reply(&request, result);
        }
    }
}

/// What the agent writes is JSON-RPC 2.0, and of the type that its method names.
fn check(message: &Value) {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    let params = &message["params"];
    match message["method"].as_str() {
        Some("session/update") => same::<SessionNotification>(params),
        Some("session/request_permission") => same::<RequestPermissionRequest>(params),
        Some("elicitation/create") => same::<CreateElicitationRequest>(params),
        Some("fs/read_text_file") => same::<ReadTextFileRequest>(params),
        Some("fs/write_text_file") => same::<WriteTextFileRequest>(params),
        Some("terminal/create") => same::<CreateTerminalRequest>(params),
        Some("terminal/wait_for_exit") => same::<WaitForTerminalExitRequest>(params),
        Some("terminal/output") => same::<TerminalOutputRequest>(params),
        Some("terminal/release") => same::<ReleaseTerminalRequest>(params),
        Some("$/cancel_request") => {}
        Some(other) => panic!("the agent calls {other}"),
        None => {
            let outcomes = ["result", "error"]
                .iter()
                .filter(|name| message.get(**name).is_some());
            assert_eq!(outcomes.count(), 1, "{message}");
            assert!(message.get("id").is_some(), "{message}");
        }
    }
}

/// A request that the agent accepts, and its result, are of the types that its method names. Results have members of our
/// own.
fn check_reply(request: &Value, result: &Value) {
    let params = &request["params"];
    match request["method"].as_str() {
        Some("initialize") => both::<InitializeRequest, InitializeResponse>(params, result),
        Some("session/new") => both::<NewSessionRequest, NewSessionResponse>(params, result),
        Some("session/load") => both::<LoadSessionRequest, LoadSessionResponse>(params, result),
        Some("session/resume") => {
            both::<ResumeSessionRequest, ResumeSessionResponse>(params, result);
        }
        Some("session/fork") => both::<ForkSessionRequest, ForkSessionResponse>(params, result),
        Some("session/list") => both::<ListSessionsRequest, ListSessionsResponse>(params, result),
        Some("session/close") => both::<CloseSessionRequest, CloseSessionResponse>(params, result),
        Some("session/prompt") => both::<PromptRequest, PromptResponse>(params, result),
        Some("session/set_mode") => {
            both::<SetSessionModeRequest, SetSessionModeResponse>(params, result);
        }
        Some("session/set_config_option") => {
            both::<SetSessionConfigOptionRequest, SetSessionConfigOptionResponse>(params, result);
        }
        // The protocol has no more methods; those of drafts of it answer with an object.
        _ => assert!(result.is_object(), "{request}: {result}"),
    }
}

/// An answer of the editor is of the type that the question names.
fn check_answer(method: &str, result: &Value) {
    match method {
        "session/request_permission" => reads::<RequestPermissionResponse>(result),
        "elicitation/create" => reads::<CreateElicitationResponse>(result),
        "fs/read_text_file" => reads::<ReadTextFileResponse>(result),
        "fs/write_text_file" => reads::<WriteTextFileResponse>(result),
        "terminal/create" => reads::<CreateTerminalResponse>(result),
        "terminal/wait_for_exit" => reads::<WaitForTerminalExitResponse>(result),
        "terminal/output" => reads::<TerminalOutputResponse>(result),
        "terminal/release" => reads::<ReleaseTerminalResponse>(result),
        other => panic!("{other} has an answer"),
    }
}

fn both<Q: DeserializeOwned, R: DeserializeOwned>(params: &Value, result: &Value) {
    reads::<Q>(params);
    reads::<R>(result);
}

fn reads<T: DeserializeOwned>(value: &Value) {
    if let Err(error) = serde_json::from_value::<T>(value.clone()) {
        let name = std::any::type_name::<T>();
        panic!("no {name}: {error}: {value}");
    }
}

/// Nothing of it is lost as the type: there is no field of our own.
fn same<T: DeserializeOwned + serde::Serialize>(params: &Value) {
    let read: T = serde_json::from_value(params.clone()).unwrap_or_else(|error| {
        panic!("{error}: {params}");
    });
    assert_eq!(json!(read), *params);
}
