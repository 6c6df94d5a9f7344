//! The data of the page: spans, items, edges and payloads, referring to each other by their places in the lists.

use std::collections::HashMap;
use std::path::Path;

use codex_rollout_trace::format::{PayloadKind, PayloadRef};
use codex_rollout_trace::ids::{ItemId, PayloadId};
use codex_rollout_trace::model::{
    Compaction, ConversationItem, ItemKind, Part, Role, RolloutTrace, TerminalRequest, Thread,
    ThreadOrigin, ToolRequester,
};
use codex_rollout_trace::{BundlePayloads, Problem, Problems, Reduction, Severity};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::bodies::{cut, fair_limit, read_body, read_json};
use super::markdown_tree::{MarkdownNode, markdown_tree};
use super::prompts::Prompt;
use super::totals::Totals;
use super::{Prices, ViewOptions};
use crate::explain::{Finding, explain};
use crate::notices::{Notice, notices};
use crate::timeline::{Edge, Span, SpanKind, Subject, Timeline, typed_command};

#[derive(Debug, Serialize)]
pub(super) struct Data {
    trace: Value,
    start: i64,
    end: i64,
    totals: Totals,
    problems: Vec<Value>,
    spans: Vec<SpanData>,
    items: Vec<ItemData>,
    edges: Vec<Value>,
    payloads: Vec<PayloadData>,
    notices: Vec<Notice>,
    quiet_hooks: usize,
    compactions: Vec<CompactionData>,
    /// What is worth a look.
    findings: Vec<Value>,
    prices: Prices,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_document: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct SpanData {
    kind: SpanKind,
    id: String,
    name: String,
    thread: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    lane: usize,
    start: i64,
    end: i64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    open: bool,
    status: codex_rollout_trace::format::ExecutionStatus,
    seq: (u64, Option<u64>),
    /// Name and value of what is worth knowing beyond the above.
    facts: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<Prompt>,
    /// What an inference answered, also if that was nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Vec<u32>>,
    /// Long texts: commands, output, code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<(&'static str, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    payloads: Vec<(&'static str, u32)>,
}

#[derive(Debug, Serialize)]
pub(super) struct ItemData {
    id: String,
    thread: String,
    role: Value,
    kind: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    channel: Value,
    at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mail: Option<(String, String)>,
    parts: Vec<PartData>,
    /// The elements of the text, where it is read as Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<Vec<MarkdownNode>>,
}

#[derive(Debug, Default, Serialize)]
struct PartData {
    kind: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<u32>,
    /// How many bytes are not in the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<usize>,
}

/// A history that replaced another.
#[derive(Debug, Serialize)]
pub(super) struct CompactionData {
    id: String,
    thread: String,
    turn: String,
    at: i64,
    /// The ids of the spans of its requests.
    requests: Vec<String>,
    before: Vec<u32>,
    after: Vec<u32>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct PayloadData {
    id: String,
    kind: codex_rollout_trace::format::PayloadKind,
    path: String,
    bytes: Option<u64>,
    body: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

impl Data {
    pub(super) fn new(reduction: &Reduction, bundle: &Path, options: &ViewOptions) -> Self {
        let (trace, budget) = (&reduction.trace, options.budget);
        let timeline = Timeline::new(trace);
        let places = FinalPlaces::new(trace);
        let folders = folders(trace, bundle);
        let builder = Builder {
            places: &places,
            folders: &folders,
            text_limit: text_limit(trace, budget.texts),
            is_document: options.is_document,
        };
        let items = trace.conversation_items.values();
        let problems = reduction.problems.listed().iter();
        let notices = notices(bundle);
        let compactions = trace.compactions.values();
        Self {
            trace: about(trace, &reduction.problems),
            start: timeline.start_ms,
            end: timeline.end_ms,
            totals: totals(&timeline),
            problems: problems.map(problem).collect(),
            spans: builder.spans(&timeline),
            items: items.map(|item| builder.item(item)).collect(),
            edges: timeline
                .edges
                .iter()
                .map(|edge| builder.edge(edge))
                .collect(),
            payloads: payloads(trace, bundle, budget.payloads),
            quiet_hooks: notices.quiet_hooks,
            notices: notices.list,
            compactions: compactions.map(|one| builder.compaction(one)).collect(),
            findings: explain(reduction, bundle).iter().map(finding).collect(),
            prices: options.prices.clone(),
            is_document: options.is_document,
        }
    }
}

/// The folders in which threads began, by the ids of the threads.
pub(super) type ThreadFolders = HashMap<String, String>;

fn folders(trace: &RolloutTrace, bundle: &Path) -> ThreadFolders {
    let bundle = BundlePayloads::in_bundle(bundle);
    let metadata = trace.raw_payloads.values();
    let metadata = metadata.filter(|payload| payload.kind == PayloadKind::SessionMetadata);
    metadata
        .filter_map(|payload| folder_in(&read_json(&bundle, payload).ok()?))
        .collect()
}

/// The thread that metadata are about, and its folder.
pub(super) fn folder_in(metadata: &Value) -> Option<(String, String)> {
    let [thread, folder] = [&metadata["thread_id"], &metadata["cwd"]].map(Value::as_str);
    Some((thread?.to_owned(), folder?.to_owned()))
}

fn finding(finding: &Finding) -> Value {
    json!({
        "title": finding.kind.title(),
        "agent": finding.agent,
        "at": finding.at_unix_ms,
        "object": finding.object,
        "what": finding.what,
        "why": finding.why,
    })
}

/// What the page says about the bundle.
pub(super) fn about(trace: &RolloutTrace, problems: &Problems) -> Value {
    json!({
        "trace_id": trace.trace_id,
        "rollout_id": trace.rollout_id,
        "status": trace.status,
        "damaged": problems.is_damaged(),
    })
}

pub(super) fn problem(problem: &Problem) -> Value {
    let damage = problem.fault.severity() != Severity::Notice;
    json!({ "line": problem.line, "damage": damage, "text": problem.fault.to_string() })
}

/// Where items and payloads stand in the lists of the page.
pub(super) trait Places {
    fn item(&self, id: ItemId) -> Option<u32>;
    fn payload(&self, id: &PayloadId) -> Option<u32>;
    /// How many items a thread lists.
    fn listed_items(&self, thread: &Thread) -> usize;
}

/// The places in the page of a finished graph.
#[derive(Debug)]
struct FinalPlaces<'t> {
    items: HashMap<ItemId, u32>,
    payloads: HashMap<&'t PayloadId, u32>,
}

impl<'t> FinalPlaces<'t> {
    fn new(trace: &'t RolloutTrace) -> Self {
        let items = trace.conversation_items.keys().copied();
        let payloads = in_order(trace).map(|payload| &payload.raw_payload_id);
        Self {
            items: items.zip(0..).collect(),
            payloads: payloads.zip(0..).collect(),
        }
    }
}

impl Places for FinalPlaces<'_> {
    fn item(&self, id: ItemId) -> Option<u32> {
        self.items.get(&id).copied()
    }

