//! The simulated model. What it answers follows from the seed and from the last message of the user.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use codex_core::Model;
use codex_model_client::{
    BreakCause, Completion, FactsSource, ModelCatalog, ModelError, ModelEvent, ModelInfo,
    ModelRequest, ModelStream, ResolvedModel,
};
use codex_protocol::TokenUsage;
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::machine::SeededRandom;
use crate::record::{self, RecordKind};

/// Requests of a turn after which the model only answers.
const MAX_CALLS: u64 = 4;

/// A model that streams, calls tools, stalls, cuts answers and fails.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedModel {
    seed: u64,
    /// The number of requests by the message that they are about.
    requests: Arc<Mutex<BTreeMap<String, u64>>>,
}

/// A step of an answer.
#[derive(Clone, Debug)]
enum Step {
    Pause(u64),
    Event(Result<ModelEvent, Failed>),
}

/// How a stream fails.
#[derive(Clone, Copy, Debug)]
enum Failed {
    Cut,
    Limit,
    Server,
    Window,
}

impl Failed {
    fn error(self) -> ModelError {
        match self {
            Self::Cut => ModelError::Disconnected {
                detail: "the simulated stream was cut".to_owned(),
                cause: BreakCause::CutStream,
                retry_after: None,
            },
            Self::Limit => ModelError::TooManyRequests {
                said: None,
                request_id: None,
                retry_after: Some(Duration::from_secs(2)),
            },
            Self::Server => ModelError::ServerFailed {
                said: None,
                request_id: None,
                retry_after: None,
            },
            Self::Window => ModelError::ContextWindowExceeded { window: None },
        }
    }
}

impl SimulatedModel {
    /// The model of a simulation.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            requests: Arc::default(),
        }
    }

    fn answer(&self, request: &ModelRequest) -> (SeededRandom, u64, String) {
        let input = serde_json::to_value(&request.input).unwrap_or_default();
        let message = messages(&input).next().unwrap_or_default();
        let mut requests = self.requests.lock();
        let count = requests.entry(message.clone()).or_default();
        *count += 1;
        let purpose = xxhash_rust::xxh3::xxh3_64(message.as_bytes());
        let random = SeededRandom::for_purpose(self.seed ^ purpose, *count);
        (random, *count, message)
    }
}

/// The texts of messages of the user that are no part of the context, the last one first.
fn messages(input: &Value) -> impl Iterator<Item = String> {
    let items = input.as_array().into_iter().flatten().rev();
    let texts = items
        .filter(|item| item["role"] == "user")
        .flat_map(|item| {
            let content = item["content"].as_array().into_iter().flatten();
            content.filter_map(|part| part["text"].as_str())
        });
    let own = |text: &&str| text.starts_with("message ");
    texts.filter(own).map(str::to_owned)
}

/// What no other message begins with.
pub(crate) fn name(message: &str) -> String {
    let words: Vec<&str> = message.split(' ').take(2).collect();
    words.join(" ")
}

impl Model for SimulatedModel {
    fn resolve(&self, name: &str) -> ResolvedModel {
        let known = ModelCatalog::bundled().resolve(name).info;
        let info = Arc::new(ModelInfo {
            supports_parallel_tool_calls: true,
            ..ModelInfo::clone(&known)
        });
        ResolvedModel {
            info,
            source: FactsSource::Catalog,
        }
    }

