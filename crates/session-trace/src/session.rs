//! Records one thread: its events, and what the engine reports in addition.

use std::sync::Arc;

use codex_core::{
    AgentResult, CellAnswer, HooksRun, ModelCall, Observer, PrefixBreak, SessionInput, TakenInput,
};
use codex_model_client::{AttemptObserver, Prompt};
use codex_protocol::{Event as EngineEvent, EventMsg, ResponseItem};
use codex_rollout_trace::format::{Event, ExecutionStatus, PayloadKind, RolloutStatus};
use codex_rollout_trace::ids::ThreadId;
use codex_rollout_trace::{Recorder, Scope};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use crate::cells::{self, NestedPlace};
use crate::compaction::{CompactionTrace, installed};
use crate::history::{HISTORY_EVENT, UnreadHistory};
use crate::inference::InferenceTrace;
use crate::inputs::{
    HOOKS_EVENT, INPUT_EVENT, PREFIX_EVENT, RecordedHooks, RecordedInput, RecordedPrefixBreak,
    RecordedShellOutput, RecordedTaking, SHELL_EVENT, TAKEN_EVENT,
};
use crate::payloads::{RecordedResult, SessionMetadata};
use crate::process_state::SharedTraceState;
use crate::requests::RequestHistory;
use crate::settings::{SETTINGS_EVENT, SessionSettings};
use crate::thread_recorder::ThreadRecorder;
use crate::tools::OpenCalls;

/// The assumed memory size of an ordinary event's payload.
const EVENT_WEIGHT: usize = 1024;

/// Records one thread.
#[derive(Debug)]
pub(crate) struct SessionTrace {
    thread: ThreadRecorder,
    /// Whether the bundle ends with this thread.
    is_root: bool,
    calls: Mutex<OpenCalls>,
    requests: Arc<RequestHistory>,
    process: Arc<SharedTraceState>,
}

impl SessionTrace {
    pub(crate) fn begin(
        recorder: Recorder,
        root: Option<(SessionSettings, Option<UnreadHistory>)>,
        metadata: SessionMetadata,
        process: Arc<SharedTraceState>,
    ) -> Self {
        let thread = ThreadId::from(metadata.thread_id.as_str());
        let thread_id = thread.clone();
        recorder.record(None, EVENT_WEIGHT, move |payloads| Event::ThreadStarted {
            thread_id,
            metadata_payload: Some(payloads.add(PayloadKind::SessionMetadata, &metadata)),
            agent_path: metadata.agent_path,
        });
        let is_root = root.is_some();
        if let Some((settings, history)) = root {
            record_protocol_event(&recorder, SETTINGS_EVENT, settings);
            if let Some(history) = history {
                record_history(&recorder, history);
            }
        }
        Self {
            thread: ThreadRecorder::new(recorder, thread),
            is_root,
            calls: Mutex::default(),
            requests: Arc::default(),
            process,
        }
    }

    /// Goes on with an agent that has ended in this bundle.
    pub(crate) fn resume(
        recorder: Recorder,
        thread: &codex_protocol::ThreadId,
        process: Arc<SharedTraceState>,
    ) -> Self {
        let thread = ThreadId::from(thread.as_str());
        let thread_id = thread.clone();
        recorder.record(None, 0, move |_| Event::ThreadResumed { thread_id });
        Self {
            thread: ThreadRecorder::new(recorder, thread),
            is_root: false,
            calls: Mutex::default(),
            requests: Arc::default(),
            process,
        }
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        self.thread.recorder()
    }

    fn turn_started(&self, turn: &str) {
        let scope = self.thread.scope(turn);
        let Scope {
            thread_id,
            codex_turn_id,
        } = scope.clone();
        self.recorder()
            .record(Some(&scope), 0, |_| Event::CodexTurnStarted {
                codex_turn_id,
                thread_id,
            });
    }

    fn turn_ended(&self, turn: &str, status: ExecutionStatus) {
        self.calls.lock().end_turn(&self.thread, turn);
        let scope = self.thread.scope(turn);
        let codex_turn_id = scope.codex_turn_id.clone();
        self.recorder()
            .record(Some(&scope), 0, move |_| Event::CodexTurnEnded {
                codex_turn_id,
                status,
            });
    }

