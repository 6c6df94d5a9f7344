//! Model requests and responses.

use super::conversation::ThreadNumber;
use super::fault::Fault;
use super::items::{Candidate, Expected, ListReader, Member, RequestBody};
use super::matching::Matching;
use super::placement::{Placed, Placement};
use super::reducer::Reducer;
use crate::format::{Event, ExecutionStatus, PayloadRef, Schema};
use crate::ids::{InferenceId, ItemId, ResponseId};
use crate::json::SyntaxError;
use crate::model::{InferenceCall, Producer, Usage};
use crate::payload_files::PayloadBytes;

/// How an attempt ended.
struct InferenceEnd {
    call: InferenceId,
    status: ExecutionStatus,
    response_id: Option<ResponseId>,
    upstream_request_id: Option<String>,
    payload: Option<PayloadRef>,
    error: Option<String>,
}

impl Reducer {
    pub(super) fn apply_inference(&mut self, event: Event) -> Result<(), Fault> {
        let ending = match event {
            Event::InferenceCompleted {
                inference_call_id,
                response_id,
                upstream_request_id,
                response_payload,
            } => InferenceEnd {
                call: inference_call_id,
                status: ExecutionStatus::Completed,
                response_id,
                upstream_request_id,
                payload: Some(response_payload),
                error: None,
            },
            Event::InferenceFailed {
                inference_call_id,
                upstream_request_id,
                partial_response_payload,
                error,
            } => InferenceEnd {
                error: Some(error),
                call: inference_call_id,
                status: ExecutionStatus::Failed,
                response_id: None,
                upstream_request_id,
                payload: partial_response_payload,
            },
            Event::InferenceCancelled {
                inference_call_id,
                upstream_request_id,
                partial_response_payload,
                reason,
            } => InferenceEnd {
                error: Some(reason),
                call: inference_call_id,
                status: ExecutionStatus::Cancelled,
                response_id: None,
                upstream_request_id,
                payload: partial_response_payload,
            },
            started => return self.inference_started(started),
        };
        self.inference_ended(ending)
    }

    fn inference_started(&mut self, event: Event) -> Result<(), Fault> {
        let Event::InferenceStarted {
            inference_call_id: call,
            thread_id: used,
            codex_turn_id: turn,
            model,
            provider_name,
            request_payload,
            prepared_prompt_payload,
            warmup_context_payload,
        } = event
        else {
            return Ok(());
        };
        if self.trace.inference_calls.contains_key(&call) {
            return Err(Fault::DuplicateInference(call));
        }
        let thread_id = self.require_turn(|| format!("inference start {call}"), &turn, &used)?;
        if let Some(payload) = &warmup_context_payload {
            self.expect_file(payload);
        }
        match &prepared_prompt_payload {
            Some(payload) => self.expect_file(payload),
            None if self.schema == Schema::Three => {
                return Err(Fault::NoPreparedPrompt(call));
            }
            None => {}
        }
        let placement = Placement {
            thread: self.thread_number(&thread_id),
            thread_id: thread_id.clone(),
            turn: turn.clone(),
            payload: request_payload.raw_payload_id.clone(),
            producer: None,
        };
        let items = self.place_request(&call, &request_payload, &placement);
        let request_item_ids = self.tolerated(items)?.unwrap_or_default();
        let open = self.open_in_turn.entry(turn.clone()).or_default();
        open.inferences.push(call.clone());
        let inference = InferenceCall {
            inference_call_id: call.clone(),
            thread_id,
            codex_turn_id: turn,
            execution: self.now.open(),
            model,
            provider_name,
            response_id: None,
            upstream_request_id: None,
            error: None,
            request_item_ids,
            response_item_ids: Vec::new(),
            tool_call_ids_started_by_response: Vec::new(),
            usage: None,
            raw_request_payload_id: request_payload.raw_payload_id,
            prepared_prompt_payload_id: prepared_prompt_payload
                .map(|payload| payload.raw_payload_id),
            raw_response_payload_id: None,
        };
        let number = self.thread_number(&inference.thread_id);
        self.conversation.view(number).last_call = Some(call.clone());
        self.trace.inference_calls.insert(call, inference);
        Ok(())
    }

