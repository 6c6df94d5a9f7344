//! OpenTelemetry traces in the encodings of OTLP, after the semantic conventions for generative AI.
//!
//! A turn is an agent's invocation, an inference a chat, a tool call the execution of a tool; what the conventions have
//! no word for has attributes under `codex.`. Ids are made from the ids of the trace, so that the same bundle gives the
//! same spans. The contents of messages are exported on request only.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use codex_rollout_trace::format::ToolKind;
use codex_rollout_trace::ids::{TraceId, TurnId};
use codex_rollout_trace::model::{
    InferenceCall, RolloutTrace, TerminalRequest, ThreadOrigin, Turn,
};
use codex_rollout_trace::{BundlePayloads, Reduction};
use serde_json::{Value, json};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::otlp_attributes::{Attributes, Side};
use crate::otlp_events::SpanEvents;
use crate::otlp_messages::MessageWriter;
use crate::otlp_protobuf::encode;
use crate::timeline::{Span, SpanIndex, Subject, Timeline, tool_name, typed_command};

/// The version of the semantic conventions that the output follows.
pub const SEMANTIC_CONVENTIONS: &str = "1.41.1";

/// A name has this many characters of a task.
const NAME_LENGTH: usize = 60;

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

/// Longer requests are not searched for instructions and tools.
const MOST_OF_A_REQUEST: u64 = 16 << 20;

/// Writes a reduced bundle as one `ExportTraceServiceRequest` in JSON. The bundle is read again for what its log says beside the
/// graph.
///
/// # Errors
/// It cannot be written.
pub fn write_otlp(
    reduction: &Reduction,
    bundle: &Path,
    contents: Contents,
    out: &mut impl Write,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &request(reduction, bundle, contents))?;
    out.write_all(b"\n")
}

/// A reduced bundle as one `ExportTraceServiceRequest` in the binary encoding.
#[must_use]
pub fn encode_otlp(reduction: &Reduction, bundle: &Path, contents: Contents) -> Vec<u8> {
    encode(&request(reduction, bundle, contents))
}

fn request(reduction: &Reduction, bundle: &Path, contents: Contents) -> Value {
    let trace = &reduction.trace;
    let timeline = Timeline::new(trace);
    let exporter = Exporter::new(trace, &timeline, bundle, contents);
    let schema = format!("https://opentelemetry.io/schemas/{SEMANTIC_CONVENTIONS}");
    let mut resource = Attributes::default();
    resource.text("service.name", "codex");
    resource.text("service.version", env!("CARGO_PKG_VERSION"));
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
    /// The last inference of each turn.
    last_calls: HashMap<&'t TurnId, &'t InferenceCall>,
    events: SpanEvents,
    payloads: BundlePayloads,
    contents: Option<MessageWriter<'t>>,
}

