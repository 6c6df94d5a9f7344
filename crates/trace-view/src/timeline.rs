//! The graph as spans in time, which the viewer and both exporters draw.
//!
//! Every thing that ran is one span: it knows its thread, what it ran inside, and the lane it can be drawn in without
//! crossing another. The order is that of the sequence numbers. Nothing is read from disk here, and what the spans are about stays where it is: in the graph.

use std::collections::{BTreeMap, HashMap};

use codex_rollout_trace::format::{ExecutionStatus, ToolKind};
use codex_rollout_trace::ids::PayloadId;
use codex_rollout_trace::model::{
    Anchor, CodeCell, CompactionRequest, ExecutionWindow, InferenceCall, InteractionEdge,
    OperationKind, Producer, RolloutTrace, TerminalOperation, TerminalRequest, TerminalSession,
    Thread, ThreadOrigin, ToolCall, Turn,
};
use serde::Serialize;

/// The index of a span in [`Timeline::spans`].
pub(crate) type SpanIndex = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpanKind {
    Thread,
    Turn,
    Inference,
    Compaction,
    Cell,
    Tool,
    Command,
    Terminal,
}

impl SpanKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Turn => "turn",
            Self::Inference => "inference",
            Self::Compaction => "compaction",
            Self::Cell => "cell",
            Self::Tool => "tool",
            Self::Command => "command",
            Self::Terminal => "terminal",
        }
    }
}

