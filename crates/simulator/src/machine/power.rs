//! Power cuts: what is on the disk, and what a machine finds there that was switched off.
//!
//! On the disk is what was there when the processes began, and what was synchronised since: the content of a file, or the entries of a
//! folder. A journal has both, in memory that the processes share. Everything else is in any state after a cut: the seed decides for each change of an entry whether it is there, and for
//! each part of a file whether it is old or new.
//!
//! Of a file system is assumed what those with a journal keep: an entry is moved as a whole, so a renamed file is at one of its two
//! places, and what replaced a moved entry comes after the move.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::random::SeededRandom;
use super::system_call::append;

/// What a disk writes as a whole.
const SECTOR: usize = 512;

type Entries = BTreeMap<String, u64>;

/// A file or folder.
#[derive(Clone, Debug)]
enum Stored {
    Folder(Entries),
    File {
        content: Vec<u8>,
        modified: SystemTime,
    },
}

/// A tree of files, by their numbers.
#[derive(Debug, Default)]
struct Disk {
    root: u64,
    nodes: BTreeMap<u64, Stored>,
    modes: BTreeMap<u64, u32>,
}

/// The journal of this process, and the folder with the files of the machine.
static JOURNAL: OnceLock<(i32, &Path)> = OnceLock::new();

/// The nodes that are on the disk, in the order in which they were synchronised. Processes that inherit the descriptor write to
/// the same journal.
#[derive(Debug)]
pub(crate) struct DiskJournal(File);

impl DiskJournal {
    /// An empty journal.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the name ends with a zero byte.
        let file = unsafe { libc::memfd_create(c"journal".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else has it.
        Ok(Self(unsafe { File::from_raw_fd(file) }))
    }

    pub(crate) fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Everything below `folder` is on the disk.
    pub(crate) fn write_all(&self, folder: &Path) -> io::Result<()> {
        let disk = Disk::read(folder)?;
        // The root comes first.
        write_node(self.descriptor(), disk.root, &disk);
        let others = disk.nodes.keys().filter(|number| **number != disk.root);
        others.for_each(|number| write_node(self.descriptor(), *number, &disk));
        Ok(())
    }
}

/// From here on it is noted what is synchronised.
pub(super) fn begin(journal: i32, folder: &'static Path) {
    let _ = JOURNAL.set((journal, folder));
}

/// Whether the process ends with a power cut.
pub(super) fn is_noted() -> bool {
    JOURNAL.get().is_some()
}

/// An open file or folder is synchronised.
pub(super) fn synchronise(file: i32) {
    let Some((journal, folder)) = JOURNAL.get() else {
        return;
    };
    let Ok(path) = fs::read_link(format!("/proc/self/fd/{file}")) else {
        return;
    };
    // What has no name any more is not found after a cut.
    if path.starts_with(folder)
        && let Ok((number, mode, node)) = read_node(&path)
    {
        let mut disk = Disk::default();
        disk.add(number, mode, node);
        write_node(*journal, number, &disk);
    }
}

/// The power is cut: replaces the files by what is found afterwards.
pub(super) fn cut(random: &mut SeededRandom) {
    let Some((journal, folder)) = JOURNAL.get() else {
        return;
    };
    let old = fs::read(format!("/proc/self/fd/{journal}")).map(|bytes| Disk::from_journal(&bytes));
    let (Ok(old), Ok(new)) = (old, Disk::read(folder)) else {
        return;
    };
    let mut found = FoundDisk {
        homes: new.homes(),
        old_entries: old.homes().into_keys().collect(),
        decisions: BTreeMap::new(),
        old,
        new,
        random,
    };
    let _ = found.write(folder);
}

/// An entry of the journal. The content of a file comes after it.
#[derive(Debug, Serialize, Deserialize)]
struct JournalEntry {
    number: u64,
    mode: u32,
    /// Of a folder.
    entries: Option<Entries>,
    /// Of a file.
    length: usize,
    modified: Duration,
}

/// Adds a file or folder to a journal.
fn write_node(journal: i32, number: u64, disk: &Disk) {
    let (entries, content, modified) = match disk.nodes.get(&number) {
        Some(Stored::Folder(entries)) => (Some(entries.clone()), &[][..], None),
        Some(Stored::File { content, modified }) => (None, &content[..], Some(*modified)),
        None => return,
    };
    let since_epoch = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let entry = JournalEntry {
        number,
        mode: disk.modes.get(&number).copied().unwrap_or_default(),
        entries,
        length: content.len(),
        modified: since_epoch.unwrap_or_default(),
    };
    if let Ok(mut bytes) = serde_json::to_vec(&entry) {
        bytes.push(b'\n');
        bytes.extend(content);
        append(journal, &bytes);
    }
}

impl Disk {
    fn add(&mut self, number: u64, mode: u32, node: Stored) {
        self.modes.insert(number, mode);
        self.nodes.insert(number, node);
    }

