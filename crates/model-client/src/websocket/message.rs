//! The message of a request.
//!
//! It has the members of a request over HTTP. If nothing but the input has changed since the last response, and the
//! input begins with that of the last request and the items of its response, then only the rest of it is sent, with the
//! id of that response.

use bytes::Bytes;
use codex_protocol::Provider;

use crate::prompt::Prompt;
use crate::request::ModelRequest;
use crate::responses::{StreamFields, stream_body, write_input};

const START: &[u8] = br#"{"type":"response.create","#;

/// A response that a request can continue.
#[derive(Debug)]
pub(super) struct LastResponse {
    pub(super) id: String,
    /// The members of its request apart from the input.
    pub(super) fields: StreamFields,
    /// The input of its request, and its items.
    pub(super) conversation: Prompt,
    /// Whether it only prepared the server. No trace has it.
    pub(super) is_warming: bool,
}

/// A request as a message.
#[derive(Debug)]
pub(super) struct SocketRequest {
    pub(super) text: Bytes,
    /// The request for observers.
    pub(super) shown: Bytes,
    pub(super) fields: StreamFields,
    /// Whether it continues an earlier response.
    pub(super) is_incremental: bool,
    pub(super) is_warming: bool,
}

impl SocketRequest {
    /// A request that continues the last response if it can.
    pub(super) fn new(
        request: &ModelRequest,
        provider: &Provider,
        last: Option<LastResponse>,
    ) -> Result<Self, serde_json::Error> {
        let fields = StreamFields::for_request(request, provider)?;
        let last = last
            .filter(|last| last.fields == fields && request.input.starts_with(&last.conversation));
        let text = Bytes::from(encode(request, provider, &fields, last.as_ref(), false)?);
        let shown = match &last {
            Some(last) if last.is_warming && request.context.observer.is_some() => {
                Bytes::from(stream_body(request, provider)?)
            }
            _ => text.clone(),
        };
        Ok(Self {
            text,
            shown,
            fields,
            is_incremental: last.is_some(),
            is_warming: false,
        })
    }

    /// A request that is not to be answered.
    pub(super) fn warming(
        request: &ModelRequest,
        provider: &Provider,
    ) -> Result<Self, serde_json::Error> {
        let fields = StreamFields::for_request(request, provider)?;
        let text = Bytes::from(encode(request, provider, &fields, None, true)?);
        Ok(Self {
            shown: text.clone(),
            text,
            fields,
            is_incremental: false,
            is_warming: true,
        })
    }
}

fn encode(
    request: &ModelRequest,
    provider: &Provider,
    fields: &StreamFields,
    last: Option<&LastResponse>,
    warming: bool,
) -> Result<Vec<u8>, serde_json::Error> {
    let start = last.map_or(0, |last| last.conversation.len());
    let mut text = Vec::with_capacity(fields.head.len() + fields.tail.len() + 256);
    text.extend_from_slice(START);
    text.extend_from_slice(&fields.head);
    if let Some(last) = last {
        text.extend_from_slice(br#","previous_response_id":"#);
        serde_json::to_writer(&mut text, &last.id)?;
    }
    text.extend_from_slice(br#","input":"#);
    write_input(&mut text, &request.input, start, provider)?;
    text.push(b',');
    text.extend_from_slice(&fields.tail);
    if warming {
        text.extend_from_slice(br#","generate":false"#);
    }
    if let Some(metadata) = &request.context.turn_metadata {
        text.extend_from_slice(br#","client_metadata":{"x-codex-turn-metadata":"#);
        serde_json::to_writer(&mut text, metadata)?;
        text.push(b'}');
    }
    text.push(b'}');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use codex_protocol::{ContentItem, ResponseItem};
    use serde_json::{Value, json};

    use super::*;

    fn message(role: &str, text: &str) -> ResponseItem {
        ResponseItem::Message {
            role: role.to_owned(),
            content: vec![ContentItem::InputText {
                text: text.to_owned(),
            }],
            end_turn: None,
            phase: None,
            id: None,
        }
    }

    fn request(items: &[ResponseItem]) -> ModelRequest {
        ModelRequest {
            model: "m".to_owned(),
            instructions: "do".into(),
            input: Prompt::from_iter(items),
            ..ModelRequest::default()
        }
    }

    fn json_of(request: &SocketRequest) -> Value {
        serde_json::from_slice(&request.text).unwrap()
    }

    fn last(request: &ModelRequest, answer: &ResponseItem) -> LastResponse {
        let mut conversation = request.input.clone();
        conversation.push(answer);
        LastResponse {
            id: "r1".to_owned(),
            fields: StreamFields::for_request(request, &Provider::new("x", None)).unwrap(),
            conversation,
            is_warming: false,
        }
    }

    #[test]
    fn a_request_has_the_members_of_a_body() {
        let provider = Provider::new("x", None);
        let request = request(&[message("user", "hi")]);
        let sent = SocketRequest::new(&request, &provider, None).unwrap();
        let mut expected: Value =
            serde_json::from_slice(&stream_body(&request, &provider).unwrap()).unwrap();
        expected["type"] = json!("response.create");
        assert_eq!(json_of(&sent), expected);
        let warming = SocketRequest::warming(&request, &provider).unwrap();
        expected["generate"] = json!(false);
        assert_eq!(json_of(&warming), expected);
    }

    #[test]
    fn websocket_request_has_only_new_items() {
        let provider = Provider::new("x", None);
        let [hi, answer, more] = [
            message("user", "hi"),
            message("assistant", "yes"),
            message("user", "more"),
        ];
        let first = request(std::slice::from_ref(&hi));
        let next = request(&[hi.clone(), answer.clone(), more.clone()]);
        let sent = SocketRequest::new(&next, &provider, Some(last(&first, &answer))).unwrap();
        let json = json_of(&sent);
        assert!(sent.is_incremental);
        assert_eq!(json["previous_response_id"], "r1");
        assert_eq!(json["input"], json!([more]));
        let mut other = next.clone();
        other.model = "n".to_owned();
        let changed = request(&[answer.clone(), more]);
        for request in [other, changed] {
            let whole = SocketRequest::new(&request, &provider, Some(last(&first, &answer)));
            let whole = whole.unwrap();
            assert!(!whole.is_incremental);
            let input = json_of(&whole)["input"].as_array().unwrap().len();
            assert_eq!(input, request.input.len());
        }
    }
}
