//! From schema 1 to schema 2, or on to schema 3.
//!
//! Items get ids: an item is the one that it is to the reducer of schema 1, identified by content and position. An item becomes
//! history when a request first sends it, or with the response that brought it.

use std::collections::{HashMap, HashSet};

use super::grown::{Continuation, ConvertedRequest};
use super::items::{edit, items, lists, text};
use super::{AddedEvent, ConvertedEvent};
use crate::format::{Event, LogLine, PayloadKind, Schema, ToolKind};
use crate::ids::{PayloadId, ResponseItemId, ThreadId, ToolCallId};
use crate::json::{Json, Object, Scanner, compact};
use crate::reduce::{item_key, write_session_id};

/// What has been converted so far.
#[derive(Default)]
pub(crate) struct Upgrade {
    threads: HashMap<ThreadId, History>,
    kinds: HashMap<ToolCallId, ToolKind>,
    /// The call that started each process.
    processes: HashMap<(ThreadId, String), ToolCallId>,
    minted: u64,
    /// What the payload of the current event contains.
    noted: PayloadFacts,
    open_threads: HashSet<ThreadId>,
    has_ended: bool,
    is_complete: bool,
    /// Schema 3 says which cell a call of `wait` found.
    tells_waits: bool,
    cells: HashSet<(ThreadId, String)>,
}

/// The items of a thread that the model saw last.
#[derive(Default)]
struct History {
    items: Vec<(u128, ResponseItemId)>,
    accepted: HashSet<ResponseItemId>,
    /// The last request, if its items are the first ones above.
    request: Option<ConvertedRequest>,
}

#[derive(Default)]
struct PayloadFacts {
    accepted: Vec<Acceptance>,
    process: Option<String>,
    session: Option<String>,
    /// The cell that a call of `wait` names.
    cell: Option<String>,
}

struct Acceptance {
    id: ResponseItemId,
    /// The item, if it is a message of an agent.
    message: Option<Vec<u8>>,
}

impl Upgrade {
    /// A conversion to a schema.
    pub(crate) fn to_schema(schema: Schema) -> Self {
        Self {
            tells_waits: schema == Schema::Three,
            ..Self::default()
        }
    }

    /// Converts the payload of the line that comes next.
    pub(crate) fn payload(
        &mut self,
        thread: Option<&ThreadId>,
        kind: PayloadKind,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        match kind {
            PayloadKind::ToolRuntimeEvent | PayloadKind::ToolInvocation => {
                let value = Scanner::parse(payload).ok()?;
                self.noted.process = value.get_str("process_id").map(str::to_owned);
                self.noted.session = write_session_id(&value);
                self.noted.cell = awaited_cell(&value);
                None
            }
            _ => {
                let thread = thread?;
                if lists(kind).is_empty() {
                    return None;
                }
                let mut history = self.threads.remove(thread).unwrap_or_default();
                let converted = if kind == PayloadKind::InferenceRequest {
                    self.request(&mut history, payload)
                } else {
                    edit(payload, |payload| self.items(&mut history, kind, payload))
                };
                self.threads.insert(thread.clone(), history);
                converted
            }
        }
    }

    /// Converts a request. Of one that goes on from the one before, only the new items are looked at.
    fn request(&mut self, history: &mut History, payload: &[u8]) -> Option<Vec<u8>> {
        if let Some(mut last) = history.request.take()
            && let Some(converted) = self.grown(&mut last, history, payload)
        {
            history.request = Some(last);
            return Some(converted);
        }
        let mut continues = false;
        let converted = edit(payload, |payload| {
            continues = names_response(payload);
            self.items(history, PayloadKind::InferenceRequest, payload);
        })?;
        if !continues {
            history.request = ConvertedRequest::new(payload, &converted);
        }
        Some(converted)
    }

