//! The state of a replay, which its model, its tools and its observer share.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use codex_core::{FinishedHook, TakenInput};
use codex_protocol::{HookEventName, ResponseItem};
use codex_rollout_trace::Recording;
use codex_rollout_trace::format::PayloadRef;
use codex_rollout_trace::ids::PayloadId;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::continuation::ContinuedTurn;
use crate::difference::{Difference, DifferenceKind, compare};
use crate::endings::{before_gap, is_cut};
use crate::live::CopiedFolder;
use crate::script::ScriptedInput;
use crate::thread_script::{HookOccasion, RecordedRequest, RecordedToolEnd, ThreadScript};
use crate::timeline::{Moment, Timeline};

/// Texts that contain a measured duration: the words before and after the number.
const DURATIONS: [(&str, &str); 2] = [("aborted by user after ", "s"), ("Wall time: ", " seconds")];

/// A number that depends on the length of the folder's path.
const TOKENS: (&str, &str) = ("Original token count: ", "\n");

/// What stands before the id of an output, which live tools choose anew.
const CHUNK_ID: &str = "Chunk ID: ";

#[derive(Debug)]
pub(crate) struct ReplayState {
    pub(crate) recording: Recording,
    pub(crate) timeline: Arc<Timeline>,
    threads: Mutex<HashMap<String, ThreadProgress>>,
    /// Why the replay has ended early.
    end: Mutex<Option<EarlyEnd>>,
    pub(crate) ended: CancellationToken,
    compared: AtomicUsize,
    pub(crate) continued: ContinuedTurn,
    /// The folder in which tools run for real.
    pub(crate) folder: Option<CopiedFolder>,
    /// The input that was given and not observed yet, with its thread.
    given: Mutex<Option<(String, Moment)>>,
    /// Which takings of inputs the recording contains.
    takings: RecordedTakings,
    /// The events for which hooks ran.
    hook_events: HashSet<HookEventName>,
    /// Whether a payload file was changed after it was written.
    is_damaged: AtomicBool,
    /// Whether the session may have gone on after the recording.
    is_cut: bool,
    /// The payload files that were read.
    read: Mutex<HashSet<PayloadId>>,
    /// The threads that went on after what the recording has of them.
    unrecorded: BTreeSet<String>,
}

/// Which takings of inputs a recording contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedTakings {
    None,
    OfTurns,
    All,
}

/// Why a replay ends before the recording does.
#[derive(Debug)]
pub(crate) enum EarlyEnd {
    Difference(Box<Difference>),
    /// Something of the bundle cannot be read.
    Unreadable(String),
    /// An agent went on that the recording does not follow any more.
    Unrecorded,
}

#[derive(Debug)]
struct ThreadProgress {
    script: ThreadScript,
    /// The turns that have ended.
    turns: usize,
    /// The requests that were sent.
    requests: usize,
}

impl ReplayState {
    pub(crate) fn new(
        recording: Recording,
        timeline: Arc<Timeline>,
        threads: HashMap<String, ThreadScript>,
        takings: RecordedTakings,
        folder: Option<CopiedFolder>,
    ) -> Self {
        let is_cut = is_cut(before_gap(recording.events()));
        let hooks = threads.values().flat_map(|thread| thread.hooks.keys());
        let hook_events = hooks.map(|(event, _)| *event).collect();
        let progress = |script| ThreadProgress {
            script,
            turns: 0,
            requests: 0,
        };
        let threads = threads
            .into_iter()
            .map(|(id, script)| (id, progress(script)));
        Self {
            recording,
            timeline,
            threads: Mutex::new(threads.collect()),
            end: Mutex::default(),
            ended: CancellationToken::new(),
            compared: AtomicUsize::new(0),
            continued: ContinuedTurn::default(),
            folder,
            given: Mutex::default(),
            takings,
            hook_events,
            is_damaged: AtomicBool::new(false),
            is_cut,
            read: Mutex::default(),
            unrecorded: BTreeSet::new(),
        }
    }

    /// With threads that went on after what the recording has of them.
    pub(crate) fn with_unrecorded(self, unrecorded: BTreeSet<String>) -> Self {
        Self { unrecorded, ..self }
    }

    /// A request as it would have been in the recorded folder.
    pub(crate) fn as_recorded(&self, body: Vec<u8>) -> Vec<u8> {
        match &self.folder {
            Some(folder) => folder.to_recorded(&body),
            None => body,
        }
    }

    /// Recorded JSON as it is in the folder of the replay.
    pub(crate) fn as_replayed(&self, json: Vec<u8>) -> Vec<u8> {
        match &self.folder {
            Some(folder) => folder.to_copy(&json),
            None => json,
        }
    }

