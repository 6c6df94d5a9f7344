//! What a bundle says about a session, in the form that a replay needs.

use std::collections::{BTreeSet, HashMap, VecDeque};

use codex_core::SessionInput;
use codex_protocol::Op;
use codex_rollout_trace::Recording;
use codex_rollout_trace::format::{
    Event, ExecutionStatus, LogLine, PayloadRef, Requester, ToolKind,
};
use codex_session_trace::{
    HISTORY_EVENT, HOOKS_EVENT, INPUT_EVENT, RecordedHistory, RecordedHooks, RecordedInput,
    RecordedShellOutput, RecordedTaking, SETTINGS_EVENT, SHELL_EVENT, SessionSettings, TAKEN_EVENT,
};
use serde::de::DeserializeOwned;

use crate::cells::RecordedCells;
use crate::directing::DirectingCalls;
use crate::endings::{before_gap, is_cut, is_interrupt, is_stopped_call, last_cause};
use crate::limits::{is_input_of_tool, limit_of};
use crate::thread_script::{
    RecordedEnd, RecordedRequest, RecordedToolEnd, RecordedTurn, Taking, ThreadScript,
};
use crate::timeline::{Milestone, Moment};

/// A recorded session.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) settings: Option<SessionSettings>,
    /// What the session continues or copies.
    pub(crate) history: Option<RecordedHistory>,
    pub(crate) provider: String,
    /// In the order in which they were started; the first is the root.
    pub(crate) thread_ids: Vec<String>,
    pub(crate) threads: HashMap<String, ThreadScript>,
    pub(crate) inputs: VecDeque<ScriptedInput>,
    /// The events that the engine must bring about.
    pub(crate) milestones: BTreeSet<Milestone>,
    pub(crate) started_unix_ms: i64,
    /// Why the session cannot be replayed.
    pub(crate) limits: Vec<String>,
    pub(crate) is_damaged: bool,
    /// Whether the session needs its rollout: to go back in it, or to fork it for an agent.
    pub(crate) needs_file: bool,
    cells: RecordedCells,
    directing: DirectingCalls,
    /// The threads that have ended.
    ended: BTreeSet<String>,
    /// The threads that went on after their end, of which the bundle has nothing more.
    pub(crate) unrecorded: BTreeSet<String>,
}

/// An input of a session.
#[derive(Debug)]
pub(crate) struct ScriptedInput {
    pub(crate) at: Moment,
    /// It is given after all events with lower numbers.
    pub(crate) after: u64,
    pub(crate) thread: String,
    pub(crate) input: SessionInput,
}

impl Script {
    pub(crate) fn from_recording(recording: &Recording) -> Self {
        let events = before_gap(recording.events());
        let mut script = Self {
            settings: None,
            history: None,
            provider: String::new(),
            thread_ids: Vec::new(),
            threads: HashMap::new(),
            inputs: VecDeque::new(),
            milestones: BTreeSet::new(),
            started_unix_ms: recording.manifest().started_at_unix_ms,
            limits: Vec::new(),
            is_damaged: recording.is_log_damaged() || is_cut(events),
            needs_file: false,
            cells: RecordedCells::default(),
            directing: DirectingCalls::default(),
            ended: BTreeSet::new(),
            unrecorded: BTreeSet::new(),
        };
        let last_cause = last_cause(events);
        for line in events {
            if !script.ends_with_session(line, last_cause) {
                script.event(recording, line);
            }
        }
        script.find_limits();
        script.order_inputs();
        for thread in script.threads.values_mut() {
            thread.note_stopped_turns();
        }
        script
    }

    /// Whether a line is the end of a turn that nobody interrupted: the session ended before it.
    fn ends_with_session(&self, line: &LogLine, last_cause: u64) -> bool {
        let Event::CodexTurnEnded {
            codex_turn_id: turn,
            status: ExecutionStatus::Cancelled,
        } = &line.payload
        else {
            return false;
        };
        let thread = line.thread_id.as_ref().map_or("", |id| id.as_str());
        let turns = self.threads.get(thread).map(|thread| &thread.turns);
        let turn = turns.and_then(|turns| turns.get(turn.as_str()));
        let is_interrupt = |input: &ScriptedInput| {
            input.thread == thread
                && turn.is_none_or(|turn| turn.started < input.at.seq)
                && is_interrupt(&input.input)
        };
        line.seq > last_cause && !self.inputs.iter().any(is_interrupt)
    }

