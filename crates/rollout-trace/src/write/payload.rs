//! The payloads of one event, written as it is made.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;

use super::bundle::BundleFiles;
use super::sink::{PayloadSink, RecordingLimits};
use crate::convert::Upgrade;
use crate::format::{PayloadKind, PayloadRef, Schema};
use crate::ids::ThreadId;

/// A buffer larger than this is not kept for the next payload.
const KEPT_BUFFER: usize = 1 << 20;

/// Writes payloads one by one.
#[derive(Default)]
pub(super) struct PayloadWriter {
    /// The number of the last payload.
    last: u64,
    /// The text of one payload.
    text: Vec<u8>,
    /// Converts what is written, for schema 2 and 3.
    pub(super) upgrade: Option<Upgrade>,
    pub(super) sink: PayloadSink,
    /// The thread of the event that payloads are written for.
    pub(super) thread: Option<ThreadId>,
}

/// Takes the payloads of one event.
pub struct Payloads<'w> {
    /// None for an event that is lost: only what it is about matters then.
    to: Option<(&'w BundleFiles, &'w mut PayloadWriter)>,
    failed: Option<io::Error>,
}

impl std::fmt::Debug for Payloads<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payloads")
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl<'w> Payloads<'w> {
    pub(super) fn in_files(files: &'w BundleFiles, writer: &'w mut PayloadWriter) -> Self {
        Self {
            to: Some((files, writer)),
            failed: None,
        }
    }

    pub(super) fn nowhere() -> Self {
        Self {
            to: None,
            failed: None,
        }
    }

    /// Adds a value as JSON.
    pub fn add(&mut self, kind: PayloadKind, value: &impl Serialize) -> PayloadRef {
        self.write(kind, &mut |text| Ok(serde_json::to_writer(text, value)?))
    }

    /// Adds JSON text, which must be valid.
    pub fn add_json(&mut self, kind: PayloadKind, json: &[u8]) -> PayloadRef {
        self.write(kind, &mut |text| {
            text.extend_from_slice(json);
            Ok(())
        })
    }

    /// Whether there was no room for the event: nothing is written then, and it is made out of its turn.
    pub fn is_lost(&self) -> bool {
        self.to.is_none()
    }

    fn write(
        &mut self,
        kind: PayloadKind,
        render: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
    ) -> PayloadRef {
        let Some((files, writer)) = &mut self.to else {
            return PayloadRef::numbered(0, kind);
        };
        writer.last += 1;
        let mut reference = PayloadRef::numbered(writer.last, kind);
        if let Err(error) = writer.write(files, &mut reference, render) {
            self.failed = Some(error);
        }
        reference
    }

    /// Why a payload is missing, if one is.
    pub(super) fn finish(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

impl PayloadWriter {
    pub(super) fn of_schema(schema: Schema, limits: RecordingLimits) -> Self {
        Self {
            upgrade: schema.has_ids().then(|| Upgrade::to_schema(schema)),
            sink: PayloadSink::new(schema == Schema::Three, limits),
            ..Self::default()
        }
    }

    /// Writes a payload as it is.
    pub(super) fn add_text(
        &mut self,
        files: &BundleFiles,
        kind: PayloadKind,
        text: &[u8],
    ) -> io::Result<PayloadRef> {
        self.last += 1;
        let mut reference = PayloadRef::numbered(self.last, kind);
        self.sink.write(files, &mut reference, text)?;
        Ok(reference)
    }

    /// Writes the prompt that a request of schema 3 needs.
    pub(super) fn add_prepared(
        &mut self,
        files: &BundleFiles,
        request: &PayloadRef,
    ) -> io::Result<PayloadRef> {
        self.last += 1;
        self.sink.write_prepared(files, self.last, request)
    }

    fn write(
        &mut self,
        files: &BundleFiles,
        reference: &mut PayloadRef,
        render: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        let text = &mut self.text;
        text.clear();
        text.shrink_to(KEPT_BUFFER);
        // Rendering runs code of whoever recorded; its panic is a payload that failed.
        catch_unwind(AssertUnwindSafe(|| render(text)))
            .unwrap_or_else(|_| Err(io::Error::other("serialising a payload panicked")))?;
        let upgrade = self.upgrade.as_mut();
        let converted =
            upgrade.and_then(|upgrade| upgrade.payload(self.thread.as_ref(), reference.kind, text));
        if let Some(converted) = converted {
            *text = converted;
        }
        self.sink.write(files, reference, &self.text)
    }
}
