//! Replacing images by text.

use codex_protocol::{
    ContentItem, FunctionCallOutputBody, FunctionCallOutputContentItem, ResponseItem,
};

/// Replaces each image by a text.
pub(super) fn replace_images(mut item: ResponseItem, text: &str) -> ResponseItem {
    match &mut item {
        ResponseItem::Message { content, .. } => {
            for part in content {
                if matches!(part, ContentItem::InputImage { .. }) {
                    *part = ContentItem::InputText {
                        text: text.to_owned(),
                    };
                }
            }
        }
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => {
            if let FunctionCallOutputBody::Content(parts) = output {
                for part in parts {
                    if matches!(part, FunctionCallOutputContentItem::InputImage { .. }) {
                        *part = FunctionCallOutputContentItem::InputText {
                            text: text.to_owned(),
                        };
                    }
                }
            }
        }
        ResponseItem::ImageGenerationCall { result, .. } => result.clear(),
        _ => {}
    }
    item
}
