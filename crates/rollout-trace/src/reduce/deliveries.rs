//! Messages between agents that reach the item that holds them.

use super::conversation::{ItemLink, MessageKey};
use super::edges::{Fallback, MessageEdge, PendingEdges};
use super::fault::Fault;
use super::reducer::Reducer;
use crate::ids::ItemId;
use crate::model::Anchor;

impl Reducer {
    /// An edge with a message: to the item that holds it, or kept until that is seen.
    pub(super) fn message_edge(&mut self, edge: MessageEdge) -> Result<(), Fault> {
        let receiver = self.thread_number(&edge.receiver);
        match self
            .conversation
            .waiting_message(receiver, edge.message_key)
        {
            Some(item) => self.resolve(edge, item),
            None => self.edges.wait(edge, receiver),
        }
    }

    /// Completes the edge that waits for this message.
    pub(super) fn deliver(&mut self, item: ItemId, message_key: MessageKey) -> Result<(), Fault> {
        let thread = self.conversation.thread_of(item);
        match self.edges.take_waiting(thread, message_key) {
            Some(edge) => {
                let resolved = self.resolve(edge, item);
                self.tolerated(resolved).map(|_| ())
            }
            None => Ok(()),
        }
    }

    fn resolve(&mut self, edge: MessageEdge, item: ItemId) -> Result<(), Fault> {
        let target = Anchor::ConversationItem { item_id: item };
        self.edges.upsert(edge.resolved(target))?;
        self.conversation.set_link(item, ItemLink::Edge);
        Ok(())
    }

    /// Spawns whose task was never seen lead to the child itself.
    pub(super) fn settle_spawn_edges(&mut self) -> Result<(), Fault> {
        for (_, PendingEdges { edge, .. }) in std::mem::take(&mut self.edges.pending) {
            let thread_id = edge.receiver.clone();
            if edge.fallback == Fallback::Thread && self.trace.threads.contains_key(&thread_id) {
                let settled = self
                    .edges
                    .upsert(edge.resolved(Anchor::Thread { thread_id }));
                self.tolerated(settled)?;
            }
        }
        Ok(())
    }
}
