//! Interaction edges, and those that wait for the item that they lead to.
//!
//! An edge that carries a message is known before the message is seen by its receiver. It waits under the address of
//! the message; the first item with that address takes the edge that has waited longest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::conversation::{MessageKey, ThreadNumber};
use super::fault::Fault;
use super::tool_records::push_new;
use crate::ids::{EdgeId, PayloadId, ThreadId, ToolCallId};
use crate::model::{Anchor, EdgeKind, InteractionEdge, RolloutTrace};

/// An edge that carries a message.
#[derive(Debug, Clone)]
pub(super) struct MessageEdge {
    pub(super) id: EdgeId,
    pub(super) kind: EdgeKind,
    pub(super) source: Anchor,
    pub(super) receiver: ThreadId,
    pub(super) message_key: MessageKey,
    pub(super) fallback: Fallback,
    pub(super) started: i64,
    pub(super) ended: Option<i64>,
    pub(super) payloads: Vec<PayloadId>,
}

/// What becomes of an edge whose message is never seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback {
    None,
    /// It leads to the receiving thread.
    Thread,
}

impl MessageEdge {
    fn agrees_with(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.source == other.source
            && self.receiver == other.receiver
            && self.message_key == other.message_key
            && self.fallback == other.fallback
    }

    /// The edge to the receiving thread, if that may take the place of the message.
    fn settled(&self, trace: &RolloutTrace) -> Option<InteractionEdge> {
        let thread_id = self.receiver.clone();
        let is_there = trace.threads.contains_key(&thread_id);
        (self.fallback == Fallback::Thread && is_there)
            .then(|| self.clone().resolved(Anchor::Thread { thread_id }))
    }

    pub(super) fn resolved(self, target: Anchor) -> InteractionEdge {
        let carried_item_ids = match &target {
            Anchor::ConversationItem { item_id } => vec![*item_id],
            _ => Vec::new(),
        };
        InteractionEdge {
            edge_id: self.id,
            kind: self.kind,
            source: self.source,
            target,
            started_at_unix_ms: self.started,
            ended_at_unix_ms: self.ended,
            carried_item_ids,
            carried_raw_payload_ids: self.payloads,
        }
    }
}

#[derive(Default)]
pub(super) struct Edges {
    edges: BTreeMap<EdgeId, InteractionEdge>,
    of_tool: HashMap<ToolCallId, BTreeSet<EdgeId>>,
    /// In the order in which they arose.
    pub(super) pending: BTreeMap<u64, PendingEdges>,
    pending_of_id: HashMap<EdgeId, u64>,
    pending_of_message: HashMap<(ThreadNumber, MessageKey), BTreeSet<u64>>,
    pending_of_tool: HashMap<ToolCallId, BTreeSet<u64>>,
    arisen: u64,
    /// The edges that changed since the last time; none if nobody wants to know.
    changed: Option<BTreeSet<EdgeId>>,
}

pub(super) struct PendingEdges {
    pub(super) edge: MessageEdge,
    receiver: ThreadNumber,
}

impl Edges {
    /// Notes changes from now on.
    pub(super) fn track(&mut self) {
        self.changed.get_or_insert_default();
    }

    pub(super) fn take_changed(&mut self) -> BTreeSet<EdgeId> {
        let changed = self.changed.as_mut();
        changed.map(std::mem::take).unwrap_or_default()
    }

    fn note(&mut self, id: &EdgeId) {
        if let Some(changed) = &mut self.changed {
            changed.insert(id.clone());
        }
    }

    /// An edge as if nothing more came.
    pub(super) fn find(&self, id: &EdgeId, trace: &RolloutTrace) -> Option<InteractionEdge> {
        if let Some(edge) = self.edges.get(id) {
            return Some(edge.clone());
        }
        let waiting = self.pending.get(self.pending_of_id.get(id)?)?;
        waiting.edge.settled(trace)
    }

    /// The edges so far, as if nothing more came.
    pub(super) fn snapshot(&self, trace: &RolloutTrace) -> BTreeMap<EdgeId, InteractionEdge> {
        let mut edges = self.edges.clone();
        for PendingEdges { edge, .. } in self.pending.values() {
            if let Some(settled) = edge.settled(trace) {
                edges.entry(settled.edge_id.clone()).or_insert(settled);
            }
        }
        edges
    }

