//! The payloads of a bundle: read whole, and as places of texts, which are read again when they are needed.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::bundle_folder::BundleFolder;
use crate::format::{PayloadRef, ShardPlace};
use crate::shards::Shards;

/// The only member of what stands in the place of a part that was not recorded: the id of the part.
pub(crate) const UNRECORDED_KEY: &str = "$unrecorded_payload";

/// Parts may have parts to this depth.
const MAX_DEPTH: usize = 8;

/// The payloads of one bundle. The file that was read last stays open.
#[derive(Debug)]
pub(crate) struct PayloadFolder {
    folder: BundleFolder,
    shards: Shards,
    open: Mutex<Option<(Arc<str>, File)>>,
}

/// Where a payload can be read again.
pub(crate) struct PayloadFile {
    bundle: Arc<PayloadFolder>,
    content: PayloadPlace,
}

/// Where a payload is.
#[derive(Debug)]
pub(crate) enum PayloadPlace {
    File(Arc<str>),
    /// In what the shards contain.
    Plain(Vec<PlainSegment>),
}

/// A piece of a payload that is in one piece in a shard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainSegment {
    /// In the payload.
    at: u64,
    /// In the plain file.
    start: u64,
    length: u64,
}

/// The content of a payload, and the file that it can be read from again; none if it is not to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PayloadBytes<'p> {
    pub(crate) bytes: &'p [u8],
    pub(crate) file: Option<&'p Arc<PayloadFile>>,
}

impl PayloadFolder {
    pub(crate) fn new(folder: &Path) -> Arc<Self> {
        Arc::new(Self {
            folder: BundleFolder::new(folder),
            shards: Shards::new(folder),
            open: Mutex::new(None),
        })
    }

    /// The place where texts of a payload are read again.
    pub(crate) fn file(self: &Arc<Self>, content: PayloadPlace) -> Arc<PayloadFile> {
        Arc::new(PayloadFile {
            bundle: Arc::clone(self),
            content,
        })
    }

    /// Appends the content of a payload to a buffer, up to a limit and one more byte.
    pub(crate) fn read_into(
        &self,
        payload: &PayloadRef,
        limit: u64,
        buffer: &mut Vec<u8>,
    ) -> io::Result<PayloadPlace> {
        if payload.shard == ShardPlace::File {
            let file = self.folder.read(&payload.path)?;
            file.take(limit.saturating_add(1)).read_to_end(buffer)?;
            return Ok(PayloadPlace::File(payload.path.as_str().into()));
        }
        let mut segments = Vec::new();
        self.assemble(payload, limit, MAX_DEPTH, buffer, &mut segments)?;
        Ok(PayloadPlace::Plain(segments))
    }

    /// The shards that were read and have no end.
    pub(crate) fn shards_without_end(&self) -> Vec<u64> {
        self.shards.without_end()
    }

    /// The number of bytes of a payload as it is stored, if it is there. That of a payload with parts is not put together.
    pub(crate) fn stored_size(&self, payload: &PayloadRef) -> Option<u64> {
        match payload.shard {
            ShardPlace::File => self.folder.size(&payload.path),
            ShardPlace::Omitted => None,
            ShardPlace::Shard(number) => {
                let own = self.shards.find(number, &payload.raw_payload_id).ok()?;
                let parts = payload.parts.iter();
                let parts: Option<u64> = parts.map(|part| self.stored_size(part)).sum();
                Some(own.length + parts?)
            }
        }
    }

    fn assemble(
        &self,
        payload: &PayloadRef,
        limit: u64,
        depth: usize,
        buffer: &mut Vec<u8>,
        segments: &mut Vec<PlainSegment>,
    ) -> io::Result<()> {
        let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason.to_owned());
        let number = match payload.shard {
            ShardPlace::Shard(number) => number,
            ShardPlace::Omitted => return Err(invalid("it was not recorded because of a limit")),
            ShardPlace::File => return Err(invalid("a part of it is in no shard")),
        };
        let place = self.shards.find(number, &payload.raw_payload_id)?;
        let left = limit.saturating_add(1).saturating_sub(buffer.len() as u64);
        let length = place.length.min(left) as usize;
        if payload.parts.is_empty() {
            segments.push(PlainSegment {
                at: buffer.len() as u64,
                start: place.start,
                length: length as u64,
            });
            return self.shards.read(place.start, length, buffer);
        }
        if depth == 0 {
            return Err(invalid("its parts have parts too deep"));
        }
        let mut own = Vec::new();
        if place.length > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.shards
            .read(place.start, place.length as usize, &mut own)?;
        let strings: Vec<String> = serde_json::from_slice(&own)?;
        if strings.len() != payload.parts.len() + 1 {
            return Err(invalid("it has not one part between two strings"));
        }
        let mut parts = payload.parts.iter();
        for string in strings {
            buffer.extend_from_slice(string.as_bytes());
            if let Some(part) = parts.next() {
                if part.is_unrecorded() {
                    let id = &part.raw_payload_id;
                    let member = serde_json::json!({ UNRECORDED_KEY: id });
                    buffer.extend_from_slice(member.to_string().as_bytes());
                    continue;
                }
                self.assemble(part, limit, depth - 1, buffer, segments)?;
            }
            if buffer.len() as u64 > limit {
                buffer.truncate(usize::try_from(limit).map_or(usize::MAX, |limit| limit + 1));
                return Ok(());
            }
        }
        Ok(())
    }
}

impl PayloadFile {
    /// Whether so many bytes from a position on can be read again.
    pub(crate) fn has(&self, start: u64, length: usize) -> bool {
        match &self.content {
            PayloadPlace::File(_) => true,
            PayloadPlace::Plain(segments) => segment_of(segments, start, length).is_some(),
        }
    }

    /// So many bytes from a position on.
    pub(crate) fn read(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        let path = match &self.content {
            PayloadPlace::File(path) => path,
            PayloadPlace::Plain(segments) => {
                let segment = segment_of(segments, start, length);
                let segment = segment.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
                let from = segment.start + (start - segment.at);
                self.bundle.shards.read(from, length, &mut bytes)?;
                return Ok(bytes);
            }
        };
        let mut open = self.bundle.open.lock();
        let mut file = match open.take() {
            Some((open, file)) if open == *path => file,
            _ => self.bundle.folder.read(path)?,
        };
        file.seek(SeekFrom::Start(start))?;
        (&mut file).take(length as u64).read_to_end(&mut bytes)?;
        *open = Some((Arc::clone(path), file));
        Ok(bytes)
    }

    /// The error of a file that is not what it was.
    pub(crate) fn changed(&self) -> io::Error {
        self.failed("it was changed after it had been read")
    }

    /// An error with the name of the file.
    pub(crate) fn failed(&self, reason: impl fmt::Display) -> io::Error {
        io::Error::other(format!("{}: {reason}", self.name()))
    }

    fn name(&self) -> &str {
        match &self.content {
            PayloadPlace::File(path) => path,
            PayloadPlace::Plain(_) => "a shard",
        }
    }
}

/// The segment that contains a whole range.
fn segment_of(segments: &[PlainSegment], start: u64, length: usize) -> Option<&PlainSegment> {
    let after = segments.partition_point(|segment| segment.at <= start);
    let segment = segments.get(after.checked_sub(1)?)?;
    (start + length as u64 <= segment.at + segment.length).then_some(segment)
}

impl fmt::Debug for PayloadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PayloadFile").field(&self.name()).finish()
    }
}
