//! The images of the last message, while lines are read one after another.

use codex_protocol::{ResponseItem, RolloutItem};

use crate::message_images::{has_images, naming, restore_from};
use crate::scan::ScannedLine;

/// The last message with images, which events get theirs from.
#[derive(Debug, Default)]
pub struct MessageImages {
    message: Option<ResponseItem>,
}

impl MessageImages {
    /// Notes a line. Every line must be noted, in order.
    pub fn see(&mut self, line: ScannedLine<'_>) {
        let kind = line.start().map(|start| (start.kind, start.payload_type));
        if !matches!(kind, Some(("response_item", Some("message"))))
            || memchr::memmem::find(line.bytes(), b"\"input_image\"").is_none()
        {
            return;
        }
        if let Some(RolloutItem::ResponseItem(message)) = line.read().map(|line| line.item)
            && has_images(&message)
        {
            self.message = Some(message);
        }
    }

    /// Gives an event the images that it names.
    pub fn restore(&self, item: &mut RolloutItem) {
        if let (Some(event), Some(message)) = (naming(item), &self.message) {
            restore_from(event, message);
        }
    }
}
