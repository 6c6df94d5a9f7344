//! Where the rollout of a thread lies, and what its file name tells.
//!
//! The name has the local time of the thread's creation, so that people find it; ordering is by the
//! UTC time of the first line.

use std::path::{Path, PathBuf};

use codex_protocol::ThreadId;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The folder of rollouts in use, under the home folder.
pub const SESSIONS: &str = "sessions";

const PREFIX: &str = "rollout-";
const SUFFIX: &str = ".jsonl";

/// The place of one rollout file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
}

impl Place {
    /// The place of a thread that was created at `created`.
    #[must_use]
    pub fn new(home: &Path, thread: &ThreadId, created: Timestamp, zone: &TimeZone) -> Self {
        let local = created.to_zoned(zone.clone());
        let folder = home
            .join(SESSIONS)
            .join(local.strftime("%Y/%m/%d").to_string());
        let name = format!(
            "{PREFIX}{}-{thread}{SUFFIX}",
            local.strftime("%Y-%m-%dT%H-%M-%S")
        );
        Self {
            path: folder.join(name),
        }
    }

    /// The place of a file that exists.
    #[must_use]
    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The time text and the thread id in the name of a rollout file. A thread that was taken back to an earlier
/// turn has several; behind its id, all but the first of them have one of their own. The one whose name
/// sorts last is the thread.
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
    fn the_name_holds_local_time_and_id() {
        let id = ThreadId::parse("0195f0a0-7b1c-7000-8000-0000000000ab").unwrap();
        let created: Timestamp = "2026-03-01T23:30:05Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let place = Place::new(Path::new("/home"), &id, created, &zone);
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
