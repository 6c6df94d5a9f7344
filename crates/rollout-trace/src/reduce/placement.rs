//! Giving the items of a list their places in the conversation.

use super::conversation::{CallCheck, CallNumber, ItemLink, MessageKey, ThreadNumber};
use super::fault::Fault;
use super::identity::{ItemKey, KeyWriter, RawForm};
use super::items::{Candidate, CandidateItem, ItemList};
use super::matching::{Matcher, Matching};
use super::normalise::{Normalised, Normaliser};
use super::reducer::Reducer;
use super::sent::ListStart;
use crate::ids::{ItemId, PayloadId, ResponseItemId, ThreadId, TurnId};
use crate::json::Scanner;
use crate::model::{Body, ConversationItem, ItemKind, Part, Producer};
use crate::payload_files::PayloadBytes;

/// Where a list of items belongs, and what brought it.
pub(super) struct Placement {
    pub(super) thread: ThreadNumber,
    pub(super) thread_id: ThreadId,
    pub(super) turn: TurnId,
    pub(super) payload: PayloadId,
    pub(super) producer: Option<Producer>,
}

/// An item that is not in the conversation yet.
pub(super) struct Unplaced {
    pub(super) key: ItemKey,
    pub(super) message_key: Option<MessageKey>,
    pub(super) item: ConversationItem,
}
/// A list that was placed.
pub(super) struct Placed {
    pub(super) items: Vec<ItemId>,
    /// What of it the same bytes will mean again.
    pub(super) start: ListStart,
}

impl Reducer {
    /// Places a list; gives the item of each candidate that could be read, in order.
    pub(super) fn place(
        &mut self,
        list: ItemList<'_>,
        matching: Matching<'_>,
        placement: &Placement,
    ) -> Result<Placed, Fault> {
        for fault in list.faults {
            self.tolerate(fault)?;
        }
        self.conversation.begin_list();
        let mut items = Vec::with_capacity(list.repeated + list.candidates.len());
        let mut matcher = Matcher::new(matching);
        items.extend_from_slice(matcher.repeat(list.repeated));
        for &item in &items {
            self.placed(item, placement)?;
        }
        let mut start = ListStart {
            at: list.start,
            end: list.repeated_end,
            repeated: list.repeated,
            items: list.repeated,
        };
        let mut is_recognised = true;
        for (number, candidate) in list.candidates.into_iter().enumerate() {
            let at = candidate.at.clone();
            let (item, is_remembered) =
                self.place_one(candidate, list.payload, &mut matcher, placement)?;
            self.placed(item, placement)?;
            items.push(item);
            is_recognised &= is_remembered && number < list.before_fault;
            if is_recognised {
                start.end = at.end;
                start.items = items.len();
            }
        }
        self.start_ready_cells()?;
        Ok(Placed { items, start })
    }

    /// Notes that an item is in the list at hand.
    fn placed(&mut self, item: ItemId, placement: &Placement) -> Result<(), Fault> {
        self.conversation.mark_used(item);
        if let Some(producer) = &placement.producer {
            self.conversation.add_producer(item, producer);
        }
        self.link(item)
    }

    /// The item of a candidate, and whether it will be recognised by its bytes.
    fn place_one(
        &mut self,
        candidate: Candidate,
        payload: &PayloadBytes<'_>,
        matcher: &mut Matcher<'_>,
        placement: &Placement,
    ) -> Result<(ItemId, bool), Fault> {
        let bytes = &payload.bytes[candidate.at.clone()];
        let (key, read, form) = match candidate.item {
            CandidateItem::Known(item) => {
                let key = self.conversation.key(item);
                let id = self.conversation.item(item).responses_item_id.clone();
                if let Some(found) = self.find(matcher, key, id.as_ref(), placement)? {
                    return Ok((found, found == item));
                }
                let read = self.read_again(payload, candidate.at.start, &placement.payload)?;
                (key, read, RawForm::from_bytes(bytes))
            }
            CandidateItem::Read(item) => {
                let form = RawForm::from_bytes(bytes);
                if let Some(shown) = self.awaited(&item, placement.thread) {
                    matcher.pass();
                    self.show_message(shown, item);
                    return Ok((shown, self.conversation.remember_form(shown, form)));
                }
                let id = item.response_item_id.clone();
                let id = id.as_ref();
                let key = KeyWriter::item(&item);
                let found = match self.check_call(matcher, &item, key, placement)? {
                    Some(resent) => {
                        // Takes its turn in the list all the same.
                        self.find(matcher, key, id, placement)?;
                        Some(resent)
                    }
                    None => self.find(matcher, key, id, placement)?,
                };
                if let Some(found) = found {
                    if let Some(id) = id {
                        self.conversation.set_response_id(found, id);
                    }
                    // Bytes without the id of the item would match an item that has none.
                    let is_same = self.conversation.item(found).responses_item_id.as_ref() == id;
                    self.merge_reasoning(found, item.body);
                    let form = form.filter(|_| is_same);
                    return Ok((found, self.conversation.remember_form(found, form)));
                }
                (key, item, form)
            }
        };
        let created = self.create_item(read, placement);
        debug_assert_eq!(self.conversation.key(created), key);
        Ok((created, self.conversation.remember_form(created, form)))
    }

    /// The item that became history before and is now shown.
    fn awaited(&mut self, item: &Normalised, thread: ThreadNumber) -> Option<ItemId> {
        let may_wait = item.agent_message.is_some() || item.kind.is_output();
        let id = item.response_item_id.as_ref().filter(|_| may_wait)?;
        self.conversation.take_awaited(thread, id)
    }

