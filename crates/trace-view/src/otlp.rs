//! OpenTelemetry traces in the encodings of OTLP, after the semantic conventions for generative AI.
//!
//! A turn is an agent's invocation, an inference a chat, a tool call the execution of a tool; what the conventions have
//! no word for has attributes under `codex.`. Ids are made from the ids of the trace, so that the same bundle gives the
//! same spans. The contents of messages are exported on request only.

use std::collections::HashMap;
use std::io::{self, Write};

use codex_rollout_trace::Reduction;
use codex_rollout_trace::format::ToolKind;
use codex_rollout_trace::ids::{TraceId, TurnId};
use codex_rollout_trace::model::{InferenceCall, RolloutTrace, ThreadOrigin, Turn, Usage};
use serde::Serialize;
use serde_json::{Value, json};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::otlp_messages::MessageWriter;
use crate::otlp_protobuf::encode;
use crate::timeline::{Span, SpanIndex, Subject, Timeline, tool_name};

/// The version of the semantic conventions that the output follows.
pub const SEMANTIC_CONVENTIONS: &str = "1.41.1";

/// How a span ended, in the protocol's numbers.
const STATUS_UNSET: u8 = 0;
const STATUS_OK: u8 = 1;
const STATUS_ERROR: u8 = 2;

const KIND_INTERNAL: u8 = 1;
const KIND_CLIENT: u8 = 3;

/// Whether the contents of messages and tool calls are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contents {
    /// They are left out.
    #[default]
    Omit,
    /// They are exported.
    Include,
}

/// Writes a reduced bundle as one `ExportTraceServiceRequest` in JSON.
///
/// # Errors
/// It cannot be written.
pub fn write_otlp(
    reduction: &Reduction,
    contents: Contents,
    out: &mut impl Write,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &request(reduction, contents))?;
    out.write_all(b"\n")
}

/// A reduced bundle as one `ExportTraceServiceRequest` in the binary encoding.
#[must_use]
pub fn encode_otlp(reduction: &Reduction, contents: Contents) -> Vec<u8> {
    encode(&request(reduction, contents))
}

fn request(reduction: &Reduction, contents: Contents) -> Value {
    let trace = &reduction.trace;
    let timeline = Timeline::new(trace);
    let exporter = Exporter::new(trace, &timeline, contents);
    let schema = format!("https://opentelemetry.io/schemas/{SEMANTIC_CONVENTIONS}");
    let mut resource = Attributes::default();
    resource.text("service.name", "codex");
    if reduction.problems.is_damaged() {
        resource.boolean("codex.trace.damaged", true);
    }
    let mut scope = Attributes::default();
    scope.text("codex.semantic_conventions.version", SEMANTIC_CONVENTIONS);
    let indices = 0..timeline.spans.len();
    let spans: Vec<Value> = indices.map(|at| exporter.span(at)).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource.0 },
        "scopeSpans": [{
            "scope": {
                "name": "codex.rollout_trace",
                "version": env!("CARGO_PKG_VERSION"),
                "attributes": scope.0,
            },
            "spans": spans,
            "schemaUrl": schema,
        }],
        "schemaUrl": schema,
    }]})
}

struct Exporter<'t> {
    timeline: &'t Timeline<'t>,
    trace: &'t RolloutTrace,
    trace_id: String,
    links: Vec<Vec<Value>>,
    /// The first inference of each turn.
    first_calls: HashMap<&'t TurnId, &'t InferenceCall>,
    contents: Option<MessageWriter<'t>>,
}

impl<'t> Exporter<'t> {
    fn new(trace: &'t RolloutTrace, timeline: &'t Timeline<'t>, contents: Contents) -> Self {
        let trace_id = trace_id(&trace.trace_id);
        let mut links = vec![Vec::new(); timeline.spans.len()];
        for edge in &timeline.edges {
            let mut attributes = Attributes::default();
            attributes.value("codex.edge.kind", json!(edge.edge.kind));
            attributes.text("codex.edge.id", edge.edge.edge_id.as_str());
            links[edge.target].push(json!({
                "traceId": trace_id,
                "spanId": span_id(trace, &timeline.spans[edge.source]),
                "attributes": attributes.0,
            }));
        }
        let mut first_calls = HashMap::new();
        for span in &timeline.spans {
            if let Subject::Inference(call) = span.subject {
                first_calls.entry(&call.codex_turn_id).or_insert(call);
            }
        }
        Self {
            timeline,
            trace,
            trace_id,
            links,
            first_calls,
            contents: match contents {
                Contents::Include => Some(MessageWriter::new(trace)),
                Contents::Omit => None,
            },
        }
    }

