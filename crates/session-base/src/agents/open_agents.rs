//! The agents that a stored thread has started and not closed, from the calls in its file.

use std::collections::HashMap;

use codex_protocol::{FunctionCallOutputBody, ResponseItem, RolloutItem, ThreadId};
use serde::Deserialize;

/// Collects the open agents of a thread from its lines, in the order in which they were started.
#[derive(Debug, Default)]
pub struct OpenAgents {
    open: Vec<ThreadId>,
    /// Calls without an output yet.
    calls: HashMap<String, AgentCall>,
}

#[derive(Debug)]
enum AgentCall {
    Spawn,
    Close(String),
    Resume(String),
}

#[derive(Deserialize)]
struct SpawnOutput {
    agent_id: String,
}

#[derive(Deserialize)]
struct CloseArguments {
    target: String,
}

#[derive(Deserialize)]
struct ResumeArguments {
    id: String,
}

impl OpenAgents {
    pub fn take(&mut self, line: &RolloutItem) {
        match line {
            RolloutItem::ResponseItem(ResponseItem::FunctionCall {
                name,
                arguments,
                call_id,
                ..
            }) => {
                if let Some(call) = AgentCall::parse(name, arguments) {
                    self.calls.insert(call_id.clone(), call);
                }
            }
            RolloutItem::ResponseItem(ResponseItem::FunctionCallOutput {
                call_id,
                output: FunctionCallOutputBody::Text(text),
            }) => {
                if let Some(call) = self.calls.remove(call_id) {
                    self.ended(call, &text.as_str());
                }
            }
            _ => {}
        }
    }

    /// An output that is no object is an error: nothing has happened.
    fn ended(&mut self, call: AgentCall, output: &str) {
        match call {
            AgentCall::Spawn => {
                if let Ok(SpawnOutput { agent_id }) = serde_json::from_str(output) {
                    self.open.push(ThreadId(agent_id));
                }
            }
            AgentCall::Close(id) if output.starts_with('{') => {
                self.open.retain(|open| open.0 != id)
            }
            AgentCall::Resume(id) if output.starts_with('{') => {
                self.open.retain(|open| open.0 != id);
                self.open.push(ThreadId(id));
            }
            AgentCall::Close(_) | AgentCall::Resume(_) => {}
        }
    }

    pub fn into_ids(self) -> Vec<ThreadId> {
        self.open
    }
}

impl AgentCall {
    fn parse(tool: &str, arguments: &str) -> Option<Self> {
        match tool {
            "spawn_agent" => Some(Self::Spawn),
            "close_agent" => {
                let arguments: CloseArguments = serde_json::from_str(arguments).ok()?;
                Some(Self::Close(arguments.target))
            }
            "resume_agent" => {
                let arguments: ResumeArguments = serde_json::from_str(arguments).ok()?;
                Some(Self::Resume(arguments.id))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, arguments: &Value, output: &str) -> [RolloutItem; 2] {
        let item = |value| RolloutItem::ResponseItem(serde_json::from_value(value).unwrap());
        [
            item(
                json!({ "type": "function_call", "name": name, "call_id": name,
                "arguments": arguments.to_string() }),
            ),
            item(json!({ "type": "function_call_output", "call_id": name, "output": output })),
        ]
    }

    #[test]
    fn an_agent_is_open_until_it_is_closed() {
        let spawned = |id: &str| {
            call(
                "spawn_agent",
                &json!({}),
                &json!({ "agent_id": id }).to_string(),
            )
        };
        let mut agents = OpenAgents::default();
        let lines = [
            spawned("a"),
            spawned("b"),
            spawned("c"),
            call("spawn_agent", &json!({}), "collab spawn failed: no"),
            call(
                "close_agent",
                &json!({ "target": "a" }),
                "{\"previous_status\":\"running\"}",
            ),
            call(
                "close_agent",
                &json!({ "target": "b" }),
                "agent with id b not found",
            ),
            call(
                "close_agent",
                &json!({ "target": "c" }),
                "{\"previous_status\":\"running\"}",
            ),
            call(
                "resume_agent",
                &json!({ "id": "c" }),
                "{\"status\":\"pending_init\"}",
            ),
        ];
        lines.iter().flatten().for_each(|line| agents.take(line));
        assert_eq!(
            agents.into_ids(),
            [ThreadId("b".into()), ThreadId("c".into())]
        );
    }
}
