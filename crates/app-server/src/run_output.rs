//! Sends the output of a run while it runs.
//!
//! The queued output is limited by [`Outbox::room`](codex_transport::Outbox::room): if the client is slow, the command
//! waits.

use std::sync::Arc;

use bytes::Bytes;
use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{CommandExecOutputDeltaNotification, CommandExecOutputStream};
use codex_exec::{OutputChunk, OutputObserver, OutputStream};
use codex_projection::gap::{Gap, Template};

use crate::connection::{Connection, encode_notification};

/// Both streams of a run.
#[derive(Debug)]
pub(crate) struct RunOutput {
    connection: Arc<Connection>,
    is_wanted: bool,
    stdout: CappedStream,
    stderr: CappedStream,
}

impl RunOutput {
    /// `cap` limits each stream.
    pub(crate) fn new(connection: Arc<Connection>, id: &str, cap: Option<u64>) -> Self {
        let stdout = CappedStream::new(id, CommandExecOutputStream::Stdout, cap);
        let stderr = CappedStream::new(id, CommandExecOutputStream::Stderr, cap);
        Self {
            is_wanted: connection.wants("command/exec/outputDelta"),
            connection,
            stdout,
            stderr,
        }
    }
}

impl OutputObserver for RunOutput {
    async fn observe(&mut self, chunk: &OutputChunk) {
        let stream = match chunk.stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        if let Some(line) = stream.line(&chunk.bytes)
            && self.is_wanted
        {
            self.connection.outbox().push(line);
            self.connection.outbox().room().await;
        }
    }
}

#[derive(Debug)]
struct CappedStream {
    process_id: String,
    stream: CommandExecOutputStream,
    more: Option<Template>,
    left: Option<u64>,
    is_full: bool,
}

impl CappedStream {
    fn new(id: &str, stream: CommandExecOutputStream, cap: Option<u64>) -> Self {
        Self {
            process_id: id.to_owned(),
            stream,
            more: template(id, stream, false),
            left: cap,
            is_full: false,
        }
    }

    /// The notification about the next output; none once the limit is reached.
    fn line(&mut self, bytes: &[u8]) -> Option<Bytes> {
        if self.is_full {
            return None;
        }
        let Some(left) = &mut self.left else {
            return Some(self.more.as_ref()?.fill_base64(bytes));
        };
        let taken = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
        *left -= taken as u64;
        if *left > 0 {
            return Some(self.more.as_ref()?.fill_base64(bytes));
        }
        self.is_full = true;
        let last = template(&self.process_id, self.stream, true)?;
        Some(last.fill_base64(&bytes[..taken]))
    }
}

fn template(id: &str, stream: CommandExecOutputStream, cap_reached: bool) -> Option<Template> {
    let delta = CommandExecOutputDeltaNotification {
        process_id: id.to_owned(),
        stream,
        delta_base64: String::new(),
        cap_reached,
    };
    let line = encode_notification(&ServerNotification::CommandExecOutputDelta(delta));
    Template::new(&line, Gap::Text("deltaBase64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(cap: Option<u64>, pieces: &[&[u8]]) -> Vec<(String, bool)> {
        let mut stream = CappedStream::new("a\"b", CommandExecOutputStream::Stderr, cap);
        let lines = pieces.iter().filter_map(|piece| stream.line(piece));
        lines
            .map(|line| {
                let message: serde_json::Value = serde_json::from_slice(&line).unwrap();
                assert_eq!(message["method"], "command/exec/outputDelta");
                let params = &message["params"];
                assert_eq!(params["processId"], "a\"b");
                assert_eq!(params["stream"], "stderr");
                let text = params["deltaBase64"].as_str().unwrap().to_owned();
                (text, params["capReached"].as_bool().unwrap())
            })
            .collect()
    }

    fn expected(deltas: &[(&str, bool)]) -> Vec<(String, bool)> {
        let owned = |(text, is_last): &(&str, bool)| ((*text).to_owned(), *is_last);
        deltas.iter().map(owned).collect()
    }

    #[test]
    fn output_after_the_cap_is_dropped() {
        let pieces: [&[u8]; 3] = [b"abc", b"def", b"ghi"];
        let (abc, def, ghi) = (("YWJj", false), ("ZGVm", false), ("Z2hp", false));
        assert_eq!(forwarded(None, &pieces), expected(&[abc, def, ghi]));
        assert_eq!(forwarded(Some(10), &pieces), expected(&[abc, def, ghi]));
        assert_eq!(
            forwarded(Some(4), &pieces),
            expected(&[abc, ("ZA==", true)])
        );
        assert_eq!(forwarded(Some(3), &pieces), expected(&[("YWJj", true)]));
        assert_eq!(forwarded(Some(0), &pieces), expected(&[("", true)]));
        assert_eq!(forwarded(Some(0), &[]), expected(&[]));
    }
}