    /// An interrupt is given after everything that still happened in its turn: the turn may have gone on for a moment.
    fn order_inputs(&mut self) {
        for input in &mut self.inputs {
            let thread = self.threads.get(&input.thread);
            let stopped = thread.filter(|_| is_interrupt(&input.input));
            match stopped.and_then(|thread| thread.last_before_stop(input.at.seq)) {
                Some(last) => input.after = last + 1,
                None => {
                    self.milestones.insert(Milestone::event(input.at.seq));
                }
            }
        }
        // An interrupt comes when the engine has taken the part of the response that came.
        let requests = self.threads.values().flat_map(|thread| &thread.requests);
        let open = requests.filter(|request| request.end.seq().is_none());
        self.milestones
            .extend(open.map(|request| Milestone::after(request.started.seq)));
        let inputs = self.inputs.make_contiguous();
        inputs.sort_by_key(|input| input.after);
    }

    /// Leaves out what comes after the end of this turn of the root. Returns false if there is no such turn.
    pub(crate) fn cut_after(&mut self, turn: usize) -> bool {
        let root = self.thread_ids.first().and_then(|id| self.threads.get(id));
        let end = root.and_then(|root| root.turn_ends.get(turn.checked_sub(1)?));
        let Some(end) = end.copied() else {
            return false;
        };
        self.inputs.retain(|input| input.at < end);
        self.milestones
            .retain(|milestone| *milestone <= Milestone::event(end.seq));
        true
    }

    /// The threads that get new ids, in the order in which they were started.
    pub(crate) fn new_threads(&self) -> Vec<String> {
        let is_resumed = self
            .history
            .as_ref()
            .is_some_and(|history| history.is_resumed);
        self.thread_ids
            .iter()
            .skip(usize::from(is_resumed))
            .cloned()
            .collect()
    }

    fn event(&mut self, recording: &Recording, line: &LogLine) {
        let at = Moment {
            seq: line.seq,
            unix_ms: line.wall_time_unix_ms,
        };
        let thread = line.thread_id.as_ref().map_or("", |id| id.as_str());
        let turn = line.codex_turn_id.as_ref().map_or("", |id| id.as_str());
        self.directing.note(thread, at.seq, &line.payload);
        match &line.payload {
            Event::ThreadStarted {
                thread_id,
                agent_path,
                ..
            } => {
                self.thread_ids.push(thread_id.as_str().to_owned());
                self.thread(thread_id.as_str())
                    .agent_path
                    .clone_from(agent_path);
            }
            Event::ProtocolEventObserved {
                event_type,
                event_payload,
            } => self.protocol_event(recording, at, event_type, event_payload),
            Event::CodexTurnStarted { codex_turn_id, .. } => {
                let turns = &mut self.thread(thread).turns;
                let turn = RecordedTurn {
                    number: turns.len() + 1,
                    started: at.seq,
                    status: None,
                };
                turns.insert(codex_turn_id.as_str().to_owned(), turn);
            }
            Event::CodexTurnEnded {
                codex_turn_id,
                status,
            } => {
                let script = self.thread(thread);
                script.turn_ends.push_back(at);
                if let Some(turn) = script.turns.get_mut(codex_turn_id.as_str()) {
                    turn.status = Some(*status);
                }
                self.milestones.insert(Milestone::event(at.seq));
            }
            Event::ToolCallStarted {
                tool_call_id,
                requester: Requester::CodeCell { .. },
                kind,
                ..
            } => {
                self.cells.call(tool_call_id.as_str());
                if *kind == ToolKind::SpawnAgent {
                    self.limit("its scripts started agents, which cannot be replayed");
                }
            }
            Event::ToolCallStarted {
                tool_call_id,
                kind,
                invocation_payload,
                ..
            } => {
                if matches!(kind, ToolKind::Other { name } if name == "spawn_agents_on_csv") {
                    self.limit("it ran jobs of agents, which cannot be replayed");
                }
                if matches!(kind, ToolKind::Other { name } if name == "resume_agent") {
                    self.note_resumed(recording, invocation_payload.as_ref());
                }
                self.call_started(at, thread, tool_call_id.as_str());
                let runs = &mut self.thread(thread).agent_calls;
                let runs = runs.entry(tool_call_id.as_str().to_owned()).or_default();
                runs.push_back(at.seq);
            }
            Event::ToolCallRuntimeStarted { tool_call_id, .. } => {
                let runs = &mut self.thread(thread).agent_calls;
                if let Some(last) = runs
                    .get_mut(tool_call_id.as_str())
                    .and_then(VecDeque::back_mut)
                {
                    *last = at.seq;
                }
            }
            Event::ToolCallEnded { tool_call_id, .. } if self.cells.ends(tool_call_id.as_str()) => {
            }
            Event::ToolCallEnded {
                tool_call_id,
                result_payload,
                status,
            } => {
                let is_stopped = *status == ExecutionStatus::Failed
                    && is_stopped_call(recording, result_payload.as_ref());
                if !is_stopped {
                    self.call_ended(at, thread, tool_call_id.as_str(), result_payload.clone());
                }
            }
            Event::CodeCellStarted {
                runtime_cell_id,
                model_visible_call_id,
                ..
            } => {
                let call = model_visible_call_id.as_str();
                self.cells.start(thread, runtime_cell_id.as_str(), call);
                self.call_started(at, thread, call);
            }
            Event::CodeCellInitialResponse {
                runtime_cell_id, ..
            } => {
                if let Some(call) = self.cells.answered(thread, runtime_cell_id.as_str()) {
                    self.call_ended(at, thread, &call, None);
                }
            }
            Event::ThreadEnded { thread_id, .. } => {
                self.ended.insert(thread_id.as_str().to_owned());
            }
            Event::ThreadResumed { thread_id } => {
                self.ended.remove(thread_id.as_str());
                self.unrecorded.remove(thread_id.as_str());
            }
            event => self.request_event(at, thread, turn, event),
        }
    }