    fn grown(
        &mut self,
        last: &mut ConvertedRequest,
        history: &mut History,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let Continuation { kept, added } = last.continuation(payload)?;
        let Json::Array(mut items) = Scanner::parse(&added).ok()? else {
            return None;
        };
        if !items.iter().all(|item| item.as_object().is_some()) {
            return None;
        }
        let named = self.name_all(&mut items, history.items.get(kept..)?);
        let converted = last.extend(payload, kept, &added, &items)?;
        self.accept(&mut history.accepted, &items, &named);
        history.items.truncate(kept);
        history.items.extend(named);
        Some(converted)
    }

    fn items(&mut self, history: &mut History, kind: PayloadKind, payload: &mut Object<'_>) {
        let continues = names_response(payload);
        for list in lists(kind) {
            let Some(items) = items(payload, list) else {
                continue;
            };
            let known: &[_] = match kind {
                PayloadKind::InferenceResponse | PayloadKind::CompactionResponse => &[],
                _ if continues => &[],
                _ => &history.items,
            };
            let named = self.name_all(items, known);
            match kind {
                PayloadKind::InferenceRequest => {
                    self.accept(&mut history.accepted, items, &named);
                    if !continues {
                        history.items.clear();
                    }
                    history.items.extend(named);
                }
                PayloadKind::InferenceResponse => {
                    self.accept(&mut HashSet::new(), items, &named);
                    history.items.extend(named);
                }
                PayloadKind::CompactionCheckpoint if *list == "replacement_history" => {
                    // A compaction installs what nothing accepts.
                    let ids = named.iter().map(|(_, id)| id.clone());
                    history.accepted.extend(ids);
                    history.items = named;
                    history.request = None;
                }
                _ => {}
            }
        }
    }

