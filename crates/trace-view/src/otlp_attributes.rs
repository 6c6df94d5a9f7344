//! Attributes of spans and events, by the conventions of OpenTelemetry for generative AI and those of OpenInference.

use codex_rollout_trace::model::Usage;
use serde::Serialize;
use serde_json::{Value, json};

use crate::timeline::SpanKind;

/// Attributes in the encoding of the protocol: integers are strings.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct Attributes(pub(crate) Vec<Value>);

impl Attributes {
    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.0
            .push(json!({ "key": key, "value": { "stringValue": text } }));
    }

    pub(crate) fn number(&mut self, key: &str, number: impl ToString) {
        self.0
            .push(json!({ "key": key, "value": { "intValue": number.to_string() } }));
    }

    pub(crate) fn boolean(&mut self, key: &str, value: bool) {
        self.0
            .push(json!({ "key": key, "value": { "boolValue": value } }));
    }

    /// A word of the model's own, such as a status.
    pub(crate) fn value(&mut self, key: &str, word: Value) {
        self.text(key, word.as_str().unwrap_or_default());
    }

    pub(crate) fn usage(&mut self, usage: Usage) {
        self.number("gen_ai.usage.input_tokens", usage.input_tokens);
        self.number("gen_ai.usage.output_tokens", usage.output_tokens);
        self.number(
            "gen_ai.usage.cache_read.input_tokens",
            usage.cached_input_tokens,
        );
        self.number(
            "gen_ai.usage.reasoning.output_tokens",
            usage.reasoning_output_tokens,
        );
        let sum = usage.input_tokens.saturating_add(usage.output_tokens);
        self.number("llm.token_count.prompt", usage.input_tokens);
        self.number("llm.token_count.completion", usage.output_tokens);
        self.number("llm.token_count.total", sum);
        self.number(
            "llm.token_count.prompt_details.cache_read",
            usage.cached_input_tokens,
        );
        self.number(
            "llm.token_count.completion_details.reasoning",
            usage.reasoning_output_tokens,
        );
    }

    /// What a span is in the words of OpenInference.
    pub(crate) fn span_kind(&mut self, kind: SpanKind) {
        let word = match kind {
            SpanKind::Thread | SpanKind::Turn => "AGENT",
            SpanKind::Inference | SpanKind::Compaction => "LLM",
            SpanKind::Tool | SpanKind::Command => "TOOL",
            SpanKind::Cell | SpanKind::Terminal => "CHAIN",
        };
        self.text("openinference.span.kind", word);
    }

    /// What went into a span, or came out of it.
    pub(crate) fn content(&mut self, side: Side, text: &str) {
        let side = match side {
            Side::Input => "input",
            Side::Output => "output",
        };
        let is_json = text.starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok();
        let kind = if is_json {
            "application/json"
        } else {
            "text/plain"
        };
        self.text(&format!("{side}.value"), text);
        self.text(&format!("{side}.mime_type"), kind);
    }
}

/// The two sides of a span.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Input,
    Output,
}
