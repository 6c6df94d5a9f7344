//! Trajectories in the Agent Trajectory Interchange Format, which evaluation frameworks read.
//!
//! A request to the model with its answer is one step of the agent; messages of the user and of the engine are steps of their
//! own. The results of calls belong to the step that made them. Agents are embedded as trajectories of their own.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use codex_rollout_trace::Reduction;
use codex_rollout_trace::ids::{CallId, ItemId};
use codex_rollout_trace::model::{
    ConversationItem, InferenceCall, ItemKind, Role, RolloutTrace, Thread, ToolCall,
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::timeline::tool_name;

/// The version of the format that is written.
pub const ATIF_VERSION: &str = "ATIF-v1.7";

/// Writes a reduced bundle as one trajectory, with its agents inside.
///
/// # Errors
/// It cannot be written.
pub fn write_atif(reduction: &Reduction, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &trajectory_of(&reduction.trace))?;
    out.write_all(b"\n")
}

fn trajectory_of(trace: &RolloutTrace) -> Value {
    let exporter = TrajectoryExporter::new(trace);
    let root = trace.threads.get(&trace.root_thread_id);
    let mut whole = root.map_or_else(|| json!({}), |root| exporter.trajectory(root));
    let agents = trace.threads.values();
    let agents: Vec<Value> = agents
        .filter(|thread| thread.thread_id != trace.root_thread_id)
        .map(|thread| {
            let mut agent = exporter.trajectory(thread);
            agent["trajectory_id"] = json!(thread.thread_id.as_str());
            agent["extra"] = json!({ "agent_path": thread.agent_path });
            agent
        })
        // A trajectory has a step at least.
        .filter(|agent| {
            agent["steps"]
                .as_array()
                .is_some_and(|steps| !steps.is_empty())
        })
        .collect();
    if !agents.is_empty() {
        whole["subagent_trajectories"] = json!(agents);
    }
    whole
}

struct TrajectoryExporter<'t> {
    trace: &'t RolloutTrace,
    /// The calls of tools by the ids that the model gave them.
    tools: HashMap<&'t CallId, &'t ToolCall>,
}

/// The steps of a thread so far.
#[derive(Default)]
struct Steps {
    steps: Vec<Map<String, Value>>,
    /// The step that made a call.
    makers: HashMap<CallId, usize>,
    seen: HashSet<ItemId>,
}

impl<'t> TrajectoryExporter<'t> {
    fn new(trace: &'t RolloutTrace) -> Self {
        let tools = trace.tool_calls.values();
        let tools = tools.filter_map(|call| Some((call.model_visible_call_id.as_ref()?, call)));
        Self {
            trace,
            tools: tools.collect(),
        }
    }

    fn trajectory(&self, thread: &Thread) -> Value {
        let calls = self.trace.inference_calls.values();
        let mut calls: Vec<&InferenceCall> = calls
            .filter(|call| call.thread_id == thread.thread_id)
            .collect();
        calls.sort_by_key(|call| call.execution.started_seq);
        let mut steps = Steps::default();
        for call in &calls {
            self.add_items(&call.request_item_ids, &mut steps);
            self.add_answer(call, &mut steps);
        }
        // What no request has sent any more.
        self.add_items(&thread.conversation_item_ids, &mut steps);
        let mut agent = json!({ "name": "codex", "version": env!("CARGO_PKG_VERSION") });
        let model = calls.first().map(|call| &call.model);
        if let Some(model) = model.or(thread.default_model.as_ref()) {
            agent["model_name"] = json!(model);
        }
        let steps = steps.numbered();
        let mut metrics = totals(&calls);
        metrics["total_steps"] = json!(steps.len());
        json!({
            "schema_version": ATIF_VERSION,
            "session_id": self.trace.rollout_id.as_str(),
            "agent": agent,
            "steps": steps,
            "final_metrics": metrics,
        })
    }

    fn add_items(&self, ids: &[ItemId], steps: &mut Steps) {
        for id in ids {
            if let Some(item) = self.trace.conversation_items.get(id)
                && steps.seen.insert(*id)
            {
                self.add_item(item, steps);
            }
        }
    }

    fn add_item(&self, item: &ConversationItem, steps: &mut Steps) {
        let text = item.body.shown();
        match item.kind {
            ItemKind::FunctionCallOutput | ItemKind::CustomToolCallOutput => {
                steps.add_result(item, text);
            }
            ItemKind::Message | ItemKind::CompactionMarker => {
                let source = match item.role {
                    Role::User => "user",
                    Role::Assistant => "agent",
                    Role::System | Role::Developer | Role::Tool => "system",
                };
                let mut step = step(source, item.first_seen_at_unix_ms, text);
                if source == "agent" {
                    // Nobody was asked for it in this thread.
                    step.insert("is_copied_context".to_owned(), json!(true));
                }
                steps.steps.push(step);
            }
            ItemKind::Reasoning => {}
            ItemKind::FunctionCall | ItemKind::CustomToolCall => {
                let mut step = step("agent", item.first_seen_at_unix_ms, String::new());
                step.insert("is_copied_context".to_owned(), json!(true));
                let call = self.tool_call(item, &text);
                step.insert("tool_calls".to_owned(), json!([call]));
                steps.push_maker(item.call_id.as_ref(), step);
            }
        }
    }

