//! The writing thread: one for each bundle, the only one that touches its files.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::{io, thread};

use serde::Serialize;

use super::bundle::{AppendError, BundleFiles};
use super::payload::{PayloadWriter, Payloads};
use super::queue::Queued;
use super::recorder::RecorderState;
use super::sink::RecordingLimits;
use crate::convert::AddedEvent;
use crate::format::{Event, GAP_EVENT, LogLine, PayloadKind, Schema, seal_line};

/// So many events share a write to the log, which follows the last of their payloads.
const BATCH_SIZE: usize = 64;

/// A buffer larger than this is not kept for the next lines.
const KEPT_BUFFER: usize = 1 << 20;

pub(super) struct Worker {
    files: BundleFiles,
    state: Arc<RecorderState>,
    next_seq: u64,
    /// Events that are lost and not yet noted.
    lost: Option<RangeInclusive<u64>>,
    /// PendingLines whose payloads are written.
    lines: PendingLines,
    payloads: PayloadWriter,
    /// How many lines were made, by which schema 2 numbers them.
    made: u64,
    warned: bool,
}

/// PendingLines on their way to the log.
#[derive(Default)]
struct PendingLines {
    text: Vec<u8>,
    entries: Vec<PendingLine>,
}

struct PendingLine {
    /// Where the line ends in the text.
    end: usize,
    /// What is lost without it.
    covers: RangeInclusive<u64>,
    line: LogLine,
}

impl PendingLines {
    /// Adds the text of a line, which `keep` must follow.
    fn add(&mut self, line: &LogLine) -> io::Result<()> {
        let start = self.text.len();
        if let Err(error) = serde_json::to_writer(&mut self.text, line) {
            self.text.truncate(start);
            return Err(error.into());
        }
        seal_line(&mut self.text, start);
        self.text.push(b'\n');
        Ok(())
    }

    fn keep(&mut self, covers: RangeInclusive<u64>, line: LogLine) {
        let end = self.text.len();
        self.entries.push(PendingLine { end, covers, line });
    }
}

/// The payload of the event that notes a gap.
#[derive(Serialize)]
#[serde(tag = "type", rename = "trace_gap")]
struct EventGap {
    first_seq: u64,
    last_seq: u64,
    message: String,
}

impl Worker {
    pub(super) fn spawn(
        files: BundleFiles,
        state: Arc<RecorderState>,
        schema: Schema,
        limits: RecordingLimits,
    ) -> io::Result<()> {
        let mut worker = Self {
            files,
            state,
            next_seq: 1,
            lost: None,
            lines: PendingLines::default(),
            payloads: PayloadWriter::of_schema(schema, limits),
            made: 0,
            warned: false,
        };
        thread::Builder::new()
            .name("rollout-trace".into())
            .spawn(move || {
                codex_system::process::lower_priority();
                while let Some(mut events) = worker.state.queue.take() {
                    while !events.is_empty() {
                        let rest = events.split_off(events.len().min(BATCH_SIZE));
                        worker.write_all(std::mem::replace(&mut events, rest));
                    }
                }
                worker.finish_payloads();
            })
            .map(drop)
    }

    /// Ends the open shard. A shard without an end can be read, so a failure loses nothing.
    fn finish_payloads(&mut self) {
        if let Err(error) = self.payloads.sink.finish() {
            self.warn(&error);
        }
    }

    fn write_all(&mut self, events: Vec<Queued>) {
        let (count, mut weight) = (events.len(), 0);
        for queued in events {
            weight += queued.weight;
            self.write(queued);
        }
        if let Err(error) = self.payloads.sink.flush() {
            self.lose_pending();
            self.warn(&error);
        }
        self.append();
        self.state.queue.finish(self.next_seq - 1, count, weight);
    }

    fn write(&mut self, queued: Queued) {
        let seq = queued.seq;
        if seq > self.next_seq {
            // The queue was full.
            self.lose(self.next_seq..=seq - 1);
        }
        self.next_seq = seq + 1;
        self.note_gap(queued.wall_time_unix_ms);
        let thread = queued.scope.as_ref();
        self.payloads.thread = thread.map(|scope| scope.thread_id.clone());
        let payloads = Payloads::in_files(&self.files, &mut self.payloads);
        let (mut line, complete) = self.state.line(queued, payloads);
        match self.add(&mut line, complete) {
            Ok(()) => {}
            Err(error) => {
                self.lose(seq..=seq);
                self.state.orphans.lose(&line);
                self.warn(&error);
            }
        }
    }

    /// Loses the lines whose payloads could not be written.
    fn lose_pending(&mut self) {
        self.lines.text.clear();
        for entry in std::mem::take(&mut self.lines.entries) {
            self.lose(entry.covers);
            self.state.orphans.lose(&entry.line);
        }
    }

