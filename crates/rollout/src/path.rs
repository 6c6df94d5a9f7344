//! The path of a thread's rollout, and parsing of its file name.
//!
//! The name contains the local time at which the thread was created, for people. Sorting uses the UTC time
//! of the first line.

use std::path::{Path, PathBuf};

use codex_protocol::ThreadId;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The folder of active rollouts, under the home folder.
pub const SESSIONS: &str = "sessions";

const PREFIX: &str = "rollout-";
const SUFFIX: &str = ".jsonl";

/// The name of a folder, relative to the home folder: its parts with slashes between them, on every system.
#[must_use]
pub fn folder_name(folder: &Path) -> String {
    let parts: Vec<_> = folder.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The path of a folder with such a name.
#[must_use]
pub fn folder_path(home: &Path, name: &str) -> PathBuf {
    let mut path = home.to_owned();
    path.extend(name.split('/'));
    path
}

/// The path of a rollout file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutPath {
    path: PathBuf,
}

impl RolloutPath {
    /// The path for a thread that was created at `created`.
    #[must_use]
    pub fn new(home: &Path, thread: &ThreadId, created: Timestamp, zone: &TimeZone) -> Self {
        let local = created.to_zoned(zone.clone());
        let day = local.strftime("%Y/%m/%d").to_string();
        let folder = folder_path(&home.join(SESSIONS), &day);
        let name = format!(
            "{PREFIX}{}-{thread}{SUFFIX}",
            local.strftime("%Y-%m-%dT%H-%M-%S")
        );
        Self {
            path: folder.join(name),
        }
    }

    /// The path of an existing file.
    #[must_use]
    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Parses the time text and the thread id from the name of a rollout file. A thread that was rolled back has
/// several files; all but the first one have an id of their own after the thread id. The file whose name
/// sorts last is the current one.
#[must_use]
pub fn parse_file_name(name: &str) -> Option<(&str, ThreadId)> {
    let inner = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let inner = match inner.rsplit_once('_') {
        Some((inner, own)) if ThreadId::parse(own).is_ok() => inner,
        _ => inner,
    };
    inner.rmatch_indices('-').find_map(|(dash, _)| {
        let id = &inner[dash + 1..];
        let is_uuid = id.len() == 36;
        is_uuid
            .then(|| ThreadId::parse(id).ok())?
            .map(|id| (&inner[..dash], id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollout_name_has_local_time_and_id() {
        let id = ThreadId::parse("0195f0a0-7b1c-7000-8000-0000000000ab").unwrap();
        let created: Timestamp = "2026-03-01T23:30:05Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let place = RolloutPath::new(Path::new("/home"), &id, created, &zone);
        let expected = "/home/sessions/2026/03/02/\
             rollout-2026-03-02T00-30-05-0195f0a0-7b1c-7000-8000-0000000000ab.jsonl";
        assert_eq!(place.path(), Path::new(expected));
        let name = place.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(
            parse_file_name(name),
            Some(("2026-03-02T00-30-05", id.clone()))
        );
        let later = name.replace(SUFFIX, "_0195f0a0-7b1c-7000-8000-0000000000ac.jsonl");
        assert!(*later > *name);
        assert_eq!(parse_file_name(&later), Some(("2026-03-02T00-30-05", id)));
    }

    #[test]
    fn other_names_are_no_rollouts() {
        for name in [
            "rollout-x.jsonl",
            "x.jsonl",
            "rollout-2026-03-02T00-30-05.jsonl",
            "",
        ] {
            assert_eq!(parse_file_name(name), None, "{name}");
        }
    }
}
