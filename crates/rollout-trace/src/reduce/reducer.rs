//! The state of a replay, the order of its events, and its end.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::cell_queue::Cells;
use super::changes::ProtocolEvent;
use super::conversation::{Conversation, ThreadNumber};
use super::edges::Edges;
use super::fault::{Fault, Problems};
use super::outcome::{Reduction, ReplayError, Strictness};
use super::payloads::{PayloadChecks, PayloadFiles};
use super::position::{EventTime, LineContext};
use super::responses::Responses;
use super::tool_records::Tools;
use crate::format::{ExecutionStatus, LogLine, Manifest, PayloadRef, RolloutStatus, Schema};
use crate::ids::{CodeCellId, EdgeId, InferenceId, ItemId, ThreadId, TurnId};
use crate::json::{Json, Scanner};
use crate::model::{ConversationItem, InteractionEdge, RolloutTrace};
use crate::payload_files::PayloadBytes;

/// What the end of a turn has to end too.
#[derive(Default)]
pub(super) struct OpenInTurn {
    pub(super) inferences: Vec<InferenceId>,
    pub(super) cells: Vec<CodeCellId>,
}

/// Objects created because their start was lost. A start that comes late replaces them.
#[derive(Default)]
pub(super) struct Placeholders {
    pub(super) threads: HashSet<ThreadId>,
    pub(super) turns: HashSet<TurnId>,
}

pub(crate) struct Reducer {
    pub(super) schema: Schema,
    pub(super) trace: RolloutTrace,
    pub(super) now: EventTime,
    pub(super) conversation: Conversation,
    pub(super) open_in_turn: HashMap<TurnId, OpenInTurn>,
    pub(super) responses: Responses,
    pub(super) placeholders: Placeholders,
    pub(super) tools: Tools,
    pub(super) cells: Cells,
    pub(super) edges: Edges,
    strictness: Strictness,
    payloads: PayloadFiles,
    /// Checks what is not read; none in strict replay, and where there is no thread for it.
    checks: Option<PayloadChecks>,
    problems: Problems,
    line: u64,
    /// The highest seq so far.
    last_seq: u64,
    sums: LineSums,
    /// The protocol events since the last time; none if nobody wants to know.
    pub(super) protocol_events: Option<Vec<ProtocolEvent>>,
}

/// Which lines have a checksum. The recorder gives every line one, or none.
#[derive(Default)]
struct LineSums {
    is_used: bool,
    /// The first line without one.
    missing: Option<u64>,
}

impl Reducer {
    pub(crate) fn new(bundle: &Path, manifest: Manifest, strictness: Strictness) -> Self {
        // A bundle of an unknown version is not read at all.
        let schema = Schema::numbered(manifest.schema_version).unwrap_or_default();
        let payloads = PayloadFiles::new(bundle);
        Self {
            schema,
            trace: RolloutTrace::new(manifest, schema),
            now: EventTime::default(),
            conversation: Conversation::new(schema),
            open_in_turn: HashMap::new(),
            responses: Responses::default(),
            placeholders: Placeholders::default(),
            tools: Tools::default(),
            cells: Cells::default(),
            edges: Edges::default(),
            strictness,
            checks: match strictness {
                Strictness::Strict => None,
                Strictness::Lenient => PayloadChecks::start(payloads.shared()).ok(),
            },
            payloads,
            problems: Problems::default(),
            line: 0,
            last_seq: 0,
            sums: LineSums::default(),
            protocol_events: None,
        }
    }

    /// Replays one event.
    pub(super) fn replay(&mut self, number: u64, line: LogLine) -> Result<(), ReplayError> {
        self.line = number;
        let checked = self.check_line(&line).and_then(|()| {
            self.check_order(line.seq)
                .or_else(|fault| self.tolerate(fault))
        });
        if let Err(fault) = checked {
            return self.unreadable_line(number, fault);
        }
        self.now = EventTime {
            seq: line.seq,
            at: line.wall_time_unix_ms,
        };
        for payload in line.payload.payloads() {
            let id = payload.raw_payload_id.clone();
            self.trace.raw_payloads.insert(id, payload.clone());
        }
        let context = LineContext {
            thread: line.thread_id,
            turn: line.codex_turn_id,
        };
        self.apply(context, line.payload)
            .or_else(|fault| self.tolerate(fault))
            .map_err(|fault| self.failed(fault))
    }

    /// Whether lines of a version belong into the bundle. Schema 1 does not say that they are all of one.
    pub(super) fn reads(&self, version: u32) -> bool {
        match self.schema {
            Schema::One => version <= Schema::One.number(),
            Schema::Two | Schema::Three => version == self.schema.number(),
        }
    }

    /// What schema 2 promises of every line.
    fn check_line(&self, line: &LogLine) -> Result<(), Fault> {
        if self.schema == Schema::One {
            return Ok(());
        }
        if self.trace.recording_complete == Some(true) {
            return Err(Fault::AfterEnd);
        }
        if line.rollout_id != self.trace.rollout_id {
            return Err(Fault::OtherRollout);
        }
        Ok(())
    }

    /// Lists a line that is no event.
    pub(super) fn unreadable_line(&mut self, number: u64, fault: Fault) -> Result<(), ReplayError> {
        self.line = number;
        self.tolerate(fault).map_err(|fault| self.failed(fault))
    }

    /// Lists a fault that strict replay fails on.
    pub(super) fn tolerate(&mut self, fault: Fault) -> Result<(), Fault> {
        match self.strictness {
            Strictness::Strict => Err(fault),
            Strictness::Lenient => {
                self.remark(fault);
                Ok(())
            }
        }
    }

