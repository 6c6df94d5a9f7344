//! What can be wrong with a bundle.
//!
//! A `Fault` is one thing wrong at one event. Strict replay stops at the first; lenient replay lists it as a
//! `Problem`, leaves out what depends on it, and goes on.

use std::io;

use thiserror::Error;

use crate::format::PayloadRef;
use crate::ids::{
    CallId, CodeCellId, CompactionId, CompactionRequestId, EdgeId, InferenceId, PayloadId,
    ResponseId, ResponseItemId, RuntimeCellId, TerminalId, ThreadId, ToolCallId, TurnId,
};

/// One thing that is wrong with an event, or with a payload that it refers to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Fault {
    // The log.
    #[error("parse trace event line {line}: {source}")]
    Line {
        line: u64,
        source: serde_json::Error,
    },
    #[error("trace event line {line} is longer than {limit} bytes")]
    LongLine { line: u64, limit: usize },
    #[error("unsupported trace event schema {found} at line {line}")]
    LineSchema { found: u32, line: u64 },
    #[error("parse trace event line {line}: the event is not valid in schema {schema}")]
    ForeignEvent { line: u64, schema: u32 },
    #[error("missing or reordered trace event {0}")]
    Sequence(u64),
    #[error("trace event belongs to another rollout")]
    OtherRollout,
    #[error("trace event after recording completed")]
    AfterEnd,
    #[error("trace event line {line} was changed: its checksum differs")]
    LineChecksum { line: u64 },
    #[error("raw trace event has no reducer implementation")]
    NoMeaning,
    #[error("events {from} to {to} are missing")]
    Gap { from: u64, to: u64 },
    #[error("the recorder lost events, as payload {0} says")]
    NotedGap(PayloadId),
    #[error("event {seq} comes after event {after}: lines were repeated or moved")]
    Order { seq: u64, after: u64 },
    #[error("the last line has no line end: the log may have been cut")]
    OpenEnd,
    #[error("the log is empty")]
    EmptyLog,
    #[error("the log ends before the rollout does")]
    OpenRollout,
    #[error("the log ends before thread {0} does")]
    OpenThread(ThreadId),

    // Payloads.
    #[error("payload {0} was not recorded because of a limit")]
    OmittedPayload(PayloadId),
    #[error("shard {0} has no end, although the recording is complete: it was cut")]
    ShardWithoutEnd(u64),
    #[error("inference request {0} has no prepared prompt")]
    NoPreparedPrompt(InferenceId),
    #[error("open payload {id}: {source}")]
    OpenPayload { id: PayloadId, source: io::Error },
    #[error("parse payload {id}: {reason}")]
    ParsePayload { id: PayloadId, reason: String },
    #[error("payload {id} has the path {path}, which leads out of the bundle")]
    PayloadPath { id: PayloadId, path: String },
    #[error("payload {0} was changed: its checksum differs")]
    PayloadChecksum(PayloadId),
    #[error("payload {id} is larger than {limit} bytes")]
    LargePayload { id: PayloadId, limit: u64 },

    // Threads and turns.
    #[error("parse thread metadata {0}")]
    Metadata(PayloadId),
    #[error("duplicate thread start for {0}")]
    DuplicateThread(ThreadId),
    #[error("trace event referenced unknown thread {0}")]
    UnknownThread(ThreadId),
    #[error("duplicate codex turn start for {0}")]
    DuplicateTurn(TurnId),
    #[error("codex turn end referenced unknown turn {0}")]
    UnknownTurnEnd(TurnId),
    #[error("{what} referenced unknown codex turn {turn}")]
    UnknownTurn { what: String, turn: TurnId },
    #[error("{what} used thread {used}, but the turn belongs to {owner}")]
    TurnThread {
        what: String,
        used: ThreadId,
        owner: ThreadId,
    },

    // Inference.
    #[error("duplicate inference start for {0}")]
    DuplicateInference(InferenceId),
    #[error("inference completion referenced unknown call {0}")]
    UnknownInference(InferenceId),
    #[error("inference request payload {0} did not contain input")]
    NoInput(PayloadId),
    #[error("inference request payload {0} had non-array input")]
    InputNotArray(PayloadId),
    #[error("inference response payload {0} did not contain output_items")]
    NoOutput(PayloadId),
    #[error(
        "incremental inference request {call} referenced unknown previous_response_id {response}"
    )]
    UnknownResponse {
        call: InferenceId,
        response: ResponseId,
    },
    #[error("model conversation mismatch while reducing turn {0}")]
    Mismatch(TurnId),

    // Conversation items.
    #[error("model item in payload {0} did not contain a string type")]
    ItemType(PayloadId),
    #[error("unsupported model item type {kind} in payload {payload}")]
    UnknownItem { kind: String, payload: PayloadId },
    #[error("message item in payload {0} did not contain a string role")]
    NoRole(PayloadId),
    #[error("unsupported message role {role} in payload {payload}")]
    UnknownRole { role: String, payload: PayloadId },
    #[error("{item} item in payload {payload} {wrong}")]
    Item {
        item: &'static str,
        payload: PayloadId,
        wrong: &'static str,
    },
    #[error("model-visible call id {0} was reused with different content")]
    ReusedCall(CallId),

    // History.
    #[error("history acceptance has no thread")]
    AcceptanceWithoutThread,
    #[error("accepted agent message does not match receipt {0}")]
    Receipt(ResponseItemId),
    #[error("cannot resume thread {0}: it was not started in this trace")]
    ResumedUnknown(ThreadId),
    #[error("resumed thread {0} has not ended")]
    ResumedRunning(ThreadId),

    // Tools and terminals.
    #[error("duplicate tool call start for {0}")]
    DuplicateTool(ToolCallId),
    #[error("duplicate tool call for model-visible call id {0}")]
    DuplicateToolOfCall(CallId),
    #[error("tool call start did not include thread or Codex turn context")]
    NoToolContext,
    #[error("{what} referenced unknown call {tool}")]
    UnknownTool {
        what: &'static str,
        tool: ToolCallId,
    },
    #[error("stdin target referenced unknown {what} {tool}")]
    UnknownTarget {
        what: &'static str,
        tool: ToolCallId,
    },
    #[error("invalid payload {0}")]
    InvalidPayload(PayloadId),
    #[error("MCP correlation referenced unknown tool call {0}")]
    UnknownCorrelation(ToolCallId),
    #[error("duplicate MCP correlation for tool call {0}")]
    DuplicateCorrelation(ToolCallId),
    #[error("tool runtime start would create a second terminal operation for {0}")]
    SecondOperation(ToolCallId),
    #[error("terminal {what} in payload {payload} {wrong}")]
    Terminal {
        what: &'static str,
        payload: PayloadId,
        wrong: &'static str,
    },
    #[error("terminal session {terminal} belongs to thread {owner}, not {used}")]
    TerminalThread {
        terminal: TerminalId,
        owner: ThreadId,
        used: ThreadId,
    },
    #[error("terminal operation of {tool} changed process id from {from} to {to}")]
    TerminalChanged {
        tool: ToolCallId,
        from: TerminalId,
        to: TerminalId,
    },

    // Code cells.
    #[error("duplicate code cell start for {0}")]
    DuplicateCell(CodeCellId),
    #[error("code cell start {0} did not include a Codex turn id")]
    CellWithoutTurn(CodeCellId),
    #[error("code cell event did not include thread or Codex turn context")]
    NoCellContext,
    #[error("runtime code cell {runtime} in thread {thread} mapped to both {first} and {second}")]
    CellRebound {
        runtime: RuntimeCellId,
        thread: ThreadId,
        first: CodeCellId,
        second: CodeCellId,
    },
    #[error("{what} referenced unknown runtime cell {runtime} in thread {thread}")]
    UnknownCell {
        what: &'static str,
        runtime: RuntimeCellId,
        thread: ThreadId,
    },
    #[error("wait tool request payload {payload} {wrong}")]
    Wait {
        payload: PayloadId,
        wrong: &'static str,
    },

    // Compaction.
    #[error("duplicate compaction request start for {0}")]
    DuplicateCompactionRequest(CompactionRequestId),
    #[error("compaction request completion referenced unknown request {0}")]
    UnknownCompactionRequest(CompactionRequestId),
    #[error(
        "compaction request {request} completion used compaction {used}, but start used {started}"
    )]
    OtherCompaction {
        request: CompactionRequestId,
        used: CompactionId,
        started: CompactionId,
    },
    #[error("duplicate compaction install for {0}")]
    DuplicateCompaction(CompactionId),
    #[error("compaction installed event {compaction} did not include a {missing}")]
    NoCompactionContext {
        compaction: CompactionId,
        missing: &'static str,
    },
    #[error("compaction checkpoint payload {payload} did not contain array {key}")]
    NoHistory {
        payload: PayloadId,
        key: &'static str,
    },

    // Agents.
    #[error("agent edge referenced unknown thread {0}")]
    UnknownAgent(ThreadId),
    #[error("sub-agent activity {activity} does not match tool call kind {kind}")]
    Activity { activity: String, kind: String },
    #[error("agent event in payload {payload} {wrong}")]
    AgentEvent {
        payload: PayloadId,
        wrong: &'static str,
    },
    #[error("agent activity tool call {tool} missing {missing}")]
    NoAgentMessage {
        tool: ToolCallId,
        missing: &'static str,
    },
    #[error("parse agent activity tool call {0} arguments")]
    AgentArguments(ToolCallId),
    #[error("pending interaction edge {0} was observed with conflicting delivery data")]
    PendingConflict(EdgeId),
    #[error("interaction edge {0} was observed with conflicting endpoints")]
    EdgeConflict(EdgeId),
}

