//! Gives each command what its exec server says about it, in order and once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::Instant;

use crate::process::{OutputPiece, RemoteExit};
use crate::wire::{OutputOrigin, OutputPart, ReadOutput};

/// The memory for output that is not taken yet, of all commands of a machine.
const MAX_WAITING_OUTPUT: usize = 16 * 1024 * 1024;

/// How long the connection waits for somebody to take output before it lets go of some.
const ROOM_WAIT: Duration = Duration::from_secs(5);

/// The messages of a command that may wait for an earlier one, and their bytes.
const MAX_EARLY: usize = 4096;
const MAX_EARLY_BYTES: usize = 4 * 1024 * 1024;

/// How long an earlier message is waited for before it is asked for.
const GAP_WAIT: Duration = Duration::from_secs(1);

/// Stands in the output for what is missing.
const LOST_OUTPUT: &str = "\n[a part of the output was lost while the connection was gone]\n";
const DROPPED_OUTPUT: &str =
    "\n[a part of the output was left out: it came faster than it was taken]\n";

/// What is said about a command.
#[derive(Debug)]
pub(crate) enum Numbered {
    Output(OutputOrigin, Bytes),
    Exited(i32),
    Closed,
}

/// Where what is said about a command goes.
#[derive(Debug)]
pub(crate) struct ProcessRoute {
    output: mpsc::UnboundedSender<OutputPiece>,
    exit: watch::Sender<Option<RemoteExit>>,
    next_seq: u64,
    early: BTreeMap<u64, Numbered>,
    early_bytes: usize,
    early_since: Option<Instant>,
    /// Whether what is missing was asked for.
    is_read: bool,
    drops: bool,
}

impl ProcessRoute {
    pub(crate) fn new(
        output: mpsc::UnboundedSender<OutputPiece>,
        exit: watch::Sender<Option<RemoteExit>>,
    ) -> Self {
        Self {
            output,
            exit,
            next_seq: 1,
            early: BTreeMap::new(),
            early_bytes: 0,
            early_since: None,
            is_read: false,
            drops: false,
        }
    }

    fn note(&self, text: &'static str) {
        let _ = self.output.send(OutputPiece {
            origin: OutputOrigin::Stderr,
            bytes: Bytes::from_static(text.as_bytes()),
            _room: None,
        });
    }

    fn exit(&self, exit: RemoteExit) {
        self.exit.send_if_modified(|known| {
            let is_first = known.is_none();
            if is_first {
                *known = Some(exit);
            }
            is_first
        });
    }
}

/// The commands of a machine by their ids.
#[derive(Debug)]
pub(crate) struct Routes {
    all: HashMap<String, ProcessRoute>,
    room: Arc<Semaphore>,
}

