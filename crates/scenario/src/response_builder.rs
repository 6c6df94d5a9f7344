//! Builds the Responses API stream of a scripted reply.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::format::{ReplyStep, ReplyUsage, ScriptedFailure, ScriptedPlanStep, StreamPace};
use crate::http_reply::HttpReply;
use crate::sse;

/// The tools that a request offers, as pairs of type and name.
#[derive(Debug, Default)]
pub(crate) struct OfferedTools(Vec<(String, String)>);

impl OfferedTools {
    pub(crate) fn from_request(request: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tools = request["tools"].as_array().into_iter().flatten();
        Self(
            tools
                .map(|tool| (text(&tool["type"]), text(&tool["name"])))
                .collect(),
        )
    }

    fn has_tool(&self, kind: &str, name: &str) -> bool {
        self.0.iter().any(|(k, n)| k == kind && n == name)
    }
}

/// Builds the stream of one reply.
#[derive(Debug)]
pub(crate) struct ResponseBuilder<'a> {
    reply: HttpReply,
    tools: &'a OfferedTools,
    pace: StreamPace,
    /// The number of the reply, which makes its item ids unique.
    reply_number: u64,
    items: usize,
    /// The length of the texts in bytes, and of the reasoning separately.
    text_bytes: usize,
    reasoning_bytes: usize,
    has_ended: bool,
}

impl<'a> ResponseBuilder<'a> {
    pub(crate) fn new(reply_number: u64, tools: &'a OfferedTools, pace: StreamPace) -> Self {
        let reply = HttpReply::status(200).header("content-type", "text/event-stream");
        let mut response = Self {
            reply,
            tools,
            pace,
            reply_number,
            items: 0,
            text_bytes: 0,
            reasoning_bytes: 0,
            has_ended: false,
        };
        response.event(&sse::created(&format!("resp_{reply_number}")));
        response
    }

    /// Completes the reply. `input` is the estimated usage of the request.
    pub(crate) fn finish(mut self, usage: Option<ReplyUsage>, input: ReplyUsage) -> HttpReply {
        if !self.has_ended {
            let usage = usage.unwrap_or_else(|| ReplyUsage {
                output: tokens(self.text_bytes + self.reasoning_bytes),
                reasoning: tokens(self.reasoning_bytes),
                ..input
            });
            let id = format!("resp_{}", self.reply_number);
            self.event(
                &json!({"type": "response.completed", "response": {"id": id, "usage": {
                    "input_tokens": usage.input,
                    "input_tokens_details": {"cached_tokens": usage.cached},
                    "output_tokens": usage.output,
                    "output_tokens_details": {"reasoning_tokens": usage.reasoning},
                    "total_tokens": usage.input + usage.output,
                }}}),
            );
        }
        self.reply
    }

    pub(crate) fn step(&mut self, step: &ReplyStep) {
        match step {
            ReplyStep::Message(text) => self.message(text, true),
            ReplyStep::Unfinished(text) => self.message(text, false),
            ReplyStep::Reasoning(text) => self.reasoning(text),
            ReplyStep::RawReasoning(text) => self.raw_reasoning(text),
            ReplyStep::Command(script) => self.command(script),
            ReplyStep::Patch(patch) => self.patch(patch),
            ReplyStep::Plan(plan) => self.function("update_plan", &json!({"plan": plan_of(plan)})),
            ReplyStep::Tool(call) => {
                self.function(&call.name, &Value::Object(call.arguments.clone()))
            }
            ReplyStep::CustomTool(call) => self.custom(&call.name, &call.input),
            ReplyStep::Item(item) => self.item(&Value::Object(item.clone())),
            ReplyStep::Event(event) => self.event(&Value::Object(event.clone())),
            ReplyStep::WaitMs(millis) => self.pause(*millis),
            ReplyStep::Raw(bytes) => self.change(|reply| reply.body(bytes.as_bytes())),
            ReplyStep::Fail(failure) => self.fail(failure),
            ReplyStep::Cut => self.end(HttpReply::cut),
            ReplyStep::Stall => self.end(HttpReply::stall),
        }
    }

    fn message(&mut self, text: &str, complete: bool) {
        let id = self.next_id("msg");
        let item = |text: &str| {
            json!({"type": "message", "role": "assistant", "id": id,
                   "content": [{"type": "output_text", "text": text, "annotations": []}]})
        };
        self.event(&sse::added(&item("")));
        self.stream(text, |piece| {
            json!({"type": "response.output_text.delta", "item_id": id, "output_index": 0,
                   "content_index": 0, "delta": piece})
        });
        if complete {
            self.event(&sse::done(&item(text)));
        }
        self.text_bytes += text.len();
    }

