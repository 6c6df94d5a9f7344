//! The output of a command for the model.

use std::time::Duration;

use codex_exec::{
    CaptureLimits, CapturedOutput, ExitStatus, NetworkLog, OutputCapture, OutputChunk, OutputStream,
};
use codex_protocol::{CommandConnections, TruncationPolicy};
use codex_session_base::history::truncate::{byte_budget, formatted_cut, middle_cut};
use serde_json::json;

use super::command_item::{CommandEnd, connections};

/// The bytes that are kept of both streams together.
const OUTPUT_LIMIT: usize = 1024 * 1024;
/// The exit code after a timeout.
const TIMED_OUT: i32 = 124;

/// The layout of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLayout {
    /// Lines of plain text.
    Plain,
    /// JSON with metadata.
    Json,
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitReason {
    Exited(ExitStatus),
    TimedOut,
}

/// The beginning of each stream of the output.
#[derive(Debug)]
pub(crate) struct CapturedStreams {
    stdout: OutputCapture,
    stderr: OutputCapture,
}

impl Default for CapturedStreams {
    fn default() -> Self {
        let capture = || OutputCapture::new(CaptureLimits::first(OUTPUT_LIMIT));
        Self {
            stdout: capture(),
            stderr: capture(),
        }
    }
}

impl CapturedStreams {
    pub(crate) fn push(&mut self, chunk: &OutputChunk) {
        match chunk.stream {
            OutputStream::Stdout => self.stdout.push(&chunk.bytes),
            OutputStream::Stderr => self.stderr.push(&chunk.bytes),
        }
    }
}

/// The result of a command.
#[derive(Clone, Debug)]
pub(crate) struct CommandOutcome {
    pub exit_code: i32,
    pub timed_out: bool,
    pub by_signal: bool,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
    /// What the sandbox has refused, in words; none if it is not known to have refused anything.
    pub refusals: Option<String>,
    /// All connections.
    pub network: Vec<CommandConnections>,
}

impl CommandOutcome {
    pub(crate) fn new(
        exit_reason: ExitReason,
        mut kept: CapturedStreams,
        elapsed: Duration,
    ) -> Self {
        let (exit_code, timed_out, by_signal) = match exit_reason {
            ExitReason::Exited(status) => (
                status.code(),
                false,
                matches!(status, ExitStatus::Signal(_)),
            ),
            ExitReason::TimedOut => (TIMED_OUT, true, false),
        };
        let (stdout, stderr) = share(kept.stdout.take(), kept.stderr.take());
        Self {
            exit_code,
            timed_out,
            by_signal,
            stdout,
            stderr,
            elapsed,
            refusals: None,
            network: Vec::new(),
        }
    }

    /// Adds what the network of the command has noted.
    pub(crate) fn with_network(self, log: &NetworkLog) -> Self {
        Self {
            refusals: log.take_refusals(),
            network: connections(log),
            ..self
        }
    }

    /// Adds a note about what the command could not do.
    pub(crate) fn with_note(mut self, note: Option<String>) -> Self {
        let all = self.refusals.take().into_iter().chain(note);
        self.refusals = all.reduce(|all, note| format!("{all}\n{note}"));
        self
    }

    pub(crate) fn is_success(&self) -> bool {
        self.exit_code == 0 && !self.timed_out
    }

    /// Both streams, one after the other, as clients see them.
    pub(crate) fn output(&self) -> String {
        [self.stdout.as_str(), self.stderr.as_str()].concat()
    }

    /// The output for the model, with a note if the command timed out, and what its network has refused.
    fn text(&self) -> String {
        let output = with_refusals(self.output(), self.refusals.as_deref());
        if !self.timed_out {
            return output;
        }
        let millis = self.elapsed.as_millis();
        format!("command timed out after {millis} milliseconds\n{output}")
    }

    pub(crate) fn for_model(&self, layout: OutputLayout, policy: TruncationPolicy) -> String {
        match layout {
            OutputLayout::Plain => self.plain(policy),
            OutputLayout::Json => structured(&self.text(), self.exit_code, self.elapsed, policy),
        }
    }

