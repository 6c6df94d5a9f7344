//! User, mount and process id namespaces: the file system that the command sees.
//!
//! Everything is read-only except the writable roots, in which the protected paths are read-only again. A mount point
//! cannot be renamed or removed, so every folder between a writable root and a mount inside it becomes a mount point too:
//! otherwise renaming the folder would move the mount away and make its path available.
//!
//! `/dev` contains only harmless devices and private terminals. `/proc` shows only the command's processes and is not
//! writable, because root could change kernel settings there.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use codex_project_markers::is_placeholder_at;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};

use super::error::{ConfineError, ConfineStep, WithStep as _};
use super::identity::ProcessIdentity;
use super::paths::open_without_links;
use super::sys::{MountScope, set_mount_read_only};
use crate::enforcement::Namespaces;
use crate::file_rules::FileRules;

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Limits the memory that a command can use by files in `/dev/shm`.
const DEVICES_OPTIONS: &std::ffi::CStr = c"mode=755,size=512m";
const TERMINALS_OPTIONS: &std::ffi::CStr = c"newinstance,ptmxmode=0666,mode=620";

pub(super) fn clone_flags(namespaces: Namespaces) -> Option<i32> {
    let mounts = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    match namespaces {
        Namespaces::Unavailable => None,
        Namespaces::Mounts => Some(mounts),
        Namespaces::MountsAndProcesses => Some(mounts | libc::CLONE_NEWPID),
    }
}

/// A mount to be attached at `path`.
struct PendingMount {
    path: PathBuf,
    tree: OwnedFd,
    kind: MountKind,
}

/// In the order of mounting: of two mounts at the same path the later kind covers the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MountKind {
    Protected,
    Writable,
    Resolver,
    Hidden,
}

pub(super) fn enter(
    rules: &FileRules,
    processes: bool,
    own_network: bool,
) -> Result<(), ConfineError> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).with_step(|| ConfineStep::SeparateMounts)?;

    let protected = protected_paths(rules);
    let mut mounts = writable_mounts(rules, &protected)?;
    let devices = clone_devices();
    let root = Path::new("/");
    if !rules.writable.iter().any(|path| path == root) {
        open_without_links(root, OFlags::PATH)
            .and_then(|root| set_mount_read_only(&root, MountScope::AllBelow))
            .with_step(|| ConfineStep::MountReadOnly(root.to_path_buf()))?;
    }
    for path in protected {
        mounts.push(protected_mount(path)?);
    }
    mounts.extend(hidden_mounts(rules)?);
    if own_network {
        mounts.extend(resolver_mounts()?);
    }
    mounts.sort_by_cached_key(|mount| (mount.path.components().count(), mount.kind));

    own_devices(devices).with_step(|| ConfineStep::Mount("/dev".into()))?;
    for mount in &mounts {
        let attached = attach(&mount.tree, &mount.path);
        if mount.kind == MountKind::Resolver {
            // Over a file that was deleted nothing can be mounted. The real file leads nowhere else: names in it are addresses
            // for the relay, and servers that it names are answered by it.
            continue;
        }
        attached.with_step(|| ConfineStep::Mount(mount.path.clone()))?;
    }
    if processes {
        own_processes().with_step(|| ConfineStep::Mount("/proc".into()))?;
    }
    Ok(())
}

/// Maps the original user and group into the namespace; there are no others.
pub(super) fn map_user(identity: ProcessIdentity) -> Result<(), ConfineError> {
    write_maps(identity).with_step(|| ConfineStep::MapUser)
}