    fn lose(&mut self, range: RangeInclusive<u64>) {
        self.lost = Some(match self.lost.take() {
            Some(lost) => *lost.start().min(range.start())..=*lost.end().max(range.end()),
            None => range,
        });
    }

    fn warn(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(%error, "an event of the rollout trace was lost");
        }
    }

    /// Writes down which events are lost, under the number of the last of them. Tried again until it works.
    fn note_gap(&mut self, wall_time_unix_ms: i64) {
        let Some(lost) = self.lost.clone() else {
            return;
        };
        let gap = EventGap {
            first_seq: *lost.start(),
            last_seq: *lost.end(),
            message: "the recorder could not write these events".into(),
        };
        let note = Queued {
            seq: *lost.end(),
            wall_time_unix_ms,
            scope: None,
            weight: 0,
            make: Box::new(move |payloads| Event::ProtocolEventObserved {
                event_type: GAP_EVENT.into(),
                event_payload: payloads.add(PayloadKind::ProtocolEvent, &gap),
            }),
        };
        let payloads = Payloads::in_files(&self.files, &mut self.payloads);
        let (mut note, complete) = self.state.line(note, payloads);
        if complete.is_ok() && self.add_all(&mut note, lost).is_ok() {
            self.lost = None;
        }
    }

    /// Adds a line whose payloads are complete, or are not. An event that means something without its payload is added
    /// without.
    fn add(&mut self, line: &mut LogLine, complete: io::Result<()>) -> io::Result<()> {
        if self.state.orphans.covers(line) {
            return Err(io::Error::other("what the event refers to was lost"));
        }
        if let Err(error) = complete {
            line.payload = line.payload.clone().without_payload().ok_or(error)?;
        }
        self.prepare_prompt(line)?;
        let seq = line.seq;
        self.add_all(line, seq..=seq)
    }

    /// A request of schema 3 has its prompt beside it.
    fn prepare_prompt(&mut self, line: &mut LogLine) -> io::Result<()> {
        if !self.payloads.sink.is_sharded() {
            return Ok(());
        }
        if let Event::InferenceStarted {
            request_payload,
            prepared_prompt_payload: prepared @ None,
            ..
        } = &mut line.payload
        {
            *prepared = Some(self.payloads.add_prepared(&self.files, request_payload)?);
        }
        Ok(())
    }

    /// Adds a line, and from schema 2 on those that it brings along.
    fn add_all(&mut self, line: &mut LogLine, covers: RangeInclusive<u64>) -> io::Result<()> {
        let Some(upgrade) = &mut self.payloads.upgrade else {
            self.lines.add(line)?;
            self.lines.keep(covers, line.clone());
            return Ok(());
        };
        let converted = upgrade.line(line);
        for added in converted.before {
            self.add_one(added, line, covers.clone())?;
        }
        if converted.is_kept {
            self.number(line);
            self.lines.add(line)?;
            self.lines.keep(covers.clone(), line.clone());
        }
        for added in converted.after {
            self.add_one(added, line, covers.clone())?;
        }
        Ok(())
    }

    fn add_one(
        &mut self,
        added: AddedEvent,
        beside: &LogLine,
        covers: RangeInclusive<u64>,
    ) -> io::Result<()> {
        let mut line = LogLine {
            thread_id: added.thread,
            codex_turn_id: added.turn,
            payload: added.event,
            ..beside.clone()
        };
        if let (
            Some(text),
            Event::HistoryItemAccepted {
                agent_message_payload,
                ..
            },
        ) = (added.payload, &mut line.payload)
        {
            let written = self
                .payloads
                .add_text(&self.files, PayloadKind::ProtocolEvent, &text)?;
            *agent_message_payload = Some(written);
        }
        self.number(&mut line);
        let is_end = matches!(line.payload, Event::RecordingCompleted);
        self.lines.add(&line)?;
        self.lines.keep(covers, line);
        if is_end {
            self.finish_payloads();
        }
        Ok(())
    }

    /// Schema 2 numbers what is written: there a gap makes the log unreadable.
    fn number(&mut self, line: &mut LogLine) {
        self.made += 1;
        line.seq = self.made;
    }

    /// Appends the prepared lines to the log.
    fn append(&mut self) {
        let PendingLines { text, entries } = &mut self.lines;
        let appended = self.files.append(text);
        text.clear();
        text.shrink_to(KEPT_BUFFER);
        let entries = std::mem::take(entries);
        if let Err(AppendError { written, source }) = appended {
            for entry in entries.into_iter().filter(|entry| entry.end > written) {
                self.lose(entry.covers);
                self.state.orphans.lose(&entry.line);
            }
            self.warn(&source);
        }
    }
}
