//! Tools of MCP servers: each call reaches its server at most once, succeeds only if that has answered, and ends soon if that has died.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::Plan;
use crate::problem::Problem;
use crate::record::{RecordEntry, RecordKind};

/// Nanoseconds within which a call ends whose server has died.
const END_LIMIT: u64 = 20 * 1_000_000_000;

/// The last that a server did about a call, and when.
type LastEvents = BTreeMap<String, (String, u64)>;

pub(super) fn check(plan: &Plan, entries: &[RecordEntry], problems: &mut Vec<Problem>) {
    let mut events = LastEvents::new();
    let mut slow_readers = BTreeSet::new();
    // Turns that have ended a call which had no end of its own.
    let mut ended_by_turn = BTreeSet::new();
    for entry in entries {
        let message = &entry.value;
        match entry.kind {
            // A turn from the queue whose log is lost runs again.
            RecordKind::Phase if plan.cuts_power => events.clear(),
            RecordKind::Connect if message["delay"] != 0 => {
                slow_readers.insert(entry.connection);
            }
            RecordKind::Tool => {
                let call = message["call"].as_str().unwrap_or_default().to_owned();
                let event = message["event"].as_str().unwrap_or_default();
                if event == "called" && events.contains_key(&call) {
                    problems.push(Problem {
                        rule: "a tool of a server is called once",
                        details: call.clone(),
                    });
                }
                events.insert(call, (event.to_owned(), entry.at));
            }
            RecordKind::Received
                if message["method"] == "item/completed"
                    && !slow_readers.contains(&entry.connection) =>
            {
                ended(entry, &events, problems);
                let (params, item) = (&message["params"], &message["params"]["item"]);
                if item["type"] == "mcpToolCall" && is_broken_off(item) {
                    ended_by_turn.insert(params["turnId"].to_string());
                }
            }
            RecordKind::Received if message["method"] == "turn/completed" => {
                let turn = &message["params"]["turn"];
                if turn["status"] == "completed" && ended_by_turn.contains(&turn["id"].to_string())
                {
                    problems.push(Problem {
                        rule: "a call ends before its turn completes",
                        details: turn["id"].to_string(),
                    });
                }
            }
            _ => {}
        }
    }
}

/// Whether a call was ended by something else than its server, such as its turn.
fn is_broken_off(item: &serde_json::Value) -> bool {
    item["status"] == "failed" && item["result"].is_null() && item["error"].is_null()
}

/// Checks the end of an item that a client was told.
fn ended(entry: &RecordEntry, events: &LastEvents, problems: &mut Vec<Problem>) {
    let item = &entry.value["params"]["item"];
    let (true, Some(call)) = (
        item["type"] == "mcpToolCall",
        item["arguments"]["what"].as_str(),
    ) else {
        return;
    };
    let event = events.get(call).map(|(event, at)| (event.as_str(), *at));
    if item["status"] == "completed" && !matches!(event, Some(("answered", _))) {
        problems.push(Problem {
            rule: "a call that a server has not answered does not succeed",
            details: format!("{call}: {event:?}"),
        });
    }
    if let Some(("died", at)) = event
        && entry.at > at + END_LIMIT
    {
        problems.push(Problem {
            rule: "a call ends soon after the death of its server",
            details: call.to_owned(),
        });
    }
}