    fn place_request(
        &mut self,
        call: &InferenceId,
        payload: &PayloadRef,
        placement: &Placement,
    ) -> Result<Vec<ItemId>, Fault> {
        let thread = placement.thread;
        self.with_payload(payload, |reducer, content| {
            let body = reducer.read_request(content, placement);
            let body = body.map_err(|error| Fault::unreadable(payload, error))?;
            let items = reducer.place_request_body(call, body, placement)?;
            let view = reducer.conversation.view(thread);
            view.snapshot.clear();
            view.snapshot.extend_from_slice(&items);
            Ok(items)
        })
    }

    fn read_request<'a>(
        &mut self,
        content: &'a PayloadBytes<'a>,
        placement: &Placement,
    ) -> Result<RequestBody<'a>, SyntaxError> {
        // What the list is likely to begin with: what the model saw last.
        let view = self.conversation.view(placement.thread);
        let sent = view.sent.take();
        let items = match &mut view.replacement {
            Some(replacement) => std::mem::take(replacement),
            None => std::mem::take(&mut view.snapshot),
        };
        let reader = ListReader {
            conversation: &self.conversation,
            id: &placement.payload,
            schema: self.schema,
        };
        let expected = Expected {
            items: &items,
            sent: sent.as_ref(),
        };
        let mut body = reader.request(content, expected);
        if body.as_ref().is_ok_and(RequestBody::resembles_prefix) {
            let sent = None;
            body = reader.request(content, Expected { sent, ..expected });
        }
        let view = self.conversation.view(placement.thread);
        view.sent = sent;
        match &mut view.replacement {
            Some(replacement) => *replacement = items,
            None => view.snapshot = items,
        }
        body
    }

    fn place_request_body(
        &mut self,
        call: &InferenceId,
        body: RequestBody<'_>,
        placement: &Placement,
    ) -> Result<Vec<ItemId>, Fault> {
        let thread = placement.thread;
        let input = match body.input {
            Member::Items(list) => list,
            Member::Missing => return Err(Fault::NoInput(placement.payload.clone())),
            Member::NotArray => return Err(Fault::InputNotArray(placement.payload.clone())),
        };
        let Some(previous) = body.previous_response_id.map(ResponseId::from) else {
            let view = self.conversation.view(thread);
            let sent = view.sent.take().unwrap_or_default();
            let snapshot = std::mem::take(&mut view.snapshot);
            let before = view.replacement.take().unwrap_or(snapshot);
            let bytes = input.payload.bytes;
            let Placed { items, start } =
                self.place(input, Matching::Snapshot(&before), placement)?;
            self.conversation.list(thread, &items[start.repeated..]);
            self.conversation.view(thread).sent = Some(sent.extend(&start, &items, bytes));
            return Ok(items);
        };
        let mut items = self.prefix(call, previous, thread)?;
        let snapshot = std::mem::take(&mut self.conversation.view(thread).snapshot);
        let matching = Matching::Append {
            from: items.len(),
            snapshot: &snapshot,
        };
        let new = self.place(input, matching, placement)?.items;
        // The prefix was listed when it was sent.
        self.conversation.list(thread, &new);
        // Each request has a list of the whole prompt, so that room to grow would double the memory.
        items.reserve_exact(new.len());
        items.extend(new);
        Ok(items)
    }

    /// The prompt that an incremental request continues: another call's request and response.
    fn prefix(
        &mut self,
        call: &InferenceId,
        previous: ResponseId,
        thread: ThreadNumber,
    ) -> Result<Vec<ItemId>, Fault> {
        let earlier = self
            .responses
            .of_id(thread, &previous)
            .and_then(|earlier| self.trace.inference_calls.get(earlier));
        if let Some(earlier) = earlier {
            if self.schema.has_ids() {
                // Of a response only what is sent again, or became history, is listed.
                self.conversation.list(thread, &earlier.response_item_ids);
            }
            return Ok([&*earlier.request_item_ids, &earlier.response_item_ids].concat());
        }
        self.tolerate(Fault::UnknownResponse {
            call: call.clone(),
            response: previous,
        })?;
        // The best guess when the response was lost: it continues what is known.
        Ok(self.conversation.view(thread).snapshot.clone())
    }

    fn inference_ended(&mut self, ending: InferenceEnd) -> Result<(), Fault> {
        let Some(call) = self.trace.inference_calls.get(&ending.call) else {
            if let Some(payload) = &ending.payload {
                self.expect_file(payload);
            }
            return Err(Fault::UnknownInference(ending.call));
        };
        let (thread_id, turn) = (call.thread_id.clone(), call.codex_turn_id.clone());
        let thread = self.thread_number(&thread_id);
        let placed = match &ending.payload {
            None => None,
            Some(payload) => {
                let placement = Placement {
                    thread,
                    thread_id,
                    turn,
                    payload: payload.raw_payload_id.clone(),
                    producer: Some(Producer::Inference {
                        inference_call_id: ending.call.clone(),
                    }),
                };
                let placed = self.place_response(&ending.call, payload, &placement);
                self.tolerated(placed)?
            }
        };
        self.close_inference(thread, ending, placed);
        Ok(())
    }

    fn place_response(
        &mut self,
        call: &InferenceId,
        payload: &PayloadRef,
        placement: &Placement,
    ) -> Result<(Vec<ItemId>, Option<Usage>), Fault> {
        let thread = placement.thread;
        self.with_payload(payload, |reducer, content| {
            let reader = ListReader {
                conversation: &reducer.conversation,
                id: &payload.raw_payload_id,
                schema: reducer.schema,
            };
            let body = reader
                .response(content)
                .map_err(|error| Fault::unreadable(payload, error))?;
            let no_output = || Fault::NoOutput(payload.raw_payload_id.clone());
            let output = body.output.items().ok_or_else(no_output)?;
            let items = match reducer.schema {
                Schema::One => {
                    let items = reducer.place(output, Matching::Nothing, placement)?.items;
                    reducer.conversation.list(thread, &items);
                    let snapshot = &mut reducer.conversation.view(thread).snapshot;
                    snapshot.extend_from_slice(&items);
                    items
                }
                Schema::Two | Schema::Three => {
                    let ids = output
                        .candidates
                        .iter()
                        .filter_map(Candidate::response_item_id);
                    let known = reducer.conversation.items_with_ids(thread, ids);
                    let matching = Matching::Detached(&known);
                    let items = reducer.place(output, matching, placement)?.items;
                    reducer.continue_snapshot(call, thread, &items);
                    items
                }
            };
            Ok((items, body.usage))
        })
    }

    /// In schema 2 a response is what the model saw last only if no request and no compaction came after its own.
    fn continue_snapshot(&mut self, call: &InferenceId, thread: ThreadNumber, items: &[ItemId]) {
        let Some(request) = self.trace.inference_calls.get(call) else {
            return;
        };
        let view = self.conversation.view(thread);
        if view.replacement.is_none() && view.last_call.as_ref() == Some(call) {
            view.snapshot.clear();
            view.snapshot.extend_from_slice(&request.request_item_ids);
            view.snapshot.extend_from_slice(items);
        }
    }

    fn close_inference(
        &mut self,
        thread: ThreadNumber,
        ending: InferenceEnd,
        placed: Option<(Vec<ItemId>, Option<Usage>)>,
    ) {
        let Some(call) = self.trace.inference_calls.get_mut(&ending.call) else {
            return;
        };
        if call.execution.status == ExecutionStatus::Running {
            self.now.close(&mut call.execution, ending.status);
        }
        let old = std::mem::replace(&mut call.response_id, ending.response_id.clone());
        self.responses
            .rename(thread, &ending.call, old, ending.response_id);
        if ending.error.is_some() {
            call.error = ending.error;
        }
        if ending.upstream_request_id.is_some() {
            call.upstream_request_id = ending.upstream_request_id;
        }
        if let Some(payload) = ending.payload {
            call.raw_response_payload_id = Some(payload.raw_payload_id);
        }
        if let Some((items, usage)) = placed {
            for item in &call.response_item_ids {
                if let Some(calls) = self.responses.by_item.get_mut(item) {
                    calls.remove(&ending.call);
                }
            }
            for &item in &items {
                if self.conversation.item(item).kind.is_call() {
                    let calls = self.responses.by_item.entry(item).or_default();
                    calls.insert(ending.call.clone());
                }
            }
            call.response_item_ids = items;
            call.usage = usage.or(call.usage);
        }
    }
}