    /// Gives every item of a list its id: that of the known item that it is, or one of its own.
    fn name_all(
        &mut self,
        items: &mut [Json<'_>],
        known: &[(u128, ResponseItemId)],
    ) -> Vec<(u128, ResponseItemId)> {
        let mut places: HashMap<u128, Vec<usize>> = HashMap::new();
        for (place, (key, _)) in known.iter().enumerate().rev() {
            places.entry(*key).or_default().push(place);
        }
        let mut used = vec![false; known.len()];
        let mut named = Vec::with_capacity(items.len());
        for (at, item) in items.iter_mut().enumerate() {
            let key = key_of(item);
            let in_place = known.get(at).is_some_and(|(known, _)| *known == key) && !used[at];
            let place = if in_place {
                Some(at)
            } else {
                places.get_mut(&key).and_then(|places| {
                    while places.last().is_some_and(|place| used[*place]) {
                        places.pop();
                    }
                    places.last().copied()
                })
            };
            let id = match place {
                Some(place) => {
                    used[place] = true;
                    known[place].1.clone()
                }
                None => self.own_id(item),
            };
            if let Json::Object(item) = item {
                item.set_after("type", "id", text(id.as_str()));
            }
            named.push((key, id));
        }
        named
    }

    fn own_id(&mut self, item: &Json<'_>) -> ResponseItemId {
        if let Some(id) = item.get_str("id") {
            return id.into();
        }
        self.minted += 1;
        let prefix = match item.get_str("type") {
            Some("function_call_output") => "fco",
            Some("custom_tool_call_output") => "ctco",
            Some("function_call") => "fc",
            Some("custom_tool_call") => "ctc",
            Some("reasoning") => "rs",
            Some("agent_message") => "amsg",
            _ => "msg",
        };
        format!("{prefix}_{}", self.minted).into()
    }

    fn accept(
        &mut self,
        accepted: &mut HashSet<ResponseItemId>,
        items: &[Json<'_>],
        named: &[(u128, ResponseItemId)],
    ) {
        for (item, (_, id)) in items.iter().zip(named) {
            if accepted.insert(id.clone()) {
                let is_message = item.get_str("type") == Some("agent_message");
                self.noted.accepted.push(Acceptance {
                    id: id.clone(),
                    message: is_message.then(|| compact(item).into_bytes()),
                });
            }
        }
    }

    /// Converts a line whose payloads were converted.
    pub(crate) fn line(&mut self, line: &mut LogLine) -> ConvertedEvent {
        let noted = std::mem::take(&mut self.noted);
        if self.is_complete {
            return ConvertedEvent::default();
        }
        line.schema_version = if self.tells_waits {
            Schema::Three.number()
        } else {
            Schema::Two.number()
        };
        let mut converted = ConvertedEvent {
            is_kept: true,
            ..ConvertedEvent::default()
        };
        let beside = |event, payload| AddedEvent {
            thread: line.thread_id.clone(),
            turn: line.codex_turn_id.clone(),
            event,
            payload,
        };
        let acceptance = |accepted: Acceptance| {
            let event = Event::HistoryItemAccepted {
                item_id: accepted.id,
                agent_message_payload: None,
                tool_output_payload: None,
            };
            beside(event, accepted.message)
        };
        match &line.payload {
            Event::ThreadStarted { thread_id, .. } => {
                self.open_threads.insert(thread_id.clone());
            }
            Event::ThreadEnded { thread_id, .. } => {
                self.open_threads.remove(thread_id);
            }
            Event::RolloutEnded { .. } => self.has_ended = true,
            Event::CodeCellStarted {
                runtime_cell_id, ..
            } if self.tells_waits => {
                let cell = (line.thread_id.clone()).zip(Some(runtime_cell_id.as_str().to_owned()));
                self.cells.extend(cell);
            }
            Event::InferenceStarted { .. } => {
                converted.before = noted.accepted.into_iter().map(acceptance).collect();
            }
            Event::InferenceCompleted { .. } => {
                let history = line.thread_id.as_ref();
                let history = history.and_then(|thread| self.threads.get_mut(thread));
                if let Some(history) = history {
                    let ids = noted.accepted.iter().map(|accepted| accepted.id.clone());
                    history.accepted.extend(ids);
                }
                converted.after = noted.accepted.into_iter().map(acceptance).collect();
            }
            Event::ToolCallStarted {
                tool_call_id, kind, ..
            } => {
                self.kinds.insert(tool_call_id.clone(), kind.clone());
                let cell = line.thread_id.clone().zip(noted.cell);
                if let Some(cell) = cell.filter(|cell| self.cells.contains(cell)) {
                    converted.after.push(beside(
                        Event::CodeCellWaitTargetResolved {
                            tool_call_id: tool_call_id.clone(),
                            runtime_cell_id: cell.1.into(),
                        },
                        None,
                    ));
                }
                let process = line.thread_id.clone().zip(noted.session);
                if let Some(command) = process.and_then(|process| self.processes.get(&process)) {
                    converted.after.push(beside(
                        Event::StdinTargetResolved {
                            tool_call_id: tool_call_id.clone(),
                            exec_tool_call_id: command.clone(),
                        },
                        None,
                    ));
                }
            }
            Event::ToolCallRuntimeStarted { tool_call_id, .. }
            | Event::ToolCallRuntimeEnded { tool_call_id, .. } => {
                if let Some(process) = line.thread_id.clone().zip(noted.process) {
                    self.processes.insert(process, tool_call_id.clone());
                }
            }
            _ => {}
        }
        if let Event::ToolCallRuntimeStarted {
            tool_call_id, kind, ..
        } = &mut line.payload
        {
            let known = self.kinds.get(tool_call_id).cloned();
            let unknown = || ToolKind::Other {
                name: "unknown".into(),
            };
            *kind = Some(known.unwrap_or_else(unknown));
        }
        if self.has_ended && self.open_threads.is_empty() {
            self.is_complete = true;
            converted.after.push(AddedEvent {
                thread: None,
                turn: None,
                event: Event::RecordingCompleted,
                payload: None,
            });
        }
        converted
    }
}

/// Whether a request goes on from a response that it names.
fn names_response(request: &Object<'_>) -> bool {
    let id = request.get("previous_response_id");
    id.is_some_and(|id| id.as_str().is_some())
}

/// The cell that a call of `wait` names.
fn awaited_cell(invocation: &Json<'_>) -> Option<String> {
    if invocation.get_str("tool_name") != Some("wait") {
        return None;
    }
    let arguments = invocation.get("payload")?.get_str("arguments")?;
    let arguments = Scanner::parse(arguments.as_bytes()).ok()?;
    arguments.get_str("cell_id").map(str::to_owned)
}

/// What an item is the same by, whatever its id.
fn key_of(item: &Json<'_>) -> u128 {
    item_key(item, &PayloadId::from(""))
        .unwrap_or_else(|| xxhash_rust::xxh3::xxh3_128(compact(item).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a payload became and what was accepted with it.
    fn convert(upgrade: &mut Upgrade, kind: PayloadKind, payload: &str) -> (String, Vec<String>) {
        let thread = ThreadId::from("thread");
        let converted = upgrade.payload(Some(&thread), kind, payload.as_bytes());
        let noted = std::mem::take(&mut upgrade.noted);
        let accepted = noted.accepted.into_iter().map(|one| one.id.to_string());
        (
            String::from_utf8(converted.unwrap()).unwrap(),
            accepted.collect(),
        )
    }

    fn message(text: u64) -> String {
        // Few texts, so that items repeat.
        let text = text % 7;
        format!(
            r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text} ],\"input\":["}}]}}"#
        )
    }

    /// Requests that are converted piece by piece become what they become as a whole.
    #[test]
    fn request_delta_restores_the_request() {
        let mut continued = 0;
        for seed in 1..200_u64 {
            let mut state = seed;
            let mut next = |below: u64| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33) % below
            };
            let (mut pieces, mut whole) = (Upgrade::default(), Upgrade::default());
            let mut items: Vec<String> = Vec::new();
            let mut instructions = "be brief".to_owned();
            for _ in 0..30 {
                let (kind, payload) = match next(12) {
                    0 => {
                        let item = message(next(50));
                        items.push(item.clone());
                        let list = format!(r#"{{"output_items":[{item}]}}"#);
                        (PayloadKind::InferenceResponse, list)
                    }
                    1 => {
                        let after = vec![message(next(50))];
                        let [before, now] = [&items, &after].map(|list| list.join(","));
                        items = after;
                        let list = format!(
                            r#"{{"input_history":[{before}],"replacement_history":[{now}]}}"#
                        );
                        (PayloadKind::CompactionCheckpoint, list)
                    }
                    step => {
                        match step {
                            2 => instructions.push('!'),
                            3 => items.truncate(usize::try_from(next(4)).unwrap()),
                            4 if !items.is_empty() => {
                                let place = usize::try_from(next(items.len() as u64)).unwrap();
                                items[place] = message(next(50));
                            }
                            _ => items.extend((0..next(4)).map(|_| message(next(50)))),
                        }
                        let named = match next(15) {
                            0 => r#""previous_response_id":"r","#,
                            _ => "",
                        };
                        let list = items.join(",");
                        let request = format!(
                            r#"{{{named}"instructions":"{instructions}","input":[{list}],"tools":[]}}"#
                        );
                        (PayloadKind::InferenceRequest, request)
                    }
                };
                for history in whole.threads.values_mut() {
                    history.request = None;
                }
                let mut histories = pieces.threads.values();
                let goes_on = histories.any(|history| {
                    let last = history.request.as_ref();
                    let next = last.and_then(|last| last.continuation(payload.as_bytes()));
                    next.is_some()
                });
                continued += usize::from(kind == PayloadKind::InferenceRequest && goes_on);
                let one = convert(&mut pieces, kind, &payload);
                assert_eq!(
                    one,
                    convert(&mut whole, kind, &payload),
                    "seed {seed}: {payload}"
                );
            }
        }
        assert!(
            continued > 3000,
            "only {continued} requests went on from the one before"
        );
    }
}
