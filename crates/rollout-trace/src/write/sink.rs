//! Where payloads are written: each into a file, or into shards.

use std::io;

use super::bundle::BundleFiles;
use super::shard::ShardWriter;
use crate::format::{Checksum, PayloadCapture, PayloadKind, PayloadRef, ShardPlace};

/// How much of a session is recorded, in schema 3. What does not fit is left out, and the reference to it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordingLimits {
    /// The bytes of all payloads as they are in the bundle.
    pub max_bytes: Option<u64>,
    /// The bytes of one payload.
    pub max_payload_bytes: Option<u64>,
}

/// The payloads of a bundle that is written.
#[derive(Default)]
pub(crate) struct PayloadSink {
    shards: Option<ShardWriter>,
    limits: RecordingLimits,
}

impl PayloadSink {
    pub(crate) fn new(in_shards: bool, limits: RecordingLimits) -> Self {
        Self {
            shards: in_shards.then(ShardWriter::default),
            limits,
        }
    }

    /// Whether payloads are in shards.
    pub(crate) fn is_sharded(&self) -> bool {
        self.shards.is_some()
    }

    /// Writes a payload, and completes the reference to it.
    pub(crate) fn write(
        &mut self,
        files: &BundleFiles,
        reference: &mut PayloadRef,
        text: &[u8],
    ) -> io::Result<()> {
        if self.shards.is_none() {
            files.write_payload(&reference.path, text)?;
        } else {
            reference.path.clear();
            reference.shard = self.place(files, reference, text)?;
        }
        if reference.shard == ShardPlace::Omitted {
            reference.capture = Some(PayloadCapture {
                status: "omitted".to_owned(),
                original_bytes: Some(text.len() as u64),
                retained_bytes: None,
            });
        } else if reference.parts.is_empty() {
            reference.xxh3 = Some(Checksum::compute(text));
        }
        Ok(())
    }

    fn place(
        &mut self,
        files: &BundleFiles,
        reference: &PayloadRef,
        text: &[u8],
    ) -> io::Result<ShardPlace> {
        let length = text.len() as u64;
        let Some(shards) = &mut self.shards else {
            return Ok(ShardPlace::File);
        };
        if self
            .limits
            .max_payload_bytes
            .is_some_and(|most| length > most)
        {
            return Ok(ShardPlace::Omitted);
        }
        if let Some(most) = self.limits.max_bytes {
            // What is added takes its room once it is compressed, which is only known then.
            shards.flush()?;
            let room = most.saturating_sub(shards.bytes());
            if length + HEAD > room && compressed(text)? + HEAD > room {
                return Ok(ShardPlace::Omitted);
            }
        }
        let number = shards.add(files, &reference.raw_payload_id, text)?;
        Ok(ShardPlace::Shard(number))
    }

    /// The prompt of a request that is its own: nothing before and nothing after it.
    pub(crate) fn write_prepared(
        &mut self,
        files: &BundleFiles,
        number: u64,
        request: &PayloadRef,
    ) -> io::Result<PayloadRef> {
        let mut reference = PayloadRef {
            parts: vec![request.clone()],
            ..PayloadRef::numbered(number, PayloadKind::PreparedPrompt)
        };
        self.write(files, &mut reference, br#"["",""]"#)?;
        Ok(reference)
    }

    /// Has everything in the files that was written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.shards.as_mut().map_or(Ok(()), ShardWriter::flush)
    }

    /// Ends what is open.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.shards.as_mut().map_or(Ok(()), ShardWriter::finish)
    }
}

/// More than what a payload takes beside its text.
const HEAD: u64 = 256;

fn compressed(text: &[u8]) -> io::Result<u64> {
    Ok(zstd::bulk::compress(text, 1)?.len() as u64)
}