/// What is wrong with an item that has nothing in it.
pub(super) const NO_CONTENT: &str = "had no content";

impl Fault {
    /// Whether the bundle is at fault, or only what it recorded: a session that was killed, a model that called badly.
    ///
    /// Repeated lines are found by their numbers. So what is said twice under a number of its own was done twice.
    pub fn severity(&self) -> Severity {
        match self {
            Self::OpenEnd
            | Self::OmittedPayload(_)
            | Self::OpenRollout
            | Self::OpenThread(_)
            | Self::ResumedUnknown(_)
            | Self::UnknownItem { .. }
            | Self::UnknownRole { .. }
            | Self::Item {
                item: "reasoning",
                wrong: NO_CONTENT,
                ..
            }
            | Self::ReusedCall(_)
            | Self::DuplicateTool(_)
            | Self::DuplicateToolOfCall(_)
            | Self::DuplicateCorrelation(_)
            | Self::SecondOperation(_)
            | Self::TerminalThread { .. }
            | Self::PendingConflict(_)
            | Self::EdgeConflict(_)
            | Self::Terminal {
                what: "write_stdin call",
                ..
            }
            | Self::Wait { .. }
            | Self::NoAgentMessage { .. }
            | Self::AgentArguments(_) => Severity::Notice,
            _ => Severity::Damage,
        }
    }

