//! What a person put in, as a message for the model.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use codex_protocol::{ContentItem, ResponseItem, UserInput};

/// The largest image file that is taken along.
const IMAGE_LIMIT: u64 = 20 * 1024 * 1024;

/// The message.
pub(crate) async fn message_of(items: &[UserInput]) -> ResponseItem {
    let mut content = Vec::with_capacity(items.len());
    let mut images = 0;
    for item in items {
        match item {
            UserInput::Text { text, .. } => content.push(input_text(text.clone())),
            UserInput::Image { image_url } => {
                images += 1;
                content.extend(wrapped("<image>".to_owned(), image_url.clone()));
            }
            UserInput::LocalImage { path } => {
                images += 1;
                match data_url(Path::new(path)).await {
                    Ok(url) => {
                        content.extend(wrapped(format!("<image name=[Image #{images}]>"), url))
                    }
                    Err(problem) => content.push(input_text(problem)),
                }
            }
            _ => {}
        }
    }
    ResponseItem::Message {
        role: "user".to_owned(),
        content,
        end_turn: None,
        phase: None,
        id: None,
    }
}

fn input_text(text: String) -> ContentItem {
    ContentItem::InputText { text }
}

fn wrapped(open: String, image_url: String) -> [ContentItem; 3] {
    [
        input_text(open),
        ContentItem::InputImage { image_url },
        input_text("</image>".to_owned()),
    ]
}

/// The image of a file, or what to tell the model in its place.
pub(crate) async fn data_url(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        format!("Codex could not read the local image at `{shown}`: {error}")
    };
    let size = tokio::fs::metadata(path).await.map_err(unreadable)?.len();
    if size > IMAGE_LIMIT {
        return Err(format!(
            "Image located at `{shown}` is invalid: it has {size} bytes"
        ));
    }
    let bytes = tokio::fs::read(path).await.map_err(unreadable)?;
    let Some(mime) = mime_of(&bytes) else {
        return Err(format!(
            "Image located at `{shown}` is invalid: its format is not known"
        ));
    };
    Ok(format!("data:{mime};base64,{}", STANDARD.encode(bytes)))
}

fn mime_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        _ => None,
    }
}