    fn record_taking(&self, is_idle: bool, inputs: Vec<TakenInput>) {
        let taking = RecordedTaking {
            thread_id: self.thread.id().as_str().to_owned(),
            is_idle,
            inputs,
        };
        record_protocol_event(self.recorder(), TAKEN_EVENT, taking);
    }

    /// Records events that the bundle contains unchanged.
    fn wrap(&self, msg: &EventMsg) {
        let Some(event_type) = wrapped(msg) else {
            return;
        };
        record_protocol_event(self.recorder(), event_type, msg.clone());
    }

    fn ended(&self) {
        let status = RolloutStatus::Completed;
        let thread_id = self.thread.id().clone();
        self.recorder()
            .record(None, 0, move |_| Event::ThreadEnded { thread_id, status });
        if self.is_root {
            self.recorder()
                .record(None, 0, move |_| Event::RolloutEnded { status });
        }
    }
}

fn record_protocol_event<P: Serialize + Send + 'static>(
    recorder: &Recorder,
    event_type: &'static str,
    payload: P,
) {
    recorder.record(None, EVENT_WEIGHT, move |payloads| {
        Event::ProtocolEventObserved {
            event_type: event_type.to_owned(),
            event_payload: payloads.add(PayloadKind::ProtocolEvent, &payload),
        }
    });
}

/// The thread that writes the bundle reads the rollout. If it cannot, the event has no history.
fn record_history(recorder: &Recorder, history: UnreadHistory) {
    recorder.record(None, EVENT_WEIGHT, move |payloads| {
        let history = history.read();
        if let Err(error) = &history {
            tracing::warn!(%error, "the history is not traced");
        }
        Event::ProtocolEventObserved {
            event_type: HISTORY_EVENT.to_owned(),
            event_payload: payloads.add(PayloadKind::ProtocolEvent, &history.ok()),
        }
    });
}

impl Observer for SessionTrace {
    fn inputs_taken(&self, inputs: &[TakenInput]) {
        self.record_taking(false, inputs.to_vec());
    }

    fn notice_taken_while_idle(&self) {
        self.record_taking(true, vec![TakenInput::Notice]);
    }

    fn hooks_ran(&self, ran: &HooksRun) {
        let hooks = RecordedHooks {
            thread_id: self.thread.id().as_str().to_owned(),
            ran: ran.clone(),
        };
        record_protocol_event(self.recorder(), HOOKS_EVENT, hooks);
    }

    fn prefix_broken(&self, turn: &str, broken: &PrefixBreak) {
        let recorded = RecordedPrefixBreak {
            thread_id: self.thread.id().as_str().to_owned(),
            turn_id: turn.to_owned(),
            message: broken.to_string(),
            broken: broken.clone(),
        };
        record_protocol_event(self.recorder(), PREFIX_EVENT, recorded);
    }

    fn user_shell_ended(&self, record: &ResponseItem) {
        let output = RecordedShellOutput {
            thread_id: self.thread.id().as_str().to_owned(),
            record: record.clone(),
        };
        record_protocol_event(self.recorder(), SHELL_EVENT, output);
    }

    fn input(&self, input: &SessionInput) {
        let input = RecordedInput {
            thread_id: self.thread.id().as_str().to_owned(),
            input: input.clone(),
        };
        record_protocol_event(self.recorder(), INPUT_EVENT, input);
    }

    fn event(&self, event: &EngineEvent) {
        let turn = event.id.as_str();
        match &event.msg {
            EventMsg::TurnStarted(_) => self.turn_started(turn),
            EventMsg::TurnComplete(_) => self.turn_ended(turn, ExecutionStatus::Completed),
            EventMsg::TurnAborted(_) => self.turn_ended(turn, ExecutionStatus::Cancelled),
            msg => self.calls.lock().event(&self.thread, turn, msg),
        }
        self.wrap(&event.msg);
        if let EventMsg::ShutdownComplete = event.msg {
            self.ended();
        }
    }

    fn model_asked(&self, question: &ModelCall<'_>) -> Option<Arc<dyn AttemptObserver>> {
        let (recorder, scope) = (self.recorder().clone(), self.thread.scope(question.turn));
        Some(match question.compaction {
            None => Arc::new(InferenceTrace::new(
                recorder,
                scope,
                question.model,
                Arc::clone(&self.requests),
            )),
            Some(id) => Arc::new(CompactionTrace::new(
                recorder,
                scope,
                question.model,
                id,
                Arc::clone(&self.process),
            )),
        })
    }

