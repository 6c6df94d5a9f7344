//! The table of mounts, read again when it has changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const TABLE: &str = "/proc/self/mountinfo";

/// How long the table counts as that of now. A request looks at dozens of paths, and each look at the table is a system call.
const FRESH_TIME: Duration = Duration::from_millis(2);

/// File systems that need nobody but this kernel and its devices. All others are in doubt.
const LOCAL: [&str; 45] = [
    "adfs",
    "bcachefs",
    "befs",
    "bfs",
    "binfmt_misc",
    "bpf",
    "btrfs",
    "cgroup",
    "cgroup2",
    "configfs",
    "cpuset",
    "cramfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "erofs",
    "exfat",
    "ext2",
    "ext3",
    "ext4",
    "f2fs",
    "fusectl",
    "hfsplus",
    "hugetlbfs",
    "iso9660",
    "jfs",
    "minix",
    "mqueue",
    "nilfs2",
    "nsfs",
    "ntfs3",
    "pipefs",
    "proc",
    "pstore",
    "ramfs",
    "rootfs",
    "securityfs",
    "squashfs",
    "sysfs",
    "tmpfs",
    "tracefs",
    "udf",
    "vfat",
    "xfs",
];

/// The device numbers of a file system, the same for all its mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Device(pub(super) u32, pub(super) u32);

/// The mounts of this process, by the path where they are.
#[derive(Debug, Default)]
pub(super) struct MountTable {
    mounts: BTreeMap<PathBuf, Mount>,
    has_doubtful: bool,
}

#[derive(Clone, Copy, Debug)]
struct Mount {
    device: Device,
    is_doubtful: bool,
    /// Whether a use mounts another file system there.
    is_automatic: bool,
}

impl MountTable {
    /// Whether any mount may not answer.
    pub(super) fn has_doubtful(&self) -> bool {
        self.has_doubtful
    }

    /// The file system at an absolute path without links, if it may not answer.
    pub(super) fn doubtful(&self, path: &Path) -> Option<Device> {
        let mount = path.ancestors().find_map(|at| self.mounts.get(at))?;
        mount.is_doubtful.then_some(mount.device)
    }

    /// One mount of each file system that may not answer, without those that only a use would mount.
    pub(super) fn doubtful_devices(&self) -> Vec<PathBuf> {
        let doubtful =
            (self.mounts.iter()).filter(|(_, mount)| mount.is_doubtful && !mount.is_automatic);
        let by_device: BTreeMap<_, _> = doubtful.map(|(at, mount)| (mount.device, at)).collect();
        by_device.into_values().cloned().collect()
    }

    /// The mounts below an absolute path without links that may not answer.
    pub(super) fn doubtful_below(&self, path: &Path) -> Vec<PathBuf> {
        let below = self.mounts.range(path.to_path_buf()..);
        below
            .take_while(|(at, _)| at.starts_with(path))
            .filter(|(_, mount)| mount.is_doubtful)
            .map(|(at, _)| at.clone())
            .collect()
    }

    pub(super) fn read(text: &[u8], trusted: &[Device]) -> Self {
        let mut table = Self::default();
        for line in text.split(|byte| *byte == b'\n') {
            // A later mount covers an earlier one at the same place.
            if let Some((path, device, kind)) = parse(line) {
                let is_doubtful = !LOCAL.contains(&&*kind) && !trusted.contains(&device);
                let mount = Mount {
                    device,
                    is_doubtful,
                    is_automatic: kind == "autofs",
                };
                table.mounts.insert(path, mount);
            }
        }
        if let Some(root) = table.mounts.get_mut(Path::new("/")) {
            root.is_doubtful = false;
        }
        table.has_doubtful = table.mounts.values().any(|mount| mount.is_doubtful);
        table
    }
}

/// The path, the device and the kind of a line such as `42 27 0:39 / /mnt/a rw,relatime shared:1 - fuse.sshfs host: rw`.
fn parse(line: &[u8]) -> Option<(PathBuf, Device, String)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let numbers = std::str::from_utf8(fields.nth(2)?).ok()?;
    let (major, minor) = numbers.split_once(':')?;
    let device = Device(major.parse().ok()?, minor.parse().ok()?);
    let path = unescape(fields.nth(1)?);
    fields.find(|field| field == b"-")?;
    let kind = String::from_utf8_lossy(fields.next()?).into_owned();
    Some((path.into(), device, kind))
}

