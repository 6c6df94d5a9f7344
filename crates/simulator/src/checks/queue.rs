//! The queue as clients see it: a message whose turn has told of it is not listed any more.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::problem::Problem;
use crate::record::{RecordEntry, RecordKind};

pub(super) fn check(entries: &[RecordEntry], problems: &mut Vec<Problem>) {
    // Texts of messages in turns, by thread.
    let mut told: BTreeSet<(String, String)> = BTreeSet::new();
    // What was told when a list was asked for.
    let mut lists: BTreeMap<(u64, String), (String, BTreeSet<String>)> = BTreeMap::new();
    for entry in entries {
        let message = &entry.value;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = (entry.connection, message["id"].to_string());
        match (entry.kind, message["method"].as_str()) {
            (RecordKind::Received, Some("item/completed")) => {
                let params = &message["params"];
                let said = text(&params["item"]["content"][0]["text"]);
                told.insert((text(&params["threadId"]), said));
            }
            (RecordKind::Sent, Some("thread/queue/list")) => {
                let thread = text(&message["params"]["threadId"]);
                let of_thread = told.iter().filter(|(other, _)| *other == thread);
                let before = of_thread.map(|(_, text)| text.clone()).collect();
                lists.insert(key, (thread, before));
            }
            (RecordKind::Received, None) => {
                let Some((thread, before)) = lists.remove(&key) else {
                    continue;
                };
                let listed = message["result"]["data"].as_array().into_iter().flatten();
                for queued in listed {
                    let queued = text(&queued["input"][0]["text"]);
                    if before.contains(&queued) {
                        problems.push(Problem {
                            rule: "a message of a turn is not in the queue any more",
                            details: format!("{queued} of {thread}"),
                        });
                    }
                }
            }
            _ => {}
        }
    }
}
