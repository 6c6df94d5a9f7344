//! What clients were told is stored: the last process of a simulation reads it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::engine::AUDITOR;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::record::{RecordEntry, RecordKind};

/// A change that was requested.
#[derive(Clone, Debug)]
struct Change {
    value: String,
    sent: u64,
    /// When it was acknowledged, if it was.
    replied: Option<u64>,
    is_refused: bool,
}

/// What the record says.
#[derive(Default)]
struct Facts {
    /// By thread and subject.
    changes: BTreeMap<(String, &'static str), Vec<Change>>,
    /// Turns that clients saw complete, by thread, and the ids of those of their items that they saw complete.
    turns: BTreeMap<String, Vec<(Value, BTreeSet<String>)>>,
    /// Threads that have an item.
    begun: BTreeSet<String>,
    /// Threads with a message of the user.
    has_message: BTreeSet<String>,
    /// Texts in queues, by thread.
    queued: Vec<(String, String)>,
    /// Texts that were accepted as input, by thread and turn.
    accepted: Vec<(String, String, String)>,
    /// Input that went into another turn than it was meant for.
    misplaced: Vec<String>,
    /// Turns that were stopped: what waits in them for the model is given up.
    stopped_turns: BTreeSet<String>,
    /// Threads whose turns were stopped, perhaps, so that input may have been given up with them.
    stopped: BTreeSet<String>,
    /// Threads that were deleted or rolled back, perhaps.
    shortened: BTreeSet<String>,
    deleted: BTreeSet<String>,
    /// The requests and replies of the auditor.
    stored: Vec<(Value, Value)>,
}

/// What was told so many nanoseconds before a power cut is on the disk.
const SYNCHRONISED_AFTER: u64 = 1_000_000_000;

pub(super) fn check(plan: &Plan, entries: &[RecordEntry], problems: &mut Vec<Problem>) {
    let kept = &*kept(plan, entries);
    let mut facts = collect(&before_full_disk(kept));
    // A turn is stored however full the disk was, unless the client was warned.
    facts.turns = collect(kept).turns;
    facts.turns.retain(|thread, _| !is_unsaved(thread, entries));
    check_stores(&facts, problems);
    check_turns(&facts, problems);
    check_queue(&facts, problems);
    check_accepted(&facts, problems);
    check_changes(&facts, problems);
}

/// What clients were told and is kept: everything, but what a power cut may take away.
pub(super) fn kept<'a>(plan: &Plan, entries: &'a [RecordEntry]) -> Cow<'a, [RecordEntry]> {
    if plan.cuts_power {
        before_power_cuts(entries).into()
    } else {
        entries.into()
    }
}

/// Without what clients were told once the disk was full: what cannot be written may be missing.
fn before_full_disk(entries: &[RecordEntry]) -> Vec<RecordEntry> {
    let filled = entries
        .iter()
        .find(|entry| entry.kind == RecordKind::FullDisk);
    let until = filled.map_or(u64::MAX, |entry| entry.connection);
    let counts = |entry: &&RecordEntry| {
        let is_told = entry.kind == RecordKind::Received && entry.connection != AUDITOR;
        !is_told || entry.at < until
    };
    entries.iter().filter(counts).cloned().collect()
}

/// The requests whose changes are on the disk when they are replied to.
const SYNCHRONISED_KINDS: [&str; 6] = [
    "config/value/write",
    "thread/archive",
    "thread/goal/set",
    "thread/name/set",
    "thread/queue/add",
    "thread/unarchive",
];

