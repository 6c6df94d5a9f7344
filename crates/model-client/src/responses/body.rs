//! The request body, with fixed fields in a fixed order.
//!
//! Most of the body is the history, whose JSON is already available. The fields before and after it are serialized as two
//! objects and joined with it.

use codex_protocol::{Provider, ServiceTier, Verbosity};
use serde::Serialize;
use serde_json::Value;

use crate::encoded::Encoded;
use crate::prompt::{Prompt, PromptItem};
use crate::provider::is_azure;
use crate::request::{ModelRequest, Reasoning};
use crate::tool_spec::ToolSpec;

/// Space for everything except instructions, input and tools.
const SMALL_FIELDS_BYTES: usize = 1024;

#[derive(Serialize)]
struct StreamHead<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
}

#[derive(Serialize)]
struct StreamTail<'a> {
    tools: &'a Encoded<Vec<ToolSpec>>,
    tool_choice: &'static str,
    parallel_tool_calls: bool,
    reasoning: Option<&'a Reasoning>,
    store: bool,
    stream: bool,
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    prompt_cache_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_metadata: Option<ClientMetadata<'a>>,
}

#[derive(Serialize)]
struct ClientMetadata<'a> {
    #[serde(
        rename = "x-codex-turn-metadata",
        skip_serializing_if = "Option::is_none"
    )]
    turn: Option<&'a str>,
    /// Where the key of the cache does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<&'a str>,
}

#[derive(Serialize)]
struct CompactHead<'a> {
    model: &'a str,
}

#[derive(Serialize)]
struct CompactTail<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    tools: &'a Encoded<Vec<ToolSpec>>,
    parallel_tool_calls: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
}

#[derive(Serialize)]
struct TextOptions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<Verbosity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<TextFormat<'a>>,
}

#[derive(Serialize)]
struct TextFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    strict: bool,
    schema: &'a Value,
    name: &'static str,
}

/// The body of a streaming request.
pub fn stream_body(
    request: &ModelRequest,
    provider: &Provider,
) -> Result<Vec<u8>, serde_json::Error> {
    let azure = is_azure(provider);
    let context = &request.context;
    let metadata = context.turn_metadata.as_deref();
    let turn = metadata.filter(|_| context.has_client_metadata);
    let own_id = Some(&*context.thread_id);
    let thread_id = own_id.filter(|id| *id != context.cache_key());
    let has_metadata = turn.is_some() || thread_id.is_some();
    let tail = StreamTail {
        client_metadata: has_metadata.then_some(ClientMetadata { turn, thread_id }),
        ..stream_tail(request, azure)
    };
    join(&stream_head(request), request, azure, &tail)
}

fn stream_head(request: &ModelRequest) -> StreamHead<'_> {
    StreamHead {
        model: &request.model,
        instructions: &request.instructions,
    }
}

fn stream_tail(request: &ModelRequest, azure: bool) -> StreamTail<'_> {
    let include: &[&str] = match request.reasoning {
        Some(_) => &["reasoning.encrypted_content"],
        None => &[],
    };
    StreamTail {
        tools: &request.tools,
        tool_choice: request.tool_choice(),
        parallel_tool_calls: request.parallel_tool_calls,
        reasoning: request.reasoning.as_ref(),
        store: azure,
        stream: true,
        include,
        service_tier: request
            .service_tier
            .as_ref()
            .and_then(ServiceTier::name_in_requests),
        prompt_cache_key: request.context.cache_key(),
        text: text(request),
        client_metadata: None,
    }
}

/// The members of a streaming request before and after its input, as JSON without braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamFields {
    pub(crate) head: Vec<u8>,
    pub(crate) tail: Vec<u8>,
}

impl StreamFields {
    pub(crate) fn for_request(
        request: &ModelRequest,
        provider: &Provider,
    ) -> Result<Self, serde_json::Error> {
        let azure = is_azure(provider);
        let size = SMALL_FIELDS_BYTES;
        let mut head = Vec::with_capacity(size + request.instructions.len());
        serde_json::to_writer(&mut head, &stream_head(request))?;
        let mut tail = Vec::with_capacity(size + request.tools.json()?.get().len());
        serde_json::to_writer(&mut tail, &stream_tail(request, azure))?;
        for fields in [&mut head, &mut tail] {
            fields.remove(0);
            fields.pop();
        }
        Ok(Self { head, tail })
    }
}

/// Appends the items from the one at `start` as a JSON array, with ids for servers that take them.
pub(crate) fn write_input(
    body: &mut Vec<u8>,
    input: &Prompt,
    start: usize,
    provider: &Provider,
) -> Result<(), serde_json::Error> {
    if is_azure(provider) {
        let items = input.items().skip(start).map(value_with_id);
        return serde_json::to_writer(body, &items.collect::<Result<Vec<_>, _>>()?);
    }
    if start == 0 {
        input.write_json(body);
        return Ok(());
    }
    body.push(b'[');
    for (index, item) in input.items().skip(start).enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(item.json.as_bytes());
    }
    body.push(b']');
    Ok(())
}

/// The body of a compaction request.
pub fn compact_body(
    request: &ModelRequest,
    provider: &Provider,
) -> Result<Vec<u8>, serde_json::Error> {
    let head = CompactHead {
        model: &request.model,
    };
    let tail = CompactTail {
        instructions: &request.instructions,
        tools: &request.tools,
        parallel_tool_calls: request.parallel_tool_calls,
        reasoning: request.reasoning.as_ref(),
        text: text(request),
    };
    join(&head, request, is_azure(provider), &tail)
}

