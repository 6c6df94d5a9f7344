//! How long it takes to record and to reduce: `cargo bench -p codex-rollout-trace`.
//!
//! `small`: 1,000 turns of two requests that carry only what is new; the state grows with the square of the turns,
//! because every inference lists its whole prompt. `big`: 400 turns whose requests repeat the whole conversation.
//! The bundles are made through the recorder, in a temporary folder that needs 600 MiB.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures and prints"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codex_regular_file::OutputFile;
use codex_rollout_trace::format::{
    Event, ExecutionStatus, PayloadKind, Requester, RolloutStatus, Summary, ToolKind,
};
use codex_rollout_trace::ids::{ThreadId, ToolCallId, TurnId};
use codex_rollout_trace::{Payloads, Recorder, Scope, replay_bundle, state_path, write_state};
use serde_json::{Value, json};

/// How a client sends its prompt.
#[derive(Clone, Copy, PartialEq)]
enum BenchPrompt {
    /// What is new, and the response that it continues.
    Incremental,
    Whole,
}

struct BenchSession {
    recorder: Recorder,
    thread: ThreadId,
    prompt: BenchPrompt,
    history: Vec<Value>,
    sent: usize,
    requests: usize,
    output: String,
}

impl BenchSession {
    fn new(root: &Path, prompt: BenchPrompt, output_lines: usize) -> Self {
        let thread = ThreadId::from("00000000-0000-7000-8000-000000000001");
        let recorder = Recorder::start(root, &thread).unwrap();
        let thread_id = thread.clone();
        recorder.record(None, 0, |_| Event::ThreadStarted {
            thread_id,
            agent_path: "/root".into(),
            metadata_payload: None,
        });
        Self {
            recorder,
            thread,
            prompt,
            history: vec![message("developer", "instructions ".repeat(200))],
            sent: 0,
            requests: 0,
            output: (0..output_lines).map(|line| format!("{line}\n")).collect(),
        }
    }

