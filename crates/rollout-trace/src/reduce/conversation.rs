//! The items of all threads while they are being collected, and the indices over them.
//!
//! Owns which items there are, what each thread's model last saw, and how a list of candidates is matched with that.
//! What an item means to tools, cells and agents is linked by the reducer.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::identity::{ItemKey, RawForm, same_but_for_payload};
use super::normalise::Normalised;
use super::position::EventTime;
use super::sent::SentItems;
use crate::format::Schema;
use crate::ids::{
    CallId, CodeCellId, InferenceId, ItemId, ResponseItemId, ThreadId, ToolCallId, TurnId,
};
use crate::model::{ConversationItem, ItemKind, Part, Producer, Role, RolloutTrace};

/// A call id that is used over and over is compared with this many of its items.
const MAX_COMPARED: usize = 64;

/// A thread, by the order in which it was first met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ThreadNumber(u32);

/// A model-visible call id, by the order in which it was first met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CallNumber(u32);

/// The hash of author and text, by which messages between agents are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MessageKey(pub(super) u128);

/// What the reducer knows of an item beside the item.
struct ItemRecord {
    key: ItemKey,
    raw: Option<RawForm>,
    thread: ThreadNumber,
    call: Option<CallNumber>,
    message: Option<MessageKey>,
    /// The last list in which the item was used.
    used_in: u64,
    listed: bool,
    linked_tool: bool,
    linked_cell: bool,
    is_edge_target: bool,
}

/// A link that an item has or lacks.
#[derive(Debug, Clone, Copy)]
pub(super) enum ItemLink {
    Tool,
    Cell,
    Edge,
}

/// Everything that carries one model-visible call id.
#[derive(Default)]
pub(super) struct CallEntry {
    pub(super) items: Vec<ItemId>,
    pub(super) tool: Option<ToolCallId>,
    pub(super) cell: Option<CodeCellId>,
    /// CallEntry items of the tool that a response brought and no inference is linked to yet.
    pub(super) unlinked: Vec<ItemId>,
}

/// One thread's conversation.
#[derive(Default)]
pub(super) struct ThreadView {
    /// What the model saw last: the request and what came back.
    pub(super) snapshot: Vec<ItemId>,
    /// The beginning of the last whole request.
    pub(super) sent: Option<SentItems>,
    /// What it will see next, after a compaction.
    pub(super) replacement: Option<Vec<ItemId>>,
    /// Every item once, in the order of appearance.
    listed: Vec<ItemId>,
    first_of_call: HashMap<(CallNumber, ItemKind), ItemId>,
    last_message: HashMap<TurnId, (i64, ItemId)>,
    messages: HashMap<MessageKey, VecDeque<ItemId>>,
    /// The items of each id that payloads give, in the order of creation; schema 2.
    by_response_id: HashMap<ResponseItemId, Vec<ItemId>>,
    /// When each id became history.
    accepted: HashMap<ResponseItemId, EventTime>,
    /// Messages of agents that became history before a payload showed them.
    awaited: HashMap<ResponseItemId, ItemId>,
    /// The inference that was started last; schema 2.
    pub(super) last_call: Option<InferenceId>,
}

/// Whether a candidate that repeats a call id agrees with what carries it already.
pub(super) enum CallCheck {
    Agrees,
    /// The same except for the payload that contains an unread part.
    Resent(ItemId),
    Differs,
}

pub(super) struct Conversation {
    pub(super) schema: Schema,
    items: Vec<ConversationItem>,
    records: Vec<ItemRecord>,
    calls: Vec<CallEntry>,
    call_numbers: HashMap<CallId, CallNumber>,
    views: Vec<ThreadView>,
    thread_numbers: HashMap<ThreadId, ThreadNumber>,
    lists: u64,
    /// None if nobody wants to know.
    changed: Option<ChangedConversation>,
}

/// What changed since the last time.
#[derive(Default)]
pub(super) struct ChangedConversation {
    pub(super) items: BTreeSet<ItemId>,
    /// The threads that list more items.
    pub(super) threads: BTreeSet<ThreadNumber>,
}

