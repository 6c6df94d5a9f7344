//! Writes the shards of a bundle of schema 3.

use std::fs::File;
use std::io::{self, Write};

use zstd::stream::raw::CParameter;

use super::bundle::BundleFiles;
use crate::format::shard_path;
use crate::ids::PayloadId;

/// A shard of so many plain bytes is full.
const MAX_SHARD_BYTES: u64 = 64 << 20;

/// Fast, and enough for payloads that repeat each other.
const LEVEL: i32 = 1;

/// Repetitions are found over two to the power of so many bytes, as others allow without asking.
const WINDOW_LOG: u32 = 23;

/// The shard that is being written, and the number of the last.
#[derive(Default)]
pub(crate) struct ShardWriter {
    open: Option<OpenShard>,
    last: u64,
    /// The bytes of shards that are full.
    written: u64,
}

struct OpenShard {
    encoder: zstd::Encoder<'static, CountedFile>,
    plain: u64,
    /// Whether there is something that is not in the file yet.
    is_dirty: bool,
}

/// A file, and how many bytes were written into it.
struct CountedFile {
    file: File,
    bytes: u64,
}

impl Write for CountedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl ShardWriter {
    /// Adds a payload, and returns the number of its shard. After an error the next payload begins another shard: what was
    /// written of this one can be read as far as it goes.
    pub(crate) fn add(
        &mut self,
        files: &BundleFiles,
        id: &PayloadId,
        text: &[u8],
    ) -> io::Result<u64> {
        let shard = match &mut self.open {
            Some(shard) => shard,
            None => {
                self.last += 1;
                let file = files.create_file(&shard_path(self.last))?;
                let counted = CountedFile { file, bytes: 0 };
                let mut encoder = zstd::Encoder::new(counted, LEVEL)?;
                encoder.include_checksum(true)?;
                encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
                encoder.long_distance_matching(true)?;
                self.open.insert(OpenShard {
                    encoder,
                    plain: 0,
                    is_dirty: false,
                })
            }
        };
        let added = shard.add(id, text);
        let is_full = shard.plain >= MAX_SHARD_BYTES;
        if let Err(error) = added {
            self.abandon();
            return Err(error);
        }
        let number = self.last;
        if is_full {
            self.finish()?;
        }
        Ok(number)
    }

    /// The bytes of all shards, without what is not in the files yet.
    pub(crate) fn bytes(&self) -> u64 {
        let open = self.open.as_ref();
        self.written + open.map_or(0, |shard| shard.encoder.get_ref().bytes)
    }

    /// Writes what was added into the file, before an event that refers to it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Some(shard) = self.open.as_mut().filter(|shard| shard.is_dirty) else {
            return Ok(());
        };
        shard.is_dirty = false;
        let flushed = shard.encoder.flush();
        if flushed.is_err() {
            self.abandon();
        }
        flushed
    }

    /// Ends the open shard.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let Some(shard) = self.open.take() else {
            return Ok(());
        };
        self.written += shard.encoder.get_ref().bytes;
        let before = shard.encoder.get_ref().bytes;
        let file = shard.encoder.finish()?;
        self.written += file.bytes - before;
        Ok(())
    }

    fn abandon(&mut self) {
        if let Some(shard) = self.open.take() {
            self.written += shard.encoder.get_ref().bytes;
        }
    }
}

impl OpenShard {
    fn add(&mut self, id: &PayloadId, text: &[u8]) -> io::Result<()> {
        let id = id.as_str().as_bytes();
        let id_length = u16::try_from(id.len()).map_err(io::Error::other)?;
        self.encoder.write_all(&id_length.to_le_bytes())?;
        self.encoder.write_all(&(text.len() as u64).to_le_bytes())?;
        self.encoder.write_all(id)?;
        self.encoder.write_all(text)?;
        self.plain += text.len() as u64;
        self.is_dirty = true;
        Ok(())
    }
}