    /// What a journal has: the last state of each node. The root is its first one.
    fn from_journal(mut bytes: &[u8]) -> Self {
        let mut disk = Self::default();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let Ok(entry) = serde_json::from_slice::<JournalEntry>(&bytes[..end]) else {
                break;
            };
            let (content, rest) = bytes[end + 1..].split_at(entry.length);
            bytes = rest;
            if disk.nodes.is_empty() {
                disk.root = entry.number;
            }
            let node = match entry.entries {
                Some(entries) => Stored::Folder(entries),
                None => Stored::File {
                    content: content.to_vec(),
                    modified: SystemTime::UNIX_EPOCH + entry.modified,
                },
            };
            disk.add(entry.number, entry.mode, node);
        }
        disk
    }

    fn read(folder: &Path) -> io::Result<Self> {
        let mut disk = Self {
            root: fs::symlink_metadata(folder)?.ino(),
            ..Self::default()
        };
        let mut open = vec![folder.to_owned()];
        while let Some(path) = open.pop() {
            let (number, mode, node) = read_node(&path)?;
            if let Stored::Folder(entries) = &node {
                open.extend(entries.keys().map(|name| path.join(name)));
            }
            disk.add(number, mode, node);
        }
        Ok(disk)
    }

    /// The folder and name of each entry.
    fn homes(&self) -> BTreeMap<u64, (u64, String)> {
        let folders = self.nodes.iter().filter_map(|(number, node)| match node {
            Stored::Folder(entries) => Some((*number, entries)),
            Stored::File { .. } => None,
        });
        folders
            .flat_map(|(folder, entries)| {
                entries
                    .iter()
                    .map(move |(name, number)| (*number, (folder, name.clone())))
            })
            .collect()
    }

    fn entries(&self, folder: u64) -> Entries {
        match self.nodes.get(&folder) {
            Some(Stored::Folder(entries)) => entries.clone(),
            _ => Entries::new(),
        }
    }
}

/// The number, the mode and the content of a file or folder.
fn read_node(path: &Path) -> io::Result<(u64, u32, Stored)> {
    let facts = fs::symlink_metadata(path)?;
    let node = if facts.is_dir() {
        let mut entries = Entries::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.insert(name, fs::symlink_metadata(entry.path())?.ino());
        }
        Stored::Folder(entries)
    } else {
        Stored::File {
            content: fs::read(path)?,
            modified: facts.modified()?,
        }
    };
    Ok((facts.ino(), facts.mode() & 0o7777, node))
}

/// The disk after a cut.
struct FoundDisk<'a> {
    old: Disk,
    new: Disk,
    /// Where each entry was last.
    homes: BTreeMap<u64, (u64, String)>,
    /// What has an entry on the disk.
    old_entries: BTreeSet<u64>,
    /// Whether the last change of an entry is on the disk.
    decisions: BTreeMap<u64, bool>,
    random: &'a mut SeededRandom,
}