    fn payload(&self, id: &PayloadId) -> Option<u32> {
        self.payloads.get(id).copied()
    }

    fn listed_items(&self, thread: &Thread) -> usize {
        thread.conversation_item_ids.len()
    }
}

/// Makes the elements of the lists.
pub(super) struct Builder<'b, P> {
    pub(super) places: &'b P,
    /// Where each thread began.
    pub(super) folders: &'b ThreadFolders,
    /// How long a text may be.
    pub(super) text_limit: u64,
    /// Whether messages are read as Markdown.
    pub(super) is_document: bool,
}

impl<P: Places> Builder<'_, P> {
    pub(super) fn items(&self, items: &[ItemId]) -> Vec<u32> {
        let places = items.iter().filter_map(|item| self.places.item(*item));
        places.collect()
    }

    fn spans(&self, timeline: &Timeline<'_>) -> Vec<SpanData> {
        let mut latest: HashMap<&str, (usize, Vec<u32>)> = HashMap::new();
        let spans = timeline.spans.iter().enumerate();
        spans
            .map(|(at, span)| {
                let mut data = self.span(span, timeline.end_of(span));
                if let Subject::Inference(call) = span.subject {
                    let items = self.items(&call.request_item_ids);
                    let before = latest.get(call.thread_id.as_str());
                    let before = before.map(|(at, items)| (*at, items.as_slice()));
                    data.prompt = Some(Prompt::after(before, &items));
                    latest.insert(call.thread_id.as_str(), (at, items));
                }
                data
            })
            .collect()
    }

    /// A span without its prompt.
    pub(super) fn span(&self, span: &Span<'_>, end: i64) -> SpanData {
        let payloads = span.payloads().into_iter();
        let response = match span.subject {
            Subject::Inference(call) => Some(self.items(&call.response_item_ids)),
            _ => None,
        };
        SpanData {
            kind: span.kind,
            id: span.id.clone(),
            name: cut(&span.name, 400).to_owned(),
            thread: span.thread,
            parent: span.parent,
            lane: span.lane,
            start: span.window.started_at_unix_ms,
            end,
            open: span.window.ended_at_unix_ms.is_none(),
            status: span.window.status,
            seq: (span.window.started_seq, span.window.ended_seq),
            facts: self.facts(span.subject),
            prompt: None,
            response,
            texts: self.texts(span.subject),
            payloads: payloads
                .filter_map(|(label, id)| Some((label, self.places.payload(id)?)))
                .collect(),
        }
    }

    fn facts(&self, subject: Subject<'_>) -> Map<String, Value> {
        let facts = match subject {
            Subject::Thread(thread) => {
                let (task, role) = match &thread.origin {
                    ThreadOrigin::Root => (None, None),
                    ThreadOrigin::Spawned {
                        task_name,
                        agent_role,
                        ..
                    } => (Some(task_name), Some(agent_role)),
                };
                json!({
                    "nickname": thread.nickname, "model": thread.default_model, "task": task,
                    "role": role, "items": self.places.listed_items(thread),
                    "cwd": self.folders.get(thread.thread_id.as_str()),
                })
            }
            Subject::Turn(_) => json!({}),
            Subject::Inference(call) => json!({
                "model": call.model, "provider": call.provider_name, "response": call.response_id,
                "upstream_request": call.upstream_request_id, "usage": call.usage,
                "error": call.error,
            }),
            Subject::Compaction(call) => json!({
                "model": call.model, "provider": call.provider_name,
                "compaction": call.compaction_id, "error": call.error,
            }),
            Subject::Cell(cell) => json!({
                "status": cell.runtime_status, "call": cell.model_visible_call_id,
            }),
            Subject::Tool(call) => json!({
                "summary": call.summary, "call": call.model_visible_call_id,
                "mcp_call": call.mcp_call_id,
                "requester": match &call.requester {
                    ToolRequester::Model => "model",
                    ToolRequester::CodeCell { .. } => "code cell",
                },
            }),
            Subject::Command(operation) => {
                let cwd = match &operation.request {
                    TerminalRequest::ExecCommand { cwd, .. } => Some(cwd),
                    TerminalRequest::WriteStdin { .. } => None,
                };
                let exit_code = operation.result.as_ref().map(|result| result.exit_code);
                json!({ "terminal": operation.terminal_id, "cwd": cwd, "exit_code": exit_code })
            }
            Subject::Terminal(terminal) => json!({ "operations": terminal.operation_ids.len() }),
        };
        match facts {
            Value::Object(facts) => facts.into_iter().filter(|(_, v)| !v.is_null()).collect(),
            _ => Map::new(),
        }
    }

    fn texts(&self, subject: Subject<'_>) -> Vec<(&'static str, String)> {
        let mut texts = Vec::new();
        let mut add = |label, text: &str| {
            let shown = cut(text, self.text_limit);
            let rest = text.len() - shown.len();
            match rest {
                _ if text.is_empty() => {}
                0 => texts.push((label, shown.to_owned())),
                _ => texts.push((
                    label,
                    format!("{shown}\n[{rest} more bytes not in this page]"),
                )),
            }
        };
        match subject {
            Subject::Cell(cell) => add("source", &cell.source_js),
            Subject::Command(operation) => {
                match &operation.request {
                    TerminalRequest::ExecCommand {
                        command,
                        display_command,
                        ..
                    } => add("command", typed_command(command, display_command)),
                    TerminalRequest::WriteStdin { stdin, .. } => add("stdin", stdin),
                }
                if let Some(result) = &operation.result {
                    add("stdout", &result.stdout.shown());
                    add("stderr", &result.stderr.shown());
                }
            }
            _ => {}
        }
        texts
    }

    pub(super) fn item(&self, item: &ConversationItem) -> ItemData {
        let mail = item.agent_message.as_ref();
        ItemData {
            id: item.item_id.to_string(),
            thread: item.thread_id.to_string(),
            role: json!(item.role),
            kind: json!(item.kind),
            channel: json!(item.channel),
            at: item.first_seen_at_unix_ms,
            call: item.call_id.as_ref().map(ToString::to_string),
            mail: mail.map(|mail| (mail.author.clone(), mail.recipient.clone())),
            parts: item.body.parts.iter().map(|part| self.part(part)).collect(),
            markdown: self.markdown(item),
        }
    }

    /// The elements of a message of a person or a model.
    fn markdown(&self, item: &ConversationItem) -> Option<Vec<MarkdownNode>> {
        let is_said =
            item.kind == ItemKind::Message && matches!(item.role, Role::User | Role::Assistant);
        let text = item.body.shown();
        let is_whole = u64::try_from(text.len()).is_ok_and(|length| length <= self.text_limit);
        (self.is_document && is_said && is_whole).then(|| markdown_tree(&text))
    }

    fn part(&self, part: &Part) -> PartData {
        let (kind, payload) = match part {
            Part::Text { .. } => ("text", None),
            Part::Summary { .. } => ("summary", None),
            Part::Encoded { .. } => ("encoded", None),
            Part::Code { .. } => ("code", None),
            Part::Json { raw_payload_id, .. } => ("json", Some(raw_payload_id)),
            Part::PayloadRef { raw_payload_id, .. } => ("payload", Some(raw_payload_id)),
        };
        let text = part.shown();
        let shown = cut(&text, self.text_limit);
        PartData {
            kind,
            text: shown.to_owned(),
            payload: payload.and_then(|id| self.places.payload(id)),
            cut: (shown.len() < text.len()).then(|| text.len() - shown.len()),
        }
    }

    pub(super) fn compaction(&self, compaction: &Compaction) -> CompactionData {
        let requests = compaction.request_ids.iter();
        CompactionData {
            id: compaction.compaction_id.to_string(),
            thread: compaction.thread_id.to_string(),
            turn: compaction.codex_turn_id.to_string(),
            at: compaction.installed_at_unix_ms,
            requests: requests.map(ToString::to_string).collect(),
            before: self.items(&compaction.input_item_ids),
            after: self.items(&compaction.replacement_item_ids),
        }
    }

    pub(super) fn edge(&self, edge: &Edge<'_>) -> Value {
        let carried = edge.edge.carried_raw_payload_ids.iter();
        let payloads: Vec<u32> = carried.filter_map(|id| self.places.payload(id)).collect();
        json!({
            "kind": edge.edge.kind,
            "source": edge.source,
            "target": edge.target,
            "start": edge.edge.started_at_unix_ms,
            "end": edge.edge.ended_at_unix_ms,
            "items": self.items(&edge.edge.carried_item_ids),
            "payloads": payloads,
        })
    }
}

