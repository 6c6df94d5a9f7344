//! Converts the content blocks of a prompt to input of a turn, and back. Pure.

use std::collections::HashMap;
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    AudioContent, ContentBlock, EmbeddedResourceResource, Error, ImageContent, ResourceLink,
};
use codex_app_server_protocol::v2::UserInput;
use serde_json::Value;
use url::Url;

/// The input of a turn. Links become marks in the text; embedded resources and `unsaved` buffers follow the text, by
/// URI.
pub(crate) fn inputs(
    blocks: &[ContentBlock],
    unsaved: &HashMap<String, String>,
) -> Result<Vec<UserInput>, Error> {
    let mut inputs = Vec::new();
    let mut text = String::new();
    let mut context = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(block) => text.push_str(&block.text),
            ContentBlock::ResourceLink(link) => {
                text.push_str(&mark(&link.name, &link.uri));
                if let Some(unsaved) = unsaved.get(&link.uri) {
                    context.push_str(&embedded(&link.uri, unsaved));
                }
            }
            ContentBlock::Image(image) => inputs.push(image_input(image)),
            ContentBlock::Resource(block) => match &block.resource {
                EmbeddedResourceResource::TextResourceContents(resource) => {
                    text.push_str(&mark(name_of(&resource.uri), &resource.uri));
                    context.push_str(&embedded(&resource.uri, &resource.text));
                }
                EmbeddedResourceResource::BlobResourceContents(resource) => {
                    let mime = resource.mime_type.as_deref().unwrap_or_default();
                    if !mime.starts_with("image/") {
                        return Err(refused("an embedded file that is neither text nor image"));
                    }
                    let url = format!("data:{mime};base64,{}", resource.blob);
                    inputs.push(UserInput::Image {
                        url,
                        file_id: None,
                        detail: None,
                    });
                }
                _ => return Err(refused("an embedded resource of this kind")),
            },
            ContentBlock::Audio(_) => return Err(refused("audio")),
            _ => return Err(refused("a block of this kind")),
        }
    }
    text.push_str(&context);
    if !text.is_empty() {
        inputs.push(UserInput::Text {
            text,
            text_elements: Vec::new(),
        });
    }
    if inputs.is_empty() {
        Err(refused("an empty prompt"))
    } else {
        Ok(inputs)
    }
}

fn refused(what: &str) -> Error {
    Error::invalid_params().data(Value::from(format!("{what} is not supported")))
}

fn image_input(image: &ImageContent) -> UserInput {
    let remote = image.uri.as_deref().filter(|uri| uri.starts_with("http"));
    let url = match remote {
        Some(uri) if image.data.is_empty() => uri.to_owned(),
        _ => format!("data:{};base64,{}", image.mime_type, image.data),
    };
    UserInput::Image {
        url,
        file_id: None,
        detail: None,
    }
}

fn mark(name: &str, uri: &str) -> String {
    format!("[@{name}]({uri})")
}

fn embedded(uri: &str, text: &str) -> String {
    format!("\n<context ref=\"{uri}\">\n{text}\n</context>")
}

/// The last part of a URI.
fn name_of(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    let name = path.rsplit('/').find(|part| !part.is_empty());
    name.unwrap_or(uri)
}

/// The files that a prompt links to, with their URIs.
pub(crate) fn linked_files(blocks: &[ContentBlock]) -> Vec<(String, PathBuf)> {
    let links = blocks.iter().filter_map(|block| match block {
        ContentBlock::ResourceLink(link) => Some(&link.uri),
        _ => None,
    });
    let files = links.filter_map(|uri| {
        let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
        Some((uri.clone(), url.to_file_path().ok()?))
    });
    files.collect()
}

/// A part of a stored message as a content block.
pub(crate) fn block_of(input: &UserInput) -> ContentBlock {
    match input {
        UserInput::Text { text, .. } => ContentBlock::from(text.clone()),
        UserInput::Image { url, .. } => match data_url(url) {
            Some((mime, data)) => ContentBlock::Image(ImageContent::new(data, mime)),
            None => ContentBlock::ResourceLink(ResourceLink::new("image", url.clone())),
        },
        UserInput::LocalImage { path, .. } | UserInput::LocalAudio { path } => {
            let uri = Url::from_file_path(path).map_or_else(|()| path.clone(), String::from);
            ContentBlock::ResourceLink(ResourceLink::new(name_of(path), uri))
        }
        UserInput::Audio { url } => match data_url(url) {
            Some((mime, data)) => ContentBlock::Audio(AudioContent::new(data, mime)),
            None => ContentBlock::ResourceLink(ResourceLink::new("audio", url.clone())),
        },
        UserInput::Skill { name, .. } => ContentBlock::from(format!("${name}")),
        UserInput::Mention { name, path } => {
            ContentBlock::ResourceLink(ResourceLink::new(name.clone(), path.clone()))
        }
    }
}

fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inputs_of(blocks: Value) -> Result<Value, Error> {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        inputs(&blocks, &HashMap::new()).map(|inputs| json!(inputs))
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text, "text_elements": [] })
    }

    #[test]
    fn text_links_and_resources_are_one_text() {
        let blocks = json!([
            { "type": "text", "text": "Explain " },
            { "type": "resource_link", "name": "a.rs", "uri": "file:///w/a.rs" },
            { "type": "text", "text": " and " },
            { "type": "resource", "resource": { "uri": "file:///w/b.rs", "text": "fn b() {}" } },
        ]);
        let expected = "Explain [@a.rs](file:///w/a.rs) and [@b.rs](file:///w/b.rs)\n\
                        <context ref=\"file:///w/b.rs\">\nfn b() {}\n</context>";
        assert_eq!(inputs_of(blocks).unwrap(), json!([text(expected)]));
    }

    #[test]
    fn unsaved_editor_content_is_sent_with_the_prompt() {
        let blocks: Vec<ContentBlock> = serde_json::from_value(json!([
            { "type": "resource_link", "name": "a", "uri": "file:///w/a" },
        ]))
        .unwrap();
        assert_eq!(
            linked_files(&blocks),
            [("file:///w/a".into(), "/w/a".into())]
        );
        let unsaved = HashMap::from([("file:///w/a".to_owned(), "new".to_owned())]);
        let expected = "[@a](file:///w/a)\n<context ref=\"file:///w/a\">\nnew\n</context>";
        let inputs = inputs(&blocks, &unsaved).unwrap();
        assert_eq!(json!(inputs), json!([text(expected)]));
    }

    #[test]
    fn image_survives_conversion_and_back() {
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" });
        let expected = json!([{ "type": "image", "url": "data:image/png;base64,AAAA" }]);
        assert_eq!(inputs_of(json!([image])).unwrap(), expected);
        let url = "data:image/png;base64,AAAA".to_owned();
        assert_eq!(
            json!(block_of(&UserInput::Image {
                url,
                file_id: None,
                detail: None
            })),
            image
        );
    }

    #[test]
    fn unsupported_prompt_blocks_are_refused() {
        let audio = json!([{ "type": "audio", "mimeType": "audio/wav", "data": "" }]);
        assert_eq!(i32::from(inputs_of(audio).unwrap_err().code), -32602);
        assert_eq!(i32::from(inputs_of(json!([])).unwrap_err().code), -32602);
    }
}