    fn record(
        &self,
        scope: &Scope,
        event: impl FnOnce(Scope, &mut Payloads<'_>) -> Event + Send + 'static,
    ) {
        let own = scope.clone();
        self.recorder
            .record(Some(scope), 0, |payloads| event(own, payloads));
    }

    fn turn(&mut self, number: usize) {
        let scope = Scope {
            thread_id: self.thread.clone(),
            codex_turn_id: TurnId::from(format!("turn-{number}")),
        };
        self.record(&scope, |scope, _| Event::CodexTurnStarted {
            codex_turn_id: scope.codex_turn_id,
            thread_id: scope.thread_id,
        });
        let call = format!("call-{number}");
        self.history
            .push(message("user", format!("question {number}")));
        self.request(&scope, json!({"type": "function_call", "name": "exec_command", "call_id": call, "arguments": "{\"cmd\":\"seq 1 100\"}"}));
        self.tool(&scope, &call);
        self.history
            .push(json!({"type": "function_call_output", "call_id": call, "output": self.output}));
        self.request(
            &scope,
            message(
                "assistant",
                format!("answer {number} {}", "word ".repeat(60)),
            ),
        );
        let status = ExecutionStatus::Completed;
        self.record(&scope, move |scope, _| Event::CodexTurnEnded {
            codex_turn_id: scope.codex_turn_id,
            status,
        });
        assert!(self.recorder.flush(Duration::from_secs(60)));
    }

    fn request(&mut self, scope: &Scope, answer: Value) {
        let number = self.requests;
        self.requests += 1;
        let mut body = json!({"model": "m", "instructions": "", "input": null, "tools": []});
        body["input"] = match self.prompt {
            BenchPrompt::Whole => self.history.clone().into(),
            BenchPrompt::Incremental => {
                if number > 0 {
                    body["previous_response_id"] = format!("response-{}", number - 1).into();
                }
                self.history[self.sent..].to_vec().into()
            }
        };
        self.record(scope, move |scope, payloads| Event::InferenceStarted {
            inference_call_id: format!("inference-{number}").into(),
            thread_id: scope.thread_id,
            codex_turn_id: scope.codex_turn_id,
            model: "m".into(),
            provider_name: "Mock".into(),
            request_payload: payloads.add(PayloadKind::InferenceRequest, &body),
            prepared_prompt_payload: None,
            warmup_context_payload: None,
        });
        self.history.push(answer.clone());
        self.sent = self.history.len();
        let usage = json!({"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1, "reasoning_output_tokens": 0});
        let response = json!({"token_usage": usage, "output_items": [answer]});
        self.record(scope, move |_, payloads| Event::InferenceCompleted {
            inference_call_id: format!("inference-{number}").into(),
            response_id: Some(format!("response-{number}").into()),
            upstream_request_id: None,
            response_payload: payloads.add(PayloadKind::InferenceResponse, &response),
        });
    }

    fn tool(&self, scope: &Scope, call: &str) {
        let calls: [ToolCallId; 4] = std::array::from_fn(|_| call.into());
        let [call, began, ended, answered] = calls;
        let invocation = json!({"tool_name": "exec_command", "payload": {"type": "function", "arguments": "{}"}});
        self.record(scope, move |_, payloads| Event::ToolCallStarted {
            tool_call_id: call.clone(),
            model_visible_call_id: Some(call.as_str().into()),
            code_mode_runtime_tool_id: None,
            requester: Requester::Model,
            kind: ToolKind::of_tool("exec_command"),
            summary: Summary::of_call(None, "exec_command", "{}"),
            invocation_payload: Some(payloads.add(PayloadKind::ToolInvocation, &invocation)),
        });
        let begin = json!({"command": ["bash", "-lc", "seq 1 100"], "cwd": "/tmp"});
        self.record(scope, move |_, payloads| Event::ToolCallRuntimeStarted {
            tool_call_id: began,
            kind: None,
            runtime_payload: payloads.add(PayloadKind::ToolRuntimeEvent, &begin),
        });
        let end = json!({"stdout": self.output, "stderr": "", "exit_code": 0, "formatted_output": self.output});
        let status = ExecutionStatus::Completed;
        self.record(scope, move |_, payloads| Event::ToolCallRuntimeEnded {
            tool_call_id: ended,
            status,
            runtime_payload: payloads.add(PayloadKind::ToolRuntimeEvent, &end),
        });
        self.record(scope, move |_, _| Event::ToolCallEnded {
            tool_call_id: answered,
            status,
            result_payload: None,
        });
    }

    fn end(self) {
        let status = RolloutStatus::Completed;
        let thread_id = self.thread;
        self.recorder
            .record(None, 0, move |_| Event::ThreadEnded { thread_id, status });
        self.recorder
            .record(None, 0, move |_| Event::RolloutEnded { status });
        assert!(self.recorder.flush(Duration::from_secs(60)));
    }
}

fn message(role: &str, text: String) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

fn record(root: &Path, turns: usize, prompt: BenchPrompt, output_lines: usize) -> PathBuf {
    let started = Instant::now();
    let mut session = BenchSession::new(root, prompt, output_lines);
    for number in 0..turns {
        session.turn(number);
    }
    session.end();
    println!("  recorded in {:.2?}", started.elapsed());
    fs::read_dir(root).unwrap().next().unwrap().unwrap().path()
}

fn size(bundle: &Path) -> u64 {
    let files = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let payloads = files(&bundle.join("payloads"));
    files(bundle)
        .chain(payloads)
        .map(|file| file.metadata().unwrap().len())
        .sum()
}

fn measure(name: &str, turns: usize, prompt: BenchPrompt, output_lines: usize) {
    println!("{name}: {turns} turns");
    let root = tempfile::tempdir().unwrap();
    let bundle = record(root.path(), turns, prompt, output_lines);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!("  bundle {:.0} MiB", mib(size(&bundle)));
    for _ in 0..3 {
        let started = Instant::now();
        let reduction = replay_bundle(&bundle).unwrap();
        let reduced = started.elapsed();
        assert_eq!(reduction.problems.total(), 0);
        write_state(&reduction.trace, &OutputFile::derived(state_path(&bundle))).unwrap();
        let written = started.elapsed() - reduced;
        let state = fs::metadata(state_path(&bundle)).unwrap().len();
        println!(
            "  reduced in {reduced:.2?}, state of {:.0} MiB written in {written:.2?}",
            mib(state)
        );
    }
}

/// What one event costs the session that records it.
fn measure_recording() {
    let root = tempfile::tempdir().unwrap();
    let thread = ThreadId::from("00000000-0000-7000-8000-000000000001");
    let on = Recorder::start(root.path(), &thread).unwrap();
    for (name, recorder) in [("off", Recorder::off()), ("on", on)] {
        let scope = Scope {
            thread_id: thread.clone(),
            codex_turn_id: "turn".into(),
        };
        const EVENTS: u32 = 2000;
        let started = Instant::now();
        for _ in 0..EVENTS {
            recorder.record(Some(&scope), 0, move |payloads| {
                Event::ProtocolEventObserved {
                    event_type: "warning".into(),
                    event_payload: payloads
                        .add(PayloadKind::ProtocolEvent, &json!({"type": "warning"})),
                }
            });
        }
        println!(
            "recording {name}: {:.2?} an event",
            started.elapsed() / EVENTS
        );
    }
}

fn main() {
    // Test runners start benchmarks too, without this flag.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    measure_recording();
    measure("small", 1000, BenchPrompt::Incremental, 20);
    measure("big", 400, BenchPrompt::Whole, 100);
}