/// How long a text may be, so that all fit the budget.
fn text_limit(trace: &RolloutTrace, budget: u64) -> u64 {
    let parts = trace.conversation_items.values();
    let parts = parts.flat_map(|item| item.body.parts.iter().map(Part::shown_length));
    let outputs = trace.terminal_operations.values().flat_map(|operation| {
        let result = operation.result.as_ref();
        result.map_or([0, 0], |result| [result.stdout.len(), result.stderr.len()])
    });
    let code = trace.code_cells.values().map(|cell| cell.source_js.len());
    let lengths = parts.chain(outputs).chain(code).map(|length| length as u64);
    fair_limit(lengths, budget)
}

/// The payloads, so that later ones come later.
fn in_order(trace: &RolloutTrace) -> impl Iterator<Item = &PayloadRef> {
    let mut payloads: Vec<&PayloadRef> = trace.raw_payloads.values().collect();
    payloads.sort_by_key(|payload| payload_order(payload));
    payloads.into_iter()
}

/// Later payloads have longer ids, or later ones of the same length.
pub(super) fn payload_order(payload: &PayloadRef) -> (usize, &PayloadId) {
    let id = &payload.raw_payload_id;
    (id.as_str().len(), id)
}

fn totals(timeline: &Timeline<'_>) -> Totals {
    let mut totals = Totals::default();
    for span in &timeline.spans {
        totals.add(&Totals::from_span(span, timeline.end_of(span)));
    }
    totals
}

