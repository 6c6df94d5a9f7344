//! Finds the first difference between two runs.
//!
//! Two runs share no ids and no times. So each thread is converted to a list of steps with a text: the start of a turn,
//! the items of a request and of its response, a tool call. Threads are matched by their path and compared step by step.
//! UUIDs, durations, and the ids of output chunks and terminals differ in every run and are replaced in the texts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use codex_rollout_trace::ids::ItemId;
use codex_rollout_trace::model::{
    ConversationItem, InferenceCall, Part, RolloutTrace, ThreadOrigin, ToolCall,
};
use regex::Regex;
use serde_json::json;

use crate::timeline::tool_name;

/// What differs from run to run.
static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        r"|chunk id: [0-9a-f]+|wall time: [0-9.]+ seconds|with session id [0-9]+",
        r"|terminal_operation:[0-9]+",
        r#"|"(?:duration_seconds|wall_time_seconds)": ?[0-9.]+|"chunk_id": ?"[0-9a-f]+""#,
    ))
    .ok()
});

/// A difference is shown with this much before it and after.
const CONTEXT: usize = 60;

/// The first difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The path of the agent.
    pub agent: String,
    pub left: Option<RunStep>,
    pub right: Option<RunStep>,
}

/// A step of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStep {
    /// The turn's number in its thread, from 1; 0 before the first.
    pub turn: usize,
    /// Of the event that the step comes from.
    pub seq: u64,
    /// What sort of step.
    pub what: String,
    /// What it says, around the difference.
    pub text: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the runs differ in {}", self.agent)?;
        for (name, step) in [("A", &self.left), ("B", &self.right)] {
            match step {
                Some(step) => write!(
                    f,
                    "\n{name}: turn {}, event {}, {}\n   {}",
                    step.turn, step.seq, step.what, step.text
                )?,
                None => write!(f, "\n{name}: nothing more")?,
            }
        }
        Ok(())
    }
}

/// The first difference of two runs in the order of the left one; none when they did the same.
pub fn diff_traces(left: &RolloutTrace, right: &RolloutTrace) -> Option<Divergence> {
    let (left, right) = (agents(left), agents(right));
    let names = left
        .keys()
        .chain(right.keys().filter(|name| !left.contains_key(*name)));
    let none = Vec::new();
    let divergences = names.filter_map(|name| {
        let steps = |side: &BTreeMap<String, Vec<RunStep>>| side.get(name).unwrap_or(&none).clone();
        first_difference(name, &steps(&left), &steps(&right))
    });
    let seq = |divergence: &Divergence| {
        let steps = [&divergence.left, &divergence.right];
        steps.into_iter().flatten().map(|step| step.seq).min()
    };
    divergences.min_by_key(seq)
}

fn first_difference(agent: &str, left: &[RunStep], right: &[RunStep]) -> Option<Divergence> {
    let same = |(a, b): &(&RunStep, &RunStep)| a.what == b.what && a.text == b.text;
    let at = left.iter().zip(right).take_while(same).count();
    let (left, right) = (left.get(at), right.get(at));
    if left.is_none() && right.is_none() {
        return None;
    }
    let texts = [left, right].map(|step| step.map_or("", |step| step.text.as_str()));
    let common = texts[0].chars().zip(texts[1].chars());
    let common = common.take_while(|(a, b)| a == b).count();
    let excerpt = |step: &RunStep| RunStep {
        text: excerpt(&step.text, common),
        ..step.clone()
    };
    Some(Divergence {
        agent: agent.to_owned(),
        left: left.map(excerpt),
        right: right.map(excerpt),
    })
}

/// The part of a text around a character, on one line.
fn excerpt(text: &str, at: usize) -> String {
    let from = at.saturating_sub(CONTEXT);
    let mut shown: String = text.chars().skip(from).take(CONTEXT * 3).collect();
    if from > 0 {
        shown.insert(0, '…');
    }
    if text.chars().nth(from + CONTEXT * 3).is_some() {
        shown.push('…');
    }
    shown.replace(['\n', '\r'], "⏎")
}

/// The steps of each agent. Agents of one path are told apart by the order in which they began.
fn agents(trace: &RolloutTrace) -> BTreeMap<String, Vec<RunStep>> {
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
    steps: Vec<RunStep>,
    turn: usize,
}

impl Steps<'_> {
    fn add(&mut self, seq: u64, what: String, text: &str) {
        let text = match &*VOLATILE {
            Some(volatile) => volatile.replace_all(text, "…").into_owned(),
            None => text.to_owned(),
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
        let about = format!("{}, {kept} items as before", call.model);
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
    let parts = item.body.parts.iter().map(|part| match part {
        Part::Text { text } | Part::Summary { text } => text.as_str(),
        Part::Encoded { value, .. } => value,
        Part::Json { summary, .. } => summary,
        Part::Code { source, .. } => source,
        Part::PayloadRef { label, .. } => label,
    });
    let parts: Vec<&str> = parts.collect();
    let about = [json!(item.role), json!(item.kind)];
    let [role, kind] = about.map(|word| word.as_str().unwrap_or_default().to_owned());
    format!("{role} {kind}: {}", parts.join("\n"))
}
