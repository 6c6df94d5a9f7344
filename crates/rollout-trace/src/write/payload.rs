//! Payloads on their way to a file.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::format::{PayloadKind, PayloadRef};

/// Appends the text of what was captured, on the writing thread.
type Render = Box<dyn FnOnce(&mut Vec<u8>) -> io::Result<()> + Send>;

/// What a payload file will hold.
pub(super) enum Content {
    /// Text that somebody else needed anyway.
    Text(Box<dyn AsRef<[u8]> + Send>),
    Value(Render),
}

impl Content {
    pub(super) fn of(value: impl Serialize + Send + 'static) -> Self {
        Self::Value(Box::new(move |text| {
            Ok(serde_json::to_writer(text, &value)?)
        }))
    }
}

/// A payload that is not written yet.
pub(super) struct PendingPayload {
    pub(super) reference: PayloadRef,
    pub(super) content: Content,
}

/// Collects the payloads of one event.
pub struct Payloads<'n> {
    numbers: &'n AtomicU64,
    pub(super) weight: usize,
    pub(super) pending: Vec<PendingPayload>,
}

impl std::fmt::Debug for Payloads<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payloads")
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}

impl<'n> Payloads<'n> {
    /// `numbers` holds the number of the last payload.
    pub(super) fn new(numbers: &'n AtomicU64) -> Self {
        Self {
            numbers,
            weight: 0,
            pending: Vec::new(),
        }
    }

    /// Adds a value, which is serialised on the writing thread. `weight` is about its size in memory, for the limit
    /// of what may wait to be written.
    pub fn add(
        &mut self,
        kind: PayloadKind,
        weight: usize,
        value: impl Serialize + Send + 'static,
    ) -> PayloadRef {
        self.add_content(kind, weight, Content::of(value))
    }

    /// Adds JSON text, which must be valid and is written as it stands.
    pub fn add_json(
        &mut self,
        kind: PayloadKind,
        json: impl AsRef<[u8]> + Send + 'static,
    ) -> PayloadRef {
        let weight = json.as_ref().len();
        self.add_content(kind, weight, Content::Text(Box::new(json)))
    }

    fn add_content(&mut self, kind: PayloadKind, weight: usize, content: Content) -> PayloadRef {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let reference = PayloadRef::numbered(number, kind);
        self.weight = self.weight.saturating_add(weight);
        self.pending.push(PendingPayload {
            reference: reference.clone(),
            content,
        });
        reference
    }
}