fn payloads(trace: &RolloutTrace, bundle: &Path, budget: u64) -> Vec<PayloadData> {
    let bundle = &BundlePayloads::in_bundle(bundle);
    let sizes: Vec<Option<u64>> = in_order(trace)
        .map(|payload| bundle.size(payload))
        .collect();
    let limit = fair_limit(sizes.iter().copied().flatten(), budget);
    let payloads = in_order(trace).zip(sizes);
    payloads
        .map(|(payload, bytes)| PayloadData::read(payload, bytes, bundle, limit))
        .collect()
}

impl PayloadData {
    /// Reads a file, up to a limit; `bytes` is its size, if there is such a file.
    pub(super) fn read(
        payload: &PayloadRef,
        bytes: Option<u64>,
        bundle: &BundlePayloads,
        limit: u64,
    ) -> Self {
        let read = bytes.and_then(|_| read_body(bundle, payload, limit).ok());
        let (body, cut) = read.map_or((None, false), |(body, cut)| (Some(body), cut));
        Self {
            id: payload.raw_payload_id.to_string(),
            kind: payload.kind,
            path: payload.file().unwrap_or_default().into_owned(),
            bytes,
            body,
            cut,
        }
    }

    pub(super) fn body_bytes(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.len() as u64)
    }
}
