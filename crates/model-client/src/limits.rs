//! Limits on a response, and on all responses of a turn together.
//!
//! Responses are held in memory, stored and sent to clients, so a model that never stops must end its turn, not the
//! process. No real response comes near these limits.

use codex_protocol::ResponseItem;

use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::request::TurnState;

/// The data of all events of a response; enough for a few images in base64.
const MAX_RESPONSE_BYTES: usize = 192 * 1024 * 1024;
/// The deltas of one item, or the arguments of one call.
const MAX_ITEM_BYTES: usize = 16 * 1024 * 1024;
/// The number of items; each may be a tool call.
const MAX_ITEMS: usize = 4096;
/// The deltas and items of all responses of a turn.
pub(crate) const MAX_TURN_BYTES: usize = 512 * 1024 * 1024;

/// The size of a response so far, and of all responses of the turn.
#[derive(Debug)]
pub(crate) struct ResponseSize {
    turn: TurnState,
    bytes: usize,
    event_bytes: usize,
    item_bytes: usize,
    items: usize,
}

impl ResponseSize {
    /// Starts with the next response of a turn.
    pub(crate) fn of_turn(turn: TurnState) -> Self {
        Self {
            turn,
            bytes: 0,
            event_bytes: 0,
            item_bytes: 0,
            items: 0,
        }
    }

    /// Counts the data of an event.
    ///
    /// # Errors
    /// The response exceeds a limit.
    pub(crate) fn add_data(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.event_bytes = bytes;
        self.bytes = self.bytes.saturating_add(bytes);
        check(self.bytes, MAX_RESPONSE_BYTES, "response", "bytes")
    }

    /// Counts the content of an event.
    ///
    /// # Errors
    /// An item, the response or the turn exceeds a limit.
    pub(crate) fn add_event(&mut self, event: &ModelEvent) -> Result<(), ModelError> {
        let bytes = match event {
            ModelEvent::TextDelta(delta)
            | ModelEvent::ReasoningDelta { delta, .. }
            | ModelEvent::ReasoningSummaryDelta { delta, .. } => delta.len(),
            ModelEvent::ItemAdded(_) => {
                self.item_bytes = 0;
                return Ok(());
            }
            ModelEvent::ItemDone(item) => {
                self.item_bytes = 0;
                self.items += 1;
                check(self.items, MAX_ITEMS, "response", "items")?;
                let arguments = match item {
                    ResponseItem::FunctionCall { arguments, .. } => arguments.len(),
                    ResponseItem::CustomToolCall { input, .. } => input.len(),
                    _ => 0,
                };
                check(arguments, MAX_ITEM_BYTES, "tool call", "bytes of arguments")?;
                return self.add_to_turn(arguments.max(self.event_bytes));
            }
            _ => return Ok(()),
        };
        self.item_bytes += bytes;
        check(self.item_bytes, MAX_ITEM_BYTES, "item", "bytes")?;
        self.add_to_turn(bytes)
    }

    fn add_to_turn(&self, bytes: usize) -> Result<(), ModelError> {
        check(self.turn.add_bytes(bytes), MAX_TURN_BYTES, "turn", "bytes")
    }
}

fn check(
    size: usize,
    limit: usize,
    what: &'static str,
    unit: &'static str,
) -> Result<(), ModelError> {
    if size > limit {
        Err(ModelError::TooLarge { what, limit, unit })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use codex_protocol::ResponseItem;
    use serde_json::json;

    use super::*;

    fn call(arguments: usize) -> ModelEvent {
        let call = json!({
            "type": "function_call", "name": "f", "call_id": "c", "arguments": "x".repeat(arguments),
        });
        ModelEvent::ItemDone(serde_json::from_value::<ResponseItem>(call).unwrap())
    }

    #[test]
    fn items_are_counted_each_and_responses_as_a_whole() {
        let mut size = ResponseSize::of_turn(TurnState::default());
        let half = || ModelEvent::TextDelta("x".repeat(MAX_ITEM_BYTES / 2));
        for _ in 0..3 {
            assert_eq!(size.add_event(&half()), Ok(()));
            assert_eq!(size.add_event(&half()), Ok(()));
            assert_eq!(size.add_event(&call(1)), Ok(()));
        }
        size.add_event(&half()).unwrap();
        size.add_event(&half()).unwrap();
        let error = size.add_event(&ModelEvent::TextDelta("x".to_owned()));
        let error = error.unwrap_err();
        assert!(!error.is_retryable());
        assert_eq!(
            error.to_string(),
            "The model sent an item larger than 16777216 bytes; it was rejected."
        );
        assert!(size.add_event(&call(MAX_ITEM_BYTES + 1)).is_err());
        assert_eq!(size.add_data(MAX_RESPONSE_BYTES), Ok(()));
        assert!(size.add_data(1).is_err());
        let many = (0..MAX_ITEMS).map(|_| size.add_event(&call(1)));
        assert!(many.collect::<Result<Vec<_>, _>>().is_err());
    }

    #[test]
    fn the_responses_of_a_turn_are_counted_together() {
        let turn = TurnState::default();
        let full = || ModelEvent::TextDelta("x".repeat(MAX_ITEM_BYTES));
        for _ in 0..MAX_TURN_BYTES / MAX_ITEM_BYTES - 1 {
            let mut response = ResponseSize::of_turn(turn.clone());
            assert_eq!(response.add_event(&full()), Ok(()));
        }
        let mut response = ResponseSize::of_turn(turn);
        // Content without deltas is counted with its item.
        assert_eq!(response.add_data(MAX_ITEM_BYTES), Ok(()));
        assert_eq!(response.add_event(&call(1)), Ok(()));
        let error = response.add_event(&call(1)).unwrap_err();
        assert!(!error.is_retryable());
        assert_eq!(
            error.to_string(),
            "The model sent a turn larger than 536870912 bytes; it was rejected."
        );
        let mut other = ResponseSize::of_turn(TurnState::default());
        assert_eq!(other.add_event(&full()), Ok(()));
    }
}
