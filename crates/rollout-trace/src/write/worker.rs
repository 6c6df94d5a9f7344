//! The writing thread: one for each bundle, the only one that touches its files.

use std::io;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::format::{Event, GAP_EVENT, LogLine, PayloadKind, PayloadRef};

use super::bundle::BundleFiles;
use super::payload::PendingPayload;
use super::recorder::{Ledger, Shared};

/// How long the thread lets events come together after it was woken.
const LINGER: Duration = Duration::from_millis(2);

/// An event that waits to be written.
pub(super) struct Queued {
    pub(super) line: LogLine,
    pub(super) payloads: Vec<PendingPayload>,
    pub(super) weight: usize,
}

pub(super) struct Worker {
    files: BundleFiles,
    /// Weak: the thread ends when the last handle is gone.
    shared: Weak<Shared>,
    ledger: Arc<Ledger>,
    next_seq: u64,
    /// Events that are lost and not yet noted.
    lost: Option<RangeInclusive<u64>>,
    warned: bool,
}

/// The payload of the event that notes a gap.
#[derive(Serialize)]
#[serde(tag = "type", rename = "trace_gap")]
struct Gap {
    first_seq: u64,
    last_seq: u64,
    message: String,
}

/// Has the turns of the session go first where processors are few. (On Linux a priority is a thread's.)
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // Without it the trace is written all the same.
        let _ = rustix::process::setpriority_process(None, 10);
    }
}

impl Worker {
    pub(super) fn spawn(
        files: BundleFiles,
        shared: &Arc<Shared>,
        queued: Receiver<Queued>,
    ) -> io::Result<()> {
        let mut worker = Self {
            files,
            shared: Arc::downgrade(shared),
            ledger: Arc::clone(&shared.ledger),
            next_seq: 1,
            lost: None,
            warned: false,
        };
        thread::Builder::new()
            .name("rollout-trace".into())
            .spawn(move || {
                give_way();
                while let Ok(first) = queued.recv() {
                    // Whoever records wakes this thread only when it waits, which costs a turn more
                    // than the recording. So it lets events come together, and begins to write when
                    // whoever woke it has gone on.
                    thread::sleep(LINGER);
                    worker.handle(first);
                    while let Ok(next) = queued.try_recv() {
                        worker.handle(next);
                    }
                }
            })
            .map(drop)
    }

    fn handle(&mut self, queued: Queued) {
        let Queued {
            line,
            payloads,
            weight,
        } = queued;
        let seq = line.seq;
        if seq > self.next_seq {
            // The queue was full.
            self.lose(self.next_seq, seq - 1);
        }
        self.next_seq = seq + 1;
        self.note_gap(&line);
        if let Err(error) = self.write(&line, payloads) {
            self.lose(seq, seq);
            self.ledger.orphans.lose(&line);
            if !std::mem::replace(&mut self.warned, true) {
                tracing::warn!(%error, "an event of the rollout trace was lost");
            }
        }
        self.ledger.weight.fetch_sub(weight, Ordering::Relaxed);
        self.ledger.finish(seq);
    }

    fn lose(&mut self, from: u64, to: u64) {
        let first = self.lost.as_ref().map_or(from, |lost| *lost.start());
        self.lost = Some(first..=to);
    }

    /// Writes down which events are lost, under the number of the last of them. Tried again until it works.
    fn note_gap(&mut self, next: &LogLine) {
        let Some(lost) = self.lost.clone() else {
            return;
        };
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let number = shared.payload_numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let reference = PayloadRef::numbered(number, PayloadKind::ProtocolEvent);
        let gap = Gap {
            first_seq: *lost.start(),
            last_seq: *lost.end(),
            message: "the recorder could not write these events".into(),
        };
        let note = LogLine {
            seq: *lost.end(),
            thread_id: None,
            codex_turn_id: None,
            payload: Event::ProtocolEventObserved {
                event_type: GAP_EVENT.into(),
                event_payload: reference.clone(),
            },
            ..next.clone()
        };
        let payload = PendingPayload {
            reference,
            render: Box::new(move || Ok(serde_json::to_vec_pretty(&gap)?)),
        };
        if self.write(&note, vec![payload]).is_ok() {
            self.lost = None;
        }
    }

    /// Writes the payloads, then the line. An event that means something without its payload is written without.
    fn write(&mut self, line: &LogLine, payloads: Vec<PendingPayload>) -> io::Result<()> {
        if self.ledger.orphans.covers(line) {
            return Err(io::Error::other("what the event refers to was lost"));
        }
        let mut failed = None;
        for payload in payloads {
            if let Err(error) = self.write_payload(payload) {
                failed = Some(error);
            }
        }
        let mut text = match failed {
            None => serde_json::to_vec(line)?,
            Some(error) => {
                let mut bare = line.clone();
                bare.payload = bare.payload.without_payload().ok_or(error)?;
                serde_json::to_vec(&bare)?
            }
        };
        text.push(b'\n');
        self.files.append(&text)
    }

    fn write_payload(&self, payload: PendingPayload) -> io::Result<()> {
        // Rendering runs code of whoever recorded; its panic is a payload that failed.
        let text = catch_unwind(AssertUnwindSafe(payload.render))
            .unwrap_or_else(|_| Err(io::Error::other("serialising a payload panicked")))?;
        self.files.write_payload(&payload.reference.path, &text)
    }
}