    /// The value, or none and the fault listed.
    pub(super) fn tolerated<T>(&mut self, result: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(fault) => self.tolerate(fault).map(|()| None),
        }
    }

    /// Lists what no replay fails on.
    pub(super) fn remark(&mut self, fault: Fault) {
        self.problems.add(Some(self.line), fault);
    }

    pub(super) fn is_strict(&self) -> bool {
        self.strictness == Strictness::Strict
    }

    /// Lists what is wrong with a line before it is replayed.
    pub(super) fn remark_at(&mut self, line: u64, fault: Fault) {
        self.problems.add(Some(line), fault);
    }

    fn failed(&self, fault: Fault) -> ReplayError {
        ReplayError::Fault {
            line: Some(self.line),
            fault,
        }
    }

    /// Whether the event at hand follows those before it, and is not one of them repeated.
    pub(super) fn is_in_order(&self) -> bool {
        self.now.seq == self.last_seq
    }

    /// Events are replayed in file order. Missing or decreasing numbers are only listed in schema 1, and an error in schema 2.
    fn check_order(&mut self, seq: u64) -> Result<(), Fault> {
        let after = self.last_seq;
        if seq != after.saturating_add(1) && self.schema.has_ids() && self.is_strict() {
            return Err(Fault::Sequence(after.saturating_add(1)));
        }
        if seq <= after {
            self.remark(Fault::Order { seq, after });
            return Ok(());
        }
        if seq > after + 1 {
            self.remark(Fault::Gap {
                from: after + 1,
                to: seq - 1,
            });
        }
        self.last_seq = seq;
        Ok(())
    }

    /// Hands the content of a payload file to a reader.
    pub(super) fn with_payload<T>(
        &mut self,
        payload: &PayloadRef,
        read: impl FnOnce(&mut Self, &PayloadBytes<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (bytes, file) = self.payloads.take_with_place(payload)?;
        let content = PayloadBytes {
            bytes: &bytes,
            file: Some(&file),
        };
        let result = read(self, &content);
        self.payloads.recycle(bytes);
        result
    }

    /// Hands a payload, read whole, to a reader.
    pub(super) fn with_json<T>(
        &mut self,
        payload: &PayloadRef,
        read: impl FnOnce(&mut Self, &Json<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.with_payload(payload, |reducer, content| {
            let value = Scanner::parse_payload(content)
                .map_err(|error| Fault::unreadable(payload, error))?;
            read(reducer, &value)
        })
    }

    /// Has a payload file checked that nothing else would miss.
    pub(super) fn expect_file(&mut self, payload: &PayloadRef) {
        if let Some(checks) = &self.checks {
            checks.add(self.line, payload);
            if payload.is_unrecorded() {
                // Its parts are there all the same.
                for part in &payload.parts {
                    checks.add(self.line, part);
                }
            }
        }
    }

    pub(super) fn thread_number(&mut self, thread: &ThreadId) -> ThreadNumber {
        self.conversation.thread(thread)
    }

    /// Notes whether a line agrees with its checksum, if it has one.
    pub(super) fn check_line_sum(&mut self, line: u64, agrees: Option<bool>) {
        match agrees {
            Some(true) => self.sums.is_used = true,
            Some(false) => self.remark_at(line, Fault::LineChecksum { line }),
            None => self.sums.missing = self.sums.missing.or(Some(line)),
        }
    }

    pub(crate) fn trace(&self) -> &RolloutTrace {
        &self.trace
    }

    pub(crate) fn item(&self, id: ItemId) -> Option<&ConversationItem> {
        self.conversation.find(id)
    }

    /// How many items a thread lists.
    pub(crate) fn listed_items(&self, thread: &ThreadId) -> usize {
        self.conversation.listed(thread)
    }

    /// An edge as if nothing more came.
    pub(crate) fn edge(&self, id: &EdgeId) -> Option<InteractionEdge> {
        self.edges.find(id, &self.trace)
    }

    pub(crate) fn problems(&self) -> &Problems {
        &self.problems
    }

    /// The graph so far.
    pub(crate) fn snapshot(&self) -> RolloutTrace {
        let mut trace = self.trace.clone();
        self.conversation.copy_into(&mut trace);
        trace.interaction_edges = self.edges.snapshot(&trace).into();
        trace
    }

    /// Ties up what is left and gives the graph.
    pub(crate) fn finish(mut self) -> Result<Reduction, ReplayError> {
        if let (true, Some(line)) = (self.sums.is_used, self.sums.missing) {
            self.remark_at(line, Fault::LineChecksum { line });
        }
        self.settle_spawn_edges()
            .map_err(|fault| self.failed(fault))?;
        self.remark_open_ends();
        let checked = self.checks.take().map(PayloadChecks::finish);
        for (line, fault) in checked.into_iter().flatten() {
            self.problems.add(Some(line), fault);
        }
        if self.trace.recording_complete == Some(true) {
            for shard in self.payloads.shards_without_end() {
                let fault = Fault::ShardWithoutEnd(shard);
                self.tolerate(fault).map_err(|fault| self.failed(fault))?;
            }
        }
        self.problems.sort();
        let graph = self.conversation.into_graph();
        let mut trace = self.trace;
        trace.conversation_items = graph.items.into();
        for (thread, items) in graph.listed {
            if let Some(thread) = trace.threads.get_mut(&thread) {
                thread.conversation_item_ids = items;
            }
        }
        trace.interaction_edges = self.edges.into_edges().into();
        Ok(Reduction {
            trace,
            problems: self.problems,
        })
    }

    fn remark_open_ends(&mut self) {
        if self.trace.status == RolloutStatus::Running {
            self.problems.add(None, Fault::OpenRollout);
        }
        for thread in self.trace.threads.values() {
            if thread.execution.status == ExecutionStatus::Running {
                let fault = Fault::OpenThread(thread.thread_id.clone());
                self.problems.add(None, fault);
            }
        }
    }
}