impl<'t> Exporter<'t> {
    fn new(
        trace: &'t RolloutTrace,
        timeline: &'t Timeline<'t>,
        bundle: &Path,
        contents: Contents,
    ) -> Self {
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
        let mut last_calls = HashMap::new();
        for span in &timeline.spans {
            if let Subject::Inference(call) = span.subject {
                first_calls.entry(&call.codex_turn_id).or_insert(call);
                last_calls.insert(&call.codex_turn_id, call);
            }
        }
        Self {
            timeline,
            trace,
            trace_id,
            links,
            first_calls,
            last_calls,
            events: SpanEvents::read(trace, bundle, contents),
            payloads: BundlePayloads::in_bundle(bundle),
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
            Some(task) => format!("codex session: {}", first_words(&task)),
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
        if let (STATUS_ERROR, Some(error)) = (code, self.error(span)) {
            status["message"] = json!(error);
        }
        let events = match span.subject {
            Subject::Turn(turn) => self.events.of_turn(turn.codex_turn_id.as_str()),
            _ => &[],
        };
        json!({
            "traceId": self.trace_id,
            "spanId": span_id(self.trace, span),
            "parentSpanId": parent,
            "name": name,
            "kind": kind,
            "startTimeUnixNano": nanos(span.window.started_at_unix_ms),
            "endTimeUnixNano": nanos(self.timeline.end_of(span)),
            "attributes": attributes.0,
            "events": events,
            "links": self.links[at],
            "status": status,
        })
    }

    /// Why a span failed. What a tool answered is content.
    fn error(&self, span: &Span<'_>) -> Option<String> {
        match span.subject {
            Subject::Command(_) => Some(format!("exit code {}", span.exit_code()?)),
            Subject::Tool(call) => {
                let contents = self.contents.as_ref()?;
                contents.failure(call)
            }
            _ => span.error().map(str::to_owned),
        }
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

    /// What was asked in one turn and answered in another or the same.
    fn add_conversation(&self, attributes: &mut Attributes, first: &Turn, last: &Turn) {
        let Some(contents) = &self.contents else {
            return;
        };
        let asked = self.first_call(first);
        if let Some(text) = asked.and_then(|call| contents.task(call)) {
            attributes.text("gen_ai.input.messages", &conversation_text("user", &text));
            attributes.content(Side::Input, &text);
        }
        let answered = self.last_calls.get(&last.codex_turn_id);
        if let Some(text) = answered.map(|call| contents.answer(call))
            && !text.is_empty()
        {
            attributes.text(
                "gen_ai.output.messages",
                &conversation_text("assistant", &text),
            );
            attributes.content(Side::Output, &text);
        }
    }

    /// The instructions and tools of a request, which only its payload has.
    fn add_request(&self, attributes: &mut Attributes, call: &InferenceCall) {
        if self.contents.is_none() {
            return;
        }
        let payload = self.trace.raw_payloads.get(&call.raw_request_payload_id);
        let read = payload.and_then(|payload| {
            let (bytes, is_cut) = self.payloads.read(payload, MOST_OF_A_REQUEST).ok()?;
            (!is_cut).then(|| serde_json::from_slice::<Value>(&bytes).ok())?
        });
        let Some(request) = read else {
            return;
        };
        if let Some(text) = request["instructions"].as_str() {
            let instructions = json!([{ "type": "text", "content": text }]);
            attributes.text("gen_ai.system_instructions", &instructions.to_string());
        }
        if let Some(tools) = request["tools"].as_array() {
            let tools: Vec<Value> = tools.iter().map(tool_definition).collect();
            attributes.text("gen_ai.tool.definitions", &json!(tools).to_string());
            for (number, tool) in tools.iter().enumerate() {
                let key = format!("llm.tools.{number}.tool.json_schema");
                attributes.text(&key, &tool.to_string());
            }
        }
    }

    fn attributes(&self, span: &Span<'_>) -> Attributes {
        let mut attributes = Attributes::default();
        attributes.text("codex.id", &span.id);
        attributes.number("codex.started_seq", span.window.started_seq);
        attributes.value("codex.status", json!(span.window.status));
        let thread = &self.timeline.spans[span.thread];
        attributes.text("gen_ai.conversation.id", &thread.id);
        attributes.text("session.id", self.trace.root_thread_id.as_str());
        attributes.span_kind(span.kind);
        match span.subject {
            Subject::Thread(thread) => {
                attributes.text("gen_ai.operation.name", "invoke_agent");
                attributes.text("gen_ai.agent.name", &thread.agent_path);
                attributes.text("gen_ai.agent.id", thread.thread_id.as_str());
                if let Some(model) = &thread.default_model {
                    attributes.text("gen_ai.request.model", model);
                }
                let mut turns = self.trace.codex_turns.values();
                let is_own = |turn: &&Turn| turn.thread_id == thread.thread_id;
                let first = turns.clone().find(is_own);
                if let (Some(first), Some(last)) = (first, turns.rfind(is_own)) {
                    self.add_conversation(&mut attributes, first, last);
                }
            }
            Subject::Turn(turn) => {
                attributes.text("gen_ai.operation.name", "invoke_agent");
                if let Some(call) = self.first_call(turn) {
                    attributes.text("gen_ai.provider.name", &provider(&call.provider_name));
                    attributes.text("gen_ai.request.model", &call.model);
                }
                attributes.text("gen_ai.agent.name", &thread.name);
                attributes.text("gen_ai.agent.id", &thread.id);
                self.add_conversation(&mut attributes, turn, turn);
                if let Some(call) = self.first_call(turn) {
                    self.add_request(&mut attributes, call);
                }
            }
            Subject::Inference(call) => {
                attributes.text("gen_ai.operation.name", "chat");
                attributes.text("gen_ai.provider.name", &provider(&call.provider_name));
                attributes.text("gen_ai.request.model", &call.model);
                attributes.text("llm.model_name", &call.model);
                if let Some(id) = &call.response_id {
                    attributes.text("gen_ai.response.id", id.as_str());
                }
                if let Some(usage) = call.usage {
                    attributes.usage(usage);
                }
                if let Some(contents) = &self.contents {
                    attributes.text("gen_ai.input.messages", &contents.input(call));
                    attributes.text("gen_ai.output.messages", &contents.output(call));
                    if let Some(text) = contents.task(call) {
                        attributes.content(Side::Input, &text);
                    }
                    attributes.content(Side::Output, &contents.answer(call));
                    // The others of the turn have the same, or a change that the next turn has too.
                    if self.first_calls.get(&call.codex_turn_id) == Some(&call) {
                        self.add_request(&mut attributes, call);
                    }
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
                attributes.text("tool.name", &tool_name(&call.kind));
                attributes.text("gen_ai.tool.type", tool_type(&call.kind));
                let id = call.model_visible_call_id.as_ref().map(|id| id.as_str());
                attributes.text("gen_ai.tool.call.id", id.unwrap_or(&span.id));
                if let Some(contents) = &self.contents {
                    let (arguments, result) = contents.tool(call);
                    let sides = [
                        ("arguments", Side::Input, arguments),
                        ("result", Side::Output, result),
                    ];
                    for (name, side, text) in sides {
                        if let Some(text) = text {
                            attributes.text(&format!("gen_ai.tool.call.{name}"), &text);
                            attributes.content(side, &text);
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
                attributes.text("tool.name", "command");
                if self.contents.is_some() {
                    let text = match &operation.request {
                        TerminalRequest::ExecCommand {
                            command,
                            display_command,
                            ..
                        } => typed_command(command, display_command),
                        TerminalRequest::WriteStdin { stdin, .. } => stdin,
                    };
                    attributes.content(Side::Input, text);
                    if let Some(result) = &operation.result {
                        let [out, error] =
                            [&result.stdout, &result.stderr].map(|text| text.shown());
                        attributes.content(Side::Output, &format!("{out}{error}"));
                    }
                }
            }
            Subject::Cell(cell) => {
                if self.contents.is_some() {
                    attributes.content(Side::Input, &cell.source_js);
                }
            }
            Subject::Terminal(terminal) => {
                attributes.text("codex.terminal.id", terminal.terminal_id.as_str());
            }
        }
        attributes
    }
}

/// The definition of a tool. The conventions want a name for each, which those of the provider lack.
fn tool_definition(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if tool.is_object() && !tool["name"].is_string() {
        tool["name"] = tool["type"].clone();
    }
    tool
}

/// So much of a task as a name has.
fn first_words(task: &str) -> String {
    let line = task.lines().next().unwrap_or_default().trim();
    line.chars().take(NAME_LENGTH).collect()
}

/// A conversation of one message, in the form of the conventions.
fn conversation_text(role: &str, text: &str) -> String {
    let mut message = json!({ "role": role, "parts": [{ "type": "text", "content": text }] });
    if role == "assistant" {
        message["finish_reason"] = json!("stop");
    }
    json!([message]).to_string()
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

pub(crate) fn nanos(unix_ms: i64) -> String {
    (i128::from(unix_ms).max(0) * 1_000_000).to_string()
}