    /// One step for an answer of the model.
    fn add_answer(&self, call: &InferenceCall, steps: &mut Steps) {
        let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        let mut ids = Vec::new();
        for id in &call.response_item_ids {
            let Some(item) = self.trace.conversation_items.get(id) else {
                continue;
            };
            steps.seen.insert(*id);
            let text = item.body.shown();
            match item.kind {
                ItemKind::Message => texts.push(text),
                ItemKind::Reasoning => thoughts.push(text),
                ItemKind::FunctionCall | ItemKind::CustomToolCall => {
                    calls.push(self.tool_call(item, &text));
                    ids.extend(item.call_id.clone());
                }
                _ => {}
            }
        }
        if let Some(error) = &call.error {
            texts.push(format!("[{error}]"));
        }
        let at = call.execution.ended_at_unix_ms;
        let at = at.unwrap_or(call.execution.started_at_unix_ms);
        let mut step = step("agent", at, texts.join("\n"));
        step.insert("model_name".to_owned(), json!(call.model));
        let thoughts: Vec<String> = (thoughts.into_iter())
            .filter(|thought| !thought.is_empty())
            .collect();
        if !thoughts.is_empty() {
            step.insert("reasoning_content".to_owned(), json!(thoughts.join("\n")));
        }
        if !calls.is_empty() {
            step.insert("tool_calls".to_owned(), json!(calls));
        }
        if let Some(usage) = &call.usage {
            let metrics = json!({
                "prompt_tokens": usage.input_tokens,
                "completion_tokens": usage.output_tokens,
                "cached_tokens": usage.cached_input_tokens,
            });
            step.insert("metrics".to_owned(), metrics);
        }
        for id in ids {
            steps.makers.insert(id, steps.steps.len());
        }
        steps.steps.push(step);
    }

    fn tool_call(&self, item: &ConversationItem, text: &str) -> Value {
        let tool = item.call_id.as_ref().and_then(|id| self.tools.get(id));
        let name = tool.map(|tool| tool_name(&tool.kind)).unwrap_or_default();
        let arguments = match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => Value::Object(arguments),
            _ => json!({ "input": text }),
        };
        let id = item.call_id.as_ref().map_or("", |id| id.as_str());
        json!({ "tool_call_id": id, "function_name": name, "arguments": arguments })
    }
}

impl Steps {
    fn push_maker(&mut self, call: Option<&CallId>, step: Map<String, Value>) {
        if let Some(call) = call {
            self.makers.insert(call.clone(), self.steps.len());
        }
        self.steps.push(step);
    }

    /// Adds the result of a call to the step that made it.
    fn add_result(&mut self, item: &ConversationItem, text: String) {
        let maker = item.call_id.as_ref().and_then(|id| self.makers.get(id));
        let mut result = json!({ "content": text });
        let step = match maker {
            Some(at) => {
                let id = item.call_id.as_ref().map_or("", |id| id.as_str());
                result["source_call_id"] = json!(id);
                &mut self.steps[*at]
            }
            None => {
                // Of a call that the client made.
                let at = item.first_seen_at_unix_ms;
                self.steps.push(step("system", at, String::new()));
                let Some(step) = self.steps.last_mut() else {
                    return;
                };
                step
            }
        };
        let observation = step
            .entry("observation")
            .or_insert_with(|| json!({ "results": [] }));
        if let Some(results) = observation["results"].as_array_mut() {
            results.push(result);
        }
    }

    fn numbered(self) -> Vec<Value> {
        let steps = self.steps.into_iter().enumerate();
        steps
            .map(|(at, mut step)| {
                step.insert("step_id".to_owned(), json!(at + 1));
                Value::Object(step)
            })
            .collect()
    }
}

fn step(source: &str, at: i64, message: String) -> Map<String, Value> {
    let mut step = Map::new();
    step.insert("step_id".to_owned(), json!(0));
    if let Ok(at) = Timestamp::from_millisecond(at) {
        step.insert("timestamp".to_owned(), json!(at.to_string()));
    }
    step.insert("source".to_owned(), json!(source));
    step.insert("message".to_owned(), json!(message));
    step
}

fn totals(calls: &[&InferenceCall]) -> Value {
    let used = calls.iter().filter_map(|call| call.usage);
    let (mut input, mut cached, mut output) = (0, 0, 0);
    for usage in used {
        input += usage.input_tokens;
        cached += usage.cached_input_tokens;
        output += usage.output_tokens;
    }
    json!({
        "total_prompt_tokens": input,
        "total_completion_tokens": output,
        "total_cached_tokens": cached,
    })
}