impl Routes {
    pub(crate) fn new() -> Self {
        Self {
            all: HashMap::new(),
            room: Arc::new(Semaphore::new(MAX_WAITING_OUTPUT)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.all.contains_key(id)
    }

    pub(crate) fn add(&mut self, id: String, route: ProcessRoute) {
        self.all.insert(id, route);
    }

    /// Takes a command out. Returns whether it was there.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        self.all.remove(id).is_some()
    }

    /// Ends all commands, for this reason. Returns their ids.
    pub(crate) fn lose_all(&mut self, reason: &str) -> Vec<String> {
        let lost = self.all.drain().map(|(id, route)| {
            route.exit(RemoteExit::Lost(reason.to_owned()));
            id
        });
        lost.collect()
    }

    /// Ends all commands but these, for this reason.
    pub(crate) fn lose_all_but(&mut self, kept: &HashSet<String>, reason: &str) {
        self.all.retain(|id, route| {
            let stays = kept.contains(id);
            if !stays {
                route.exit(RemoteExit::Lost(reason.to_owned()));
            }
            stays
        });
    }

    /// What is to be read again after a lost connection: the commands, and the last number of each.
    pub(crate) fn read_all(&mut self) -> Vec<(String, u64)> {
        let routes = self.all.iter_mut();
        routes
            .map(|(id, route)| {
                route.is_read = true;
                (id.clone(), route.next_seq - 1)
            })
            .collect()
    }

    /// What is missing for so long that it has to be asked for.
    pub(crate) fn gaps(&mut self) -> Vec<(String, u64)> {
        let mut gaps = Vec::new();
        for (id, route) in &mut self.all {
            let is_long = (route.early_since).is_some_and(|since| since.elapsed() >= GAP_WAIT);
            if is_long && !route.is_read {
                route.is_read = true;
                gaps.push((id.clone(), route.next_seq - 1));
            }
        }
        gaps
    }

    /// Takes a message about a command. What has come before, and what is about an unknown command, is nothing. Returns whether
    /// something before it is missing and has to be asked for at once.
    pub(crate) async fn take(&mut self, id: &str, seq: u64, said: Numbered) -> Option<u64> {
        let route = self.all.get_mut(id)?;
        if seq < route.next_seq {
            return None;
        }
        if seq > route.next_seq {
            let Entry::Vacant(place) = route.early.entry(seq) else {
                return None;
            };
            if let Numbered::Output(_, bytes) = &said {
                route.early_bytes += bytes.len();
            }
            place.insert(said);
            route.early_since.get_or_insert_with(Instant::now);
            let is_much = route.early.len() > MAX_EARLY || route.early_bytes > MAX_EARLY_BYTES;
            if !is_much {
                return None;
            }
            if !route.is_read {
                route.is_read = true;
                return Some(route.next_seq - 1);
            }
            // It was asked for already: memory counts more.
            self.skip_gap(id);
            self.take_early(id).await;
            return None;
        }
        self.deliver(id, said).await;
        self.take_early(id).await;
        None
    }

    /// Takes what was read again.
    pub(crate) async fn take_read(&mut self, id: &str, read: ReadOutput) {
        let Some(route) = self.all.get_mut(id) else {
            return;
        };
        route.is_read = false;
        // The exit and the close have numbers without output.
        let exit_is_told = route.exit.borrow().is_some()
            || (route.early.values()).any(|said| matches!(said, Numbered::Exited(_)));
        let mut without_output = u64::from(read.exited && !exit_is_told);
        for OutputPart { seq, stream, chunk } in read.chunks {
            self.take_early(id).await;
            let Some(route) = self.all.get_mut(id) else {
                return;
            };
            if seq < route.next_seq {
                continue;
            }
            if seq > route.next_seq {
                let is_early = (route.early.keys().next()).is_some_and(|first| *first < seq);
                if !is_early {
                    let skipped = seq - route.next_seq;
                    match without_output.checked_sub(skipped) {
                        Some(left) => without_output = left,
                        None => route.note(LOST_OUTPUT),
                    }
                    route.next_seq = seq;
                }
            }
            if seq == route.next_seq {
                self.deliver(id, Numbered::Output(stream, chunk.0.into()))
                    .await;
            }
        }
        self.take_early(id).await;
        let Some(route) = self.all.get_mut(id) else {
            return;
        };
        // All output up to the next number is here, or is not kept any more.
        let close_is_early = (route.early.values()).any(|said| matches!(said, Numbered::Closed));
        without_output += u64::from(read.closed && !close_is_early);
        if read.next_seq.saturating_sub(route.next_seq) > without_output {
            route.note(LOST_OUTPUT);
        }
        if read.exited {
            let code = read.exit_code.unwrap_or(-1);
            route.exit(RemoteExit::Code(code));
        }
        route.next_seq = route.next_seq.max(read.next_seq);
        if read.closed {
            self.all.remove(id);
            return;
        }
        if !route.early.is_empty() {
            self.skip_gap(id);
        }
        self.take_early(id).await;
    }

    /// Whether a command is known whose end is not.
    pub(crate) fn runs(&self, id: &str) -> bool {
        (self.all.get(id)).is_some_and(|route| route.exit.borrow().is_none())
    }

    /// Ends a command, for this reason. Returns whether it was there.
    pub(crate) fn lose(&mut self, id: &str, reason: &str) -> bool {
        let route = self.all.remove(id);
        if let Some(route) = &route {
            route.exit(RemoteExit::Lost(reason.to_owned()));
        }
        route.is_some()
    }

    /// Goes on after what is missing.
    fn skip_gap(&mut self, id: &str) {
        if let Some(route) = self.all.get_mut(id)
            && let Some(first) = route.early.keys().next().copied()
            && first > route.next_seq
        {
            route.note(LOST_OUTPUT);
            route.next_seq = first;
        }
    }

    async fn take_early(&mut self, id: &str) {
        loop {
            let Some(route) = self.all.get_mut(id) else {
                return;
            };
            let next = route.next_seq;
            route.early.retain(|seq, _| *seq >= next);
            let Some(said) = route.early.remove(&next) else {
                if route.early.is_empty() {
                    route.early_since = None;
                    route.early_bytes = 0;
                }
                return;
            };
            self.deliver(id, said).await;
        }
    }

    async fn deliver(&mut self, id: &str, said: Numbered) {
        let Some(route) = self.all.get_mut(id) else {
            return;
        };
        route.next_seq += 1;
        match said {
            Numbered::Exited(code) => route.exit(RemoteExit::Code(code)),
            Numbered::Closed => {
                self.all.remove(id);
            }
            Numbered::Output(origin, bytes) => {
                if route.output.is_closed() {
                    return;
                }
                let room = room_for(&self.room, bytes.len(), route.drops).await;
                let Some(room) = room else {
                    if !route.drops {
                        route.drops = true;
                        route.note(DROPPED_OUTPUT);
                    }
                    return;
                };
                route.drops = false;
                let _ = route.output.send(OutputPiece {
                    origin,
                    bytes,
                    _room: Some(room),
                });
            }
        }
    }
}

/// Waits for room, unless output is being left out already.
async fn room_for(
    room: &Arc<Semaphore>,
    bytes: usize,
    at_once: bool,
) -> Option<OwnedSemaphorePermit> {
    let count = u32::try_from(bytes.clamp(1, MAX_WAITING_OUTPUT)).unwrap_or(u32::MAX);
    if let Ok(permit) = Arc::clone(room).try_acquire_many_owned(count) {
        return Some(permit);
    }
    if at_once {
        return None;
    }
    let waiting = Arc::clone(room).acquire_many_owned(count);
    let permit = tokio::time::timeout(ROOM_WAIT, waiting).await;
    permit.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Base64;

    struct RouteReader {
        routes: Routes,
        output: mpsc::UnboundedReceiver<OutputPiece>,
        exit: watch::Receiver<Option<RemoteExit>>,
    }

    impl RouteReader {
        fn new() -> Self {
            let (sender, output) = mpsc::unbounded_channel();
            let (exit_sender, exit) = watch::channel(None);
            let mut routes = Routes::new();
            routes.add("p".to_owned(), ProcessRoute::new(sender, exit_sender));
            Self {
                routes,
                output,
                exit,
            }
        }

        async fn output(&mut self, seq: u64, text: &str) -> Option<u64> {
            let bytes = Bytes::copy_from_slice(text.as_bytes());
            let said = Numbered::Output(OutputOrigin::Stdout, bytes);
            self.routes.take("p", seq, said).await
        }

        fn text(&mut self) -> String {
            let mut text = String::new();
            while let Ok(piece) = self.output.try_recv() {
                text.push_str(std::str::from_utf8(&piece.bytes).unwrap());
            }
            text
        }
    }

    fn read(chunks: &[(u64, &str)], next_seq: u64) -> ReadOutput {
        let part = |(seq, text): &(u64, &str)| OutputPart {
            seq: *seq,
            stream: OutputOrigin::Stdout,
            chunk: Base64(text.as_bytes().to_vec()),
        };
        ReadOutput {
            chunks: chunks.iter().map(part).collect(),
            next_seq,
            exited: false,
            exit_code: None,
            closed: false,
            failure: None,
            sandbox_denied: false,
        }
    }

    #[tokio::test]
    async fn output_comes_in_order_and_once() {
        let mut reader = RouteReader::new();
        for (seq, text) in [
            (1, "a"),
            (3, "c"),
            (3, "again"),
            (1, "again"),
            (2, "b"),
            (2, "again"),
        ] {
            assert_eq!(reader.output(seq, text).await, None);
        }
        assert_eq!(reader.text(), "abc");
        reader.routes.take("p", 5, Numbered::Closed).await;
        assert_eq!(*reader.exit.borrow(), None);
        reader.routes.take("p", 4, Numbered::Exited(3)).await;
        assert_eq!(*reader.exit.borrow(), Some(RemoteExit::Code(3)));
        assert!(reader.routes.is_empty());
        assert_eq!(reader.output(6, "late").await, None);
        assert_eq!(reader.text(), "");
    }

    #[tokio::test]
    async fn missed_output_is_read_once_and_lost_output_reported() {
        let mut reader = RouteReader::new();
        reader.output(1, "a").await;
        assert_eq!(reader.routes.read_all(), [("p".to_owned(), 1)]);
        // Pushed before the answer to the read.
        reader.output(4, "d").await;
        let missed = read(&[(2, "b"), (3, "c"), (4, "d")], 5);
        reader.routes.take_read("p", missed).await;
        assert_eq!(reader.text(), "abcd");
        reader.routes.read_all();
        reader.routes.take_read("p", read(&[(7, "g")], 8)).await;
        assert_eq!(reader.text(), format!("{LOST_OUTPUT}g"));
        reader.output(8, "h").await;
        assert_eq!(reader.text(), "h");
    }

    #[tokio::test]
    async fn an_end_that_was_missed_is_read() {
        let mut reader = RouteReader::new();
        reader.routes.read_all();
        let ended = ReadOutput {
            exited: true,
            exit_code: Some(7),
            closed: true,
            ..read(&[(1, "a")], 4)
        };
        reader.routes.take_read("p", ended).await;
        assert_eq!(reader.text(), "a");
        assert_eq!(*reader.exit.borrow(), Some(RemoteExit::Code(7)));
        assert!(reader.routes.is_empty());
    }

    #[tokio::test]
    async fn lost_final_output_is_reported() {
        let mut reader = RouteReader::new();
        reader.output(1, "a").await;
        reader.routes.take_read("p", read(&[], 4)).await;
        assert_eq!(reader.text(), format!("a{LOST_OUTPUT}"));
        // The exit is the number 4, and the close the last one.
        let ended = ReadOutput {
            exited: true,
            exit_code: Some(0),
            closed: true,
            ..read(&[(5, "late")], 7)
        };
        reader.routes.take_read("p", ended).await;
        assert_eq!(reader.text(), "late");
        assert_eq!(*reader.exit.borrow(), Some(RemoteExit::Code(0)));
        assert!(reader.routes.is_empty());
    }

    #[tokio::test]
    async fn numbers_that_never_come_use_bounded_memory() {
        let mut reader = RouteReader::new();
        let mut asked = Vec::new();
        for seq in 0..3 * MAX_EARLY as u64 {
            asked.extend(reader.output(2 * seq + 10, "x").await);
        }
        assert_eq!(asked, [0]);
        assert!(reader.routes.all["p"].early.len() <= MAX_EARLY + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn output_that_nobody_takes_uses_bounded_memory() {
        let mut reader = RouteReader::new();
        let block = "x".repeat(1024 * 1024);
        for seq in 1..=40 {
            reader.output(seq, &block).await;
        }
        let text = reader.text();
        assert_eq!(text.matches('x').count(), MAX_WAITING_OUTPUT);
        assert_eq!(text.matches(DROPPED_OUTPUT).count(), 1);
        reader.output(41, "more").await;
        assert_eq!(reader.text(), "more");
    }
}