    pub(super) fn unreadable(payload: &PayloadRef, reason: impl ToString) -> Self {
        Self::ParsePayload {
            id: payload.raw_payload_id.clone(),
            reason: reason.to_string(),
        }
    }
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The bundle is whole; what it recorded is out of the ordinary.
    Notice,
    /// Something of the bundle is missing or cannot be true.
    Damage,
}

/// A fault and where it was found.
#[derive(Debug)]
pub struct Problem {
    /// The line of the log, from 1; none when it is about the log as a whole.
    pub line: Option<u64>,
    pub fault: Fault,
}

/// Every problem of a replay, the first of them in full.
#[derive(Debug, Default)]
pub struct Problems {
    listed: Vec<Problem>,
    notices: u64,
    damage: u64,
}

/// This many problems are kept; the rest are counted.
const MAX_LISTED: usize = 10_000;

impl Problems {
    pub(super) fn add(&mut self, line: Option<u64>, fault: Fault) {
        match fault.severity() {
            Severity::Notice => self.notices += 1,
            Severity::Damage => self.damage += 1,
        }
        if self.listed.len() < MAX_LISTED {
            self.listed.push(Problem { line, fault });
        }
    }

    /// Puts the problems into the order of the log; those about the log as a whole come last.
    pub(super) fn sort(&mut self) {
        self.listed
            .sort_by_key(|problem| problem.line.unwrap_or(u64::MAX));
    }

    /// The problems in the order of the log, at most 10,000.
    pub fn listed(&self) -> &[Problem] {
        &self.listed
    }

    /// How many problems were found.
    pub fn total(&self) -> u64 {
        self.notices + self.damage
    }

    /// Whether the bundle itself is damaged.
    pub fn is_damaged(&self) -> bool {
        self.damage > 0
    }
}
