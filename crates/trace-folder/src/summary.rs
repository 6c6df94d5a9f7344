//! The summary of a bundle for a listing, from its manifest and its log.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use codex_rollout_trace::format::{Checksum, Manifest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::TraceFolderError;
use crate::archive::{UnpackLimit, entries_of};
use crate::entry::{BundleEntry, LOG, MANIFEST};

/// Longer lines and inputs are not read.
const MAX_LINE: u64 = 16 << 20;
/// A bundle without an end whose log is older was left by a killed process.
const MAX_PAUSE: Duration = Duration::from_hours(1);
/// The prompt is cut to this number of characters.
const PROMPT_LENGTH: usize = 200;

/// The contents of a bundle in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleSummary {
    pub schema: u32,
    pub thread: String,
    pub started_at_unix_ms: i64,
    pub state: BundleState,
    pub turns: u64,
    pub requests: u64,
    pub tool_calls: u64,
    /// Requests to the model that failed.
    pub failures: u64,
    pub agents: u64,
    /// The first input of the session; absent in bundles of other programs.
    pub prompt: Option<String>,
    #[serde(skip)]
    modified: Option<SystemTime>,
}

/// Whether the recording of a bundle has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BundleState {
    Complete,
    /// The session is running, or its process was killed.
    Open,
}

#[derive(Deserialize)]
struct CountedLine {
    payload: CountedEvent,
}

/// The members of events that a summary needs.
#[derive(Deserialize)]
struct CountedEvent {
    r#type: String,
    event_type: Option<String>,
    event_payload: Option<InputReference>,
}

#[derive(Deserialize)]
struct InputReference {
    #[serde(default)]
    path: String,
    xxh3: Option<Checksum>,
}

impl BundleSummary {
    /// Reads the summary of a bundle, packed or not.
    ///
    /// # Errors
    /// The manifest cannot be read, or the packed file is damaged. Invalid lines of the log are skipped.
    pub fn read(entry: &BundleEntry) -> Result<Self, TraceFolderError> {
        if entry.is_packed {
            Self::of_packed(&entry.path)
        } else {
            Self::of_folder(&entry.path)
        }
    }

    pub(crate) fn of_folder(bundle: &Path) -> Result<Self, TraceFolderError> {
        let path = bundle.join(MANIFEST);
        let manifest = codex_regular_file::read_inside(bundle, Path::new(MANIFEST), MAX_LINE);
        let manifest = manifest.map_err(TraceFolderError::file(&path))?;
        let mut summary = Self::of_manifest(&manifest, bundle)?;
        let log = bundle.join(LOG);
        let file = match codex_regular_file::open_inside(bundle, Path::new(LOG)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(summary),
            Err(source) => return Err(TraceFolderError::File { path: log, source }),
        };
        summary.modified = file.metadata().and_then(|it| it.modified()).ok();
        let input = summary.add_log(BufReader::with_capacity(1 << 16, file));
        let input = input.map_err(TraceFolderError::file(&log))?;
        if let Some(input) = input.filter(|input| is_payload(&input.path)) {
            let file = codex_regular_file::open_inside(bundle, Path::new(&input.path));
            let read = file.and_then(read_limited);
            summary.prompt = read.ok().and_then(|text| input.prompt(&text));
        }
        Ok(summary)
    }

    fn of_packed(packed: &Path) -> Result<Self, TraceFolderError> {
        let mut summary: Option<Self> = None;
        let mut input: Option<InputReference> = None;
        entries_of(packed, UnpackLimit::BySize, |path, entry| {
            let failed = |error| TraceFolderError::unpack(packed, error);
            let Some(known) = &mut summary else {
                let manifest = read_limited(entry).map_err(failed)?;
                summary = Some(Self::of_manifest(&manifest, packed)?);
                return Ok(true);
            };
            if path == Path::new(LOG) {
                let log = BufReader::with_capacity(1 << 16, entry);
                input = known.add_log(log).map_err(failed)?;
                return Ok(input.is_some());
            }
            if let Some(input) = input
                .as_ref()
                .filter(|input| path == Path::new(&input.path))
            {
                known.prompt = input.prompt(&read_limited(entry).map_err(failed)?);
                return Ok(false);
            }
            Ok(input.is_some())
        })?;
        summary.ok_or_else(|| TraceFolderError::unpack(packed, "it is empty"))
    }

    fn of_manifest(text: &[u8], bundle: &Path) -> Result<Self, TraceFolderError> {
        let invalid = |error: serde_json::Error| TraceFolderError::File {
            path: bundle.join("manifest.json"),
            source: error.into(),
        };
        let manifest: Manifest = serde_json::from_slice(text).map_err(invalid)?;
        Ok(Self {
            schema: manifest.schema_version,
            thread: manifest.root_thread_id.to_string(),
            started_at_unix_ms: manifest.started_at_unix_ms,
            state: BundleState::Open,
            turns: 0,
            requests: 0,
            tool_calls: 0,
            failures: 0,
            agents: 0,
            prompt: None,
            modified: None,
        })
    }

    /// Counts the events of a log. Returns the payload file with the first input.
    fn add_log(&mut self, mut log: impl BufRead) -> io::Result<Option<InputReference>> {
        let (mut line, mut input, mut threads) = (Vec::new(), None, 0);
        loop {
            line.clear();
            let read = (&mut log).take(MAX_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                self.agents = u64::saturating_sub(threads, 1);
                return Ok(input);
            }
            if read as u64 == MAX_LINE && line.last() != Some(&b'\n') {
                log.skip_until(b'\n')?;
                continue;
            }
            let Ok(CountedLine { payload: event }) = serde_json::from_slice(&line) else {
                continue;
            };
            match event.r#type.as_str() {
                "thread_started" => threads += 1,
                "codex_turn_started" => self.turns += 1,
                "inference_started" => self.requests += 1,
                "inference_failed" => self.failures += 1,
                "tool_call_started" => self.tool_calls += 1,
                "rollout_ended" => self.state = BundleState::Complete,
                "protocol_event_observed"
                    if input.is_none() && event.event_type.as_deref() == Some("session_input") =>
                {
                    input = event.event_payload;
                }
                _ => {}
            }
        }
    }

    /// Whether a session may still write the bundle.
    pub fn may_be_recorded(&self) -> bool {
        let age = self.modified.and_then(|time| time.elapsed().ok());
        self.state == BundleState::Open && age.is_none_or(|age| age < MAX_PAUSE)
    }
}

fn read_limited(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_LINE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_payload(path: &str) -> bool {
    let name = path.strip_prefix("payloads/");
    name.is_some_and(|name| !name.contains(['/', '\\']) && name != "..")
}

impl InputReference {
    /// The first text of the input with these bytes, unless they are not those that were written.
    fn prompt(&self, bytes: &[u8]) -> Option<String> {
        let is_as_written = self.xxh3.is_none_or(|sum| sum.agrees_with(bytes));
        is_as_written.then(|| prompt_of(bytes)).flatten()
    }
}

/// The first text of an input, in one line.
fn prompt_of(input: &[u8]) -> Option<String> {
    let input: Value = serde_json::from_slice(input).ok()?;
    let items = input["input"]["turn"]["input"]["items"].as_array()?;
    let text = items.iter().find_map(|item| item["text"].as_str())?;
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(words.join(" ").chars().take(PROMPT_LENGTH).collect())
}