impl FoundDisk<'_> {
    fn write(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                fs::remove_dir_all(&path)?;
            } else {
                fs::remove_file(&path)?;
            }
        }
        let mut open = vec![(folder.to_owned(), self.old.root)];
        while let Some((path, number)) = open.pop() {
            for (name, entry) in self.entries(number) {
                let path = path.join(name);
                let mode = self.new.modes.get(&entry);
                let mode = mode.or_else(|| self.old.modes.get(&entry)).copied();
                match self.file(entry) {
                    None => {
                        fs::create_dir(&path)?;
                        open.push((path.clone(), entry));
                    }
                    Some((content, modified)) => {
                        fs::write(&path, content)?;
                        let file = fs::File::options().append(true).open(&path)?;
                        file.set_modified(modified)?;
                    }
                }
                fs::set_permissions(&path, Permissions::from_mode(mode.unwrap_or(0o600)))?;
            }
        }
        Ok(())
    }

    /// The entries of a folder.
    fn entries(&mut self, folder: u64) -> Entries {
        let (old, new) = (self.old.entries(folder), self.new.entries(folder));
        let mut found = Entries::new();
        for name in old.keys().chain(new.keys()) {
            let entry = match (old.get(name).copied(), new.get(name).copied()) {
                (before, after) if before == after => after,
                (_, Some(after)) if self.has_happened(after) => Some(after),
                (before, Some(_)) => before.filter(|before| !self.has_moved(*before)),
                (before, None) => before.filter(|before| !self.has_happened(*before)),
            };
            found.extend(entry.map(|entry| (name.clone(), entry)));
        }
        found
    }

    /// Whether the last change of an entry is on the disk: that it was made, moved or removed.
    fn has_happened(&mut self, entry: u64) -> bool {
        if let Some(known) = self.decisions.get(&entry) {
            return *known;
        }
        // Entries that have changed places decide about each other.
        self.decisions.insert(entry, true);
        let happened = self.can_have_happened(entry) && self.random.chance(1, 2);
        self.decisions.insert(entry, happened);
        happened
    }

    /// Whether the folder of an entry is there, and what was at its place has left.
    fn can_have_happened(&mut self, entry: u64) -> bool {
        let Some((folder, name)) = self.homes.get(&entry).cloned() else {
            return true;
        };
        let is_new = folder != self.old.root && !self.old_entries.contains(&folder);
        if is_new && !self.has_happened(folder) {
            return false;
        }
        let before = self.old.entries(folder).get(&name).copied();
        let others = before.filter(|before| *before != entry && self.homes.contains_key(before));
        others.is_none_or(|before| self.has_happened(before))
    }

    /// Whether an entry is at another place now.
    fn has_moved(&mut self, entry: u64) -> bool {
        self.homes.contains_key(&entry) && self.has_happened(entry)
    }

    /// The content of a file and the time of its last change; none for a folder.
    fn file(&mut self, number: u64) -> Option<(Vec<u8>, SystemTime)> {
        let before = match self.old.nodes.get(&number) {
            Some(Stored::File { content, modified }) => Some((content.clone(), *modified)),
            Some(Stored::Folder(_)) => return None,
            None => None,
        };
        let after = match self.new.nodes.get(&number) {
            Some(Stored::File { content, modified }) => (content.clone(), *modified),
            Some(Stored::Folder(_)) => return None,
            // It was removed, and that is not on the disk.
            None => return Some(before.unwrap_or((Vec::new(), SystemTime::UNIX_EPOCH))),
        };
        let (content, modified) = before.unwrap_or((Vec::new(), after.1));
        if content == after.0 {
            return Some(after);
        }
        Some(match self.random.below(4) {
            0 => after,
            1 => (content, modified),
            _ => (self.torn(&content, &after.0), after.1),
        })
    }

    /// A file of which some sectors are written. Where nothing was, there are zeros.
    fn torn(&mut self, before: &[u8], after: &[u8]) -> Vec<u8> {
        let (short, long) = (before.len().min(after.len()), before.len().max(after.len()));
        let length = match self.random.below(3) {
            0 => after.len(),
            1 => before.len(),
            _ => short + self.random.below((long - short) as u64 + 1) as usize,
        };
        let mut content = before.to_vec();
        content.resize(length, 0);
        // Most often what is written comes first.
        let in_order = self.random.chance(1, 2);
        let until = self.random.below(long.div_ceil(SECTOR) as u64 + 1) as usize;
        for sector in 0..length.div_ceil(SECTOR) {
            let is_written = if in_order {
                sector < until
            } else {
                self.random.chance(1, 2)
            };
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(length).min(after.len());
            if is_written && range.start < range.end {
                content[range.clone()].copy_from_slice(&after[range]);
            }
        }
        content
    }
}