    pub(super) fn into_edges(self) -> BTreeMap<EdgeId, InteractionEdge> {
        self.edges
    }

    /// Adds a tool's result to what its edge carries.
    pub(super) fn add_result(&mut self, tool: &ToolCallId, payload: &PayloadId) {
        let edge = self.of_tool.get(tool).and_then(BTreeSet::first).cloned();
        if let Some(id) = edge {
            self.note(&id);
            if let Some(edge) = self.edges.get_mut(&id) {
                push_new(&mut edge.carried_raw_payload_ids, payload);
                return;
            }
        }
        let pending = self.pending_of_tool.get(tool).and_then(BTreeSet::first);
        if let Some(pending) = pending.and_then(|order| self.pending.get_mut(order)) {
            push_new(&mut pending.edge.payloads, payload);
            let id = pending.edge.id.clone();
            self.note(&id);
        }
    }

    /// Inserts an edge, or adds to the one with the same id.
    pub(super) fn upsert(&mut self, edge: InteractionEdge) -> Result<(), Fault> {
        self.note(&edge.edge_id);
        let Some(known) = self.edges.get_mut(&edge.edge_id) else {
            if let Anchor::ToolCall { tool_call_id } = &edge.source {
                let edges = self.of_tool.entry(tool_call_id.clone()).or_default();
                edges.insert(edge.edge_id.clone());
            }
            self.edges.insert(edge.edge_id.clone(), edge);
            return Ok(());
        };
        if known.kind != edge.kind || known.source != edge.source || known.target != edge.target {
            return Err(Fault::EdgeConflict(edge.edge_id));
        }
        known.started_at_unix_ms = known.started_at_unix_ms.min(edge.started_at_unix_ms);
        known.ended_at_unix_ms = known.ended_at_unix_ms.max(edge.ended_at_unix_ms);
        for item in &edge.carried_item_ids {
            push_new(&mut known.carried_item_ids, item);
        }
        for payload in &edge.carried_raw_payload_ids {
            push_new(&mut known.carried_raw_payload_ids, payload);
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, edge: MessageEdge, receiver: ThreadNumber) -> Result<(), Fault> {
        self.note(&edge.id);
        if let Some(order) = self.pending_of_id.get(&edge.id)
            && let Some(pending) = self.pending.get_mut(order)
        {
            let known = &mut pending.edge;
            if !known.agrees_with(&edge) {
                return Err(Fault::PendingConflict(edge.id));
            }
            known.started = known.started.min(edge.started);
            known.ended = known.ended.max(edge.ended);
            for payload in &edge.payloads {
                push_new(&mut known.payloads, payload);
            }
            return Ok(());
        }
        let order = self.arisen;
        self.arisen += 1;
        self.pending_of_id.insert(edge.id.clone(), order);
        let by_message = self.pending_of_message.entry((receiver, edge.message_key));
        by_message.or_default().insert(order);
        if let Anchor::ToolCall { tool_call_id } = &edge.source {
            let by_tool = self.pending_of_tool.entry(tool_call_id.clone());
            by_tool.or_default().insert(order);
        }
        self.pending.insert(order, PendingEdges { edge, receiver });
        Ok(())
    }

    /// Takes the edge that has waited longest for this message.
    pub(super) fn take_waiting(
        &mut self,
        receiver: ThreadNumber,
        message_key: MessageKey,
    ) -> Option<MessageEdge> {
        let waiting = self.pending_of_message.get(&(receiver, message_key))?;
        let order = *waiting.first()?;
        self.take_pending(order)
    }

    fn take_pending(&mut self, order: u64) -> Option<MessageEdge> {
        let PendingEdges { edge, receiver } = self.pending.remove(&order)?;
        self.pending_of_id.remove(&edge.id);
        if let Some(waiting) = self
            .pending_of_message
            .get_mut(&(receiver, edge.message_key))
        {
            waiting.remove(&order);
        }
        if let Anchor::ToolCall { tool_call_id } = &edge.source
            && let Some(waiting) = self.pending_of_tool.get_mut(tool_call_id)
        {
            waiting.remove(&order);
        }
        Some(edge)
    }
}