/// One object: the members of `head`, the history as `input`, and the members of `tail`.
fn join(
    head: &impl Serialize,
    request: &ModelRequest,
    with_ids: bool,
    tail: &impl Serialize,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut size = SMALL_FIELDS_BYTES + request.instructions.len();
    size += request.tools.json()?.get().len() + request.input.json_length();
    let mut body = Vec::with_capacity(size);
    serde_json::to_writer(&mut body, head)?;
    body.pop();
    body.extend_from_slice(br#","input":"#);
    if with_ids {
        let items = request.input.items().map(value_with_id);
        serde_json::to_writer(&mut body, &items.collect::<Result<Vec<_>, _>>()?)?;
    } else {
        request.input.write_json(&mut body);
    }
    let brace = body.len();
    serde_json::to_writer(&mut body, tail)?;
    body[brace] = b',';
    Ok(body)
}

/// An item with its id from the server.
fn value_with_id(item: PromptItem<'_>) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::from_str(item.json)?;
    if let (Some(id), Value::Object(object)) = (item.id, &mut value) {
        object.insert("id".to_owned(), Value::from(id));
    }
    Ok(value)
}

fn text(request: &ModelRequest) -> Option<TextOptions<'_>> {
    if request.verbosity.is_none() && request.output_schema.is_none() {
        return None;
    }
    Some(TextOptions {
        verbosity: request.verbosity,
        format: request.output_schema.as_ref().map(|schema| TextFormat {
            kind: "json_schema",
            strict: true,
            schema,
            name: "codex_output_schema",
        }),
    })
}

#[cfg(test)]
mod tests {
    use codex_protocol::{ContentItem, ReasoningEffort, ReasoningSummary, ResponseItem};
    use serde_json::json;

    use super::*;

    fn message(id: Option<&str>) -> ResponseItem {
        ResponseItem::Message {
            role: "user".to_owned(),
            content: vec![ContentItem::InputText {
                text: "hi".to_owned(),
            }],
            end_turn: None,
            phase: None,
            id: id.map(str::to_owned),
        }
    }

    fn plain() -> ModelRequest {
        let mut request = ModelRequest {
            model: "m".to_owned(),
            instructions: "do".into(),
            input: Prompt::from_iter([&message(Some("msg_1"))]),
            ..ModelRequest::default()
        };
        request.context.thread_id = "t".to_owned();
        request
    }

    fn full() -> ModelRequest {
        ModelRequest {
            tools: vec![ToolSpec::LocalShell].into(),
            parallel_tool_calls: true,
            reasoning: Some(Reasoning {
                effort: Some(ReasoningEffort::High),
                summary: Some(ReasoningSummary::Auto),
            }),
            service_tier: Some(ServiceTier::Fast),
            verbosity: Some(Verbosity::Low),
            output_schema: Some(json!({"type": "object"})),
            ..plain()
        }
    }

    fn text_of(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    fn check(request: &ModelRequest, provider: &Provider, expected: &str) {
        assert_eq!(text_of(stream_body(request, provider).unwrap()), expected);
    }

    const HI_MESSAGE: &str =
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]"#;

    #[test]
    fn plain_request_has_fixed_fields_only() {
        let expected = format!(
            r#"{{"model":"m","instructions":"do","input":[{HI_MESSAGE}}}],"tools":[],"tool_choice":"auto","parallel_tool_calls":false,"reasoning":null,"store":false,"stream":true,"include":[],"prompt_cache_key":"t"}}"#
        );
        check(&plain(), &Provider::new("x", None), &expected);
    }

    #[test]
    fn a_full_request_has_the_optional_fields_too() {
        let expected = format!(
            r#"{{"model":"m","instructions":"do","input":[{HI_MESSAGE}}}],"tools":[{{"type":"local_shell"}}],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{{"effort":"high","summary":"auto"}},"store":false,"stream":true,"include":["reasoning.encrypted_content"],"service_tier":"priority","prompt_cache_key":"t","text":{{"verbosity":"low","format":{{"type":"json_schema","strict":true,"schema":{{"type":"object"}},"name":"codex_output_schema"}}}}}}"#
        );
        check(&full(), &Provider::new("x", None), &expected);
    }

    #[test]
    fn azure_stores_and_gets_item_ids_back() {
        let body = stream_body(&plain(), &Provider::new("Azure", None)).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["store"], true);
        assert_eq!(body["input"][0]["id"], "msg_1");
    }

    #[test]
    fn reasoning_has_only_requested_members() {
        let check = |reasoning: Reasoning, expected| {
            assert_eq!(serde_json::to_string(&reasoning).unwrap(), expected);
        };
        check(Reasoning::default(), "{}");
        let summary = Some(ReasoningSummary::None);
        check(
            Reasoning {
                effort: None,
                summary,
            },
            "{}",
        );
    }

    #[test]
    fn compaction_has_a_body_of_its_own() {
        let provider = Provider::new("x", None);
        let body = text_of(compact_body(&plain(), &provider).unwrap());
        let expected = format!(
            r#"{{"model":"m","input":[{HI_MESSAGE}}}],"instructions":"do","tools":[],"parallel_tool_calls":false}}"#
        );
        assert_eq!(body, expected);
    }
}