    /// A call with this payload resumes an agent that it names.
    fn note_resumed(&mut self, recording: &Recording, payload: Option<&PayloadRef>) {
        let bytes = payload.and_then(|payload| recording.bytes(payload).ok());
        let bytes = bytes.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let named = self.ended.iter().filter(|agent| text.contains(*agent));
        self.unrecorded.extend(named.cloned());
    }

    fn call_started(&mut self, at: Moment, thread: &str, call: &str) {
        let thread = self.thread(thread);
        thread.calls.insert(call.to_owned());
        let starts = thread.tool_starts.entry(call.to_owned()).or_default();
        starts.push_back(at);
        self.milestones.insert(Milestone::event(at.seq));
    }

    fn call_ended(&mut self, at: Moment, thread: &str, call: &str, result: Option<PayloadRef>) {
        let answers = &mut self.thread(thread).tool_ends;
        let answers = answers.entry(call.to_owned()).or_default();
        answers.push_back(RecordedToolEnd { at, result });
        self.milestones.insert(Milestone::event(at.seq));
    }

    fn request_event(&mut self, at: Moment, thread: &str, turn: &str, event: &Event) {
        match event {
            Event::InferenceStarted {
                inference_call_id: id,
                provider_name,
                request_payload,
                ..
            } => {
                self.provider.clone_from(provider_name);
                self.request(at, thread, turn, id.as_str(), request_payload);
            }
            Event::CompactionRequestStarted {
                compaction_request_id: id,
                provider_name,
                request_payload,
                ..
            } => {
                self.provider.clone_from(provider_name);
                self.request(at, thread, turn, id.as_str(), request_payload);
            }
            Event::InferenceCompleted {
                inference_call_id: id,
                response_id,
                response_payload,
                ..
            } => {
                let response_id = response_id.as_ref().map(ToString::to_string);
                let response = response_payload.clone();
                self.end(
                    thread,
                    id.as_str(),
                    RecordedEnd::Completed {
                        at,
                        response_id,
                        response,
                    },
                );
            }
            Event::CompactionRequestCompleted {
                compaction_request_id: id,
                response_payload,
                ..
            } => {
                let (response_id, response) = (None, response_payload.clone());
                self.end(
                    thread,
                    id.as_str(),
                    RecordedEnd::Completed {
                        at,
                        response_id,
                        response,
                    },
                );
            }
            Event::InferenceFailed {
                inference_call_id: id,
                error,
                partial_response_payload,
                ..
            } => {
                let (error, partial) = (error.clone(), partial_response_payload.clone());
                self.end(
                    thread,
                    id.as_str(),
                    RecordedEnd::Failed { at, error, partial },
                );
            }
            Event::CompactionRequestFailed {
                compaction_request_id: id,
                error,
                ..
            } => {
                let (error, partial) = (error.clone(), None);
                self.end(
                    thread,
                    id.as_str(),
                    RecordedEnd::Failed { at, error, partial },
                );
            }
            Event::InferenceCancelled {
                inference_call_id: id,
                partial_response_payload,
                ..
            } => {
                let partial = partial_response_payload.clone();
                self.end(thread, id.as_str(), RecordedEnd::Open { partial });
            }
            _ => {}
        }
    }