impl Conversation {
    pub(super) fn new(schema: Schema) -> Self {
        Self {
            schema,
            items: Vec::new(),
            records: Vec::new(),
            calls: Vec::new(),
            call_numbers: HashMap::new(),
            views: Vec::new(),
            thread_numbers: HashMap::new(),
            lists: 0,
            changed: None,
        }
    }

    /// Notes changes from now on.
    pub(super) fn track(&mut self) {
        self.changed.get_or_insert_default();
    }

    pub(super) fn take_changed(&mut self) -> ChangedConversation {
        let changed = self.changed.as_mut();
        changed.map(std::mem::take).unwrap_or_default()
    }

    /// How many items a thread lists.
    pub(super) fn listed(&self, thread: &ThreadId) -> usize {
        let view = self.thread_numbers.get(thread);
        view.map_or(0, |number| self.views[number.0 as usize].listed.len())
    }

    /// The item with an id, if there is one.
    pub(super) fn find(&self, id: ItemId) -> Option<&ConversationItem> {
        self.items.get((id.number() as usize).checked_sub(1)?)
    }

    pub(super) fn thread_id(&self, thread: ThreadNumber) -> Option<&ThreadId> {
        let mut numbers = self.thread_numbers.iter();
        let found = numbers.find(|(_, number)| **number == thread);
        found.map(|(id, _)| id)
    }

    /// Notes that an id became history; the first time counts.
    pub(super) fn accept(&mut self, thread: ThreadNumber, id: &ResponseItemId, now: EventTime) {
        let view = self.view(thread);
        let accepted = view.accepted.entry(id.clone());
        if let Entry::Vacant(first) = accepted {
            first.insert(now);
            let items = view.by_response_id.get(id).cloned().unwrap_or_default();
            for item in items {
                self.set_accepted(thread, item, now);
            }
        }
    }

    fn set_accepted(&mut self, thread: ThreadNumber, item: ItemId, when: EventTime) {
        let accepted = self.item_mut(item);
        accepted.accepted_at_unix_ms = Some(when.at);
        accepted.accepted_seq = Some(when.seq);
        self.list(thread, &[item]);
    }

    /// Whether a thread has an item with this id.
    pub(super) fn has_item(&mut self, thread: ThreadNumber, id: &ResponseItemId) -> bool {
        self.view(thread).by_response_id.contains_key(id)
    }

