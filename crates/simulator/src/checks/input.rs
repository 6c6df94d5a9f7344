//! Input that was accepted is told before its turn completes, to those who have seen the whole turn.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::problem::Problem;
use crate::record::{RecordEntry, RecordKind};

pub(super) fn check(entries: &[RecordEntry], problems: &mut Vec<Problem>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut requests: BTreeMap<(u64, String), String> = BTreeMap::new();
    // By turn.
    let mut accepted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut begun = BTreeSet::new();
    for entry in entries {
        let message = &entry.value;
        let params = &message["params"];
        let key = (entry.connection, message["id"].to_string());
        match (entry.kind, message["method"].as_str()) {
            (RecordKind::Sent, Some("turn/start" | "turn/steer")) => {
                requests.insert(key, text(&params["input"][0]["text"]));
            }
            (RecordKind::Sent, Some("thread/unsubscribe")) => {
                begun.retain(|(connection, _)| *connection != entry.connection);
            }
            (RecordKind::Received, None) => {
                let result = &message["result"];
                if let Some(input) = requests.remove(&key).filter(|_| !result.is_null()) {
                    let turn = text(&result["turn"]["id"]) + &text(&result["turnId"]);
                    accepted.entry(turn).or_default().push(input);
                }
            }
            (RecordKind::Received, Some("turn/started")) => {
                begun.insert((entry.connection, text(&params["turn"]["id"])));
            }
            (RecordKind::Received, Some("item/completed")) => {
                told.insert(text(&params["item"]["content"][0]["text"]));
            }
            (RecordKind::Received, Some("turn/completed")) => {
                let turn = text(&params["turn"]["id"]);
                let is_whole = params["turn"]["status"] == "completed"
                    && begun.contains(&(entry.connection, turn.clone()));
                let inputs = accepted.get(&turn).filter(|_| is_whole);
                let mut left = inputs.into_iter().flatten();
                if let Some(left) = left.find(|input| !told.contains(*input)) {
                    problems.push(Problem {
                        rule: "accepted input is told before its turn completes",
                        details: format!("{left}, turn {turn}"),
                    });
                }
            }
            _ => {}
        }
    }
}