    fn reasoning(&mut self, text: &str) {
        let id = self.next_id("rs");
        let parts: Vec<&str> = text.split("\n\n").collect();
        let item = |parts: &[&str]| {
            let summary: Vec<_> = parts
                .iter()
                .map(|text| json!({"type": "summary_text", "text": text}))
                .collect();
            json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": null})
        };
        self.event(&sse::added(&item(&[])));
        for (index, part) in parts.iter().enumerate() {
            self.event(
                &json!({"type": "response.reasoning_summary_part.added", "item_id": id,
                        "output_index": 0, "summary_index": index,
                        "part": {"type": "summary_text", "text": ""}}),
            );
            self.stream(part, |piece| {
                json!({"type": "response.reasoning_summary_text.delta", "item_id": id,
                       "output_index": 0, "summary_index": index, "delta": piece})
            });
        }
        self.event(&sse::done(&item(&parts)));
        self.reasoning_bytes += text.len();
    }

    fn raw_reasoning(&mut self, text: &str) {
        let id = self.next_id("rs");
        let item = |content: &Value| {
            json!({"type": "reasoning", "id": id, "summary": [], "content": content,
                   "encrypted_content": null})
        };
        self.event(&sse::added(&item(&json!([]))));
        self.stream(text, |piece| {
            json!({"type": "response.reasoning_text.delta", "item_id": id, "output_index": 0,
                   "content_index": 0, "delta": piece})
        });
        let content = json!([{"type": "reasoning_text", "text": text}]);
        self.event(&sse::done(&item(&content)));
        self.reasoning_bytes += text.len();
    }

    fn command(&mut self, script: &str) {
        let argv = json!(["bash", "-lc", script]);
        if self.tools.has_tool("function", "exec_command") {
            self.function("exec_command", &json!({ "cmd": script }));
        } else if self.tools.has_tool("function", "shell") {
            self.function("shell", &json!({ "command": argv }));
        } else if self.tools.0.iter().any(|(kind, _)| kind == "local_shell") {
            let call_id = self.next_id("call");
            self.item(&json!({"type": "local_shell_call", "call_id": call_id,
                              "status": "completed",
                              "action": {"type": "exec", "command": argv}}));
        } else {
            self.function("shell_command", &json!({ "command": script }));
        }
        self.text_bytes += script.len();
    }

    fn patch(&mut self, patch: &str) {
        if self.tools.has_tool("function", "apply_patch") {
            self.function("apply_patch", &json!({ "input": patch }));
        } else {
            self.custom("apply_patch", patch);
        }
    }

    fn function(&mut self, name: &str, arguments: &Value) {
        let (id, call_id) = (self.next_id("fc"), self.next_id("call"));
        let arguments = arguments.to_string();
        self.text_bytes += arguments.len();
        self.item(
            &json!({"type": "function_call", "id": id, "call_id": call_id, "name": name,
                          "arguments": arguments}),
        );
    }

    fn custom(&mut self, name: &str, input: &str) {
        let (id, call_id) = (self.next_id("ctc"), self.next_id("call"));
        self.text_bytes += input.len();
        self.item(
            &json!({"type": "custom_tool_call", "id": id, "call_id": call_id, "name": name,
                          "input": input, "status": "completed"}),
        );
    }

    fn item(&mut self, item: &Value) {
        self.event(&sse::added(item));
        self.event(&sse::done(item));
    }

    fn fail(&mut self, failure: &ScriptedFailure) {
        let ScriptedFailure { code, message } = failure;
        self.event(&sse::failed(code, message));
        self.has_ended = true;
    }

    fn end(&mut self, fault: impl FnOnce(HttpReply) -> HttpReply) {
        self.change(fault);
        self.has_ended = true;
    }

    /// Sends a text in pieces.
    fn stream(&mut self, text: &str, event: impl Fn(&str) -> Value) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.char_indices().nth(self.pace.characters);
            let (piece, left) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
            self.event(&event(piece));
            self.pause(self.pace.every_ms);
            rest = left;
        }
    }

    fn event(&mut self, event: &Value) {
        self.change(|reply| reply.body(sse::frame(event)));
    }

    fn pause(&mut self, millis: u64) {
        if millis > 0 {
            self.change(|reply| reply.pause(Duration::from_millis(millis)));
        }
    }

    fn change(&mut self, change: impl FnOnce(HttpReply) -> HttpReply) {
        self.reply = change(std::mem::take(&mut self.reply));
    }

    fn next_id(&mut self, kind: &str) -> String {
        self.items += 1;
        format!("{kind}_{}_{}", self.reply_number, self.items)
    }
}

/// The estimated number of tokens of a text.
pub(crate) fn tokens(bytes: usize) -> i64 {
    i64::try_from(bytes.div_ceil(4)).unwrap_or(i64::MAX)
}

fn plan_of(plan: &[ScriptedPlanStep]) -> Vec<Map<String, Value>> {
    let step = |step: &ScriptedPlanStep| {
        let mut fields = Map::new();
        fields.insert("step".to_owned(), json!(step.step));
        fields.insert("status".to_owned(), json!(step.status));
        fields
    };
    plan.iter().map(step).collect()
}