    /// What a list of traces shows: the model, and what the user wanted if contents are exported.
    fn session_name(&self) -> String {
        let calls = self.trace.inference_calls.values();
        let first = calls.min_by_key(|call| call.execution.started_seq);
        let Some(first) = first else {
            return "codex session".to_owned();
        };
        let task = self
            .contents
            .as_ref()
            .and_then(|contents| contents.task(first));
        match task {
            Some(task) => format!("codex session: {task}"),
            None => format!("codex session {}", first.model),
        }
    }

    fn span(&self, at: SpanIndex) -> Value {
        let span = &self.timeline.spans[at];
        let parent = span.parent.map(|up| &self.timeline.spans[up]);
        let parent = parent.map_or_else(String::new, |parent| span_id(self.trace, parent));
        let (name, kind) = self.name(span);
        let mut attributes = self.attributes(span);
        let code = match span.window.ended_at_unix_ms {
            _ if span.has_failed() => STATUS_ERROR,
            Some(_) => STATUS_OK,
            None => STATUS_UNSET,
        };
        if code == STATUS_ERROR {
            attributes.value("error.type", json!(span.window.status));
        }
        let mut status = json!({ "code": code });
        if let (STATUS_ERROR, Some(error)) = (code, span.error()) {
            status["message"] = json!(error);
        }
        json!({
            "traceId": self.trace_id,
            "spanId": span_id(self.trace, span),
            "parentSpanId": parent,
            "name": name,
            "kind": kind,
            "startTimeUnixNano": nanos(span.window.started_at_unix_ms),
            "endTimeUnixNano": nanos(self.timeline.end_of(span)),
            "attributes": attributes.0,
            "links": self.links[at],
            "status": status,
        })
    }

    /// A span's name begins with its operation, as the conventions have it.
    fn name(&self, span: &Span<'_>) -> (String, u8) {
        match span.subject {
            Subject::Turn(_) => {
                let agent = &self.timeline.spans[span.thread].name;
                (format!("invoke_agent {agent}"), KIND_INTERNAL)
            }
            Subject::Inference(call) => (format!("chat {}", call.model), KIND_CLIENT),
            Subject::Compaction(call) => (format!("compact {}", call.model), KIND_CLIENT),
            Subject::Tool(_) => (format!("execute_tool {}", span.name), KIND_INTERNAL),
            Subject::Thread(thread) if thread.origin == ThreadOrigin::Root => {
                (self.session_name(), KIND_INTERNAL)
            }
            Subject::Thread(_) | Subject::Cell(_) | Subject::Command(_) | Subject::Terminal(_) => {
                (format!("codex.{}", span.kind.name()), KIND_INTERNAL)
            }
        }
    }

