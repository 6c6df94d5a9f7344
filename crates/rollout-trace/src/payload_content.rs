//! Payload files of a bundle for others than the reducer: only content that is as it was written.

use std::collections::HashMap;
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use codex_regular_file::{FolderEntryKind, LinkFreeFolder, open_inside};
use xxhash_rust::xxh3::Xxh3;

use crate::format::{Checksum, LogLine, PayloadRef};

/// Longer lines are skipped.
const MAX_LINE: u64 = 64 << 20;

/// What is read at a time of what is not kept.
const REST_BUFFER: usize = 64 << 10;

/// The content of a payload file, up to a limit, and whether it was cut.
///
/// # Errors
/// It cannot be read, leads out of the bundle, is behind a link, or is not as it was written.
pub fn read_payload(
    bundle: &Path,
    payload: &PayloadRef,
    limit: u64,
) -> io::Result<(Vec<u8>, bool)> {
    let mut file = open_inside(bundle, Path::new(&payload.path))?;
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
        Some(sum) if !sum.is(hash.digest()) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not as it was written: its checksum differs",
        )),
        _ => Ok((bytes, is_cut)),
    }
}

/// The size of a payload file, if it is one.
pub fn payload_size(bundle: &Path, payload: &PayloadRef) -> Option<u64> {
    let folder = LinkFreeFolder::open(bundle).ok()?;
    let found = folder.entry(Path::new(&payload.path)).ok()?;
    (found.kind == FolderEntryKind::File).then_some(found.bytes)
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