fn write_maps(identity: ProcessIdentity) -> std::io::Result<()> {
    let ProcessIdentity { user, group } = identity;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn clone_tree(path: &Path) -> Result<OwnedFd, Errno> {
    let at = open_without_links(path, OFlags::PATH | OFlags::NOFOLLOW)?;
    clone_open(&at)
}

fn clone_open(at: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(at, "", flags)
}

fn attach(tree: &OwnedFd, path: &Path) -> Result<(), Errno> {
    let target = open_without_links(path, OFlags::PATH | OFlags::NOFOLLOW)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", &target, "", flags)
}

/// Clones the writable mounts. Must run while everything is still writable.
fn writable_mounts(
    rules: &FileRules,
    protected: &[&Path],
) -> Result<Vec<PendingMount>, ConfineError> {
    let root = Path::new("/");
    let mut paths = between(rules, protected);
    paths.extend(rules.writable.iter().map(PathBuf::as_path));
    paths.remove(root);
    let pending = |path: &Path| {
        Ok(PendingMount {
            path: path.to_path_buf(),
            tree: clone_tree(path).with_step(|| ConfineStep::Mount(path.to_path_buf()))?,
            kind: MountKind::Writable,
        })
    };
    paths.into_iter().map(pending).collect()
}

/// The folders between writable roots and mounts inside them.
fn between<'a>(rules: &'a FileRules, protected: &[&'a Path]) -> BTreeSet<&'a Path> {
    (rules.writable.iter().map(PathBuf::as_path))
        .chain(protected.iter().copied())
        .chain(rules.invisible())
        .flat_map(|path| path.ancestors().skip(1))
        .filter(|path| rules.may_write(path))
        .collect()
}

/// The protected paths that exist, including placeholders.
fn protected_paths(rules: &FileRules) -> Vec<&Path> {
    // Several paths share a folder, which is checked once.
    let mut placeholders = BTreeMap::new();
    let paths = rules.protected.iter().filter_map(|entry| {
        let path = entry.path.as_path();
        let existing = path
            .ancestors()
            .find(|ancestor| ancestor.symlink_metadata().is_ok())?;
        let mut is_placeholder = || {
            let known = placeholders.entry(existing);
            *known.or_insert_with(|| is_placeholder_at(existing))
        };
        (existing == path || is_placeholder()).then_some(existing)
    });
    paths.collect()
}

fn protected_mount(path: &Path) -> Result<PendingMount, ConfineError> {
    let tree = clone_tree(path).and_then(|tree| {
        set_mount_read_only(&tree, MountScope::AllBelow)?;
        Ok(tree)
    });
    Ok(PendingMount {
        path: path.to_path_buf(),
        tree: tree.with_step(|| ConfineStep::MountReadOnly(path.to_path_buf()))?,
        kind: MountKind::Protected,
    })
}

fn hidden_mounts(rules: &FileRules) -> Result<Vec<PendingMount>, ConfineError> {
    if rules.invisible().next().is_none() {
        return Ok(Vec::new());
    }
    let (folder, file) =
        empty_masks().with_step(|| ConfineStep::Mount("an empty folder".into()))?;
    let mut mounts = Vec::new();
    for path in rules.invisible() {
        let Ok(metadata) = path.symlink_metadata() else {
            continue;
        };
        let mask = if metadata.is_dir() { &folder } else { &file };
        mounts.push(PendingMount {
            path: path.to_path_buf(),
            tree: clone_open(mask).with_step(|| ConfineStep::Mount(path.to_path_buf()))?,
            kind: MountKind::Hidden,
        });
    }
    Ok(mounts)
}

/// An empty folder and an empty file without any permissions. A mount can only be cloned from a mounted path, so they are
/// created in `/dev` before its final content is mounted over it.
fn empty_masks() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"tmpfs", c"/dev", c"tmpfs", flags, None)?;
    let dev = open_without_links(Path::new("/dev"), OFlags::PATH | OFlags::DIRECTORY)?;
    rustix::fs::mkdirat(&dev, "folder", Mode::empty())?;
    let create = OFlags::CREATE | OFlags::CLOEXEC;
    rustix::fs::openat(&dev, "file", create, Mode::empty())?;
    set_mount_read_only(&dev, MountScope::ThisMount)?;
    let open = |name| {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::openat(&dev, name, flags, Mode::empty())
    };
    Ok((open("folder")?, open("file")?))
}

/// Files about resolving names, so that all names are asked of the launcher, which answers on every address.
const RESOLVER_FILES: [(&str, &str); 3] = [
    ("/etc/resolv.conf", "nameserver 198.18.0.1\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nshadow: files\nhosts: dns\nservices: files\nprotocols: files\n",
    ),
];

/// The mounts over these files. One that this system lacks needs none: without it names are asked of this machine.
fn resolver_mounts() -> Result<Vec<PendingMount>, ConfineError> {
    let step = || ConfineStep::Mount("the files of the resolver".into());
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"tmpfs", c"/dev", c"tmpfs", flags, None).with_step(step)?;
    let dev =
        open_without_links(Path::new("/dev"), OFlags::PATH | OFlags::DIRECTORY).with_step(step)?;
    let mut mounts = Vec::new();
    for (path, text) in RESOLVER_FILES {
        let Ok(path) = std::fs::canonicalize(path) else {
            continue;
        };
        let name = format!("resolver{}", mounts.len());
        let file = write_file(&dev, &name, text).with_step(step)?;
        let tree = clone_open(&file).with_step(step)?;
        set_mount_read_only(&tree, MountScope::ThisMount).with_step(step)?;
        mounts.push(PendingMount {
            path,
            tree,
            kind: MountKind::Resolver,
        });
    }
    Ok(mounts)
}

fn write_file(folder: &OwnedFd, name: &str, text: &str) -> Result<OwnedFd, Errno> {
    let create = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, create, Mode::from_raw_mode(0o644))?;
    let written = rustix::io::write(&file, text.as_bytes())?;
    if written != text.len() {
        return Err(Errno::IO);
    }
    rustix::fs::openat(folder, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Clones the harmless devices. Devices that this system lacks are omitted.
fn clone_devices() -> Vec<(&'static str, OwnedFd)> {
    let existing = DEVICES.into_iter().map(|name| {
        let path = Path::new("/dev").join(name);
        (name, clone_tree(&path))
    });
    existing
        .filter_map(|(name, tree)| Some((name, tree.ok()?)))
        .collect()
}

fn own_devices(devices: Vec<(&'static str, OwnedFd)>) -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(c"tmpfs", c"/dev", c"tmpfs", flags, Some(DEVICES_OPTIONS))?;
    let dev = open_without_links(Path::new("/dev"), OFlags::PATH | OFlags::DIRECTORY)?;
    for (name, tree) in devices {
        let create = OFlags::CREATE | OFlags::CLOEXEC;
        let target = rustix::fs::openat(&dev, name, create, Mode::from_raw_mode(0o666))?;
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&tree, "", &target, "", flags)?;
    }
    for (name, target) in DEVICE_LINKS {
        rustix::fs::symlinkat(target, &dev, name)?;
    }
    let everybody = Mode::from_raw_mode(0o1777);
    rustix::fs::mkdirat(&dev, "shm", everybody)?;
    rustix::fs::chmodat(&dev, "shm", everybody, AtFlags::empty())?;
    rustix::fs::mkdirat(&dev, "pts", Mode::from_raw_mode(0o755))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    // Without it commands cannot open own terminals, which few need.
    mount(
        c"devpts",
        c"/dev/pts",
        c"devpts",
        flags,
        Some(TERMINALS_OPTIONS),
    )
    .ok();
    Ok(())
}

fn own_processes() -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount(c"proc", c"/proc", c"proc", flags, None)
}