    /// Reads an item whose bytes were read before.
    fn read_again(
        &self,
        payload: &PayloadBytes<'_>,
        at: usize,
        id: &PayloadId,
    ) -> Result<Normalised, Fault> {
        let unreadable = |reason| Fault::ParsePayload {
            id: id.clone(),
            reason,
        };
        let mut scanner = Scanner::in_payload(payload, at);
        let value = scanner.value();
        let value = value.map_err(|error| unreadable(error.to_string()))?;
        let normaliser = Normaliser {
            schema: self.schema,
            from: id,
        };
        let item = normaliser.item(&value)?;
        item.ok_or_else(|| unreadable("no item".into()))
    }

    fn find(
        &mut self,
        matcher: &mut Matcher<'_>,
        key: ItemKey,
        id: Option<&ResponseItemId>,
        placement: &Placement,
    ) -> Result<Option<ItemId>, Fault> {
        match matcher.next(key, id, &self.conversation) {
            Ok(found) => Ok(found),
            Err(_) => {
                let fault = Fault::Mismatch(placement.turn.clone());
                self.tolerate(fault).map(|()| None)
            }
        }
    }

    /// Whether a call id is used as before. An output that holds an image is never equal to its repetition; strict
    /// replay fails there, lenient replay takes it for the same item.
    fn check_call(
        &mut self,
        matcher: &Matcher<'_>,
        item: &Normalised,
        key: ItemKey,
        placement: &Placement,
    ) -> Result<Option<ItemId>, Fault> {
        let Some(call) = &item.call_id else {
            return Ok(None);
        };
        let reused = Fault::ReusedCall(call.clone());
        match self.conversation.check_call(placement.thread, item, key) {
            CallCheck::Agrees => Ok(None),
            CallCheck::Resent(_) if self.is_strict() => Err(reused),
            CallCheck::Resent(earlier) => Ok(matcher.reuses().then_some(earlier)),
            CallCheck::Differs => self.tolerate(reused).map(|()| None),
        }
    }

    pub(super) fn create_item(&mut self, item: Normalised, placement: &Placement) -> ItemId {
        let turn = Some(placement.turn.clone());
        let Unplaced {
            key,
            message_key,
            item,
        } = self.unplaced_item(item, &placement.thread_id, turn);
        if item.kind == ItemKind::CustomToolCall
            && let Some(call) = &item.call_id
        {
            self.cells.source_seen(placement.thread, call);
        }
        self.conversation
            .create(placement.thread, key, message_key, item)
    }

    pub(super) fn unplaced_item(
        &self,
        item: Normalised,
        thread: &ThreadId,
        turn: Option<TurnId>,
    ) -> Unplaced {
        let key = KeyWriter::item(&item);
        let message_key = self.message_key(&item, thread);
        let item = ConversationItem {
            item_id: self.conversation.next_id(),
            responses_item_id: item.response_item_id,
            accepted_at_unix_ms: None,
            accepted_seq: None,
            thread_id: thread.clone(),
            codex_turn_id: turn,
            first_seen_at_unix_ms: self.now.at,
            role: item.role,
            channel: item.channel,
            kind: item.kind,
            agent_message: item.agent_message,
            body: item.body,
            call_id: item.call_id,
            produced_by: Vec::new(),
        };
        Unplaced {
            key,
            message_key,
            item,
        }
    }

    /// Fills in what an earlier sight of a reasoning item lacked.
    fn merge_reasoning(&mut self, id: ItemId, incoming: Body) {
        let item = self.conversation.item_mut(id);
        if item.kind != ItemKind::Reasoning || item.body == incoming {
            return;
        }
        let known = std::mem::take(&mut item.body.parts);
        let (known_texts, known) = split(known, |part| matches!(part, Part::Text { .. }));
        let (known_summaries, encoded) = split(known, |part| matches!(part, Part::Summary { .. }));
        let (texts, rest) = split(incoming.parts, |part| matches!(part, Part::Text { .. }));
        let (summaries, _) = split(rest, |part| matches!(part, Part::Summary { .. }));
        let or = |known: Vec<Part>, new| if known.is_empty() { new } else { known };
        let parts = &mut item.body.parts;
        parts.extend(or(known_texts, texts));
        parts.extend(or(known_summaries, summaries));
        parts.extend(encoded);
    }

    /// Links an item, new or seen again, to the tool, the cell and the edge that wait for it.
    pub(super) fn link(&mut self, item: ItemId) -> Result<(), Fault> {
        if let Some(call) = self.conversation.call_of(item) {
            self.link_tool(item, call);
            self.link_cell_output(item, call);
        }
        if let Some(message_key) = self.conversation.message_key(item)
            && !self.conversation.is_edge_target(item)
        {
            self.deliver(item, message_key)?;
        }
        Ok(())
    }

    /// Links a call item or an output item to its tool, once.
    ///
    /// Inferences are linked too when the model is shown a call again: at its first sight, in the response, the
    /// inference does not yet own it.
    fn link_tool(&mut self, item: ItemId, call: CallNumber) {
        let work = self.conversation.call(call);
        if work.tool.is_none() {
            return;
        }
        let unlinked = !work.unlinked.is_empty();
        if self.conversation.set_link(item, ItemLink::Tool) {
            self.attach_to_tool(item, call);
        } else if unlinked && self.conversation.item(item).kind.is_call() {
            self.link_inferences(call);
        }
    }
}

fn split(parts: Vec<Part>, is_first: impl Fn(&Part) -> bool) -> (Vec<Part>, Vec<Part>) {
    parts.into_iter().partition(is_first)
}