    /// The items of a thread with one of these ids, in the order of creation.
    pub(super) fn items_with_ids<'i>(
        &mut self,
        thread: ThreadNumber,
        ids: impl Iterator<Item = &'i ResponseItemId>,
    ) -> Vec<ItemId> {
        let known = &self.view(thread).by_response_id;
        let mut items: Vec<ItemId> = ids
            .filter_map(|id| known.get(id))
            .flatten()
            .copied()
            .collect();
        items.sort_unstable_by_key(|item| item.number());
        items.dedup();
        items
    }

    /// Gives an id to an item that had none.
    pub(super) fn set_response_id(&mut self, id: ItemId, response_id: &ResponseItemId) {
        let thread = self.thread_of(id);
        let item = self.item_mut(id);
        if item.responses_item_id.is_none() {
            item.responses_item_id = Some(response_id.clone());
            self.index_response_id(thread, id, response_id);
        }
    }

    fn index_response_id(
        &mut self,
        thread: ThreadNumber,
        id: ItemId,
        response_id: &ResponseItemId,
    ) {
        let view = self.view(thread);
        let items = view.by_response_id.entry(response_id.clone()).or_default();
        let place = items.partition_point(|earlier| earlier.number() < id.number());
        items.insert(place, id);
        if let Some(when) = view.accepted.get(response_id).copied() {
            self.set_accepted(thread, id, when);
        }
    }

    /// Notes an item that a later payload will show.
    pub(super) fn await_message(&mut self, thread: ThreadNumber, id: ResponseItemId, item: ItemId) {
        self.view(thread).awaited.insert(id, item);
    }

    /// Takes the item that waits to be shown under this id.
    pub(super) fn take_awaited(
        &mut self,
        thread: ThreadNumber,
        id: &ResponseItemId,
    ) -> Option<ItemId> {
        self.view(thread).awaited.remove(id)
    }

    /// Gives an item another content.
    pub(super) fn set_content(
        &mut self,
        thread: ThreadNumber,
        id: ItemId,
        key: ItemKey,
        message_key: Option<MessageKey>,
    ) {
        let record = self.note_mut(id);
        record.key = key;
        let before = std::mem::replace(&mut record.message, message_key);
        if let Some(message_key) = message_key.filter(|_| before != message_key) {
            self.post(thread, id, message_key);
        }
    }

    /// Adds an item to the messages of its thread.
    fn post(&mut self, thread: ThreadNumber, item: ItemId, message_key: MessageKey) {
        let by_creation = self.schema.has_ids();
        let messages = self.view(thread).messages.entry(message_key).or_default();
        let place = if by_creation {
            messages.partition_point(|earlier| earlier.number() < item.number())
        } else {
            messages.len()
        };
        messages.insert(place, item);
    }

    pub(super) fn thread(&mut self, id: &ThreadId) -> ThreadNumber {
        if let Some(&number) = self.thread_numbers.get(id) {
            return number;
        }
        let number = ThreadNumber(self.views.len() as u32);
        self.thread_numbers.insert(id.clone(), number);
        self.views.push(ThreadView::default());
        number
    }

    pub(super) fn view(&mut self, thread: ThreadNumber) -> &mut ThreadView {
        &mut self.views[thread.0 as usize]
    }

    pub(super) fn call_number(&mut self, id: &CallId) -> CallNumber {
        if let Some(&number) = self.call_numbers.get(id) {
            return number;
        }
        let number = CallNumber(self.calls.len() as u32);
        self.call_numbers.insert(id.clone(), number);
        self.calls.push(CallEntry::default());
        number
    }

    pub(super) fn call(&mut self, call: CallNumber) -> &mut CallEntry {
        &mut self.calls[call.0 as usize]
    }

    pub(super) fn item(&self, id: ItemId) -> &ConversationItem {
        &self.items[id.number() as usize - 1]
    }

    pub(super) fn item_mut(&mut self, id: ItemId) -> &mut ConversationItem {
        if let Some(changed) = &mut self.changed {
            changed.items.insert(id);
        }
        &mut self.items[id.number() as usize - 1]
    }

    fn note(&self, id: ItemId) -> &ItemRecord {
        &self.records[id.number() as usize - 1]
    }

    fn note_mut(&mut self, id: ItemId) -> &mut ItemRecord {
        &mut self.records[id.number() as usize - 1]
    }

    pub(super) fn key(&self, id: ItemId) -> ItemKey {
        self.note(id).key
    }

    pub(super) fn thread_of(&self, id: ItemId) -> ThreadNumber {
        self.note(id).thread
    }

    pub(super) fn call_of(&self, id: ItemId) -> Option<CallNumber> {
        self.note(id).call
    }

    pub(super) fn raw_form(&self, id: ItemId) -> Option<RawForm> {
        self.note(id).raw
    }

    /// Remembers the bytes of an item, unless it is tied to the payload that holds them.
    ///
    /// Returns whether it will be recognised by them.
    pub(super) fn remember_form(&mut self, id: ItemId, form: Option<RawForm>) -> bool {
        let is_tied = |part: &Part| {
            matches!(
                part,
                Part::PayloadRef {
                    content_sha256: None,
                    ..
                }
            )
        };
        if self.item(id).body.parts.iter().any(is_tied) {
            return false;
        }
        self.note_mut(id).raw = form;
        form.is_some()
    }

    pub(super) fn message_key(&self, id: ItemId) -> Option<MessageKey> {
        self.note(id).message
    }

    /// Sets a link and returns whether it is new.
    pub(super) fn set_link(&mut self, id: ItemId, link: ItemLink) -> bool {
        let note = self.note_mut(id);
        let flag = match link {
            ItemLink::Tool => &mut note.linked_tool,
            ItemLink::Cell => &mut note.linked_cell,
            ItemLink::Edge => &mut note.is_edge_target,
        };
        !std::mem::replace(flag, true)
    }

    pub(super) fn is_edge_target(&self, id: ItemId) -> bool {
        self.note(id).is_edge_target
    }

    /// The last result of a child's turn, as a message to its parent would quote it.
    pub(super) fn last_message(&mut self, thread: ThreadNumber, turn: &TurnId) -> Option<ItemId> {
        let (_, item) = self.view(thread).last_message.get(turn)?;
        Some(*item)
    }

    /// Items of one thread with this call id: in the order of their ids as texts, in schema 2 as numbers.
    pub(super) fn items_of_call(
        &self,
        thread: ThreadNumber,
        call: CallNumber,
        is_kind: impl Fn(ItemKind) -> bool,
    ) -> Vec<ItemId> {
        let mut items: Vec<ItemId> = self.calls[call.0 as usize]
            .items
            .iter()
            .copied()
            .filter(|&item| self.thread_of(item) == thread && is_kind(self.item(item).kind))
            .collect();
        match self.schema {
            Schema::One => items.sort_unstable(),
            Schema::Two | Schema::Three => items.sort_unstable_by_key(|item| item.number()),
        }
        items
    }

    /// Compares a candidate with the items that carry its call id.
    pub(super) fn check_call(
        &mut self,
        thread: ThreadNumber,
        candidate: &Normalised,
        key: ItemKey,
    ) -> CallCheck {
        let Some(call) = &candidate.call_id else {
            return CallCheck::Agrees;
        };
        let call = self.call_number(call);
        let kind = candidate.kind;
        if self.schema.has_ids() && !kind.is_call() {
            return CallCheck::Agrees;
        }
        let first = self.view(thread).first_of_call.get(&(call, kind)).copied();
        if first.is_none_or(|first| self.key(first) == key) {
            return CallCheck::Agrees;
        }
        let mut resent = None;
        let earlier = self.calls[call.0 as usize].items.iter().copied();
        for item in earlier.take(MAX_COMPARED) {
            if self.thread_of(item) != thread || self.item(item).kind != kind {
                continue;
            }
            if self.key(item) == key {
                return CallCheck::Agrees;
            }
            let known = &self.item(item).body.parts;
            if resent.is_none() && same_but_for_payload(known, &candidate.body.parts) {
                resent = Some(item);
            }
        }
        resent.map_or(CallCheck::Differs, CallCheck::Resent)
    }

    /// Adds an item and indexes it.
    pub(super) fn create(
        &mut self,
        thread: ThreadNumber,
        key: ItemKey,
        message_key: Option<MessageKey>,
        item: ConversationItem,
    ) -> ItemId {
        let id = item.item_id;
        let call = item.call_id.as_ref().map(|call| self.call_number(call));
        if let Some(call) = call {
            self.call(call).items.push(id);
            let kind = item.kind;
            let first = &mut self.view(thread).first_of_call;
            first.entry((call, kind)).or_insert(id);
        }
        let is_result = item.role == Role::Assistant
            && item.kind == ItemKind::Message
            && item.agent_message.is_none();
        if let (true, Some(turn)) = (is_result, &item.codex_turn_id) {
            let last = (item.first_seen_at_unix_ms, id);
            let kept = self.view(thread).last_message.entry(turn.clone());
            let kept = kept.or_insert(last);
            *kept = last.max(*kept);
        }
        let response_id = item.responses_item_id.clone();
        if let Some(changed) = &mut self.changed {
            changed.items.insert(id);
        }
        self.items.push(item);
        self.records.push(ItemRecord {
            key,
            raw: None,
            thread,
            call,
            message: message_key,
            used_in: 0,
            listed: false,
            linked_tool: false,
            linked_cell: false,
            is_edge_target: false,
        });
        if let Some(response_id) = response_id {
            self.index_response_id(thread, id, &response_id);
        }
        id
    }

    /// The id of the item that is created next.
    pub(super) fn next_id(&self) -> ItemId {
        ItemId::new(self.items.len() as u32 + 1)
    }

    pub(super) fn add_producer(&mut self, id: ItemId, producer: &Producer) {
        let producers = &mut self.item_mut(id).produced_by;
        if !producers.contains(producer) {
            producers.push(producer.clone());
        }
    }

    /// Adds items to their thread's list, each once.
    pub(super) fn list(&mut self, thread: ThreadNumber, items: &[ItemId]) {
        for &item in items {
            if std::mem::replace(&mut self.note_mut(item).listed, true) {
                continue;
            }
            let message_key = self.message_key(item);
            if let Some(changed) = &mut self.changed {
                changed.threads.insert(thread);
            }
            self.view(thread).listed.push(item);
            if let Some(message_key) = message_key {
                self.post(thread, item, message_key);
            }
        }
    }

    /// The first listed message with this key that no edge leads to.
    pub(super) fn waiting_message(
        &mut self,
        thread: ThreadNumber,
        key: MessageKey,
    ) -> Option<ItemId> {
        loop {
            let item = *self.view(thread).messages.get(&key)?.front()?;
            let is_under_key = self.message_key(item) == Some(key);
            if is_under_key && !self.is_edge_target(item) {
                return Some(item);
            }
            self.view(thread).messages.get_mut(&key)?.pop_front();
        }
    }

    /// Begins a list: no item has been used in it.
    pub(super) fn begin_list(&mut self) {
        self.lists += 1;
    }

    pub(super) fn mark_used(&mut self, id: ItemId) {
        self.note_mut(id).used_in = self.lists;
    }

    /// Whether an item can be one with this id: ids that are there do not differ.
    pub(super) fn agrees(&self, item: ItemId, id: Option<&ResponseItemId>) -> bool {
        let known = self.item(item).responses_item_id.as_ref();
        known.zip(id).is_none_or(|(known, id)| known == id)
    }

    pub(super) fn is_used(&self, id: ItemId) -> bool {
        self.note(id).used_in == self.lists
    }

    /// Copies what there is so far into a graph.
    pub(super) fn copy_into(&self, trace: &mut RolloutTrace) {
        let items = self.items.iter();
        let items: BTreeMap<_, _> = items.map(|item| (item.item_id, item.clone())).collect();
        trace.conversation_items = items.into();
        for (id, number) in &self.thread_numbers {
            let Some(thread) = trace.threads.get_mut(id) else {
                continue;
            };
            let mut listed = self.views[number.0 as usize].listed.clone();
            if self.schema.has_ids() {
                listed.sort_unstable_by_key(|item| item.number());
            }
            thread.conversation_item_ids = listed;
        }
    }

    /// Everything, for the finished graph.
    pub(super) fn into_graph(self) -> ConversationGraph {
        let mut items = self.items;
        items.sort_unstable_by_key(|item| item.item_id);
        let mut views = self.views;
        let listed = self
            .thread_numbers
            .into_iter()
            .map(|(id, number)| {
                let mut listed = std::mem::take(&mut views[number.0 as usize].listed);
                if self.schema.has_ids() {
                    listed.sort_unstable_by_key(|item| item.number());
                }
                (id, listed)
            })
            .collect();
        ConversationGraph {
            items: items.into_iter().map(|item| (item.item_id, item)).collect(),
            listed,
        }
    }
}

/// What a conversation leaves in the graph.
pub(super) struct ConversationGraph {
    pub(super) items: BTreeMap<ItemId, ConversationItem>,
    pub(super) listed: HashMap<ThreadId, Vec<ItemId>>,
}
