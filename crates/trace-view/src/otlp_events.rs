//! What happened beside the spans, as events of turns: hooks, questions to a person, compactions.

use std::collections::HashMap;
use std::path::Path;

use codex_rollout_trace::Recording;
use codex_rollout_trace::format::Event;
use codex_rollout_trace::model::{Compaction, RolloutTrace};
use serde_json::{Value, json};

use crate::notices::{Notice, Notices};
use crate::otlp::{Contents, nanos};
use crate::otlp_attributes::Attributes;

/// The events of each turn, by its id, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct SpanEvents(HashMap<String, Vec<Value>>);

impl SpanEvents {
    /// Reads the log of a bundle. What cannot be read is left out.
    pub(crate) fn read(trace: &RolloutTrace, bundle: &Path, contents: Contents) -> Self {
        let mut found: Vec<(i64, Option<String>, Value)> = Vec::new();
        let mut notices = Notices::all();
        if let Ok(recording) = Recording::read(bundle) {
            for line in recording.events() {
                let Event::ProtocolEventObserved {
                    event_type,
                    event_payload,
                } = &line.payload
                else {
                    continue;
                };
                if event_type != "hook_completed" && !notices.wants(event_type) {
                    continue;
                }
                let Ok(payload) = recording.json::<Value>(event_payload) else {
                    continue;
                };
                let (at, turn) = (line.wall_time_unix_ms, line.codex_turn_id.as_ref());
                if event_type == "hook_completed" {
                    let turn = payload["turn_id"].as_str().map(str::to_owned);
                    found.push((at, turn, hook(&payload["run"], at, contents)));
                } else {
                    notices.add(at, turn, event_type, &payload);
                }
            }
        }
        let asked = notices.list.into_iter();
        let asked = asked.filter(|notice| !["warning", "error"].contains(&notice.kind.as_str()));
        found.extend(asked.map(|notice| {
            let event = question(&notice, contents);
            (notice.at, notice.turn, event)
        }));
        found.extend(trace.compactions.values().map(|one| {
            let turn = one.codex_turn_id.to_string();
            (one.installed_at_unix_ms, Some(turn), compaction(one))
        }));
        found.sort_by_key(|(at, ..)| *at);
        let mut events = Self::default();
        for (at, turn, event) in found {
            let turn = turn.filter(|id| trace.codex_turns.contains_key(id.as_str()));
            if let Some(turn) = turn.or_else(|| turn_at(trace, at)) {
                events.0.entry(turn).or_default().push(event);
            }
        }
        events
    }

    pub(crate) fn of_turn(&self, turn: &str) -> &[Value] {
        self.0.get(turn).map_or(&[], Vec::as_slice)
    }
}

/// The turn of the root at a time, for events that name none.
fn turn_at(trace: &RolloutTrace, at: i64) -> Option<String> {
    let mut turns = trace.codex_turns.values();
    let turn = turns.rfind(|turn| {
        turn.thread_id == trace.root_thread_id && turn.execution.started_at_unix_ms <= at
    });
    turn.map(|turn| turn.codex_turn_id.to_string())
}

fn event(name: &str, at: i64, attributes: Attributes) -> Value {
    json!({ "timeUnixNano": nanos(at), "name": name, "attributes": attributes.0 })
}

fn hook(run: &Value, at: i64, contents: Contents) -> Value {
    let mut attributes = Attributes::default();
    attributes.value("codex.hook.event", run["event_name"].clone());
    attributes.value("codex.hook.status", run["status"].clone());
    if let Some(taken) = run["duration_ms"].as_i64() {
        attributes.number("codex.hook.duration_ms", taken);
    }
    if contents == Contents::Include {
        let entries = run["entries"].as_array().into_iter().flatten();
        let said: Vec<&str> = entries.filter_map(|entry| entry["text"].as_str()).collect();
        attributes.text("codex.hook.output", &said.join("\n"));
    }
    event("codex.hook", at, attributes)
}

fn question(notice: &Notice, contents: Contents) -> Value {
    let mut attributes = Attributes::default();
    attributes.text("codex.question.kind", &notice.kind);
    if let Some(waited) = notice.waited {
        attributes.number("codex.question.waited_ms", waited);
    }
    if let Some(call) = &notice.call {
        attributes.text("gen_ai.tool.call.id", call);
    }
    let is_approval = notice.kind.contains("approval") || notice.kind.contains("permissions");
    if contents == Contents::Include {
        attributes.text("codex.question.text", &notice.text);
    }
    // A decision is no content; what a person wrote is.
    if let Some(answer) = &notice.answer
        && (is_approval || contents == Contents::Include)
    {
        attributes.text("codex.question.answer", answer);
    }
    let name = match notice.kind.as_str() {
        "interrupt" => "codex.interrupt",
        "more input" => "codex.input",
        _ if is_approval => "codex.approval",
        _ => "codex.question",
    };
    event(name, notice.at, attributes)
}

fn compaction(one: &Compaction) -> Value {
    let mut attributes = Attributes::default();
    attributes.text("codex.compaction.id", one.compaction_id.as_str());
    attributes.number("codex.compaction.items_before", one.input_item_ids.len());
    attributes.number(
        "codex.compaction.items_after",
        one.replacement_item_ids.len(),
    );
    event("codex.compaction", one.installed_at_unix_ms, attributes)
}