/// What a span is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'t> {
    Thread(&'t Thread),
    Turn(&'t Turn),
    Inference(&'t InferenceCall),
    Compaction(&'t CompactionRequest),
    Cell(&'t CodeCell),
    Tool(&'t ToolCall),
    Command(&'t TerminalOperation),
    Terminal(&'t TerminalSession),
}

#[derive(Debug)]
pub(crate) struct Span<'t> {
    pub(crate) kind: SpanKind,
    pub(crate) id: String,
    pub(crate) name: String,
    /// The span of its thread; a thread is its own.
    pub(crate) thread: SpanIndex,
    pub(crate) parent: Option<SpanIndex>,
    /// Among the spans of its kind in its thread.
    pub(crate) lane: usize,
    pub(crate) window: ExecutionWindow,
    pub(crate) subject: Subject<'t>,
}

#[derive(Debug)]
pub(crate) struct Edge<'t> {
    pub(crate) edge: &'t InteractionEdge,
    pub(crate) source: SpanIndex,
    pub(crate) target: SpanIndex,
}

#[derive(Debug)]
pub(crate) struct Timeline<'t> {
    pub(crate) spans: Vec<Span<'t>>,
    pub(crate) edges: Vec<Edge<'t>>,
    pub(crate) start_ms: i64,
    /// The last moment that the trace knows of; what never ended is drawn up to here.
    pub(crate) end_ms: i64,
}

impl<'t> Timeline<'t> {
    pub(crate) fn new(trace: &'t RolloutTrace) -> Self {
        let mut spans = collect(trace);
        let index = Index::new(&spans);
        for (at, span) in spans.iter_mut().enumerate() {
            span.thread = index.thread(span).unwrap_or(at);
            span.parent = index.parent(trace, span).filter(|up| *up != at);
        }
        assign_lanes(&mut spans);
        let edges = trace.interaction_edges.values();
        let edges = edges.filter_map(|edge| {
            Some(Edge {
                edge,
                source: index.anchor(trace, &spans, &edge.source)?,
                target: index.anchor(trace, &spans, &edge.target)?,
            })
        });
        let edges = edges.collect();
        let times = || {
            let ends = |span: &Span<'_>| span.window.ended_at_unix_ms;
            let spans = spans.iter();
            spans.flat_map(move |span| [Some(span.window.started_at_unix_ms), ends(span)])
        };
        let own = [Some(trace.started_at_unix_ms), trace.ended_at_unix_ms];
        let start_ms = times().chain(own).flatten().min().unwrap_or_default();
        let end_ms = times().chain(own).flatten().max().unwrap_or_default();
        Self {
            spans,
            edges,
            start_ms,
            end_ms,
        }
    }

    /// When a span ended, or how far it is known to have run.
    pub(crate) fn end_of(&self, span: &Span<'_>) -> i64 {
        let end = span.window.ended_at_unix_ms.unwrap_or(self.end_ms);
        end.max(span.window.started_at_unix_ms)
    }
}

impl Span<'_> {
    pub(crate) fn has_failed(&self) -> bool {
        !matches!(
            self.window.status,
            ExecutionStatus::Completed | ExecutionStatus::Running
        )
    }

    /// The error text of what failed, as it was recorded.
    pub(crate) fn error(&self) -> Option<&str> {
        match self.subject {
            Subject::Inference(call) => call.error.as_deref(),
            Subject::Compaction(call) => call.error.as_deref(),
            _ => None,
        }
    }

    /// The evidence, each piece with what it is to the span.
    pub(crate) fn payloads(&self) -> Vec<(&'static str, &PayloadId)> {
        match self.subject {
            Subject::Inference(call) => [("request", &call.raw_request_payload_id)]
                .into_iter()
                .chain(
                    call.raw_response_payload_id
                        .iter()
                        .map(|id| ("response", id)),
                )
                .collect(),
            Subject::Compaction(call) => [("request", &call.raw_request_payload_id)]
                .into_iter()
                .chain(
                    call.raw_response_payload_id
                        .iter()
                        .map(|id| ("response", id)),
                )
                .collect(),
            Subject::Tool(call) => {
                let invocation = call.raw_invocation_payload_id.iter();
                let runtime = call.raw_runtime_payload_ids.iter();
                let result = call.raw_result_payload_id.iter();
                invocation
                    .map(|id| ("invocation", id))
                    .chain(runtime.map(|id| ("runtime", id)))
                    .chain(result.map(|id| ("result", id)))
                    .collect()
            }
            Subject::Command(operation) => {
                let ids = operation.raw_payload_ids.iter();
                ids.map(|id| ("evidence", id)).collect()
            }
            Subject::Thread(_) | Subject::Turn(_) | Subject::Cell(_) | Subject::Terminal(_) => {
                Vec::new()
            }
        }
    }
}

/// The name of a tool as a person would say it.
pub(crate) fn tool_name(kind: &ToolKind) -> String {
    match kind {
        ToolKind::ExecCommand => "exec_command".to_owned(),
        ToolKind::WriteStdin => "write_stdin".to_owned(),
        ToolKind::ApplyPatch => "apply_patch".to_owned(),
        ToolKind::Mcp { server, tool } => format!("{server}.{tool}"),
        ToolKind::Web => "web_search".to_owned(),
        ToolKind::ImageGeneration => "image_generation".to_owned(),
        ToolKind::SpawnAgent => "spawn_agent".to_owned(),
        ToolKind::AssignAgentTask => "assign_agent_task".to_owned(),
        ToolKind::SendMessage => "send_message".to_owned(),
        ToolKind::WaitAgent => "wait_agent".to_owned(),
        ToolKind::CloseAgent => "close_agent".to_owned(),
        ToolKind::Other { name } => name.clone(),
    }
}

/// What an operation did, on one line.
fn command_name(operation: &TerminalOperation) -> String {
    match (&operation.request, operation.kind) {
        (
            TerminalRequest::ExecCommand {
                display_command, ..
            },
            _,
        ) => display_command.clone(),
        (TerminalRequest::WriteStdin { stdin, .. }, _) if stdin.is_empty() => "poll".to_owned(),
        (TerminalRequest::WriteStdin { .. }, OperationKind::WriteStdin) => "stdin".to_owned(),
        (TerminalRequest::WriteStdin { .. }, OperationKind::ExecCommand) => "command".to_owned(),
    }
}

/// From when to when there was something in a terminal. The trace never ends one, but its command does.
fn window_of(trace: &RolloutTrace, terminal: &TerminalSession) -> ExecutionWindow {
    let operations = terminal.operation_ids.iter();
    let mut exited = operations
        .filter_map(|id| trace.terminal_operations.get(id))
        .filter(|operation| operation.kind == OperationKind::ExecCommand)
        .filter(|operation| {
            operation
                .result
                .as_ref()
                .is_some_and(|result| result.exit_code.is_some())
        });
    match exited.next_back() {
        None => terminal.execution.clone(),
        Some(last) => ExecutionWindow {
            started_at_unix_ms: terminal.execution.started_at_unix_ms,
            started_seq: terminal.execution.started_seq,
            ..last.execution.clone()
        },
    }
}

/// Every span, without its place among the others.
fn collect(trace: &RolloutTrace) -> Vec<Span<'_>> {
    let mut spans = Vec::new();
    let mut add = |subject, id: String, name: String, kind, window: &ExecutionWindow| {
        spans.push(Span {
            kind,
            id,
            name,
            thread: 0,
            parent: None,
            lane: 0,
            window: window.clone(),
            subject,
        });
    };
    for thread in trace.threads.values() {
        let (id, name) = (thread.thread_id.to_string(), thread.agent_path.clone());
        let subject = Subject::Thread(thread);
        add(subject, id, name, SpanKind::Thread, &thread.execution);
    }
    for turn in trace.codex_turns.values() {
        let id = turn.codex_turn_id.to_string();
        let subject = Subject::Turn(turn);
        add(subject, id, "turn".into(), SpanKind::Turn, &turn.execution);
    }
    for call in trace.inference_calls.values() {
        let (id, name) = (call.inference_call_id.to_string(), call.model.clone());
        let subject = Subject::Inference(call);
        add(subject, id, name, SpanKind::Inference, &call.execution);
    }
    for call in trace.compaction_requests.values() {
        let (id, name) = (call.compaction_request_id.to_string(), "compact".into());
        let subject = Subject::Compaction(call);
        add(subject, id, name, SpanKind::Compaction, &call.execution);
    }
    for cell in trace.code_cells.values() {
        let (id, name) = (cell.code_cell_id.to_string(), "code cell".into());
        let subject = Subject::Cell(cell);
        add(subject, id, name, SpanKind::Cell, &cell.execution);
    }
    for call in trace.tool_calls.values() {
        let (id, name) = (call.tool_call_id.to_string(), tool_name(&call.kind));
        add(
            Subject::Tool(call),
            id,
            name,
            SpanKind::Tool,
            &call.execution,
        );
    }
    for operation in trace.terminal_operations.values() {
        let (id, name) = (operation.operation_id.to_string(), command_name(operation));
        let subject = Subject::Command(operation);
        add(subject, id, name, SpanKind::Command, &operation.execution);
    }
    for terminal in trace.terminal_sessions.values() {
        let id = terminal.terminal_id.to_string();
        let name = format!("terminal {id}");
        let subject = Subject::Terminal(terminal);
        let window = window_of(trace, terminal);
        add(subject, id, name, SpanKind::Terminal, &window);
    }
    spans.sort_by(|a, b| {
        let key = |span: &Span<'_>| (span.window.started_seq, span.kind);
        key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
    });
    let mut turns: HashMap<&str, usize> = HashMap::new();
    for span in &mut spans {
        if let Subject::Turn(turn) = span.subject {
            let number = turns.entry(turn.thread_id.as_str()).or_default();
            *number += 1;
            span.name = format!("turn {number}");
        }
    }
    spans
}

/// Where each thing stands among the spans.
struct Index {
    places: BTreeMap<(SpanKind, String), SpanIndex>,
    /// The inferences of each thread, in the order of their start.
    inferences: HashMap<String, Vec<SpanIndex>>,
    /// Which inference a tool call came from.
    callers: HashMap<String, SpanIndex>,
}

impl Index {
    fn new(spans: &[Span<'_>]) -> Self {
        let places = spans.iter().enumerate();
        let places = places.map(|(at, span)| ((span.kind, span.id.clone()), at));
        let (mut inferences, mut callers) = (HashMap::<String, Vec<_>>::new(), HashMap::new());
        for (at, span) in spans.iter().enumerate() {
            if let Subject::Inference(call) = span.subject {
                let thread = call.thread_id.to_string();
                inferences.entry(thread).or_default().push(at);
                for tool in &call.tool_call_ids_started_by_response {
                    callers.insert(tool.to_string(), at);
                }
            }
        }
        Self {
            places: places.collect(),
            inferences,
            callers,
        }
    }

    fn find(&self, kind: SpanKind, id: &str) -> Option<SpanIndex> {
        self.places.get(&(kind, id.to_owned())).copied()
    }

    fn thread(&self, span: &Span<'_>) -> Option<SpanIndex> {
        let id = match span.subject {
            Subject::Thread(thread) => &thread.thread_id,
            Subject::Turn(turn) => &turn.thread_id,
            Subject::Inference(call) => &call.thread_id,
            Subject::Compaction(call) => &call.thread_id,
            Subject::Cell(cell) => &cell.thread_id,
            Subject::Tool(call) => &call.thread_id,
            Subject::Terminal(terminal) => &terminal.thread_id,
            Subject::Command(operation) => {
                let tool = self.find(SpanKind::Tool, operation.tool_call_id.as_str())?;
                return Some(tool);
            }
        };
        self.find(SpanKind::Thread, id.as_str())
    }

    fn parent(&self, trace: &RolloutTrace, span: &Span<'_>) -> Option<SpanIndex> {
        let turn = |id: &str| self.find(SpanKind::Turn, id);
        match span.subject {
            Subject::Thread(thread) => match &thread.origin {
                ThreadOrigin::Root => None,
                ThreadOrigin::Spawned {
                    parent_thread_id,
                    spawn_edge_id,
                    ..
                } => match trace
                    .interaction_edges
                    .get(spawn_edge_id)
                    .map(|e| &e.source)
                {
                    Some(Anchor::ToolCall { tool_call_id }) => {
                        self.find(SpanKind::Tool, tool_call_id.as_str())
                    }
                    _ => self.find(SpanKind::Thread, parent_thread_id.as_str()),
                },
            },
            Subject::Turn(turn) => self.find(SpanKind::Thread, turn.thread_id.as_str()),
            Subject::Inference(call) => turn(call.codex_turn_id.as_str()),
            Subject::Compaction(call) => turn(call.codex_turn_id.as_str()),
            Subject::Cell(cell) => turn(cell.codex_turn_id.as_str()),
            Subject::Tool(call) => self.tool_parent(call),
            Subject::Command(operation) => {
                self.find(SpanKind::Tool, operation.tool_call_id.as_str())
            }
            Subject::Terminal(terminal) => self.find(SpanKind::Thread, terminal.thread_id.as_str()),
        }
    }

    fn tool_parent(&self, call: &ToolCall) -> Option<SpanIndex> {
        use codex_rollout_trace::model::ToolRequester;
        let asked = match &call.requester {
            ToolRequester::CodeCell { code_cell_id } => {
                self.find(SpanKind::Cell, code_cell_id.as_str())
            }
            ToolRequester::Model => self.callers.get(call.tool_call_id.as_str()).copied(),
        };
        let turn = call.started_by_codex_turn_id.as_ref();
        asked
            .or_else(|| self.find(SpanKind::Turn, turn?.as_str()))
            .or_else(|| self.find(SpanKind::Thread, call.thread_id.as_str()))
    }

    /// The span that stands for one end of an edge.
    fn anchor(
        &self,
        trace: &RolloutTrace,
        spans: &[Span<'_>],
        anchor: &Anchor,
    ) -> Option<SpanIndex> {
        match anchor {
            Anchor::ToolCall { tool_call_id } => self.find(SpanKind::Tool, tool_call_id.as_str()),
            Anchor::Thread { thread_id } => self.find(SpanKind::Thread, thread_id.as_str()),
            Anchor::ConversationItem { item_id } => {
                let item = trace.conversation_items.get(item_id)?;
                let made = item.produced_by.iter().find_map(|producer| match producer {
                    Producer::Inference { inference_call_id } => {
                        self.find(SpanKind::Inference, inference_call_id.as_str())
                    }
                    _ => None,
                });
                let thread = item.thread_id.as_str();
                let seen = || {
                    let inferences = self.inferences.get(thread)?;
                    let first = inferences.partition_point(|at| {
                        spans[*at].window.started_at_unix_ms < item.first_seen_at_unix_ms
                    });
                    inferences.get(first).copied()
                };
                made.or_else(seen)
                    .or_else(|| self.find(SpanKind::Thread, thread))
            }
        }
    }
}

/// Gives each span the first lane of its kind and thread that is free when it starts.
fn assign_lanes(spans: &mut [Span<'_>]) {
    // A command has no thread of its own: it is where its tool is.
    let threads: Vec<SpanIndex> = spans.iter().map(|span| spans[span.thread].thread).collect();
    let mut taken: HashMap<(SpanIndex, SpanKind), Vec<i64>> = HashMap::new();
    for (span, thread) in spans.iter_mut().zip(threads) {
        span.thread = thread;
        let lanes = taken.entry((thread, span.kind)).or_default();
        let start = span.window.started_at_unix_ms;
        let end = span.window.ended_at_unix_ms.unwrap_or(i64::MAX);
        let free = lanes.iter().position(|busy_until| *busy_until <= start);
        span.lane = free.unwrap_or(lanes.len());
        match free {
            Some(lane) => lanes[lane] = end,
            None => lanes.push(end),
        }
    }
}