    pub(crate) fn compared(&self) -> usize {
        self.compared.load(Ordering::Relaxed)
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Whether a payload file that the replay did not need is missing or changed.
    pub(crate) fn has_damage_elsewhere(&self) -> bool {
        let read = self.read.lock();
        let payloads = self.recording.events().iter();
        let mut payloads = payloads.flat_map(|line| line.payload.payloads());
        payloads.any(|payload| {
            !read.contains(&payload.raw_payload_id) && self.recording.bytes(payload).is_err()
        })
    }

    pub(crate) fn has_end(&self) -> bool {
        self.end.lock().is_some()
    }

    pub(crate) fn take_end(&self) -> Option<EarlyEnd> {
        self.end.lock().take()
    }

    pub(crate) fn finish(&self, end: EarlyEnd) {
        self.end.lock().get_or_insert(end);
        self.ended.cancel();
    }

    /// The recorded request that this one is; none if it differs, which ends the replay.
    pub(crate) fn match_request(&self, thread: &str, body: &[u8]) -> Option<RecordedRequest> {
        let (recorded, place) = {
            let mut threads = self.threads.lock();
            let progress = threads.get_mut(thread);
            let place = progress
                .as_ref()
                .map_or_else(Difference::unknown, |progress| Difference {
                    agent: progress.script.agent_path.clone(),
                    turn: progress.turns + 1,
                    request: progress.requests + 1,
                    kind: DifferenceKind::Additional,
                });
            let recorded = progress.and_then(|progress| {
                let next = progress.script.requests.front();
                if next.is_none_or(|next| next.turn > progress.turns + 1) {
                    if progress.script.is_stopped(progress.turns + 1) {
                        // The interrupt came before the request was sent.
                        return Some(None);
                    }
                    if next.is_none() && self.is_cut {
                        // The recording goes no further.
                        return Some(None);
                    }
                    return None;
                }
                progress.requests += 1;
                progress.script.requests.pop_front().map(Some)
            });
            (recorded, place)
        };
        let Some(recorded) = recorded else {
            self.finish(if self.unrecorded.contains(thread) {
                EarlyEnd::Unrecorded
            } else {
                EarlyEnd::Difference(Box::new(place))
            });
            return None;
        };
        let recorded = recorded?;
        let bytes = self.bytes(&recorded.payload)?;
        if bytes != body {
            let fields = differing_fields(&bytes, body, self.folder.is_some());
            if !fields.is_empty() {
                self.finish(EarlyEnd::Difference(Box::new(Difference {
                    kind: DifferenceKind::Contents(fields),
                    ..place
                })));
                return None;
            }
        }
        self.compared.fetch_add(1, Ordering::Relaxed);
        self.timeline.reach(recorded.started);
        Some(recorded)
    }

    /// Whether the thread sends another request in the same turn.
    pub(crate) fn is_followed(&self, thread: &str, turn: usize) -> bool {
        self.next_payload(thread, turn).is_some()
    }

    /// Whether the next request of the thread has this body and belongs to the same turn: a repeat.
    pub(crate) fn is_repeated(&self, thread: &str, turn: usize, body: &[u8]) -> bool {
        let next = self.next_payload(thread, turn);
        next.is_some_and(|next| self.recording.bytes(&next).is_ok_and(|next| next == body))
    }

    fn next_payload(&self, thread: &str, turn: usize) -> Option<PayloadRef> {
        let threads = self.threads.lock();
        let next = threads.get(thread)?.script.requests.front()?;
        (next.turn == turn).then(|| next.payload.clone())
    }

    /// The request that the thread sends next, to look at it.
    pub(crate) fn peek_request(&self, thread: &str) -> Option<PayloadRef> {
        let threads = self.threads.lock();
        let next = threads.get(thread)?.script.requests.front()?;
        Some(next.payload.clone())
    }

    /// The bytes of a payload file; an unreadable one ends the replay.
    pub(crate) fn bytes(&self, payload: &PayloadRef) -> Option<Vec<u8>> {
        match self.recording.bytes(payload) {
            Ok(bytes) => {
                self.read.lock().insert(payload.raw_payload_id.clone());
                Some(bytes)
            }
            Err(fault) => {
                self.finish(EarlyEnd::Unreadable(fault.to_string()));
                None
            }
        }
    }

    pub(crate) fn turn_ended(&self, thread: &str) {
        let (moment, missing) = {
            let mut threads = self.threads.lock();
            let Some(progress) = threads.get_mut(thread) else {
                return;
            };
            progress.turns += 1;
            let next = progress.script.requests.front();
            let missing = next
                .filter(|next| next.turn <= progress.turns)
                .map(|next| Difference {
                    agent: progress.script.agent_path.clone(),
                    turn: next.turn,
                    request: progress.requests + 1,
                    kind: DifferenceKind::Missing,
                });
            (progress.script.turn_ends.pop_front(), missing)
        };
        if let Some(missing) = missing {
            self.finish(EarlyEnd::Difference(Box::new(missing)));
        } else if let Some(moment) = moment {
            self.timeline.reach(moment);
        }
    }

    /// An input is about to be given to a thread.
    pub(crate) fn giving(&self, thread: &str, moment: Moment) {
        *self.given.lock() = Some((thread.to_owned(), moment));
    }

    /// The input was given: if its thread has not taken it, it never will.
    pub(crate) fn gave(&self, is_taken_later: bool) {
        if !is_taken_later && let Some((_, moment)) = self.given.lock().take() {
            self.timeline.reach(moment);
        }
    }

    pub(crate) fn input_observed(&self, thread: &str) {
        let given = self.given.lock().take_if(|(to, _)| to == thread);
        if let Some((_, moment)) = given {
            self.timeline.reach(moment);
        }
    }

    /// What the turn of the thread takes next; none if the recording does not say.
    pub(crate) fn taken_inputs(&self, thread: &str) -> Option<Vec<TakenInput>> {
        if self.takings == RecordedTakings::None || self.is_free() {
            return None;
        }
        let threads = self.threads.lock();
        let taken = threads.get(thread).and_then(|progress| {
            let next = progress.script.takings.front()?;
            let is_here = next.requests == progress.requests && next.turns == progress.turns;
            let is_now = next.idle.is_none() && is_here;
            is_now.then(|| next.inputs.clone())
        });
        Some(taken.unwrap_or_default())
    }

    /// Whether the thread takes its next notice now.
    pub(crate) fn takes_notice(&self, thread: &str, in_turn: bool) -> bool {
        if self.takings != RecordedTakings::All || self.is_free() {
            return true;
        }
        let threads = self.threads.lock();
        let Some(progress) = threads.get(thread) else {
            return true;
        };
        let mut takings = progress.script.takings.iter();
        if in_turn {
            let next = takings.find(|taking| taking.has_notice());
            next.is_some_and(|taking| taking.idle.is_none())
        } else {
            takings.next().is_some_and(|taking| taking.idle.is_some())
        }
    }

    pub(crate) fn inputs_taken(&self, thread: &str) {
        let taken = self.with_thread(thread, |script| script.takings.pop_front());
        if let Some(moment) = taken.and_then(|taking| taking.idle) {
            self.timeline.reach(moment);
        }
    }

    /// Whether inputs are taken as they come: live tools add notes of their own, and another turn is not recorded.
    fn is_free(&self) -> bool {
        self.folder.is_some() || self.continued.model().is_some()
    }

    /// Waits until the turn of a thread may end.
    pub(crate) async fn before_turn_end(&self, thread: &str) {
        let end = self.with_thread(thread, |script| script.turn_ends.front().copied());
        if let Some(end) = end {
            self.wait(end).await;
        }
    }

    /// Waits until a call of a tool for agents may run: what the agents did before was recorded before.
    pub(crate) async fn before_call(&self, thread: &str, call: &str) {
        let start = self.with_thread(thread, |script| {
            script.agent_calls.get_mut(call)?.pop_front()
        });
        if let Some(start) = start {
            self.timeline.wait_before(start).await;
        }
    }

    pub(crate) async fn before_interrupt(&self, thread: &str) {
        let after = self.with_thread(thread, |script| script.interrupts.pop_front());
        if let Some(after) = after {
            self.timeline.wait_before(after).await;
        }
    }

    pub(crate) fn has_hooks(&self, event: HookEventName) -> bool {
        self.hook_events.contains(&event)
    }

    pub(crate) fn hooks(&self, thread: &str, occasion: &HookOccasion) -> Vec<FinishedHook> {
        let ran = self.with_thread(thread, |script| script.hooks.get_mut(occasion)?.pop_front());
        ran.unwrap_or_default()
    }

    pub(crate) fn shell_output(&self, thread: &str) -> Option<(Moment, ResponseItem)> {
        self.with_thread(thread, |script| script.shell_outputs.pop_front())
    }

    pub(crate) fn tool_started(&self, thread: &str, call: &str) {
        let started = self.with_thread(thread, |script| {
            script.tool_starts.get_mut(call)?.pop_front()
        });
        if let Some(moment) = started {
            self.timeline.reach(moment);
        }
    }

    /// The recorded answer to a call; none if it was stopped.
    pub(crate) fn answer(&self, thread: &str, call: &str) -> Option<RecordedToolEnd> {
        self.with_thread(thread, |script| {
            script.tool_ends.get(call)?.front().cloned()
        })
    }

    /// Whether the recording does not have a call, as it does not have those of scripts that could not be read.
    pub(crate) fn is_unrecorded(&self, thread: &str, call: &str) -> bool {
        let recorded = self.with_thread(thread, |script| script.calls.get(call).cloned());
        recorded.is_none()
    }

    pub(crate) fn tool_ended(&self, thread: &str, call: &str) {
        let end = self.with_thread(thread, |script| script.tool_ends.get_mut(call)?.pop_front());
        if let Some(end) = end {
            self.timeline.reach(end.at);
        }
    }

    fn with_thread<T>(
        &self,
        thread: &str,
        take: impl FnOnce(&mut ThreadScript) -> Option<T>,
    ) -> Option<T> {
        take(&mut self.threads.lock().get_mut(thread)?.script)
    }

    pub(crate) async fn wait_for_input(&self, input: &ScriptedInput) {
        self.timeline.wait_before(input.after).await;
        self.timeline.pass(input.at);
    }

    pub(crate) async fn wait(&self, moment: Moment) {
        self.timeline.wait(moment).await;
    }
}

impl Difference {
    /// A request of a thread that the recording does not have.
    fn unknown() -> Self {
        Self {
            agent: "an agent that the recording does not have".to_owned(),
            turn: 1,
            request: 1,
            kind: DifferenceKind::Additional,
        }
    }
}

/// How two bodies differ, apart from measured durations and from ids that only a recording of schema 2 adds.
fn differing_fields(
    recorded: &[u8],
    replayed: &[u8],
    is_live: bool,
) -> Vec<crate::FieldDifference> {
    let parse = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap_or_default();
    let (mut recorded, mut replayed) = (parse(recorded), parse(replayed));
    as_over_http(&mut recorded, &mut replayed);
    drop_added_ids(&mut recorded, &replayed);
    for value in [&mut recorded, &mut replayed] {
        blank_numbers(value, is_live);
    }
    compare(&recorded, &replayed)
}

/// Drops what only a request on a websocket has. One that continues a response has only the end of the input; what is
/// before it was compared with the request and the response before.
fn as_over_http(recorded: &mut Value, replayed: &mut Value) {
    let Some(members) = recorded.as_object_mut() else {
        return;
    };
    if members
        .get("type")
        .is_none_or(|kind| kind != "response.create")
    {
        return;
    }
    for name in ["type", "client_metadata", "generate"] {
        members.remove(name);
    }
    if members.remove("previous_response_id").is_none() {
        return;
    }
    let sent = members.get("input").and_then(Value::as_array);
    let sent = sent.map_or(0, Vec::len);
    if let Some(input) = replayed["input"].as_array_mut() {
        input.drain(..input.len().saturating_sub(sent));
    }
}

fn drop_added_ids(recorded: &mut Value, replayed: &Value) {
    let (Some(recorded), Some(replayed)) = (
        recorded["input"].as_array_mut(),
        replayed["input"].as_array(),
    ) else {
        return;
    };
    for (recorded, replayed) in recorded.iter_mut().zip(replayed) {
        if replayed.get("id").is_none()
            && let Some(members) = recorded.as_object_mut()
        {
            members.remove("id");
        }
    }
}

fn blank_numbers(value: &mut Value, is_live: bool) {
    match value {
        Value::String(text) => {
            if let Some((head, rest)) = text.split_once(CHUNK_ID) {
                let end = rest.find(|char: char| !char.is_ascii_hexdigit());
                *text = format!("{head}{CHUNK_ID}{}", &rest[end.unwrap_or(rest.len())..]);
            }
            let tokens = is_live.then_some(TOKENS);
            for (before, after) in DURATIONS.into_iter().chain(tokens) {
                if let Some(blank) = without_number(text, before, after) {
                    *text = blank;
                }
            }
        }
        Value::Array(items) => {
            let items = items.iter_mut();
            items.for_each(|item| blank_numbers(item, is_live));
        }
        Value::Object(members) => {
            let members = members.values_mut();
            members.for_each(|member| blank_numbers(member, is_live));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text without the number between two words, if it is there.
fn without_number(text: &str, before: &str, after: &str) -> Option<String> {
    let (head, rest) = text.split_once(before)?;
    let (number, tail) = rest.split_once(after)?;
    let is_number = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_number.then(|| format!("{head}{before}{after}{tail}"))
}