/// Replaces `\040` and other octal escapes.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes)
}

/// The table that was read last, and the file that says when there is another.
struct Known {
    file: Option<File>,
    table: Arc<MountTable>,
    looked_at: Instant,
    trusted: Vec<Device>,
}

static KNOWN_TABLE: Mutex<Option<Known>> = Mutex::new(None);

/// The table of now.
pub(super) fn current() -> Arc<MountTable> {
    let mut known = KNOWN_TABLE.lock();
    let known = known.get_or_insert_with(Known::new);
    if known.is_outdated() {
        known.read();
    }
    Arc::clone(&known.table)
}

/// Never doubts the file system of a path that answers now.
pub(super) fn trust(path: &Path) {
    let Ok(found) = rustix::fs::stat(path) else {
        return;
    };
    let device = Device(
        rustix::fs::major(found.st_dev),
        rustix::fs::minor(found.st_dev),
    );
    let mut known = KNOWN_TABLE.lock();
    let known = known.get_or_insert_with(Known::new);
    if !known.trusted.contains(&device) {
        known.trusted.push(device);
        known.read();
    }
}

impl Known {
    fn new() -> Self {
        let mut known = Self {
            file: File::open(TABLE).ok(),
            table: Arc::default(),
            looked_at: Instant::now(),
            trusted: Vec::new(),
        };
        known.read();
        known
    }

    fn is_outdated(&mut self) -> bool {
        let Some(file) = &self.file else {
            return false;
        };
        let now = Instant::now();
        if now.duration_since(self.looked_at) < FRESH_TIME {
            return false;
        }
        self.looked_at = now;
        let mut wanted = [PollFd::new(file, PollFlags::PRI)];
        let at_once = Timespec::default();
        match poll(&mut wanted, Some(&at_once)) {
            Ok(_) => (wanted[0].revents()).intersects(PollFlags::PRI | PollFlags::ERR),
            Err(_) => true,
        }
    }

    /// Without the table, no mount is known.
    fn read(&mut self) {
        let mut text = Vec::new();
        if let Some(file) = &mut self.file {
            let read = file.rewind().and_then(|()| file.read_to_end(&mut text));
            if let Err(error) = read {
                tracing::warn!(%error, "the table of mounts cannot be read");
                return;
            }
        }
        self.table = Arc::new(MountTable::read(&text, &self.trusted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
        42 27 0:39 / /mnt/a\\040b rw shared:1 master:2 - fuse.sshfs host: rw\n\
        43 42 0:40 / /mnt/a\\040b/local rw - tmpfs none rw\n\
        44 27 0:41 / /mnt/home rw - nfs4 server:/home rw\n";

    #[test]
    fn only_file_systems_of_others_are_in_doubt() {
        let table = MountTable::read(LINES, &[]);
        let doubtful = |path: &str| table.doubtful(Path::new(path));
        assert_eq!(doubtful("/mnt/a b"), Some(Device(0, 39)));
        assert_eq!(doubtful("/mnt/a b/c/d"), Some(Device(0, 39)));
        assert_eq!(doubtful("/mnt/a b/local/c"), None);
        assert_eq!(doubtful("/mnt/home/x"), Some(Device(0, 41)));
        for local in ["/", "/mnt", "/mnt/a", "/mnt/a bc"] {
            assert_eq!(doubtful(local), None, "{local}");
        }
        assert!(table.has_doubtful());
        let below = |path: &str| table.doubtful_below(Path::new(path)).len();
        assert_eq!([below("/"), below("/mnt/a b"), below("/mnt/a")], [2, 1, 0]);
    }

    #[test]
    fn root_and_trusted_mounts_are_not_checked() {
        let root = b"1 1 0:39 / / rw - fuse.overlay none rw";
        assert!(!MountTable::read(root, &[]).has_doubtful());
        let table = MountTable::read(LINES, &[Device(0, 39), Device(0, 41)]);
        assert!(!table.has_doubtful());
    }

    #[test]
    fn lines_that_are_no_mounts_are_ignored() {
        let table = MountTable::read(b"\nnonsense\n1 2 3 4 5 6 - x\n", &[]);
        assert!(!table.has_doubtful());
    }

    #[test]
    fn the_table_of_this_process_has_its_proc() {
        let table = current();
        assert!(table.mounts.contains_key(Path::new("/proc")));
    }
}
