//! Keeps model requests as differences until they are written.
//!
//! A request repeats most of the previous one: instructions, tools, conversation. Keeping a full copy of each would
//! take much memory in long conversations, and allocating it would slow down turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use codex_rollout_trace::Payloads;
use codex_rollout_trace::format::{PayloadKind, PayloadRef};
use parking_lot::Mutex;

/// The number of bytes that are compared at a time.
const BLOCK: usize = 512;

/// The requests of a thread.
#[derive(Debug, Default)]
pub(crate) struct RequestHistory {
    /// The last request.
    last: Mutex<Bytes>,
    /// Whether the next request must be kept in full.
    starts_over: AtomicBool,
    /// The last request that was written.
    written: Mutex<Vec<u8>>,
}

/// A request as its difference from the previous one.
#[derive(Debug)]
pub(crate) struct RequestDifference {
    requests: Arc<RequestHistory>,
    /// The number of bytes at the start and at the end that equal those of the previous request.
    head: usize,
    tail: usize,
    middle: Vec<u8>,
}

impl RequestHistory {
    /// Passes a request with this body to `record`. Requests must be written in this order.
    pub(crate) fn note(self: &Arc<Self>, body: &Bytes, record: impl FnOnce(RequestDifference)) {
        let mut last = self.last.lock();
        if self.starts_over.swap(false, Ordering::Relaxed) {
            last.clear();
        }
        let head = common_head(&last, body);
        let tail = common_tail(&last[head..], &body[head..]);
        last.clone_from(body);
        // Recorded while the lock is held, which keeps the order.
        record(RequestDifference {
            requests: Arc::clone(self),
            head,
            tail,
            middle: body[head..body.len() - tail].to_vec(),
        });
    }
}

impl RequestDifference {
    /// The approximate memory size of the difference.
    pub(crate) fn weight(&self) -> usize {
        self.middle.len()
    }

    pub(crate) fn write(self, payloads: &mut Payloads<'_>) -> PayloadRef {
        let mut written = self.requests.written.lock();
        if payloads.is_lost() {
            // Requests that are already queued build on this one, so the next new one must be kept in full.
            self.requests.starts_over.store(true, Ordering::Relaxed);
        } else {
            self.restore(&mut written);
        }
        payloads.add_json(PayloadKind::InferenceRequest, &written)
    }

    /// Replaces the body of the previous request by that of this one.
    fn restore(&self, body: &mut Vec<u8>) {
        let end = body.len() - self.tail;
        body.splice(self.head..end, self.middle.iter().copied());
    }
}

fn common_head(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks(BLOCK).zip(other.chunks(BLOCK));
    let equal = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let equal = equal.min(one.len()).min(other.len());
    let rest = one[equal..].iter().zip(&other[equal..]);
    equal + rest.take_while(|(one, other)| one == other).count()
}

fn common_tail(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.rchunks(BLOCK).zip(other.rchunks(BLOCK));
    let equal = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let equal = equal.min(one.len()).min(other.len());
    let one = one[..one.len() - equal].iter().rev();
    let rest = one.zip(other[..other.len() - equal].iter().rev());
    equal + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use codex_rollout_trace::Recorder;
    use codex_rollout_trace::format::{Event, RolloutStatus};

    use super::*;

    #[test]
    fn every_request_is_written_as_it_was() {
        let requests = Arc::new(RequestHistory::default());
        let fixed = "x".repeat(1000);
        let body = |new: &str, end: &str| Bytes::from(format!("{fixed}{new}{fixed}{end}"));
        let bodies = [
            Bytes::new(),
            body("", ""),
            body("one", ""),
            body("one, two", ""),
            body("one, two", "!"),
            body(&"much more ".repeat(200), ""),
            body("", ""),
            Bytes::from_static(b"x"),
            body(&fixed, &fixed),
            body("", ""),
        ];
        let mut written = Vec::new();
        for body in bodies {
            requests.note(&body, |request| request.restore(&mut written));
            assert!(written == body);
        }
    }

    #[test]
    fn similar_request_is_recorded_as_a_difference() {
        let requests = Arc::new(RequestHistory::default());
        let conversation = |turns: usize| format!("{}{}]", "i".repeat(4000), "turn".repeat(turns));
        for turns in 1..50 {
            let mut weight = 0;
            requests.note(&conversation(turns).into(), |request| {
                weight = request.weight()
            });
            assert_eq!(weight, if turns == 1 { 4005 } else { 4 });
        }
    }

    #[test]
    fn unrecorded_request_is_no_base_for_the_next_one() {
        const TEST_TIMEOUT: Duration = Duration::from_secs(60);
        let root = tempfile::tempdir().unwrap();
        let recorder = Recorder::start(root.path(), &"thread".into()).unwrap();
        let requests = Arc::new(RequestHistory::default());
        let ask = |body: &'static str| {
            requests.note(&body.into(), |request| {
                recorder.record(None, request.weight(), |payloads| Event::InferenceStarted {
                    inference_call_id: body.into(),
                    thread_id: "thread".into(),
                    codex_turn_id: "turn".into(),
                    model: "m".into(),
                    provider_name: "Mock".into(),
                    request_payload: request.write(payloads),
                    prepared_prompt_payload: None,
                    warmup_context_payload: None,
                });
            });
        };
        let (release, released) = channel::<()>();
        let status = RolloutStatus::Completed;
        recorder.record(None, 0, move |_| {
            // Waits until its sender is dropped.
            let _ = released.recv();
            Event::RolloutEnded { status }
        });
        ask("one");
        for _ in 0..5000 {
            recorder.record(None, 0, move |_| Event::RolloutEnded { status });
        }
        ask("one, two");
        drop(release);
        assert!(recorder.flush(TEST_TIMEOUT));
        ask("one, two, three");
        assert!(recorder.flush(TEST_TIMEOUT));

        let bundle = fs::read_dir(root.path()).unwrap().next().unwrap();
        let payloads = fs::read_dir(bundle.unwrap().path().join("payloads")).unwrap();
        let mut texts: Vec<_> = payloads
            .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
            .filter(|text| text.starts_with("one"))
            .collect();
        texts.sort();
        assert_eq!(texts, ["one", "one, two, three"]);
    }
}