    fn tool_dispatched(&self, turn: &str, call: &ResponseItem) {
        self.calls.lock().dispatched(&self.thread, turn, call);
    }

    fn tool_ended(&self, turn: &str, output: &ResponseItem, error: Option<&str>) {
        self.calls.lock().ended(&self.thread, turn, output, error);
    }

    fn nested_dispatched(&self, turn: &str, call: &ResponseItem, cell: u64, number: u64) {
        let place = NestedPlace { cell, number };
        let mut calls = self.calls.lock();
        calls.nested_dispatched(&self.thread, turn, call, place);
    }

    fn nested_ended(&self, turn: &str, call: &str, result: Result<&Value, &str>) {
        let mut calls = self.calls.lock();
        calls.nested_ended(&self.thread, turn, call, result);
    }

    fn cell_started(&self, turn: &str, cell: u64, call: &str, source: &str) {
        cells::started(&self.thread, turn, cell, call, source);
    }

    fn cell_answered(&self, turn: &str, cell: &CellAnswer<'_>) {
        cells::answered(&self.thread, turn, cell);
    }

    fn cell_ended(&self, turn: &str, cell: &CellAnswer<'_>) {
        cells::ended(&self.thread, turn, cell);
    }

    fn mcp_called(&self, _turn: &str, call: &str) -> Option<String> {
        if !self.calls.lock().is_open(call) {
            return None;
        }
        let id = uuid::Uuid::new_v4().to_string();
        let (tool_call_id, mcp_call_id) = (call.into(), id.as_str().into());
        self.recorder()
            .record(None, 0, |_| Event::McpToolCallCorrelationAssigned {
                tool_call_id,
                mcp_call_id,
            });
        Some(id)
    }

    fn agent_result(&self, result: &AgentResult<'_>) {
        let AgentResult {
            turn,
            parent,
            path,
            message,
            status,
        } = *result;
        let (child, parent) = (self.thread.id().clone(), ThreadId::from(parent.as_str()));
        let edge = format!(
            "edge:agent_result:{}:{turn}:{}",
            child.as_str(),
            parent.as_str()
        );
        let message = message.to_owned();
        let payload = RecordedResult {
            child_agent_path: path.to_owned(),
            message: message.clone(),
            status: status.clone(),
        };
        let child_codex_turn_id = turn.into();
        self.thread.record(turn, message.len(), move |payloads| {
            Event::AgentResultObserved {
                edge_id: edge.as_str().into(),
                child_thread_id: child,
                child_codex_turn_id,
                parent_thread_id: parent,
                message,
                carried_payload: Some(payloads.add(PayloadKind::AgentResult, &payload)),
            }
        });
    }

    fn compacted(&self, turn: &str, item: &str, before: Prompt, after: &[ResponseItem]) {
        let (weight, event) = installed(item, before, after);
        self.thread.record(turn, weight, event);
    }
}

impl Drop for SessionTrace {
    fn drop(&mut self) {
        self.process.close(self.recorder());
    }
}

/// The name of an event that the bundle contains unchanged.
fn wrapped(msg: &EventMsg) -> Option<&'static str> {
    Some(match msg {
        EventMsg::SessionConfigured(_) => "session_configured",
        EventMsg::TurnStarted(_) => "turn_started",
        EventMsg::TurnComplete(_) => "turn_complete",
        EventMsg::TurnAborted(_) => "turn_aborted",
        EventMsg::ThreadRolledBack(_) => "thread_rolled_back",
        EventMsg::CheckpointCreated(_) => "checkpoint_created",
        EventMsg::Error(_) => "error",
        EventMsg::Warning(_) => "warning",
        EventMsg::ExecApprovalRequest(_) => "exec_approval_request",
        EventMsg::ExecApprovalWithdrawn(_) => "exec_approval_withdrawn",
        EventMsg::ApplyPatchApprovalRequest(_) => "apply_patch_approval_request",
        EventMsg::RequestPermissions(_) => "request_permissions",
        EventMsg::RequestUserInput(_) => "request_user_input",
        EventMsg::ElicitationRequest(_) => "elicitation_request",
        EventMsg::HookStarted(_) => "hook_started",
        EventMsg::HookCompleted(_) => "hook_completed",
        EventMsg::ShutdownComplete => "shutdown_complete",
        _ => return None,
    })
}