    fn stream(&self, request: ModelRequest) -> BoxFuture<'static, Result<ModelStream, ModelError>> {
        let (mut random, count, message) = self.answer(&request);
        let tools = serde_json::to_value(&*request.tools).unwrap_or_default();
        let input = serde_json::to_value(&request.input).unwrap_or_default();
        let history: Vec<String> = messages(&input).map(|text| name(&text)).collect();
        let thread = &request.context.thread_id;
        let asked = json!({ "thread": thread, "message": name(&message), "count": count, "history": history });
        record::add(RecordKind::Model, 0, &asked.to_string());
        let wait = delay(&mut random);
        let refused = match random.below(24) {
            0 => Some(Failed::Limit),
            1 => Some(Failed::Server),
            2 => Some(Failed::Cut),
            _ => None,
        };
        let unique = format!("{:x}", random.next());
        let steps = steps(&mut random, count, &unique, &tools);
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            if let Some(refused) = refused {
                return Err(refused.error());
            }
            let events = futures::stream::iter(steps).filter_map(|step| async move {
                match step {
                    Step::Pause(milliseconds) => {
                        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                        None
                    }
                    Step::Event(event) => Some(event.map_err(Failed::error)),
                }
            });
            Ok(ModelStream::new(events))
        })
    }
}

fn delay(random: &mut SeededRandom) -> Duration {
    let scale = random.below(13);
    Duration::from_millis(random.below(1 << scale))
}

fn event(event: ModelEvent) -> Step {
    Step::Event(Ok(event))
}

fn item(value: Value) -> Option<codex_protocol::ResponseItem> {
    serde_json::from_value(value).ok()
}

fn steps(random: &mut SeededRandom, count: u64, unique: &str, tools: &Value) -> Vec<Step> {
    let mut steps = vec![event(ModelEvent::Created)];
    if random.chance(1, 4) {
        reasoning(random, unique, &mut steps);
    }
    let speaks = random.chance(2, 3);
    if speaks {
        message(random, unique, &mut steps);
    }
    if count <= MAX_CALLS && random.chance(1, 2) {
        for number in 0..=random.below(2) {
            call(random, &format!("{unique}-{number}"), tools, &mut steps);
        }
    } else if !speaks {
        message(random, unique, &mut steps);
    }
    match random.below(32) {
        // The end does not come.
        0 => steps.push(Step::Event(Err(Failed::Cut))),
        1 => steps.push(Step::Event(Err(Failed::Server))),
        2 => steps.push(Step::Event(Err(Failed::Window))),
        3 => {
            let kept = random.below(steps.len() as u64) as usize;
            steps.truncate(kept);
            steps.push(Step::Event(Err(Failed::Cut)));
        }
        4 => {
            steps.push(Step::Pause(3_600_000));
            steps.push(completed(random, unique));
        }
        _ => steps.push(completed(random, unique)),
    }
    steps
}

fn completed(random: &mut SeededRandom, unique: &str) -> Step {
    let tokens = 100 + i64::try_from(random.below(20_000)).unwrap_or_default();
    event(ModelEvent::Completed(Completion {
        response_id: format!("resp-{unique}"),
        usage: Some(TokenUsage {
            input_tokens: tokens,
            output_tokens: 10,
            total_tokens: tokens + 10,
            ..TokenUsage::default()
        }),
        end_turn: None,
        cut: None,
    }))
}

fn message(random: &mut SeededRandom, unique: &str, steps: &mut Vec<Step>) {
    let id = format!("msg-{unique}");
    let begun = json!({ "type": "message", "role": "assistant", "id": id, "content": [] });
    steps.extend(item(begun).map(|item| event(ModelEvent::ItemAdded(item))));
    let mut text = String::new();
    for number in 0..random.below(5) {
        let part = format!("part {number} ");
        text.push_str(&part);
        steps.push(event(ModelEvent::TextDelta(part)));
        if random.chance(1, 3) {
            steps.push(Step::Pause(random.below(400)));
        }
    }
    let content = json!([{ "type": "output_text", "text": text }]);
    let done = json!({ "type": "message", "role": "assistant", "id": id, "content": content });
    steps.extend(item(done).map(|item| event(ModelEvent::ItemDone(item))));
}

