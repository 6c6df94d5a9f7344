//! The steps of a run, with texts that two runs of the same session share.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use codex_rollout_trace::ids::ItemId;
use codex_rollout_trace::model::{
    ConversationItem, InferenceCall, Part, RolloutTrace, ThreadOrigin, ToolCall,
};
use regex::Regex;
use serde_json::json;

use super::RunStep;
use super::places::OwnPlaces;
use crate::timeline::tool_name;

/// What differs from run to run.
static VOLATILE_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        r"|chunk id: [0-9a-f]+|wall time: [0-9.]+ seconds|with session id [0-9]+",
        r#"|terminal_operation:[0-9]+|"session_id": ?"?[0-9]+"?"#,
        r#"|"(?:duration_seconds|wall_time_seconds)": ?[0-9.]+|"chunk_id": ?"[0-9a-f]+""#,
    ))
    .ok()
});

/// The steps of each agent. Agents of one path are told apart by the order in which they began.
pub(super) fn agents(trace: &RolloutTrace) -> BTreeMap<String, Vec<RunStep>> {
    let places = OwnPlaces::from_trace(trace);
    let mut threads: Vec<_> = trace.threads.values().collect();
    threads.sort_by_key(|thread| thread.execution.started_seq);
    let mut agents: BTreeMap<String, Vec<RunStep>> = BTreeMap::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for thread in threads {
        let number = numbers.entry(&thread.agent_path).or_default();
        *number += 1;
        let name = match *number {
            1 => thread.agent_path.clone(),
            number => format!("{} ({number})", thread.agent_path),
        };
        let mut steps = Steps {
            trace,
            places: &places,
            steps: Vec::new(),
            turn: 0,
        };
        let origin = match &thread.origin {
            ThreadOrigin::Root => "root".to_owned(),
            ThreadOrigin::Spawned { agent_role, .. } => format!("spawned as {agent_role}"),
        };
        steps.add(thread.execution.started_seq, "thread".to_owned(), &origin);
        steps.thread(thread.thread_id.as_str());
        agents.insert(name, steps.steps);
    }
    agents
}

/// Puts the steps of one thread in order.
struct Steps<'t> {
    trace: &'t RolloutTrace,
    places: &'t OwnPlaces,
    steps: Vec<RunStep>,
    turn: usize,
}

impl Steps<'_> {
    fn add(&mut self, seq: u64, what: String, text: &str) {
        let text = self.places.replace(text);
        let text = match &*VOLATILE_PATTERN {
            Some(volatile) => volatile.replace_all(&text, "…").into_owned(),
            None => text,
        };
        self.steps.push(RunStep {
            turn: self.turn,
            seq,
            what,
            text,
        });
    }

    fn thread(&mut self, thread: &str) {
        let trace = self.trace;
        let turns = trace.codex_turns.values();
        let mut turns: Vec<_> = turns
            .filter(|turn| turn.thread_id.as_str() == thread)
            .collect();
        turns.sort_by_key(|turn| turn.execution.started_seq);
        let mut before: &[ItemId] = &[];
        for turn in turns {
            self.turn += 1;
            self.add(turn.execution.started_seq, "turn start".to_owned(), "");
            let calls = trace.inference_calls.values();
            let mut calls: Vec<_> = calls
                .filter(|call| call.codex_turn_id == turn.codex_turn_id)
                .collect();
            calls.sort_by_key(|call| call.execution.started_seq);
            for call in calls {
                self.inference(call, before);
                before = &call.request_item_ids;
            }
            self.other_tools(turn.codex_turn_id.as_str());
            let end = turn
                .execution
                .ended_seq
                .unwrap_or(turn.execution.started_seq);
            let status = json!(turn.execution.status).to_string();
            self.add(end, "turn end".to_owned(), &status);
        }
    }

    /// A request, its answer, and the calls that the answer made, in the model's order. Only what a request adds to
    /// the one before is a step, with how much of that stays.
    fn inference(&mut self, call: &InferenceCall, before: &[ItemId]) {
        let start = call.execution.started_seq;
        let same = before.iter().zip(&call.request_item_ids);
        let kept = same.take_while(|(a, b)| a == b).count();
        let about = match before.len() - kept {
            0 => call.model.clone(),
            dropped => format!("{}, without {dropped} items of the one before", call.model),
        };
        self.add(start, "request".to_owned(), &about);
        for (number, item) in call.request_item_ids.iter().enumerate().skip(kept) {
            self.item(start, &format!("request item {}", number + 1), item);
        }
        let end = call.execution.ended_seq.unwrap_or(start);
        for (number, item) in (1..).zip(&call.response_item_ids) {
            self.item(end, &format!("response item {number}"), item);
        }
        let mut status = json!(call.execution.status).to_string();
        if let Some(error) = &call.error {
            status = format!("{status}: {error}");
        }
        self.add(end, "response end".to_owned(), &status);
        for tool in &call.tool_call_ids_started_by_response {
            if let Some(tool) = self.trace.tool_calls.get(tool) {
                self.tool(tool);
            }
        }
    }

    fn item(&mut self, seq: u64, what: &str, item: &ItemId) {
        if let Some(item) = self.trace.conversation_items.get(item) {
            self.add(seq, what.to_owned(), &words(item));
        }
    }

    fn tool(&mut self, call: &ToolCall) {
        let what = format!("call of {}", tool_name(&call.kind));
        let status = json!({ "status": call.execution.status, "summary": call.summary });
        self.add(call.execution.started_seq, what, &status.to_string());
    }

    /// The calls of a turn that no answer made: those of code cells.
    fn other_tools(&mut self, turn: &str) {
        let trace = self.trace;
        let calls = trace.tool_calls.values().filter(|call| {
            let is_nested = call.code_mode_runtime_tool_id.is_some();
            is_nested
                && call
                    .started_by_codex_turn_id
                    .as_ref()
                    .is_some_and(|id| id.as_str() == turn)
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_by_key(|call| call.execution.started_seq);
        calls.into_iter().for_each(|call| self.tool(call));
    }
}

/// An item without its ids.
fn words(item: &ConversationItem) -> String {
    let parts: Vec<_> = item.body.parts.iter().map(Part::shown).collect();
    let about = [json!(item.role), json!(item.kind)];
    let [role, kind] = about.map(|word| word.as_str().unwrap_or_default().to_owned());
    format!("{role} {kind}: {}", parts.join("\n"))
}
