//! The home folder, and what is stored in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codex_rollout::ThreadLocks;
use codex_thread_store::{IndexState, Inspection};
use serde_json::{Map, Value, json};

use crate::finding::{Finding, FindingState};

/// How long the sizes of files are added up.
const SIZE_TIME: Duration = Duration::from_secs(2);

/// Less free space is a reason for a warning.
const LITTLE_SPACE: u64 = 1 << 30;

pub(crate) fn writable(home: &Path) -> Finding {
    let shown = home.display();
    match tempfile::tempfile_in(home) {
        Ok(_) => Finding::new(
            "home",
            FindingState::Ok,
            format!("{shown} can be written to"),
        ),
        Err(error) => {
            let message = format!("{shown} cannot be written to: {error}");
            let advice = "Make the folder writable and see that its disk has room: until then \
                          conversations are lost when the program ends.";
            Finding::new("home", FindingState::Error, message).advise(advice)
        }
    }
}

/// How large the parts of the home folder are, and how much room its disk has.
pub(crate) fn size(home: &Path) -> Finding {
    let end = Instant::now() + SIZE_TIME;
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let mut parts: Vec<(String, u64)> = entries
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                size_of(&entry.path(), end),
            )
        })
        .filter(|(_, bytes)| *bytes > 0)
        .collect();
    parts.sort_by(|(one, a), (other, b)| b.cmp(a).then_with(|| one.cmp(other)));
    let total = parts.iter().map(|(_, bytes)| bytes).sum();
    let is_cut = Instant::now() >= end;
    let at_least = if is_cut { "at least " } else { "" };
    let mut message = format!("{at_least}{}", in_words(total));
    let free = codex_system::file::free_space(home);
    if let Some(free) = free {
        message = format!("{message}; {} are free", in_words(free));
    }
    let by_part: Map<String, Value> = (parts.iter())
        .map(|(name, bytes)| (name.clone(), json!(bytes)))
        .collect();
    let details = parts
        .iter()
        .map(|(name, bytes)| format!("{name}: {}", in_words(*bytes)));
    let state = match free {
        Some(free) if free < LITTLE_SPACE => FindingState::Warning,
        _ => FindingState::Ok,
    };
    let finding = Finding::new("disk", state, message)
        .with_details(details)
        .fact("bytes", total)
        .fact("bytes_by_part", by_part)
        .fact("is_complete", !is_cut)
        .fact("free_bytes", free);
    match state {
        FindingState::Ok => finding,
        _ => finding.advise(
            "Make room: conversations that cannot be written are lost. docs/operating.md says what may be deleted.",
        ),
    }
}

/// The bytes of a file, or of all files below a folder that are counted until then. Links are not followed.
fn size_of(path: &Path, end: Instant) -> u64 {
    let mut bytes = 0;
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if Instant::now() >= end {
            break;
        }
        let Ok(about) = fs::symlink_metadata(&path) else {
            continue;
        };
        if about.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        } else if about.is_file() {
            bytes += about.len();
        }
    }
    bytes
}

fn in_words(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

pub(crate) fn rollouts(found: &Inspection) -> Finding {
    let total = found.rollouts.len();
    match found.unreadable.len() {
        0 => Finding::new("rollouts", FindingState::Ok, format!("{total} can be read")),
        count => {
            let message = format!("{count} of {total} cannot be read and are left out of lists");
            let details = found.unreadable.iter();
            let details = details.map(|(path, why)| format!("{}: {why}", path.display()));
            Finding::new("rollouts", FindingState::Warning, message)
                .advise("Look at these files: give them back to yourself, or move them away.")
                .with_details(details)
        }
    }
}

pub(crate) fn torn(found: &Inspection) -> Finding {
    match found.torn.len() {
        0 => Finding::new("last lines", FindingState::Ok, "all are whole"),
        count => Finding::new(
            "last lines",
            FindingState::Warning,
            format!("{count} rollouts end in the middle of a line"),
        )
        .advise("Nothing needs to be done: that line is passed over, and the next one begins anew.")
        .with_details(shown(&found.torn)),
    }
}

pub(crate) fn index(folder: &Path, state: &IndexState) -> Finding {
    let damaged = folder.join(format!("{}.damaged", codex_thread_store::FILE_NAME));
    let finding = match state {
        IndexState::Missing => Finding::new("index", FindingState::Ok, "there is none yet"),
        IndexState::Unusable(why) => Finding::new(
            "index",
            FindingState::Warning,
            format!("it cannot be read: {why}"),
        )
        .advise("Nothing needs to be done: it is made anew by the next server. It can be deleted."),
        IndexState::Read {
            threads,
            behind,
            gone,
        } if behind.is_empty() && gone.is_empty() => Finding::new(
            "index",
            FindingState::Ok,
            format!("it has {threads} threads, as the files do"),
        ),
        IndexState::Read {
            threads,
            behind,
            gone,
        } => {
            let message = format!(
                "it has {threads} threads; {} files are new or changed, {} are gone",
                behind.len(),
                gone.len()
            );
            Finding::new("index", FindingState::Warning, message)
                .advise("Nothing needs to be done: the next list catches up in the background.")
                .with_details(shown(behind).chain(shown(gone)))
        }
    };
    if damaged.exists() && finding.state == FindingState::Ok {
        Finding::new("index", FindingState::Warning, finding.message)
            .advise("A damaged index was set aside. If that happens again, check the disk.")
            .with_details(shown(&[damaged]))
    } else {
        finding
    }
}

/// Locks that other processes hold. The system releases those of processes that have ended.
pub(crate) fn locks(home: &Path, found: &Inspection) -> Finding {
    let held = ThreadLocks::held_by_others(home);
    let details = held.iter().map(|lock| {
        let of = found.rollouts.iter().find(|(id, _)| lock.is_of(id));
        let thread = of.map_or("a thread without a file", |(id, _)| id.as_str());
        format!("{thread}: {}", lock.holder)
    });
    let message = match held.len() {
        0 => "no thread is in use by another process".to_owned(),
        1 => "1 thread is in use by another process".to_owned(),
        count => format!("{count} threads are in use by other processes"),
    };
    Finding::new("locks", FindingState::Ok, message).with_details(details)
}

fn shown(paths: &[PathBuf]) -> impl Iterator<Item = String> + '_ {
    paths.iter().map(|path| path.display().to_string())
}
