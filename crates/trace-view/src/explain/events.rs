//! Hooks that did something, limits and fallbacks of the model, and what its server had to read again.

use std::path::Path;

use codex_rollout_trace::Recording;
use codex_rollout_trace::format::Event;
use serde_json::Value;

use super::facts::SessionFacts;
use super::finding::{Finding, FindingKind};
use super::words::{LIMIT, matches, short};

pub(super) fn find(facts: &SessionFacts<'_>, bundle: &Path) -> Vec<Finding> {
    let Ok(recording) = Recording::read(bundle) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for line in recording.events() {
        let Event::ProtocolEventObserved {
            event_type,
            event_payload,
        } = &line.payload
        else {
            continue;
        };
        let kinds = [
            "hook_completed",
            "session_hooks",
            "error",
            "warning",
            "stream_error",
            "model_reroute",
            "prompt_prefix_broken",
        ];
        if !kinds.contains(&event_type.as_str()) {
            continue;
        }
        let Ok(payload) = recording.json::<Value>(event_payload) else {
            continue;
        };
        let found = match event_type.as_str() {
            "hook_completed" => hook(&payload["run"]),
            "session_hooks" => changed_input(&payload["ran"]),
            "prompt_prefix_broken" => read_again(&payload),
            _ => limit(event_type, &payload),
        };
        if let Some((kind, what, why)) = found {
            findings.push(Finding {
                kind,
                agent: facts.agent_of_turn(payload["turn_id"].as_str()),
                at_unix_ms: line.wall_time_unix_ms,
                object: payload["turn_id"]
                    .as_str()
                    .map_or_else(|| event_payload.raw_payload_id.to_string(), str::to_owned),
                what,
                why,
            });
        }
    }
    findings
}

fn hook(run: &Value) -> Option<(FindingKind, String, String)> {
    let status = run["status"].as_str()?;
    if status == "completed" || status == "running" {
        return None;
    }
    let name = run["event_name"].as_str().unwrap_or("hook");
    let entries = run["entries"].as_array().into_iter().flatten();
    let said: Vec<&str> = entries.filter_map(|entry| entry["text"].as_str()).collect();
    let why = if said.is_empty() {
        run["status_message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    } else {
        said.join("; ")
    };
    let what = format!("{name}: {status}");
    Some((FindingKind::Hook, what, short(&why, 200)))
}

/// A hook that gave a call other arguments than the model.
fn changed_input(ran: &Value) -> Option<(FindingKind, String, String)> {
    let hooks = ran["hooks"].as_array().into_iter().flatten();
    let mut inputs = hooks.map(|hook| &hook["effects"]["updated_input"]);
    let input = inputs.find(|input| !input.is_null())?;
    let what = format!("{}: changed the call", ran["event"].as_str()?);
    let why = format!(
        "the call ran with other arguments than the model gave it: {}",
        short(&input.to_string(), 160)
    );
    Some((FindingKind::Hook, what, why))
}

/// A request that does not begin like the one before it.
fn read_again(broken: &Value) -> Option<(FindingKind, String, String)> {
    let message = broken["message"].as_str()?;
    let what = format!("{} tokens", broken["lost_tokens"]);
    Some((FindingKind::PromptCache, what, short(message, 200)))
}

fn limit(event_type: &str, payload: &Value) -> Option<(FindingKind, String, String)> {
    let message = payload["message"].as_str()?;
    let is_limit = event_type == "model_reroute" || matches(&LIMIT, message);
    // That a model is not in the catalogue is no limit that was reached.
    let is_notice = message.contains("metadata") || message.contains("catalogue");
    (is_limit && !is_notice).then(|| {
        let what = event_type.replace('_', " ");
        (FindingKind::Limit, what, short(message, 200))
    })
}
