//! Replacing images by text.

use codex_protocol::{
    ContentItem, FunctionCallOutputBody, FunctionCallOutputContentItem, ResponseItem,
};

/// The item with a text in place of each image.
pub(crate) fn replace_images(mut item: ResponseItem, text: &str) -> ResponseItem {
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
