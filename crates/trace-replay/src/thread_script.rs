//! What a bundle says about one thread of a session.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use codex_core::{FinishedHook, TakenInput};
use codex_protocol::{HookEventName, ResponseItem};
use codex_rollout_trace::format::{ExecutionStatus, PayloadRef};

use crate::timeline::Moment;

/// The recorded part of one thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadScript {
    pub(crate) agent_path: String,
    pub(crate) requests: VecDeque<RecordedRequest>,
    pub(crate) turn_ends: VecDeque<Moment>,
    pub(crate) tool_starts: HashMap<String, VecDeque<Moment>>,
    /// The calls that were made.
    pub(crate) calls: HashSet<String>,
    pub(crate) tool_ends: HashMap<String, VecDeque<RecordedToolEnd>>,
    pub(crate) turns: BTreeMap<String, RecordedTurn>,
    /// When calls began to run: one of a tool for agents runs after all events with lower numbers than this.
    pub(crate) agent_calls: HashMap<String, VecDeque<u64>>,
    /// The interrupts of an agent: each comes after all events with lower numbers than this.
    pub(crate) interrupts: VecDeque<u64>,
    /// The inputs that the thread took, in order.
    pub(crate) takings: VecDeque<Taking>,
    /// The hooks that ran, by what they were about.
    pub(crate) hooks: HashMap<HookOccasion, VecDeque<Vec<FinishedHook>>>,
    /// The records of commands that the user typed.
    pub(crate) shell_outputs: VecDeque<(Moment, ResponseItem)>,
}

/// Inputs that a thread took at once.
#[derive(Debug)]
pub(crate) struct Taking {
    /// The requests of the thread before.
    pub(crate) requests: usize,
    /// The turns of the thread that had ended before: a turn may begin with what waited.
    pub(crate) turns: usize,
    /// When an idle thread took them; none if a turn did.
    pub(crate) idle: Option<Moment>,
    pub(crate) inputs: Vec<TakenInput>,
}

impl Taking {
    pub(crate) fn has_notice(&self) -> bool {
        let mut inputs = self.inputs.iter();
        inputs.any(|input| matches!(input, TakenInput::Notice))
    }
}

/// An event, and the call of a tool that it is about.
pub(crate) type HookOccasion = (HookEventName, Option<String>);

#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedTurn {
    pub(crate) number: usize,
    pub(crate) started: u64,
    pub(crate) status: Option<ExecutionStatus>,
}

/// An attempt at a request.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) id: String,
    pub(crate) started: Moment,
    pub(crate) payload: PayloadRef,
    /// The number of its turn in the thread, from 1.
    pub(crate) turn: usize,
    pub(crate) is_turn_stopped: bool,
    pub(crate) end: RecordedEnd,
}

#[derive(Debug, Clone)]
pub(crate) enum RecordedEnd {
    Completed {
        at: Moment,
        response_id: Option<String>,
        response: PayloadRef,
    },
    Failed {
        at: Moment,
        error: String,
        partial: Option<PayloadRef>,
    },
    /// The session gave it up, or the recording ends before it.
    Open { partial: Option<PayloadRef> },
}

impl RecordedEnd {
    pub(crate) fn seq(&self) -> Option<u64> {
        match self {
            Self::Completed { at, .. } | Self::Failed { at, .. } => Some(at.seq),
            Self::Open { .. } => None,
        }
    }
}

/// The end of a tool call. Without a result of its own, the next request has it.
#[derive(Debug, Clone)]
pub(crate) struct RecordedToolEnd {
    pub(crate) at: Moment,
    pub(crate) result: Option<PayloadRef>,
}

impl ThreadScript {
    /// Whether a turn was interrupted, by its number from 1.
    pub(crate) fn is_stopped(&self, number: usize) -> bool {
        let mut turns = self.turns.values();
        turns.any(|turn| turn.number == number && turn.status == Some(ExecutionStatus::Cancelled))
    }

    /// The last event of the turn that an interrupt of this number stops, if it comes after the interrupt.
    pub(crate) fn last_before_stop(&self, since: u64) -> Option<u64> {
        let end = self.turn_ends.iter().find(|end| end.seq > since)?.seq;
        let starts = self.tool_starts.values().flatten().map(|at| at.seq);
        let ends = self.tool_ends.values().flatten().map(|end| end.at.seq);
        let requests = self.requests.iter();
        let requests = requests.flat_map(|request| [Some(request.started.seq), request.end.seq()]);
        let all = starts.chain(ends).chain(requests.flatten());
        all.filter(|seq| (since..end).contains(seq)).max()
    }

    pub(crate) fn note_stopped_turns(&mut self) {
        let stopped = self
            .turns
            .values()
            .filter(|turn| turn.status == Some(ExecutionStatus::Cancelled));
        let stopped: BTreeSet<usize> = stopped.map(|turn| turn.number).collect();
        for request in &mut self.requests {
            request.is_turn_stopped = stopped.contains(&request.turn);
        }
    }
}