fn reasoning(random: &mut SeededRandom, unique: &str, steps: &mut Vec<Step>) {
    let id = format!("rs-{unique}");
    let begun = json!({ "type": "reasoning", "id": id, "summary": [] });
    steps.extend(item(begun).map(|item| event(ModelEvent::ItemAdded(item))));
    let delta = "thinking".to_owned();
    steps.push(event(ModelEvent::ReasoningSummaryDelta {
        delta: delta.clone(),
        summary_index: 0,
    }));
    steps.push(Step::Pause(random.below(100)));
    let summary = json!([{ "type": "summary_text", "text": delta }]);
    let done = json!({ "type": "reasoning", "id": id, "summary": summary });
    steps.extend(item(done).map(|item| event(ModelEvent::ItemDone(item))));
}

fn has_tool(tools: &Value, name: &str) -> bool {
    let mut tools = tools.as_array().into_iter().flatten();
    tools.any(|tool| tool["name"] == name)
}

/// A tool of an MCP server, if there are any: its namespace and its name.
fn server_tool(random: &mut SeededRandom, tools: &Value) -> Option<(String, String)> {
    let namespaces = tools.as_array().into_iter().flatten();
    let offered: Vec<(String, String)> = namespaces
        .filter(|space| {
            space["name"]
                .as_str()
                .is_some_and(|name| name.starts_with("mcp__"))
        })
        .flat_map(|space| {
            let tools = space["tools"].as_array().into_iter().flatten();
            tools.filter_map(|tool| {
                Some((
                    space["name"].as_str()?.to_owned(),
                    tool["name"].as_str()?.to_owned(),
                ))
            })
        })
        .collect();
    let is_chosen = !offered.is_empty() && random.chance(2, 3);
    is_chosen.then(|| offered[random.below(offered.len() as u64) as usize].clone())
}

fn call(random: &mut SeededRandom, unique: &str, tools: &Value, steps: &mut Vec<Step>) {
    // No two commands are the same, so each may run once.
    let command = format!("simulated {unique} {}", random.below(8));
    let option = json!({ "label": "this", "description": "nothing else" });
    let question =
        json!({ "id": "one", "header": "One", "question": "Which?", "options": [option] });
    if let Some((namespace, name)) = server_tool(random, tools) {
        let arguments = json!({ "what": format!("tool {unique}") }).to_string();
        let id = format!("call-{unique}");
        let call = json!({ "type": "function_call", "namespace": namespace, "name": name, "arguments": arguments, "call_id": id });
        return steps.extend(item(call).map(|item| event(ModelEvent::ItemDone(item))));
    }
    let (name, arguments) = match random.below(14) {
        0 => (
            "update_plan",
            json!({ "plan": [{ "step": "one", "status": "in_progress" }] }),
        ),
        1 => ("no_such_tool", json!({})),
        2 => ("shell_command", json!({ "command": 7 })),
        3 | 4 => ("request_user_input", json!({ "questions": [question] })),
        _ if has_tool(tools, "exec_command") => {
            let wait = if random.chance(1, 2) { 500 } else { 20_000 };
            (
                "exec_command",
                json!({ "cmd": command, "yield_time_ms": wait, "login": false }),
            )
        }
        _ if has_tool(tools, "shell_command") => {
            let limit = 1000 + random.below(30_000);
            (
                "shell_command",
                json!({ "command": command, "timeout_ms": limit, "login": false }),
            )
        }
        _ => (
            "shell",
            json!({ "command": ["simulated", unique, "1"], "timeout_ms": 10_000 }),
        ),
    };
    let mut arguments = arguments.to_string();
    if random.chance(1, 24) {
        arguments.truncate(arguments.len() / 2);
    }
    // Models repeat ids now and then.
    let purpose = xxhash_rust::xxh3::xxh3_64(unique.as_bytes());
    let id = if SeededRandom::for_purpose(purpose, 1).chance(1, 24) {
        "call-again".to_owned()
    } else {
        format!("call-{unique}")
    };
    let call =
        json!({ "type": "function_call", "name": name, "arguments": arguments, "call_id": id });
    steps.extend(item(call).map(|item| event(ModelEvent::ItemDone(item))));
}
