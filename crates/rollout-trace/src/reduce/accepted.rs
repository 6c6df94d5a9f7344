//! Which items became history, from schema 2 on.
//!
//! The log says it of an item by its id, once, before or after the item is seen in a payload. A message of another agent
//! comes with its content, as it may become history long before a request shows it, and in schema 3 the output of a tool.

use super::fault::Fault;
use super::identity::KeyWriter;
use super::normalise::{Normalised, Normaliser};
use super::position::LineContext;
use super::reducer::Reducer;
use crate::format::PayloadRef;
use crate::ids::{ItemId, ResponseItemId};
use crate::model::Producer;

/// The item that became history.
pub(super) struct AcceptedContent {
    payload: PayloadRef,
    /// Whether it is the output of a tool, in schema 3; if not, it is a message of an agent.
    is_tool_output: bool,
}

impl AcceptedContent {
    pub(super) fn new(message: Option<PayloadRef>, output: Option<PayloadRef>) -> Option<Self> {
        let is_tool_output = message.is_none();
        let payload = message.or(output)?;
        Some(Self {
            payload,
            is_tool_output,
        })
    }
}

impl Reducer {
    /// An item became history.
    pub(super) fn accepted(
        &mut self,
        context: LineContext,
        id: ResponseItemId,
        content: Option<AcceptedContent>,
    ) -> Result<(), Fault> {
        let thread_id = context
            .thread
            .clone()
            .ok_or(Fault::AcceptanceWithoutThread)?;
        self.require_thread(&thread_id)?;
        let thread = self.thread_number(&thread_id);
        self.conversation.accept(thread, &id, self.now);
        let Some(content) = content else {
            return Ok(());
        };
        let payload = content.payload;
        if payload.is_partial() {
            return Ok(());
        }
        let message = self.with_json(&payload, |reducer, value| {
            let kind = value.get_str("type").unwrap_or_default();
            let is_expected = if content.is_tool_output {
                kind.ends_with("_output")
            } else {
                kind == "agent_message"
            };
            let matches = is_expected && value.get_str("id") == Some(id.as_str());
            if !matches {
                return Err(Fault::Receipt(id.clone()));
            }
            let normaliser = Normaliser {
                schema: reducer.schema,
                from: &payload.raw_payload_id,
            };
            let message = normaliser.item(value)?;
            message.ok_or_else(|| Fault::Receipt(id.clone()))
        })?;
        if self.conversation.has_item(thread, &id) {
            return Ok(());
        }
        let item = self.unplaced_item(message, &thread_id, context.turn);
        let created = self
            .conversation
            .create(thread, item.key, item.message_key, item.item);
        self.conversation.await_message(thread, id, created);
        self.conversation.list(thread, &[created]);
        if content.is_tool_output {
            self.note_tool_of_output(created);
            return Ok(());
        }
        self.link(created)
    }

    /// An output comes from its tool before the model sees it.
    fn note_tool_of_output(&mut self, output: ItemId) {
        let call = self.conversation.call_of(output);
        let tool = call.and_then(|call| self.conversation.call(call).tool.clone());
        if let Some(tool_call_id) = tool {
            let producer = Producer::Tool { tool_call_id };
            self.conversation.add_producer(output, &producer);
        }
    }

    /// Gives a message that was accepted before the body with which a payload shows it.
    pub(super) fn show_message(&mut self, id: ItemId, shown: Normalised) {
        let thread = self.conversation.thread_of(id);
        let item = self.conversation.item_mut(id);
        item.body = shown.body;
        let content = Normalised {
            role: item.role,
            channel: item.channel,
            kind: item.kind,
            agent_message: item.agent_message.clone(),
            body: item.body.clone(),
            call_id: item.call_id.clone(),
            response_item_id: item.responses_item_id.clone(),
        };
        let thread_id = item.thread_id.clone();
        let message_key = self.message_key(&content, &thread_id);
        self.conversation
            .set_content(thread, id, KeyWriter::item(&content), message_key);
    }
}