/// Without what clients were told just before a power cut and may be missing.
fn before_power_cuts(entries: &[RecordEntry]) -> Vec<RecordEntry> {
    let is_begin = |(_, entry): &(usize, &RecordEntry)| entry.kind == RecordKind::Phase;
    let begins = entries.iter().enumerate().filter(is_begin);
    // The last entry of each process, but that of the one that looks at what is stored.
    let cuts = begins.filter_map(|(at, _)| Some(entries.get(at.checked_sub(1)?)?.at));
    let cuts: Vec<u64> = cuts.collect();
    let mut requests = BTreeMap::new();
    let mut kept = Vec::new();
    for entry in entries {
        let key = (entry.connection, entry.value["id"].to_string());
        let method = entry.value["method"].as_str();
        if entry.kind == RecordKind::Sent
            && let Some(method) = method
        {
            requests.insert(key, method.to_owned());
        } else if entry.kind == RecordKind::Received {
            let replied = requests.get(&key).filter(|_| method.is_none());
            let is_synchronised =
                replied.is_some_and(|method| SYNCHRONISED_KINDS.contains(&method.as_str()));
            let cut = cuts.iter().find(|cut| entry.at <= **cut);
            let is_late = cut.is_some_and(|cut| cut - entry.at < SYNCHRONISED_AFTER);
            if is_late && !is_synchronised {
                continue;
            }
        }
        kept.push(entry.clone());
    }
    kept
}

/// Whether a client was told that a thread cannot be saved.
fn is_unsaved(thread: &str, entries: &[RecordEntry]) -> bool {
    entries.iter().any(|entry| {
        let (message, params) = (&entry.value, &entry.value["params"]);
        let text = params["message"].as_str().unwrap_or_default();
        entry.kind == RecordKind::Received
            && message["method"] == "warning"
            && params["threadId"] == thread
            && text.contains("could not be saved")
    })
}

fn collect(entries: &[RecordEntry]) -> Facts {
    let mut facts = Facts::default();
    let mut requests: BTreeMap<(u64, String), (Value, u64)> = BTreeMap::new();
    let mut ended: BTreeMap<(u64, String), BTreeSet<String>> = BTreeMap::new();
    // Turns in which an answer of the model was cut.
    let mut cut: BTreeSet<(u64, String)> = BTreeSet::new();
    let mut questions: BTreeMap<(u64, String), String> = BTreeMap::new();
    let mut is_ending = false;
    for entry in entries {
        let message = &entry.value;
        let key = (entry.connection, message["id"].to_string());
        match entry.kind {
            RecordKind::Phase => is_ending = false,
            RecordKind::Ending => is_ending = true,
            RecordKind::Sent if message["method"].is_string() => {
                if entry.connection != AUDITOR {
                    sent(&mut facts, message, entry.at);
                }
                requests.insert(key, (message.clone(), entry.at));
            }
            // The answer stops the turn.
            RecordKind::Sent if message["result"]["decision"] == "cancel" => {
                facts.stopped.extend(questions.get(&key).cloned());
            }
            RecordKind::Received
                if message["params"]["itemId"].is_string() && message["id"].is_number() =>
            {
                let thread = message["params"]["threadId"].as_str().unwrap_or_default();
                questions.insert(key, thread.to_owned());
            }
            RecordKind::Received if message["method"].is_null() => {
                let Some((request, at)) = requests.remove(&key) else {
                    continue;
                };
                if entry.connection == AUDITOR {
                    facts.stored.push((request, message.clone()));
                } else {
                    replied(&mut facts, &request, at, message, entry.at);
                }
            }
            RecordKind::Received if message["method"] == "error" => {
                let turn = message["params"]["turnId"].to_string();
                cut.insert((entry.connection, turn));
            }
            RecordKind::Received if message["method"] == "item/completed" => {
                let params = &message["params"];
                let turn = (entry.connection, params["turnId"].to_string());
                let items = ended.entry(turn).or_default();
                items.insert(params["item"]["id"].to_string());
                let thread = params["threadId"].as_str().unwrap_or_default();
                facts.begun.insert(thread.to_owned());
                if params["item"]["type"] == "userMessage" {
                    facts.has_message.insert(thread.to_owned());
                }
            }
            // A turn that waits for an answer when the server ends goes on in the next process.
            RecordKind::Received if message["method"] == "turn/completed" && is_ending => {}
            RecordKind::Received if message["method"] == "turn/completed" => {
                let params = &message["params"];
                if params["turn"]["status"] == "interrupted" {
                    let turn = params["turn"]["id"].as_str();
                    facts.stopped_turns.extend(turn.map(str::to_owned));
                }
                let thread = params["threadId"].as_str().unwrap_or_default();
                let turns = facts.turns.entry(thread.to_owned()).or_default();
                let turn = (entry.connection, params["turn"]["id"].to_string());
                let items = ended.remove(&turn).unwrap_or_default();
                let mut shown = params["turn"].clone();
                let key = (entry.connection, shown["id"].to_string());
                shown["wasCut"] = Value::Bool(cut.contains(&key));
                turns.push((shown, items));
            }
            _ => {}
        }
    }
    facts
}

