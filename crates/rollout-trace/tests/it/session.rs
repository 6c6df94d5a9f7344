//! A session that records itself, event by event.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_rollout_trace::format::{
    Event, ExecutionStatus, PayloadKind, Requester, RolloutStatus, Schema, Summary, ToolKind,
};
use codex_rollout_trace::ids::ThreadId;
use codex_rollout_trace::{Payloads, Recorder, Scope};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Session {
    pub(crate) recorder: Recorder,
    pub(crate) scope: Scope,
    pub(crate) thread: ThreadId,
}

impl Session {
    pub(crate) fn start(root: &Path) -> Self {
        Self::start_in(root, Schema::One)
    }

    pub(crate) fn start_in(root: &Path, schema: Schema) -> Self {
        let thread = ThreadId::from("00000000-0000-7000-8000-000000000001");
        let session = Self {
            recorder: Recorder::start_in(root, &thread, schema).unwrap(),
            scope: Scope {
                thread_id: thread.clone(),
                codex_turn_id: "turn-1".into(),
            },
            thread,
        };
        let thread_id = session.thread.clone();
        let metadata = json!({"agent_path": "/root", "model": "m"});
        session.record(move |payloads| Event::ThreadStarted {
            thread_id,
            agent_path: "/root".into(),
            metadata_payload: Some(payloads.add(PayloadKind::SessionMetadata, &metadata)),
        });
        session
    }

    pub(crate) fn record(&self, event: impl FnOnce(&mut Payloads<'_>) -> Event + Send + 'static) {
        self.recorder.record(Some(&self.scope), 0, event);
    }

    pub(crate) fn start_turn(&self) {
        let (codex_turn_id, thread_id) = (self.scope.codex_turn_id.clone(), self.thread.clone());
        self.record(|_| Event::CodexTurnStarted {
            codex_turn_id,
            thread_id,
        });
    }

    pub(crate) fn request(&self, id: &str, body: impl Serialize + Send + 'static) {
        let (inference_call_id, scope) = (id.into(), self.scope.clone());
        self.record(move |payloads| Event::InferenceStarted {
            inference_call_id,
            thread_id: scope.thread_id,
            codex_turn_id: scope.codex_turn_id,
            model: "m".into(),
            provider_name: "Mock".into(),
            request_payload: payloads.add(PayloadKind::InferenceRequest, &body),
            prepared_prompt_payload: None,
            warmup_context_payload: None,
        });
    }

    pub(crate) fn respond(&self, id: &str, items: Value) {
        let (inference_call_id, response) = (id.into(), json!({"output_items": items}));
        self.record(move |payloads| Event::InferenceCompleted {
            inference_call_id,
            response_id: Some("r".into()),
            upstream_request_id: None,
            response_payload: payloads.add(PayloadKind::InferenceResponse, &response),
        });
    }

    pub(crate) fn start_tool(&self, call: &str, name: &str, arguments: &str, input: &str) {
        let invocation = json!({
            "tool_name": name,
            "payload": {"type": "function", "arguments": arguments},
        });
        let (tool_call_id, kind) = (call.into(), ToolKind::of_tool(name));
        let (call, summary) = (call.into(), Summary::of_call(None, name, input));
        self.record(move |payloads| Event::ToolCallStarted {
            tool_call_id,
            model_visible_call_id: Some(call),
            code_mode_runtime_tool_id: None,
            requester: Requester::Model,
            kind,
            summary,
            invocation_payload: Some(payloads.add(PayloadKind::ToolInvocation, &invocation)),
        });
    }

    pub(crate) fn end(self) {
        let status = ExecutionStatus::Completed;
        let codex_turn_id = self.scope.codex_turn_id.clone();
        self.record(move |_| Event::CodexTurnEnded {
            codex_turn_id,
            status,
        });
        let status = RolloutStatus::Completed;
        let thread_id = self.thread.clone();
        self.record(move |_| Event::ThreadEnded { thread_id, status });
        self.record(move |_| Event::RolloutEnded { status });
        assert!(self.recorder.flush(TEST_TIMEOUT));
    }
}

pub(crate) fn message(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

pub(crate) fn bundle_in(root: &Path) -> PathBuf {
    let mut folders = fs::read_dir(root).unwrap();
    let bundle = folders.next().unwrap().unwrap().path();
    assert!(folders.next().is_none());
    bundle
}
