//! Converts the input of the user to a message for the model.

use std::path::Path;

use codex_protocol::{ContentItem, ImageDetail, ResponseItem, UserInput};

use super::image_file::{ImageProblem, data_url};

/// The text in place of sound: no model that this program asks takes it.
const NO_AUDIO: &str = "The user attached audio, which is left out because this model cannot hear.";

/// The message.
pub async fn message_of(items: &[UserInput]) -> ResponseItem {
    let mut content = Vec::with_capacity(items.len());
    let mut images = 0;
    for item in items {
        match item {
            UserInput::Text { text, .. } => content.push(input_text(text.clone())),
            UserInput::Image {
                image_url,
                file_id,
                detail,
            } => {
                images += 1;
                let image = ContentItem::InputImage {
                    image_url: image_url.clone(),
                    file_id: file_id.clone(),
                    detail: *detail,
                };
                content.extend(wrapped("<image>".to_owned(), image));
            }
            UserInput::LocalImage { path, detail } => {
                images += 1;
                match data_url(Path::new(path)).await {
                    Ok(url) => {
                        let open = format!("<image name=[Image #{images}]>");
                        let image = ContentItem::InputImage {
                            image_url: url,
                            file_id: None,
                            // What a person shows has details that matter.
                            detail: detail.or(Some(ImageDetail::High)),
                        };
                        content.extend(wrapped(open, image));
                    }
                    Err(problem) => content.push(input_text(image_error(path, problem))),
                }
            }
            UserInput::Audio { .. } => content.push(input_text(NO_AUDIO.to_owned())),
            UserInput::LocalAudio { path } => {
                content.push(input_text(format!(
                    "{NO_AUDIO} It is in the file `{path}`."
                )));
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

fn wrapped(open: String, image: ContentItem) -> [ContentItem; 3] {
    [input_text(open), image, input_text("</image>".to_owned())]
}

/// The text in place of an image that cannot be used.
fn image_error(path: &str, problem: ImageProblem) -> String {
    match problem {
        ImageProblem::Unreadable(error) => {
            format!("Codex could not read the local image at `{path}`: {error}")
        }
        ImageProblem::Unsupported(_) => {
            format!("Codex cannot attach image at `{path}`: {problem}.")
        }
        ImageProblem::Invalid(reason) => format!("Image located at `{path}` is invalid: {reason}"),
    }
}
