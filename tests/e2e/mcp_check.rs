//! Holds the messages between a client and `codex mcp-server` against the types of MCP. Those of revision 2025-06-18
//! hold for what newer ones have as well, which only add to it.

use std::collections::HashMap;

use codex_protocol::{Event, EventMsg};
use codex_test_support::MessageCheck;
use rust_mcp_schema::mcp_2025_06_18::{
    CallToolRequest, CallToolResult, ElicitRequest, ElicitResult, InitializeRequest,
    InitializeResult, ListToolsRequest, ListToolsResult, PingRequest, ProgressNotification,
    Result as EmptyResult, RpcError,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What was asked and is not yet answered, by id.
#[derive(Debug, Default)]
pub(crate) struct McpCheck {
    /// An id in use may come again, and is refused.
    requests: HashMap<String, Vec<Value>>,
    questions: HashMap<String, String>,
}

impl MessageCheck for McpCheck {
    fn sent(&mut self, message: &Value) {
        let id = message["id"].to_string();
        if message["method"].is_string() {
            if message.get("id").is_some() {
                self.requests.entry(id).or_default().push(message.clone());
            }
            return;
        }
        let method = self.questions.remove(&id);
        // Approvals may be answered with a decision in place of an action.
        let result = message.get("result");
        let result = result.filter(|result| result.get("decision").is_none());
        if let (Some("elicitation/create"), Some(result)) = (method.as_deref(), result) {
            reads::<ElicitResult>(result);
        }
    }

    fn sent_wrong_answer(&mut self, message: &Value) {
        self.questions.remove(&message["id"].to_string());
    }

    fn received(&mut self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let Some(method) = message["method"].as_str() else {
            return self.reply(message);
        };
        if let Some(id) = message.get("id") {
            self.questions.insert(id.to_string(), method.to_owned());
        }
        match method {
            "notifications/progress" => reads::<ProgressNotification>(message),
            "elicitation/create" => reads::<ElicitRequest>(message),
            "codex/event" => {
                // An event of the engine's first protocol, with all its members and no others.
                let event: Event = serde_json::from_value(message["params"].clone()).unwrap();
                assert!(!matches!(event.msg, EventMsg::Unknown(_)), "{message}");
                assert_eq!(json!(event.msg), message["params"]["msg"]);
                assert!(
                    message["params"]["_meta"]["requestId"].is_number(),
                    "{message}"
                );
            }
            other => panic!("the server calls {other}: {message}"),
        }
    }
}

impl McpCheck {
    fn reply(&mut self, message: &Value) {
        let requests = self.requests.get_mut(&message["id"].to_string());
        let request = requests.and_then(Vec::pop);
        if message.get("error").is_some() {
            return reads::<RpcError>(&message["error"]);
        }
        let Some(request) = request else {
            panic!("a reply to nothing: {message}");
        };
        let result = &message["result"];
        match request["method"].as_str() {
            Some("initialize") => both::<InitializeRequest, InitializeResult>(&request, result),
            Some("ping") => both::<PingRequest, EmptyResult>(&request, result),
            Some("tools/list") => both::<ListToolsRequest, ListToolsResult>(&request, result),
            Some("tools/call") if result["resultType"] == "input_required" => {
                for question in result["inputRequests"].as_object().unwrap().values() {
                    reads::<ElicitRequest>(question);
                }
            }
            Some("tools/call") => both::<CallToolRequest, CallToolResult>(&request, result),
            Some("server/discover") => assert_eq!(result["resultType"], "complete", "{message}"),
            method => panic!("{method:?} has a result: {message}"),
        }
    }
}

fn both<Q: DeserializeOwned, R: DeserializeOwned>(request: &Value, result: &Value) {
    reads::<Q>(request);
    reads::<R>(result);
}

fn reads<T: DeserializeOwned>(value: &Value) {
    if let Err(error) = serde_json::from_value::<T>(value.clone()) {
        let name = std::any::type_name::<T>();
        panic!("no {name}: {error}: {value}");
    }
}
