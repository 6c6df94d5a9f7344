//! Reading a bundle event by event, for programs that want what was recorded and not the graph.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::format::{LOG_FILE, LogLine, Manifest, PayloadRef};
use crate::reduce::{Fault, PayloadFiles, ReplayError, read_manifest};

/// The events of a bundle, in the order of the log. Payload files are read when they are asked for.
#[derive(Debug)]
pub struct Recording {
    manifest: Manifest,
    events: Vec<LogLine>,
    unreadable_lines: u64,
    payloads: PayloadFiles,
}

impl Recording {
    /// Reads the manifest and the log of the bundle in a folder.
    ///
    /// # Errors
    /// There is no bundle, or its log cannot be opened. Lines that cannot be parsed are counted.
    pub fn read(bundle: &Path) -> Result<Self, ReplayError> {
        let manifest = read_manifest(bundle)?;
        let path = bundle.join(LOG_FILE);
        let file = match codex_regular_file::open(&path) {
            Ok(file) => file,
            Err(source) => return Err(ReplayError::OpenLog { path, source }),
        };
        let mut events = Vec::new();
        let mut unreadable_lines = 0;
        for line in BufReader::new(file).split(b'\n') {
            let line = match line {
                Ok(line) => line,
                Err(source) => return Err(ReplayError::ReadLog { path, source }),
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(event) => events.push(event),
                Err(_) => unreadable_lines += 1,
            }
        }
        Ok(Self {
            manifest,
            events,
            unreadable_lines,
            payloads: PayloadFiles::new(bundle),
        })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The events.
    pub fn events(&self) -> &[LogLine] {
        &self.events
    }

    /// How many lines of the log cannot be parsed.
    pub fn unreadable_lines(&self) -> u64 {
        self.unreadable_lines
    }

    /// The bytes of a payload file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bytes(&self, payload: &PayloadRef) -> Result<Vec<u8>, Fault> {
        self.payloads.read(payload)
    }

    /// Whether the bytes of a payload file are as they were written. Without a checksum they count as such.
    pub fn is_intact(&self, payload: &PayloadRef, bytes: &[u8]) -> bool {
        payload
            .xxh3
            .is_none_or(|checksum| checksum.agrees_with(bytes))
    }

    /// A payload file as JSON.
    ///
    /// # Errors
    /// It cannot be read or parsed.
    pub fn json<T: DeserializeOwned>(&self, payload: &PayloadRef) -> Result<T, Fault> {
        serde_json::from_slice(&self.bytes(payload)?).map_err(|error| Fault::ParsePayload {
            id: payload.raw_payload_id.clone(),
            reason: error.to_string(),
        })
    }
}