    fn plain(&self, policy: TruncationPolicy) -> String {
        let whole = self.text();
        let text = middle_cut(&whole, policy);
        let tenths = (self.elapsed.as_secs_f64() * 10.0).round() / 10.0;
        let mut lines = format!(
            "Exit code: {}\nWall time: {tenths} seconds\n",
            self.exit_code
        );
        let total = whole.lines().count();
        if whole.len() > byte_budget(policy) && total != text.lines().count() {
            lines.push_str(&format!("Total output lines: {total}\n"));
        }
        lines.push_str("Output:\n");
        lines.push_str(&text);
        lines
    }

    pub(crate) fn end(&self, policy: TruncationPolicy) -> CommandEnd {
        CommandEnd {
            formatted: formatted_cut(&self.text(), policy),
            aggregated: self.output(),
            stdout: self.stdout.clone(),
            stderr: self.stderr.clone(),
            exit_code: self.exit_code,
            duration: self.elapsed,
            network: self.network.clone(),
        }
    }
}

/// An output, and after it what the network of the command has refused.
pub(crate) fn with_refusals(mut output: String, refusals: Option<&str>) -> String {
    if let Some(refusals) = refusals {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(refusals);
        output.push('\n');
    }
    output
}

/// The JSON layout.
pub(crate) fn structured(
    text: &str,
    exit_code: i32,
    elapsed: Duration,
    policy: TruncationPolicy,
) -> String {
    let duration_seconds = (elapsed.as_secs_f64() * 10.0).round() / 10.0;
    let output = formatted_cut(text, policy);
    let metadata = json!({ "exit_code": exit_code, "duration_seconds": duration_seconds });
    json!({ "output": output, "metadata": metadata }).to_string()
}

/// The limit for both streams together: a third for output, the rest for errors; one can use what the other
/// does not need.
fn share(stdout: CapturedOutput, stderr: CapturedOutput) -> (String, String) {
    let (mut out, mut err) = (stdout.into_bytes(), stderr.into_bytes());
    if out.len() + err.len() > OUTPUT_LIMIT {
        let for_out = (OUTPUT_LIMIT / 3).max(OUTPUT_LIMIT.saturating_sub(err.len()));
        out.truncate(for_out);
        err.truncate(OUTPUT_LIMIT - out.len());
    }
    (decode(out), decode(err))
}

fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use codex_protocol::TruncationMode;

    use super::*;

    fn outcome(stdout: &str, exit_code: i32, millis: u64) -> CommandOutcome {
        CommandOutcome {
            exit_code,
            timed_out: exit_code == TIMED_OUT,
            by_signal: false,
            stdout: stdout.to_owned(),
            stderr: String::new(),
            elapsed: Duration::from_millis(millis),
            refusals: None,
            network: Vec::new(),
        }
    }

    fn check(outcome: &CommandOutcome, layout: OutputLayout, limit: u64, expected: &str) {
        let policy = TruncationPolicy {
            mode: TruncationMode::Bytes,
            limit,
        };
        assert_eq!(outcome.for_model(layout, policy), expected);
    }

    #[test]
    fn the_layouts() {
        let plain = "Exit code: 0\nWall time: 0.3 seconds\nOutput:\nhi\n";
        check(&outcome("hi\n", 0, 320), OutputLayout::Plain, 100, plain);
        let none = "Exit code: 3\nWall time: 0 seconds\nOutput:\n";
        check(&outcome("", 3, 12), OutputLayout::Plain, 100, none);
        let cut = "Exit code: 0\nWall time: 4 seconds\nTotal output lines: 4\nOutput:\na\n…4 chars \
                   truncated…d\n";
        check(
            &outcome("a\nb\nc\nd\n", 0, 4000),
            OutputLayout::Plain,
            4,
            cut,
        );
        let json = r#"{"output":"hi","metadata":{"exit_code":0,"duration_seconds":0.0}}"#;
        check(&outcome("hi", 0, 20), OutputLayout::Json, 100, json);
        let late = "Exit code: 124\nWall time: 1 seconds\nOutput:\ncommand timed out after 1000 \
                    milliseconds\nx";
        check(
            &outcome("x", TIMED_OUT, 1000),
            OutputLayout::Plain,
            100,
            late,
        );
    }
}
