//! A session that records itself, event by event.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_rollout_trace::format::{
    Event, ExecutionStatus, PayloadKind, Requester, RolloutStatus, Summary, ToolKind,
};
use codex_rollout_trace::ids::ThreadId;
use codex_rollout_trace::{Payloads, Recorder, Scope};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Session {
    pub(crate) recorder: Recorder,
    pub(crate) scope: Scope,
    pub(crate) thread: ThreadId,
}

impl Session {
    pub(crate) fn start(root: &Path) -> Self {
        let thread = ThreadId::from("00000000-0000-7000-8000-000000000001");
        let session = Self {
            recorder: Recorder::start(root, &thread).unwrap(),
            scope: Scope {
                thread_id: thread.clone(),
                codex_turn_id: "turn-1".into(),
            },
            thread,
        };
        session.record(|payloads| Event::ThreadStarted {
            thread_id: session.thread.clone(),
            agent_path: "/root".into(),
            metadata_payload: Some(payloads.add(
                PayloadKind::SessionMetadata,
                0,
                json!({"agent_path": "/root", "model": "m"}),
            )),
        });
        session
    }

    pub(crate) fn record(&self, event: impl FnOnce(&mut Payloads<'_>) -> Event) {
        self.recorder.record(Some(&self.scope), event);
    }

    pub(crate) fn start_turn(&self) {
        self.record(|_| Event::CodexTurnStarted {
            codex_turn_id: self.scope.codex_turn_id.clone(),
            thread_id: self.thread.clone(),
        });
    }

    pub(crate) fn request(&self, id: &str, body: impl Serialize + Send + 'static) {
        self.record(|payloads| Event::InferenceStarted {
            inference_call_id: id.into(),
            thread_id: self.thread.clone(),
            codex_turn_id: self.scope.codex_turn_id.clone(),
            model: "m".into(),
            provider_name: "Mock".into(),
            request_payload: payloads.add(PayloadKind::InferenceRequest, 0, body),
        });
    }

    pub(crate) fn respond(&self, id: &str, items: Value) {
        self.record(|payloads| Event::InferenceCompleted {
            inference_call_id: id.into(),
            response_id: Some("r".into()),
            upstream_request_id: None,
            response_payload: payloads.add(
                PayloadKind::InferenceResponse,
                0,
                json!({"output_items": items}),
            ),
        });
    }

    pub(crate) fn start_tool(&self, call: &str, name: &str, arguments: &str, input: &str) {
        let invocation = json!({
            "tool_name": name,
            "payload": {"type": "function", "arguments": arguments},
        });
        self.record(|payloads| Event::ToolCallStarted {
            tool_call_id: call.into(),
            model_visible_call_id: Some(call.into()),
            code_mode_runtime_tool_id: None,
            requester: Requester::Model,
            kind: ToolKind::of_tool(name),
            summary: Summary::of_call(None, name, input),
            invocation_payload: Some(payloads.add(PayloadKind::ToolInvocation, 0, invocation)),
        });
    }

    pub(crate) fn end(self) {
        let status = ExecutionStatus::Completed;
        let codex_turn_id = self.scope.codex_turn_id.clone();
        self.record(|_| Event::CodexTurnEnded {
            codex_turn_id,
            status,
        });
        let status = RolloutStatus::Completed;
        let thread_id = self.thread.clone();
        self.record(|_| Event::ThreadEnded { thread_id, status });
        self.record(|_| Event::RolloutEnded { status });
        assert!(self.recorder.flush(LONG));
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
