//! Reading a bundle event by event, for programs that want what was recorded and not the graph.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::format::{LOG_FILE, LogLine, Manifest, PayloadRef, line_agrees};
use crate::log_lines::{LineEnd, LogLines};
use crate::reduce::{Fault, PayloadFiles, ReplayError, read_manifest};

/// The events of a bundle, in the order of the log. Payload files are read when they are asked for.
#[derive(Debug)]
pub struct Recording {
    manifest: Manifest,
    events: Vec<LogLine>,
    unreadable_lines: u64,
    has_odd_lines: bool,
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
        let file = match codex_regular_file::open_inside(bundle, Path::new(LOG_FILE)) {
            Ok(file) => file,
            Err(source) => return Err(ReplayError::OpenLog { path, source }),
        };
        let mut lines = LogLines::new(file);
        let mut recording = Self {
            manifest,
            events: Vec::new(),
            unreadable_lines: 0,
            has_odd_lines: false,
            payloads: PayloadFiles::new(bundle),
        };
        loop {
            match lines.next() {
                Ok(LineEnd::Log) => return Ok(recording),
                Ok(LineEnd::TooLong) => recording.unreadable_lines += 1,
                Ok(LineEnd::Newline | LineEnd::Cut) => recording.take(lines.line()),
                Err(source) => return Err(ReplayError::ReadLog { path, source }),
            }
        }
    }

    fn take(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let Ok(event) = serde_json::from_slice::<LogLine>(line) else {
            self.unreadable_lines += 1;
            return;
        };
        let before = self.events.last().map_or(0, |event| event.seq);
        self.has_odd_lines |= event.seq != before + 1 || line_agrees(line) == Some(false);
        self.events.push(event);
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

    /// Whether lines of the log are unreadable, missing, changed or in another order.
    pub fn is_log_damaged(&self) -> bool {
        self.unreadable_lines > 0 || self.has_odd_lines
    }

    /// The bytes of a payload file.
    ///
    /// # Errors
    /// It cannot be read, or is not as it was written. Without a checksum it counts as such.
    pub fn bytes(&self, payload: &PayloadRef) -> Result<Vec<u8>, Fault> {
        self.payloads.read(payload)
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