    fn protocol_event(
        &mut self,
        recording: &Recording,
        at: Moment,
        event_type: &str,
        payload: &PayloadRef,
    ) {
        match event_type {
            SETTINGS_EVENT => match recording.json(payload) {
                Ok(settings) => self.settings = Some(settings),
                Err(fault) => self.limit(format!("its settings cannot be read: {fault}")),
            },
            INPUT_EVENT => self.read(recording, payload, |script, input: RecordedInput| {
                script.inputs.push_back(ScriptedInput {
                    at,
                    after: at.seq,
                    thread: input.thread_id,
                    input: input.input,
                });
            }),
            HISTORY_EVENT => self.read(recording, payload, |script, history| {
                script.history = history;
            }),
            TAKEN_EVENT => self.read(recording, payload, |script, taking: RecordedTaking| {
                let RecordedTaking {
                    thread_id,
                    is_idle,
                    inputs,
                } = taking;
                if is_idle {
                    script.milestones.insert(Milestone::event(at.seq));
                }
                let thread = script.thread(&thread_id);
                thread.takings.push_back(Taking {
                    requests: thread.requests.len(),
                    turns: thread.turn_ends.len(),
                    idle: is_idle.then_some(at),
                    inputs,
                });
            }),
            HOOKS_EVENT => self.read(recording, payload, |script, hooks: RecordedHooks| {
                let RecordedHooks { thread_id, ran } = hooks;
                let thread = script.thread(&thread_id);
                let runs = thread.hooks.entry((ran.event, ran.call_id));
                runs.or_default().push_back(ran.hooks);
            }),
            SHELL_EVENT => self.read(recording, payload, |script, output: RecordedShellOutput| {
                let thread = script.thread(&output.thread_id);
                thread.shell_outputs.push_back((at, output.record));
            }),
            _ => {}
        }
    }

    fn read<T: DeserializeOwned>(
        &mut self,
        recording: &Recording,
        payload: &PayloadRef,
        take: impl FnOnce(&mut Self, T),
    ) {
        match recording.bytes(payload) {
            // Text of a tool is kept as raw JSON, which needs a parser of its own.
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(value) => take(self, value),
                Err(error) => self.limit(format!("{}: {error}", payload.raw_payload_id)),
            },
            Err(fault) => self.limit(fault.to_string()),
        }
    }

    fn thread(&mut self, id: &str) -> &mut ThreadScript {
        self.threads.entry(id.to_owned()).or_default()
    }

    fn request(&mut self, at: Moment, thread: &str, turn: &str, id: &str, payload: &PayloadRef) {
        self.milestones.insert(Milestone::event(at.seq));
        let thread = self.thread(thread);
        let turn = thread
            .turns
            .get(turn)
            .map_or(thread.turns.len(), |turn| turn.number);
        thread.requests.push_back(RecordedRequest {
            id: id.to_owned(),
            started: at,
            payload: payload.clone(),
            turn,
            is_turn_stopped: false,
            end: RecordedEnd::Open { partial: None },
        });
    }

    fn end(&mut self, thread: &str, id: &str, end: RecordedEnd) {
        let mut requests = self.thread(thread).requests.iter_mut().rev();
        let seq = end.seq();
        match requests.find(|request| request.id == id) {
            Some(request) => {
                request.end = end;
                self.milestones.extend(seq.map(Milestone::event));
            }
            None => self.is_damaged = true,
        }
    }

    fn limit(&mut self, limit: impl Into<String>) {
        let limit = limit.into();
        if !self.limits.contains(&limit) {
            self.limits.push(limit);
        }
    }

    /// Tools give agents their inputs again. Only when an interrupt comes is not left to their speed.
    fn leave_out_inputs_of_tools(&mut self) {
        let root = self.thread_ids.first().cloned().unwrap_or_default();
        for input in std::mem::take(&mut self.inputs) {
            let is_interrupt = is_interrupt(&input.input);
            if input.thread != root && is_interrupt {
                let thread = self.thread(&input.thread);
                let last = thread.last_before_stop(input.at.seq);
                let after = last.map_or(input.at.seq, |last| last + 1);
                thread.interrupts.push_back(after);
            }
            let is_of_tool = input.thread != root
                && is_input_of_tool(&input.input)
                && (!is_interrupt || self.directing.any_runs(&input.thread, input.at.seq));
            if !is_of_tool {
                self.inputs.push_back(input);
            }
        }
    }

    fn find_limits(&mut self) {
        match &self.settings {
            None if self.thread_ids.is_empty() => {
                self.limit("the process of the session ended before anything was recorded");
            }
            None => self.limit(
                "the bundle has neither settings nor inputs of the session: it was recorded by another program or an \
                 older version",
            ),
            Some(settings) if settings.has_history && self.history.is_none() => {
                self.limit("it continues a stored thread, whose history is not in the bundle");
            }
            Some(settings) if settings.has_hooks && !settings.is_complete => {
                self.limit("it ran hooks, whose results are not in the bundle");
            }
            Some(_) => {}
        }
        self.leave_out_inputs_of_tools();
        let mut limits = Vec::new();
        for input in &self.inputs {
            self.needs_file |= matches!(
                &input.input,
                SessionInput::Submission(submission) if matches!(submission.op, Op::ThreadRollback { .. })
            );
            let has_outputs = self
                .settings
                .as_ref()
                .is_some_and(|settings| settings.is_complete);
            limits.extend(limit_of(&input.input, has_outputs));
        }
        self.needs_file |= self.history.is_some() || self.threads.len() > 1;
        for limit in limits {
            self.limit(limit);
        }
    }
}
