//! Payloads of a bundle for others than the reducer: only content that is as it was written.

use std::collections::HashMap;
use std::io::{self, BufRead, Read as _};
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use crate::bundle_folder::BundleFolder;
use crate::format::{Checksum, LogLine, PayloadRef, ShardPlace};
use crate::payload_files::PayloadFolder;

/// Longer lines are skipped.
const MAX_LINE: u64 = 64 << 20;

/// What is read at a time of what is not kept.
const REST_BUFFER: usize = 64 << 10;

/// A payload in shards may be this large.
const MAX_PAYLOAD: u64 = 1 << 30;

/// The payloads of a bundle.
#[derive(Debug, Clone)]
pub struct BundlePayloads {
    files: Arc<BundleFolder>,
    folder: Arc<PayloadFolder>,
}

impl BundlePayloads {
    /// Those of the bundle in a folder, which is opened when the first is read.
    pub fn in_bundle(bundle: &Path) -> Self {
        Self {
            files: Arc::new(BundleFolder::new(bundle)),
            folder: PayloadFolder::new(bundle),
        }
    }

    /// The content of a payload, up to a limit, and whether it was cut.
    ///
    /// # Errors
    /// It cannot be read, leads out of the bundle, is behind a link, or is not as it was written.
    pub fn read(&self, payload: &PayloadRef, limit: u64) -> io::Result<(Vec<u8>, bool)> {
        if payload.shard != ShardPlace::File {
            return self.read_from_shards(payload, limit);
        }
        let mut file = self.files.read(&payload.path)?;
        let mut bytes = Vec::new();
        (&mut file).take(limit).read_to_end(&mut bytes)?;
        let mut hash = Xxh3::new();
        hash.update(&bytes);
        let mut rest = vec![0; REST_BUFFER];
        let mut is_cut = false;
        loop {
            let read = file.read(&mut rest)?;
            if read == 0 {
                break;
            }
            is_cut = true;
            if payload.xxh3.is_none() {
                break;
            }
            hash.update(&rest[..read]);
        }
        match payload.xxh3 {
            Some(sum) if !sum.is(hash.digest()) => Err(changed()),
            _ => Ok((bytes, is_cut)),
        }
    }

    fn read_from_shards(&self, payload: &PayloadRef, limit: u64) -> io::Result<(Vec<u8>, bool)> {
        let mut bytes = Vec::new();
        // All of it is needed for the checksum.
        let needed = match payload.xxh3 {
            Some(_) => MAX_PAYLOAD,
            None => limit,
        };
        self.folder.read_into(payload, needed, &mut bytes)?;
        if payload.xxh3.is_some_and(|sum| !sum.agrees_with(&bytes)) {
            return Err(changed());
        }
        let is_cut = bytes.len() as u64 > limit;
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok((bytes, is_cut))
    }

    /// The size of a payload, if it is there.
    pub fn size(&self, payload: &PayloadRef) -> Option<u64> {
        self.folder.stored_size(payload)
    }
}

fn changed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "not as it was written: its checksum differs",
    )
}

/// Which content each payload file must have.
#[derive(Debug, Default)]
pub struct PayloadSums(HashMap<String, Vec<Checksum>>);

impl PayloadSums {
    /// Reads a log. Lines that are no events, and references without a checksum, say nothing.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn of_log(mut log: impl BufRead) -> io::Result<Self> {
        let mut sums = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut log).take(MAX_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(sums);
            }
            if read as u64 == MAX_LINE && line.last() != Some(&b'\n') {
                log.skip_until(b'\n')?;
                continue;
            }
            let Ok(event) = serde_json::from_slice::<LogLine>(&line) else {
                continue;
            };
            for payload in event.payload.payloads() {
                let known = sums.0.entry(payload.path.clone()).or_default();
                known.extend(payload.xxh3);
            }
        }
    }

    /// Whether a payload file with these bytes is as it was written. Without a checksum it counts as such.
    pub fn agree_with(&self, path: &str, bytes: &[u8]) -> bool {
        let known = self.0.get(path).map_or(&[][..], Vec::as_slice);
        known.iter().all(|sum| sum.agrees_with(bytes))
    }
}
