//! The graph as spans in time, which the viewer and both exporters draw.
//!
//! Every thing that ran is one span: it knows its thread, what it ran inside, and the lane it can be drawn in without
//! crossing another. The order is that of the sequence numbers. Nothing is read from disk here, and what the spans are about stays where it is: in the graph.

use std::collections::HashMap;

use codex_rollout_trace::format::{ExecutionStatus, ToolKind};
use codex_rollout_trace::ids::{EdgeId, ItemId, PayloadId};
use codex_rollout_trace::model::{
    Anchor, CodeCell, CompactionRequest, ConversationItem, ExecutionWindow, InferenceCall,
    InteractionEdge, OperationKind, Producer, RolloutTrace, TerminalOperation, TerminalRequest,
    TerminalSession, Thread, ThreadOrigin, ToolCall, Turn,
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

impl Subject<'_> {
    fn window(self, trace: &RolloutTrace) -> ExecutionWindow {
        match self {
            Self::Thread(thread) => thread.execution.clone(),
            Self::Turn(turn) => turn.execution.clone(),
            Self::Inference(call) => call.execution.clone(),
            Self::Compaction(call) => call.execution.clone(),
            Self::Cell(cell) => cell.execution.clone(),
            Self::Tool(call) => call.execution.clone(),
            Self::Command(operation) => operation.execution.clone(),
            Self::Terminal(terminal) => window_of(trace, terminal),
        }
    }
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
            let spawn = |id: &EdgeId| Some(trace.interaction_edges.get(id)?.source.clone());
            span.parent = index.parent(span, spawn).filter(|up| *up != at);
        }
        assign_lanes(&mut spans);
        let edges = trace.interaction_edges.values();
        let item = |id: ItemId| trace.conversation_items.get(&id);
        let edges = edges.filter_map(|edge| {
            Some(Edge {
                edge,
                source: index.anchor(&edge.source, item)?,
                target: index.anchor(&edge.target, item)?,
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

    /// The exit code of a command that ended.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        match self.subject {
            Subject::Command(operation) => operation.result.as_ref()?.exit_code,
            _ => None,
        }
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

/// What a person would have typed: the script of a shell, or the words of the command.
pub(crate) fn typed_command<'c>(command: &'c [String], display: &'c str) -> &'c str {
    codex_shell_command::shell_script(command).unwrap_or(display)
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

impl<'t> Span<'t> {
    /// The span of something, without its place among the others.
    pub(crate) fn for_subject(subject: Subject<'t>, trace: &RolloutTrace) -> Self {
        let (kind, id, name) = match subject {
            Subject::Thread(thread) => (
                SpanKind::Thread,
                thread.thread_id.to_string(),
                thread.agent_path.clone(),
            ),
            Subject::Turn(turn) => (
                SpanKind::Turn,
                turn.codex_turn_id.to_string(),
                "turn".to_owned(),
            ),
            Subject::Inference(call) => (
                SpanKind::Inference,
                call.inference_call_id.to_string(),
                call.model.clone(),
            ),
            Subject::Compaction(call) => (
                SpanKind::Compaction,
                call.compaction_request_id.to_string(),
                "compact".to_owned(),
            ),
            Subject::Cell(cell) => (
                SpanKind::Cell,
                cell.code_cell_id.to_string(),
                "code cell".to_owned(),
            ),
            Subject::Tool(call) => (
                SpanKind::Tool,
                call.tool_call_id.to_string(),
                tool_name(&call.kind),
            ),
            Subject::Command(operation) => (
                SpanKind::Command,
                operation.operation_id.to_string(),
                command_name(operation),
            ),
            Subject::Terminal(terminal) => (
                SpanKind::Terminal,
                terminal.terminal_id.to_string(),
                format!("terminal {}", terminal.terminal_id),
            ),
        };
        Self {
            kind,
            id,
            name,
            thread: 0,
            parent: None,
            lane: 0,
            window: subject.window(trace),
            subject,
        }
    }

    /// The order of spans: as they started.
    pub(crate) fn order(&self) -> (u64, SpanKind) {
        (self.window.started_seq, self.kind)
    }
}

/// Every span, without its place among the others.
fn collect(trace: &RolloutTrace) -> Vec<Span<'_>> {
    let subjects = trace.threads.values().map(Subject::Thread);
    let subjects = subjects
        .chain(trace.codex_turns.values().map(Subject::Turn))
        .chain(trace.inference_calls.values().map(Subject::Inference))
        .chain(trace.compaction_requests.values().map(Subject::Compaction))
        .chain(trace.code_cells.values().map(Subject::Cell))
        .chain(trace.tool_calls.values().map(Subject::Tool))
        .chain(trace.terminal_operations.values().map(Subject::Command))
        .chain(trace.terminal_sessions.values().map(Subject::Terminal));
    let mut spans: Vec<Span<'_>> = subjects
        .map(|subject| Span::for_subject(subject, trace))
        .collect();
    spans.sort_by(|a, b| {
        let order = a.order().cmp(&b.order());
        order.then_with(|| a.id.cmp(&b.id))
    });
    let mut turns = TurnNames::default();
    for span in &mut spans {
        turns.name(span);
    }
    spans
}

/// Numbers the turns of each thread.
#[derive(Debug, Default)]
pub(crate) struct TurnNames(HashMap<String, usize>);

impl TurnNames {
    /// Gives the span of a turn its name.
    pub(crate) fn name(&mut self, span: &mut Span<'_>) {
        if let Subject::Turn(turn) = span.subject {
            let number = self.0.entry(turn.thread_id.to_string()).or_default();
            *number += 1;
            span.name = format!("turn {number}");
        }
    }
}

/// Where each thing stands among the spans.
#[derive(Debug, Default)]
pub(crate) struct Index {
    places: HashMap<(SpanKind, String), SpanIndex>,
    /// The inferences of each thread with their start, in the order of their start.
    inferences: HashMap<String, Vec<(i64, SpanIndex)>>,
    /// Which inference a tool call came from.
    callers: HashMap<String, SpanIndex>,
}

impl Index {
    fn new(spans: &[Span<'_>]) -> Self {
        let mut index = Self::default();
        for (at, span) in spans.iter().enumerate() {
            index.add(at, span);
        }
        index
    }

    /// Adds a span, or what is new about it.
    pub(crate) fn add(&mut self, at: SpanIndex, span: &Span<'_>) {
        let known = self.places.insert((span.kind, span.id.clone()), at);
        if let Subject::Inference(call) = span.subject {
            if known.is_none() {
                let of_thread = self.inferences.entry(call.thread_id.to_string());
                of_thread
                    .or_default()
                    .push((span.window.started_at_unix_ms, at));
            }
            for tool in &call.tool_call_ids_started_by_response {
                self.callers.insert(tool.to_string(), at);
            }
        }
    }

    pub(crate) fn find(&self, kind: SpanKind, id: &str) -> Option<SpanIndex> {
        self.places.get(&(kind, id.to_owned())).copied()
    }

    /// The span of the thread of a span; for a command, its tool.
    pub(crate) fn thread(&self, span: &Span<'_>) -> Option<SpanIndex> {
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

    /// What a span ran inside. `spawn` gives the source of the edge of a spawn.
    pub(crate) fn parent(
        &self,
        span: &Span<'_>,
        spawn: impl Fn(&EdgeId) -> Option<Anchor>,
    ) -> Option<SpanIndex> {
        let turn = |id: &str| self.find(SpanKind::Turn, id);
        match span.subject {
            Subject::Thread(thread) => match &thread.origin {
                ThreadOrigin::Root => None,
                ThreadOrigin::Spawned {
                    parent_thread_id,
                    spawn_edge_id,
                    ..
                } => match spawn(spawn_edge_id) {
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
    pub(crate) fn anchor<'i>(
        &self,
        anchor: &Anchor,
        item: impl Fn(ItemId) -> Option<&'i ConversationItem>,
    ) -> Option<SpanIndex> {
        match anchor {
            Anchor::ToolCall { tool_call_id } => self.find(SpanKind::Tool, tool_call_id.as_str()),
            Anchor::Thread { thread_id } => self.find(SpanKind::Thread, thread_id.as_str()),
            Anchor::ConversationItem { item_id } => {
                let item = item(*item_id)?;
                let made = item.produced_by.iter().find_map(|producer| match producer {
                    Producer::Inference { inference_call_id } => {
                        self.find(SpanKind::Inference, inference_call_id.as_str())
                    }
                    _ => None,
                });
                let thread = item.thread_id.as_str();
                let seen = || {
                    let inferences = self.inferences.get(thread)?;
                    let first = inferences
                        .partition_point(|(start, _)| *start < item.first_seen_at_unix_ms);
                    inferences.get(first).map(|(_, at)| *at)
                };
                made.or_else(seen)
                    .or_else(|| self.find(SpanKind::Thread, thread))
            }
        }
    }
}

/// The lanes of each kind of span in each thread.
#[derive(Debug, Default)]
pub(crate) struct Lanes(HashMap<(SpanIndex, SpanKind), Vec<i64>>);

impl Lanes {
    /// The first lane that is free when a span starts. It is busy until the span ends.
    pub(crate) fn place(&mut self, span: &Span<'_>) -> usize {
        let lanes = self.0.entry((span.thread, span.kind)).or_default();
        let start = span.window.started_at_unix_ms;
        let end = span.window.ended_at_unix_ms.unwrap_or(i64::MAX);
        let free = lanes.iter().position(|busy_until| *busy_until <= start);
        match free {
            Some(lane) => lanes[lane] = end,
            None => lanes.push(end),
        }
        free.unwrap_or(lanes.len() - 1)
    }

    /// The span that took a lane last has ended.
    pub(crate) fn free(&mut self, thread: SpanIndex, kind: SpanKind, lane: usize, end: i64) {
        let lanes = self.0.get_mut(&(thread, kind));
        if let Some(busy_until) = lanes.and_then(|lanes| lanes.get_mut(lane)) {
            *busy_until = (*busy_until).min(end);
        }
    }
}

/// Gives each span its lane.
fn assign_lanes(spans: &mut [Span<'_>]) {
    // A command has no thread of its own: it is where its tool is.
    let threads: Vec<SpanIndex> = spans.iter().map(|span| spans[span.thread].thread).collect();
    let mut lanes = Lanes::default();
    for (span, thread) in spans.iter_mut().zip(threads) {
        span.thread = thread;
        span.lane = lanes.place(span);
    }
}
