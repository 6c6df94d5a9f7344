//! Every connection on its own: one reply per request, one begin and one end of turns and items, in order and in time.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use codex_protocol::Release;
use codex_test_support::ProtocolObserver;
use serde_json::Value;

use crate::problem::Problem;
use crate::record::{self, RecordEntry, RecordKind};

/// Nanoseconds within which a request has its reply.
const REPLY_LIMIT: u64 = 10 * 60 * 1_000_000_000;

struct RecordedConversation {
    observer: ProtocolObserver,
    is_broken: bool,
    reads_at_once: bool,
    /// Requests without a reply: the method, and when it was sent.
    open: BTreeMap<String, (String, u64)>,
    /// Whether it has given a thread up, so that not everything has an end for it.
    has_left: bool,
    /// Questions about turns that are not settled, by their id: the turn.
    questions: BTreeMap<String, String>,
}

pub(super) fn check(entries: &[RecordEntry], problems: &mut Vec<Problem>) {
    let mut open: BTreeMap<u64, RecordedConversation> = BTreeMap::new();
    for entry in entries {
        match entry.kind {
            RecordKind::Connect => drop(open.insert(entry.connection, begin(&entry.value))),
            RecordKind::Disconnect => drop(open.remove(&entry.connection)),
            // The process before was killed.
            RecordKind::Phase => open.clear(),
            RecordKind::Sent => {
                if let Some(conversation) = open.get_mut(&entry.connection) {
                    conversation.sent(entry, problems);
                }
            }
            RecordKind::Received => {
                if let Some(conversation) = open.get_mut(&entry.connection) {
                    conversation.received(entry, problems);
                }
            }
            RecordKind::Kill => {
                open.retain(|connection, _| !record::is_of_engine(*connection, entry.connection));
            }
            RecordKind::Finish => {
                let is_ending = |connection: &u64, _: &mut RecordedConversation| {
                    record::is_of_engine(*connection, entry.connection)
                };
                for (_, conversation) in open.extract_if(.., is_ending) {
                    conversation.finish(entry.at, problems);
                }
            }
            RecordKind::Model
            | RecordKind::Program
            | RecordKind::Tool
            | RecordKind::Ending
            | RecordKind::FullDisk => {}
        }
    }
}

fn begin(about: &Value) -> RecordedConversation {
    let mut observer = ProtocolObserver::default();
    let release = about["release"].as_str().and_then(Release::parse);
    // Those of 0.140 get the end of a declined command twice.
    if let Some(release) = release.filter(|release| *release > Release::of_mark("0.140")) {
        observer.be_of(release);
    }
    RecordedConversation {
        observer,
        is_broken: false,
        reads_at_once: about["delay"] == 0,
        open: BTreeMap::new(),
        has_left: false,
        questions: BTreeMap::new(),
    }
}

/// The text of a failed assertion.
fn failure(act: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(act)).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.unwrap_or_else(|| (panic.downcast_ref::<&str>().copied().unwrap_or("?")).to_owned()))
}

impl RecordedConversation {
    fn note(&mut self, failed: Option<String>, entry: &RecordEntry, problems: &mut Vec<Problem>) {
        if let Some(failed) = failed {
            self.is_broken = true;
            let failed: String = failed.chars().take(700).collect();
            problems.push(Problem {
                rule: "a conversation keeps the promises of the protocol",
                details: format!("connection {} at {}: {failed}", entry.connection, entry.at),
            });
        }
    }

    fn sent(&mut self, entry: &RecordEntry, problems: &mut Vec<Problem>) {
        let message = &entry.value;
        if let Some(method) = message["method"].as_str() {
            self.has_left |= matches!(
                method,
                "thread/unsubscribe"
                    | "thread/archive"
                    | "thread/delete"
                    | "thread/rollback"
                    | "thread/revert"
            );
            if !message["id"].is_null() {
                let id = message["id"].to_string();
                self.open.insert(id, (method.to_owned(), entry.at));
            }
        }
        if message["method"].is_null() {
            self.questions.remove(&message["id"].to_string());
        }
        if !self.is_broken {
            let failed = failure(|| self.observer.sent(message));
            self.note(failed, entry, problems);
        }
    }

    fn received(&mut self, entry: &RecordEntry, problems: &mut Vec<Problem>) {
        let message = &entry.value;
        if message["method"].is_null()
            && let Some((method, sent)) = self.open.remove(&message["id"].to_string())
            && self.reads_at_once
            && entry.at - sent > REPLY_LIMIT
        {
            problems.push(Problem {
                rule: "a request has its reply in time",
                details: format!("{method} on connection {}", entry.connection),
            });
        }
        if matches!(
            message["method"].as_str(),
            Some("thread/closed" | "thread/archived" | "thread/deleted")
        ) {
            self.has_left = true;
        }
        self.question(message, problems);
        if !self.is_broken {
            let failed = failure(|| self.observer.received(message));
            self.note(failed, entry, problems);
        }
    }

    /// Notes questions, and what settles them.
    fn question(&mut self, message: &Value, problems: &mut Vec<Problem>) {
        let params = &message["params"];
        let turn = params["turnId"].as_str();
        match message["method"].as_str() {
            Some("serverRequest/resolved") => {
                self.questions.remove(&params["requestId"].to_string());
            }
            Some("turn/completed") => {
                let ended = params["turn"]["id"].as_str().unwrap_or_default();
                let left = self.questions.values().any(|turn| turn == ended);
                // One that had left the thread was not told everything.
                if left && !self.has_left {
                    problems.push(Problem {
                        rule: "a question is settled before the end of its turn",
                        details: format!("turn {ended}"),
                    });
                }
            }
            Some(_) if !message["id"].is_null() => {
                let id = message["id"].to_string();
                self.questions
                    .extend(turn.map(|turn| (id, turn.to_owned())));
            }
            _ => {}
        }
    }

    fn finish(self, at: u64, problems: &mut Vec<Problem>) {
        for (id, (method, sent)) in &self.open {
            if self.reads_at_once && at - sent > REPLY_LIMIT {
                problems.push(Problem {
                    rule: "every request has a reply",
                    details: format!("{method}, id {id}"),
                });
            }
        }
        if self.is_broken || self.has_left || !self.reads_at_once {
            return;
        }
        if let Some(failed) = failure(|| self.observer.finish()) {
            problems.push(Problem {
                rule: "everything that begins ends",
                details: failed.chars().take(500).collect(),
            });
        }
    }
}
