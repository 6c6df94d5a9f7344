//! Reading payload files, one at a time into one buffer.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::format::{PAYLOADS_DIR, PayloadRef};

use super::fault::Fault;

/// A payload may be this large.
const MAX_PAYLOAD: u64 = 1 << 30;

/// A buffer larger than this is not kept for the next payload.
const KEPT_BUFFER: usize = 64 << 20;

/// The payload files of one bundle.
pub(super) struct PayloadFiles {
    bundle: PathBuf,
    buffer: Vec<u8>,
    /// The files in the payload folder when the replay began. One listing is cheaper than a look for each.
    listed: HashSet<OsString>,
}

impl PayloadFiles {
    pub(super) fn new(bundle: &Path) -> Self {
        Self {
            bundle: bundle.to_owned(),
            buffer: Vec::new(),
            listed: list(&bundle.join(PAYLOADS_DIR)).unwrap_or_default(),
        }
    }

    /// Takes the content of a payload file; give it back with `recycle`.
    pub(super) fn take(&mut self, payload: &PayloadRef) -> Result<Vec<u8>, Fault> {
        let path = self.path(payload)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        match fill(&path, &mut buffer) {
            Ok(read) if read > MAX_PAYLOAD => Err(Fault::LargePayload {
                id: payload.raw_payload_id.clone(),
                limit: MAX_PAYLOAD,
            }),
            Ok(_) => Ok(buffer),
            Err(source) => {
                self.recycle(buffer);
                Err(open_fault(payload, source))
            }
        }
    }

    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= KEPT_BUFFER {
            self.buffer = buffer;
        }
    }

    /// Checks that a payload is there, for one that is not read.
    pub(super) fn check(&self, payload: &PayloadRef) -> Result<(), Fault> {
        let name = payload.path.strip_prefix(PAYLOADS_DIR);
        let name = name.and_then(|name| name.strip_prefix('/'));
        if name.is_some_and(|name| self.listed.contains(OsStr::new(name))) {
            return Ok(());
        }
        match fs::metadata(self.path(payload)?) {
            Ok(found) if found.is_file() => Ok(()),
            Ok(_) => Err(open_fault(payload, io::ErrorKind::InvalidInput.into())),
            Err(source) => Err(open_fault(payload, source)),
        }
    }

    fn path(&self, payload: &PayloadRef) -> Result<PathBuf, Fault> {
        let inside = Path::new(&payload.path)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if inside {
            Ok(self.bundle.join(&payload.path))
        } else {
            Err(Fault::PayloadPath {
                id: payload.raw_payload_id.clone(),
                path: payload.path.clone(),
            })
        }
    }
}

fn fill(path: &Path, buffer: &mut Vec<u8>) -> io::Result<u64> {
    let read = File::open(path)?
        .take(MAX_PAYLOAD + 1)
        .read_to_end(buffer)?;
    Ok(read as u64)
}

fn list(folder: &Path) -> io::Result<HashSet<OsString>> {
    let mut files = HashSet::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.insert(entry.file_name());
        }
    }
    Ok(files)
}

fn open_fault(payload: &PayloadRef, source: io::Error) -> Fault {
    Fault::OpenPayload {
        id: payload.raw_payload_id.clone(),
        source,
    }
}
