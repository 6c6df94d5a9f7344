//! The model sees what was said before: each request of a thread has the messages of all its turns that clients saw end,
//! and items that were injected before the end of such a turn.

use std::collections::{BTreeMap, BTreeSet};

use crate::model;
use crate::problem::Problem;
use crate::record::{RecordEntry, RecordKind};

pub(super) fn check(entries: &[RecordEntry], problems: &mut Vec<Problem>) {
    // Threads whose beginning the model need not see.
    let mut shortened = BTreeSet::new();
    let mut messages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Items that were injected: by request, and by thread those that were accepted.
    let mut injected: BTreeMap<(u64, String), (String, String)> = BTreeMap::new();
    let mut waiting: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut ended: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in entries {
        let message = &entry.value;
        let params = &message["params"];
        let thread = params["threadId"].as_str().unwrap_or_default();
        match (entry.kind, message["method"].as_str()) {
            (
                RecordKind::Sent,
                Some("thread/rollback" | "thread/revert" | "thread/compact/start"),
            ) => {
                shortened.insert(thread.to_owned());
            }
            (RecordKind::Sent, Some("thread/inject_items")) => {
                let text = params["items"][0]["content"][0]["text"].as_str();
                let said = (thread.to_owned(), model::name(text.unwrap_or_default()));
                injected.insert((entry.connection, message["id"].to_string()), said);
            }
            // A turn that runs takes them before its next request but one.
            (RecordKind::Received, None) if !message["result"].is_null() => {
                let accepted = injected.remove(&(entry.connection, message["id"].to_string()));
                if let Some((thread, said)) = accepted {
                    waiting.entry(thread).or_default().insert(said);
                }
            }
            (RecordKind::Received, Some("item/completed")) => {
                let item = &params["item"];
                if let Some(text) = item["content"][0]["text"].as_str() {
                    let turn = params["turnId"].as_str().unwrap_or_default();
                    let said = messages.entry(turn.to_owned()).or_default();
                    said.push(model::name(text));
                }
                if item["type"] == "contextCompaction" {
                    shortened.insert(thread.to_owned());
                }
            }
            (RecordKind::Received, Some("turn/completed")) => {
                let turn = params["turn"]["id"].as_str().unwrap_or_default();
                let said = messages.get(turn).into_iter().flatten().cloned();
                let ended = ended.entry(thread.to_owned()).or_default();
                ended.extend(said);
                ended.extend(waiting.remove(thread).unwrap_or_default());
            }
            (RecordKind::Model, _) => {
                let thread = message["thread"].as_str().unwrap_or_default();
                let history = message["history"].as_array().into_iter().flatten();
                let seen: BTreeSet<&str> = history.filter_map(|text| text.as_str()).collect();
                let mut before = ended.get(thread).into_iter().flatten();
                let missing = before.find(|text| !seen.contains(text.as_str()));
                if let Some(missing) = missing.filter(|_| !shortened.contains(thread)) {
                    problems.push(Problem {
                        rule: "the model sees the messages of the turns before",
                        details: format!(
                            "{missing} of {thread}, asked about {}",
                            message["message"]
                        ),
                    });
                }
            }
            _ => {}
        }
    }
}
