//! What all spans of a page add up to.

use serde::Serialize;

use crate::timeline::{Span, SpanKind, Subject};

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Totals {
    threads: i64,
    turns: i64,
    inferences: i64,
    tools: i64,
    commands: i64,
    /// Commands whose exit code is not 0.
    exit_codes: i64,
    /// What did not end as it should, without those commands.
    failed: i64,
    input_tokens: i64,
    cached_tokens: i64,
    output_tokens: i64,
    reasoning_tokens: i64,
    /// Added up over all, so that parallel work counts twice.
    inference_ms: i64,
    tool_ms: i64,
}

impl Totals {
    /// What a span adds.
    pub(super) fn from_span(span: &Span<'_>, end: i64) -> Self {
        let mut totals = Self {
            exit_codes: i64::from(span.exit_code().is_some_and(|code| code != 0)),
            // A terminal fails with its command.
            failed: i64::from(
                span.has_failed() && span.kind != SpanKind::Terminal && span.exit_code().is_none(),
            ),
            ..Self::default()
        };
        let taken = end - span.window.started_at_unix_ms;
        totals.add_time(span.kind, taken);
        match span.kind {
            SpanKind::Thread => totals.threads = 1,
            SpanKind::Turn => totals.turns = 1,
            SpanKind::Inference => totals.inferences = 1,
            SpanKind::Tool => totals.tools = 1,
            SpanKind::Command => totals.commands = 1,
            SpanKind::Compaction | SpanKind::Cell | SpanKind::Terminal => {}
        }
        if let Subject::Inference(call) = span.subject
            && let Some(usage) = call.usage
        {
            let tokens = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            totals.input_tokens = tokens(usage.input_tokens);
            totals.cached_tokens = tokens(usage.cached_input_tokens);
            totals.output_tokens = tokens(usage.output_tokens);
            totals.reasoning_tokens = tokens(usage.reasoning_output_tokens);
        }
        totals
    }

    /// Adds the time of something that still runs.
    pub(super) fn add_time(&mut self, kind: SpanKind, taken: i64) {
        match kind {
            SpanKind::Inference => self.inference_ms += taken,
            SpanKind::Tool => self.tool_ms += taken,
            _ => {}
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.combine(other, i64::saturating_add);
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        self.combine(other, i64::saturating_sub);
    }

    fn combine(&mut self, other: &Self, change: impl Fn(i64, i64) -> i64) {
        let numbers = [
            (&mut self.threads, other.threads),
            (&mut self.turns, other.turns),
            (&mut self.inferences, other.inferences),
            (&mut self.tools, other.tools),
            (&mut self.commands, other.commands),
            (&mut self.exit_codes, other.exit_codes),
            (&mut self.failed, other.failed),
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.cached_tokens, other.cached_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
            (&mut self.inference_ms, other.inference_ms),
            (&mut self.tool_ms, other.tool_ms),
        ];
        for (number, other) in numbers {
            *number = change(*number, other);
        }
    }
}
