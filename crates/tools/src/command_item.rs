//! The item of a command: begins once and ends once, whatever happens.

use std::sync::Arc;
use std::time::Duration;

use codex_exec::{NetworkLog, OutputChunk, OutputStream};
use codex_protocol::{
    Base64Bytes, CommandConnections, EventMsg, ExecCommandBeginEvent, ExecCommandEndEvent,
    ExecCommandOutputDeltaEvent, ExecCommandStatus, ExecOutputStream,
};
use codex_session_base::events::TurnEmitter;
use codex_session_base::ports::Clock;

/// How many chunks of each stream are emitted while a command runs.
const MAX_DELTAS: u32 = 10_000;

/// A command whose begin was emitted. Dropping it emits its end: declined while it waits for approval, failed
/// after that.
#[derive(Debug)]
pub struct CommandItem {
    emitter: TurnEmitter,
    clock: Arc<dyn Clock>,
    begin: ExecCommandBeginEvent,
    begun: Duration,
    running: bool,
    deltas: [u32; 2],
    ended: bool,
}

/// How a command ended.
#[derive(Clone, Debug, Default)]
pub struct CommandEnd {
    pub stdout: String,
    pub stderr: String,
    pub aggregated: String,
    pub formatted: String,
    pub exit_code: i32,
    pub duration: Duration,
    pub network: Vec<CommandConnections>,
}

impl CommandItem {
    /// A command that has not begun. If it never begins, only its end is emitted.
    pub fn new(emitter: TurnEmitter, clock: Arc<dyn Clock>, begin: ExecCommandBeginEvent) -> Self {
        let begun = clock.elapsed();
        Self {
            emitter,
            clock,
            begin,
            begun,
            running: false,
            deltas: [0; 2],
            ended: false,
        }
    }

    /// Emits the begin.
    pub fn begin(self) -> Self {
        let begin = self.begin.clone();
        self.emitter.emit(EventMsg::ExecCommandBegin(begin));
        self
    }

    /// Emits nothing.
    pub fn discard(mut self) {
        self.ended = true;
    }

    /// The command is approved, or needs no approval.
    pub fn set_running(&mut self) {
        self.running = true;
    }

    /// Emits output. Waits while the subscriber is behind.
    pub async fn output(&mut self, chunk: OutputChunk) {
        self.emitter.thread_emitter().ready().await;
        let (index, stream) = match chunk.stream {
            OutputStream::Stdout => (0, ExecOutputStream::Stdout),
            OutputStream::Stderr => (1, ExecOutputStream::Stderr),
        };
        if self.deltas[index] < MAX_DELTAS {
            self.deltas[index] += 1;
            self.emitter.emit(EventMsg::ExecCommandOutputDelta(
                ExecCommandOutputDeltaEvent {
                    call_id: self.begin.call_id.clone(),
                    stream,
                    chunk: Base64Bytes(chunk.bytes.to_vec()),
                },
            ));
        }
    }

    pub fn end(mut self, end: CommandEnd) {
        let status = match end.exit_code {
            0 => ExecCommandStatus::Completed,
            _ => ExecCommandStatus::Failed,
        };
        self.emit_end(end, status);
    }

    /// Ends a command that was declined.
    pub fn decline(mut self, reason: &str) {
        self.emit_end(CommandEnd::failed(reason), ExecCommandStatus::Declined);
    }

    /// Ends a command that failed to run.
    pub fn fail(mut self, reason: &str) {
        self.emit_end(CommandEnd::failed(reason), ExecCommandStatus::Failed);
    }

    fn emit_end(&mut self, end: CommandEnd, status: ExecCommandStatus) {
        self.ended = true;
        let begin = &self.begin;
        self.emitter
            .emit(EventMsg::ExecCommandEnd(Box::new(ExecCommandEndEvent {
                call_id: begin.call_id.clone(),
                process_id: begin.process_id.clone(),
                turn_id: begin.turn_id.clone(),
                command: begin.command.clone(),
                cwd: begin.cwd.clone(),
                parsed_cmd: begin.parsed_cmd.clone(),
                source: begin.source,
                interaction_input: None,
                stdout: end.stdout,
                stderr: end.stderr,
                aggregated_output: end.aggregated.into(),
                exit_code: end.exit_code,
                duration: end.duration,
                formatted_output: end.formatted,
                status,
                network: end.network,
            })));
    }
}

/// What a command reached and did not reach.
pub(crate) fn connections(log: &NetworkLog) -> Vec<CommandConnections> {
    let reached = log.reached().into_iter();
    let reached = reached.map(|reached| CommandConnections {
        host: reached.host.to_string(),
        port: reached.port,
        connections: reached.connections,
        sent: reached.sent,
        received: reached.received,
        refused: None,
    });
    let refused = log.refused().into_iter();
    let refused = refused.map(|refused| CommandConnections {
        host: refused.host.to_string(),
        port: refused.port,
        connections: 0,
        sent: 0,
        received: 0,
        refused: Some(refused.reason),
    });
    reached.chain(refused).collect()
}

impl CommandEnd {
    pub fn failed(reason: &str) -> Self {
        Self {
            stderr: reason.to_owned(),
            aggregated: reason.to_owned(),
            formatted: reason.to_owned(),
            exit_code: -1,
            ..Self::default()
        }
    }
}

impl Drop for CommandItem {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let status = if self.running {
            ExecCommandStatus::Failed
        } else {
            ExecCommandStatus::Declined
        };
        let duration = self.clock.elapsed().saturating_sub(self.begun);
        self.emit_end(
            CommandEnd {
                duration,
                ..CommandEnd::failed("")
            },
            status,
        );
    }
}
