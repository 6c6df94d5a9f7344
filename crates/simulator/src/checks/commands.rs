//! Programs of the model: each runs at most once, and only after a person who was asked has allowed it.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::Plan;
use crate::problem::Problem;
use crate::record::{RecordEntry, RecordKind};

/// The part of a command line that no other one has.
fn unique(line: &str) -> Option<&str> {
    let rest = line.split_once("simulated ")?.1;
    rest.split([' ', '\'', '"']).next()
}

/// The commands that clients were asked about, by connection and id.
fn asked(entries: &[RecordEntry]) -> BTreeMap<(u64, String), String> {
    let questions = entries.iter().filter(|entry| {
        entry.kind == RecordKind::Received
            && entry.value["method"].is_string()
            && !entry.value["id"].is_null()
    });
    questions
        .filter_map(|entry| {
            let command = unique(&entry.value.to_string())?.to_owned();
            Some(((entry.connection, entry.value["id"].to_string()), command))
        })
        .collect()
}

pub(super) fn check(plan: &Plan, entries: &[RecordEntry], problems: &mut Vec<Problem>) {
    let mut started = BTreeSet::new();
    let mut allowed = BTreeSet::new();
    let asked = asked(entries);
    for entry in entries {
        let message = &entry.value;
        match entry.kind {
            RecordKind::Sent if message["result"]["decision"].is_string() => {
                let key = (entry.connection, message["id"].to_string());
                let decision = message["result"]["decision"].as_str().unwrap_or_default();
                if decision.starts_with("accept")
                    && let Some(command) = asked.get(&key)
                {
                    allowed.insert(command.clone());
                }
            }
            // A turn from the queue whose log is lost runs again.
            RecordKind::Phase if plan.cuts_power => started.clear(),
            RecordKind::Program => {
                let line = message["command"].as_str().unwrap_or_default();
                let Some(command) = unique(line) else {
                    continue;
                };
                if !started.insert(command.to_owned()) {
                    problems.push(Problem {
                        rule: "a command runs once",
                        details: line.to_owned(),
                    });
                }
                if plan.asks() && !allowed.contains(command) {
                    problems.push(Problem {
                        rule: "a command runs only with the word of one who was asked",
                        details: line.to_owned(),
                    });
                }
            }
            _ => {}
        }
    }
}