/// What a request changes.
fn change(message: &Value) -> Option<((String, &'static str), String)> {
    let params = &message["params"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let thread = text(&params["threadId"]);
    Some(match message["method"].as_str()? {
        "thread/name/set" => ((thread, "name"), text(&params["name"])),
        "thread/goal/set" => ((thread, "goal"), text(&params["objective"])),
        "thread/archive" => ((thread, "archived"), "true".to_owned()),
        "thread/unarchive" => ((thread, "archived"), "false".to_owned()),
        "config/value/write" => ((String::new(), "config"), text(&params["value"])),
        _ => return None,
    })
}

fn sent(facts: &mut Facts, message: &Value, at: u64) {
    let thread = message["params"]["threadId"].as_str().unwrap_or_default();
    match message["method"].as_str() {
        Some("turn/interrupt") => {
            facts.stopped.insert(thread.to_owned());
        }
        Some("thread/rollback" | "thread/revert") => {
            facts.shortened.insert(thread.to_owned());
        }
        Some("thread/delete") => drop(facts.deleted.insert(thread.to_owned())),
        _ => {}
    }
    if let Some((subject, value)) = change(message) {
        facts.changes.entry(subject).or_default().push(Change {
            value,
            sent: at,
            replied: None,
            is_refused: false,
        });
    }
}

fn replied(facts: &mut Facts, request: &Value, sent: u64, reply: &Value, at: u64) {
    if let Some((subject, value)) = change(request)
        && let Some(changes) = facts.changes.get_mut(&subject)
    {
        let own = changes
            .iter_mut()
            .find(|change| change.sent == sent && change.value == value);
        if let Some(own) = own {
            own.replied = Some(at);
            own.is_refused = reply["result"].is_null();
        }
    }
    if reply["result"].is_null() {
        return;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let params = &request["params"];
    let input = (text(&params["threadId"]), text(&params["input"][0]["text"]));
    match request["method"].as_str() {
        Some("thread/queue/add") => facts.queued.push(input),
        Some("turn/start" | "turn/steer") => {
            let result = &reply["result"];
            let turn = text(&result["turn"]["id"]) + &text(&result["turnId"]);
            let expected = text(&params["expectedTurnId"]);
            if !expected.is_empty() && expected != turn {
                facts.misplaced.push(format!("{} of {}", input.1, input.0));
            }
            facts.accepted.push((input.0, input.1, turn));
        }
        _ => {}
    }
}

impl Facts {
    /// The result that the auditor got.
    fn result(&self, method: &str, thread: &str) -> Option<&Value> {
        let of_thread = |params: &Value| params["threadId"] == thread || thread.is_empty();
        let found = self
            .stored
            .iter()
            .find(|(request, _)| request["method"] == method && of_thread(&request["params"]));
        found
            .map(|(_, reply)| &reply["result"])
            .filter(|result| !result.is_null())
    }

    fn stored_turns(&self, thread: &str) -> Option<&Vec<Value>> {
        self.result("thread/read", thread)?["thread"]["turns"].as_array()
    }
}

/// The texts of items of a turn, by their type.
fn texts(turn: &Value, is_counted: impl Fn(&Value) -> bool) -> Vec<(String, String)> {
    let items = turn["items"].as_array().into_iter().flatten();
    let text = |item: &Value| match item["type"].as_str() {
        Some("userMessage") => Some(item["content"][0]["text"].as_str()?.to_owned()),
        Some("agentMessage") => Some(item["text"].as_str()?.to_owned()),
        Some("commandExecution") => Some(item["status"].as_str()?.to_owned()),
        _ => None,
    };
    items
        // A command of the user may go on after the turn, which then does not show how it ended.
        .filter(|item| is_counted(item) && item["source"] != "userShell")
        .filter_map(|item| Some((item["type"].as_str()?.to_owned(), text(item)?)))
        .collect()
}

/// Whether a stored turn need not have an item: the part of a message whose answer was cut, and a command that nobody allowed
/// before the turn was stopped.
fn may_be_left_out(item: &Value, turn: &Value, kept: &Value) -> bool {
    let mut items = kept["items"].as_array().into_iter().flatten();
    if items.any(|kept| kept["id"] == item["id"]) {
        return false;
    }
    let was_cut = turn["wasCut"] == true || turn["status"] != "completed";
    match item["type"].as_str() {
        Some("agentMessage") => was_cut,
        Some("commandExecution") => item["status"] == "declined" && turn["status"] == "interrupted",
        _ => false,
    }
}

/// Whatever happened, the stores can be read, and each thread that is listed.
fn check_stores(facts: &Facts, problems: &mut Vec<Problem>) {
    for (request, reply) in &facts.stored {
        let method = request["method"].as_str().unwrap_or_default();
        if matches!(method, "thread/list" | "config/read") && reply["result"].is_null() {
            problems.push(Problem {
                rule: "every store can be read",
                details: format!("{method}: {reply}"),
            });
        }
        let listed = reply["result"]["data"].as_array().into_iter().flatten();
        for thread in listed.filter_map(|thread| thread["id"].as_str()) {
            // One of a reply that was cut off is not known here.
            let reads = |(request, _): &(Value, Value)| {
                request["method"] == "thread/read" && request["params"]["threadId"] == thread
            };
            let is_asked_for = facts.stored.iter().any(reads);
            if method == "thread/list" && is_asked_for && facts.stored_turns(thread).is_none() {
                problems.push(Problem {
                    rule: "a thread that is listed can be read",
                    details: thread.to_owned(),
                });
            }
        }
    }
}

fn check_turns(facts: &Facts, problems: &mut Vec<Problem>) {
    for (thread, turns) in &facts.turns {
        if facts.deleted.contains(thread) || facts.shortened.contains(thread) {
            continue;
        }
        let Some(stored) = facts.stored_turns(thread) else {
            problems.push(Problem {
                rule: "a thread with a turn is stored",
                details: thread.clone(),
            });
            continue;
        };
        for (turn, ended) in turns {
            let Some(kept) = stored.iter().find(|kept| kept["id"] == turn["id"]) else {
                problems.push(Problem {
                    rule: "a turn that a client saw complete is stored",
                    details: format!("thread {thread}, turn {}", turn["id"]),
                });
                continue;
            };
            // What was cut with its turn, or goes on in the background, has no end to compare.
            let is_whole = |item: &Value| ended.contains(&item["id"].to_string());
            let found = texts(kept, is_whole);
            let shown = texts(turn, |item| {
                is_whole(item) && !may_be_left_out(item, turn, kept)
            });
            if kept["status"] != turn["status"] {
                problems.push(Problem {
                    rule: "a stored turn has the end that was shown",
                    details: format!(
                        "turn {}: {} and {}",
                        turn["id"], turn["status"], kept["status"]
                    ),
                });
            } else if shown != found {
                problems.push(Problem {
                    rule: "a stored turn has the items that were shown",
                    details: format!("turn {}: {shown:?} and {found:?}", turn["id"]),
                });
            }
        }
    }
}

fn check_queue(facts: &Facts, problems: &mut Vec<Problem>) {
    for (thread, text) in &facts.queued {
        if facts.deleted.contains(thread) || facts.shortened.contains(thread) {
            continue;
        }
        let listed = facts
            .result("thread/queue/list", thread)
            .map(Value::to_string);
        let waiting = listed
            .unwrap_or_default()
            .matches(&format!("\"text\":\"{text}\""))
            .count();
        let turns = facts.stored_turns(thread).into_iter().flatten();
        let own = ("userMessage".to_owned(), text.clone());
        let done = turns
            .flat_map(|turn| texts(turn, |_| true))
            .filter(|text| *text == own)
            .count();
        if waiting + done != 1 {
            problems.push(Problem {
                rule: "a queued message is in the queue or in a turn",
                details: format!("{text} of {thread}: {waiting} waiting, {done} in turns"),
            });
        }
    }
}

fn check_accepted(facts: &Facts, problems: &mut Vec<Problem>) {
    for details in facts.misplaced.iter().cloned() {
        problems.push(Problem {
            rule: "input goes into the turn that it was meant for",
            details,
        });
    }
    for (thread, text, turn) in &facts.accepted {
        if facts.deleted.contains(thread) || facts.shortened.contains(thread) {
            continue;
        }
        let may_be_gone = facts.stopped.contains(thread) || facts.stopped_turns.contains(turn);
        let turns = facts.stored_turns(thread).into_iter().flatten();
        let own = ("userMessage".to_owned(), text.clone());
        let count = turns
            .flat_map(|turn| texts(turn, |_| true))
            .filter(|text| *text == own)
            .count();
        if count > 1 || (count == 0 && !may_be_gone) {
            problems.push(Problem {
                rule: "accepted input is in a turn, once",
                details: format!("{text} of {thread}: {count} times"),
            });
        }
    }
}

fn check_changes(facts: &Facts, problems: &mut Vec<Problem>) {
    for ((thread, subject), changes) in &facts.changes {
        // A thread without a turn is not kept.
        let is_kept = thread.is_empty() || facts.begun.contains(thread);
        if facts.deleted.contains(thread) || !is_kept {
            continue;
        }
        let acknowledged = |change: &&Change| change.replied.is_some() && !change.is_refused;
        let Some(last) = changes
            .iter()
            .filter(acknowledged)
            .map(|change| change.sent)
            .max()
        else {
            continue;
        };
        // What ended before another one began is replaced by it.
        let possible: BTreeSet<&str> = changes
            .iter()
            .filter(|change| !change.is_refused)
            .filter(|change| change.replied.is_none_or(|replied| replied >= last))
            .map(|change| change.value.as_str())
            .collect();
        let found = stored_value(facts, thread, subject);
        // A list leaves out threads without a message.
        if *subject == "archived" && !facts.has_message.contains(thread) {
            continue;
        }
        if !found
            .as_deref()
            .is_some_and(|found| possible.contains(found))
        {
            problems.push(Problem {
                rule: "an acknowledged change is stored",
                details: format!("{subject} of {thread}: {found:?}, not one of {possible:?}"),
            });
        }
    }
}

fn stored_value(facts: &Facts, thread: &str, subject: &str) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match subject {
        "name" => text(&facts.result("thread/read", thread)?["thread"]["name"]),
        "goal" => text(&facts.result("thread/goal/get", thread)?["goal"]["objective"]),
        "config" => {
            let config = facts.result("config/read", "")?;
            text(&config["config"]["profiles"]["simulated"]["model"])
        }
        _ => {
            let is_listed = |archived: bool| {
                facts.stored.iter().any(|(request, reply)| {
                    let data = reply["result"]["data"].as_array();
                    request["method"] == "thread/list"
                        && request["params"]["archived"] == archived
                        && data.is_some_and(|data| data.iter().any(|one| one["id"] == thread))
                })
            };
            match (is_listed(false), is_listed(true)) {
                (true, false) => Some("false".to_owned()),
                (false, true) => Some("true".to_owned()),
                (false, false) => None,
                (true, true) => Some("both".to_owned()),
            }
        }
    }
}
