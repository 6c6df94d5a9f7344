//! Reading payload files, one at a time into one buffer.
//!
//! Files that the reduction does not need are looked at by a thread of its own, so that one that is cut or missing is
//! noticed and costs the reduction no time.

use std::io;
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::fault::Fault;
use crate::format::PayloadRef;
use crate::json::Scanner;
use crate::payload_files::{PayloadFile, PayloadFolder, PayloadPlace};

/// A payload may be this large.
const MAX_PAYLOAD: u64 = 1 << 30;

/// A buffer larger than this is not kept for the next payload.
const KEPT_BUFFER: usize = 64 << 20;

/// This many files may wait to be checked.
const MAX_WAITING_PAYLOADS: usize = 4096;

/// The payloads of one bundle.
#[derive(Debug)]
pub(crate) struct PayloadFiles {
    folder: Arc<PayloadFolder>,
    buffer: Vec<u8>,
}

impl PayloadFiles {
    pub(crate) fn new(bundle: &Path) -> Self {
        Self {
            folder: PayloadFolder::new(bundle),
            buffer: Vec::new(),
        }
    }

    /// The same payloads, for another thread.
    pub(super) fn shared(&self) -> Self {
        Self {
            folder: Arc::clone(&self.folder),
            buffer: Vec::new(),
        }
    }

    /// Takes the content of a payload; give it back with `recycle`.
    pub(crate) fn take(&mut self, payload: &PayloadRef) -> Result<Vec<u8>, Fault> {
        self.take_with_place(payload).map(|(bytes, _)| bytes)
    }

    /// The same, and where its texts are read again.
    pub(super) fn take_with_place(
        &mut self,
        payload: &PayloadRef,
    ) -> Result<(Vec<u8>, Arc<PayloadFile>), Fault> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        match self.read_into(payload, &mut buffer) {
            Ok(place) => Ok((buffer, self.folder.file(place))),
            Err(fault) => {
                self.recycle(buffer);
                Err(fault)
            }
        }
    }

    /// The shards that were read and have no end.
    pub(super) fn shards_without_end(&self) -> Vec<u64> {
        self.folder.shards_without_end()
    }

    /// The content of a payload in a buffer of its own.
    pub(crate) fn read(&self, payload: &PayloadRef) -> Result<Vec<u8>, Fault> {
        let mut buffer = Vec::new();
        self.read_into(payload, &mut buffer)?;
        Ok(buffer)
    }

    /// A file that is not as it was written is not read: its content is not what was recorded.
    fn read_into(&self, payload: &PayloadRef, buffer: &mut Vec<u8>) -> Result<PayloadPlace, Fault> {
        if payload.is_unrecorded() {
            return Err(Fault::OmittedPayload(payload.raw_payload_id.clone()));
        }
        check_path(payload)?;
        match self.folder.read_into(payload, MAX_PAYLOAD, buffer) {
            Ok(_) if buffer.len() as u64 > MAX_PAYLOAD => Err(Fault::LargePayload {
                id: payload.raw_payload_id.clone(),
                limit: MAX_PAYLOAD,
            }),
            Ok(_) if payload.xxh3.is_some_and(|sum| !sum.agrees_with(buffer)) => {
                Err(Fault::PayloadChecksum(payload.raw_payload_id.clone()))
            }
            Ok(place) => Ok(place),
            Err(source) => Err(open_fault(payload, source)),
        }
    }

    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= KEPT_BUFFER {
            self.buffer = buffer;
        }
    }

    /// Whether a payload that nothing else reads is there and whole.
    fn check(&mut self, payload: &PayloadRef) -> Result<(), Fault> {
        let bytes = self.take(payload)?;
        let checked = match payload.xxh3 {
            // It was compared when it was read.
            Some(_) => Ok(()),
            None => {
                let mut scanner = Scanner::new(&bytes);
                let scanned = scanner.skip().and_then(|()| scanner.end());
                scanned.map_err(|error| Fault::unreadable(payload, error))
            }
        };
        self.recycle(bytes);
        checked
    }
}

/// The path of a payload must be inside the bundle.
fn check_path(payload: &PayloadRef) -> Result<(), Fault> {
    let mut parts = Path::new(&payload.path).components();
    if parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Ok(());
    }
    Err(Fault::PayloadPath {
        id: payload.raw_payload_id.clone(),
        path: payload.path.clone(),
    })
}

fn open_fault(payload: &PayloadRef, source: io::Error) -> Fault {
    Fault::OpenPayload {
        id: payload.raw_payload_id.clone(),
        source,
    }
}

/// The thread that checks files.
pub(super) struct PayloadChecks {
    files: SyncSender<(u64, PayloadRef)>,
    thread: JoinHandle<Vec<(u64, Fault)>>,
}

impl PayloadChecks {
    pub(super) fn start(own: PayloadFiles) -> io::Result<Self> {
        let (files, waiting) = sync_channel(MAX_WAITING_PAYLOADS);
        let thread = thread::Builder::new()
            .name("payload-checks".into())
            .spawn(move || check_all(own, &waiting))?;
        Ok(Self { files, thread })
    }

    /// Has a file checked that a line of the log refers to.
    pub(super) fn add(&self, line: u64, payload: &PayloadRef) {
        // The thread takes what comes until this handle is gone.
        let _ = self.files.send((line, payload.clone()));
    }

    /// What was wrong, each with the line that refers to the file.
    pub(super) fn finish(self) -> Vec<(u64, Fault)> {
        drop(self.files);
        self.thread.join().unwrap_or_default()
    }
}

fn check_all(mut files: PayloadFiles, waiting: &Receiver<(u64, PayloadRef)>) -> Vec<(u64, Fault)> {
    let checked = waiting.iter();
    checked
        .filter_map(|(line, payload)| Some((line, files.check(&payload).err()?)))
        .collect()
}