    /// The first inference of a turn.
    fn first_call(&self, turn: &Turn) -> Option<&'t InferenceCall> {
        self.first_calls.get(&turn.codex_turn_id).copied()
    }

    fn attributes(&self, span: &Span<'_>) -> Attributes {
        let mut attributes = Attributes::default();
        attributes.text("codex.id", &span.id);
        attributes.number("codex.started_seq", span.window.started_seq);
        attributes.value("codex.status", json!(span.window.status));
        let thread = &self.timeline.spans[span.thread];
        attributes.text("gen_ai.conversation.id", &thread.id);
        match span.subject {
            Subject::Turn(turn) => {
                attributes.text("gen_ai.operation.name", "invoke_agent");
                if let Some(call) = self.first_call(turn) {
                    attributes.text("gen_ai.provider.name", &provider(&call.provider_name));
                    attributes.text("gen_ai.request.model", &call.model);
                }
                attributes.text("gen_ai.agent.name", &thread.name);
                attributes.text("gen_ai.agent.id", &thread.id);
            }
            Subject::Inference(call) => {
                attributes.text("gen_ai.operation.name", "chat");
                attributes.text("gen_ai.provider.name", &provider(&call.provider_name));
                attributes.text("gen_ai.request.model", &call.model);
                if let Some(id) = &call.response_id {
                    attributes.text("gen_ai.response.id", id.as_str());
                }
                if let Some(usage) = call.usage {
                    attributes.usage(usage);
                }
                if let Some(contents) = &self.contents {
                    attributes.text("gen_ai.input.messages", &contents.input(call));
                    attributes.text("gen_ai.output.messages", &contents.output(call));
                }
            }
            Subject::Compaction(call) => {
                attributes.text("gen_ai.operation.name", "codex.compact");
                attributes.text("gen_ai.provider.name", &provider(&call.provider_name));
                attributes.text("gen_ai.request.model", &call.model);
            }
            Subject::Tool(call) => {
                attributes.text("gen_ai.operation.name", "execute_tool");
                attributes.text("gen_ai.tool.name", &tool_name(&call.kind));
                attributes.text("gen_ai.tool.type", tool_type(&call.kind));
                let id = call.model_visible_call_id.as_ref().map(|id| id.as_str());
                attributes.text("gen_ai.tool.call.id", id.unwrap_or(&span.id));
                if let Some(contents) = &self.contents {
                    let (arguments, result) = contents.tool(call);
                    for (name, text) in [("arguments", arguments), ("result", result)] {
                        if let Some(text) = text {
                            attributes.text(&format!("gen_ai.tool.call.{name}"), &text);
                        }
                    }
                }
            }
            Subject::Command(operation) => {
                if let Some(code) = operation
                    .result
                    .as_ref()
                    .and_then(|result| result.exit_code)
                {
                    attributes.number("process.exit.code", code);
                }
            }
            Subject::Thread(_) | Subject::Cell(_) | Subject::Terminal(_) => {}
        }
        attributes
    }
}

/// Attributes in the encoding of the protocol: integers are strings.
#[derive(Debug, Default, Clone, Serialize)]
struct Attributes(Vec<Value>);

impl Attributes {
    fn text(&mut self, key: &str, text: &str) {
        self.0
            .push(json!({ "key": key, "value": { "stringValue": text } }));
    }

    fn number(&mut self, key: &str, number: impl ToString) {
        self.0
            .push(json!({ "key": key, "value": { "intValue": number.to_string() } }));
    }

    fn boolean(&mut self, key: &str, value: bool) {
        self.0
            .push(json!({ "key": key, "value": { "boolValue": value } }));
    }

    /// A word of the model's own, such as a status.
    fn value(&mut self, key: &str, word: Value) {
        self.text(key, word.as_str().unwrap_or_default());
    }

    fn usage(&mut self, usage: Usage) {
        self.number("gen_ai.usage.input_tokens", usage.input_tokens);
        self.number("gen_ai.usage.output_tokens", usage.output_tokens);
        self.number(
            "gen_ai.usage.cache_read.input_tokens",
            usage.cached_input_tokens,
        );
        self.number(
            "gen_ai.usage.reasoning.output_tokens",
            usage.reasoning_output_tokens,
        );
    }
}

/// The conventions' word for a provider that they know, or the provider's own name.
fn provider(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "openai" => "openai".to_owned(),
        "azure" | "azure openai" => "azure.ai.openai".to_owned(),
        _ => name.to_owned(),
    }
}

/// Tools that the provider runs are extensions; all others run here.
fn tool_type(kind: &ToolKind) -> &'static str {
    match kind {
        ToolKind::Web | ToolKind::ImageGeneration => "extension",
        _ => "function",
    }
}

/// The 16 bytes of a trace id that is a UUID; of any other, a hash.
fn trace_id(id: &TraceId) -> String {
    let digits: String = id.as_str().chars().filter(|char| *char != '-').collect();
    let is_uuid = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_uuid && digits.bytes().any(|digit| digit != b'0') {
        return digits.to_ascii_lowercase();
    }
    format!("{:032x}", xxh3_128(id.as_str().as_bytes()).max(1))
}

/// Ids of one kind are unique in a trace, so trace, kind and id make a span's own.
fn span_id(trace: &RolloutTrace, span: &Span<'_>) -> String {
    let name = format!("{}/{}/{}", trace.trace_id, span.kind.name(), span.id);
    format!("{:016x}", xxh3_64(name.as_bytes()).max(1))
}

fn nanos(unix_ms: i64) -> String {
    (i128::from(unix_ms).max(0) * 1_000_000).to_string()
}
