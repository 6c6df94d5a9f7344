//! Follows a path component by component, and knows which file system is next before it is touched.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};

use super::table::{Device, MountTable};

/// Longer chains of links are refused by the kernel as well.
const LINK_LIMIT: usize = 40;

/// What happens to a link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLink {
    Follow,
    Keep,
}

/// The first file system on the way that may not answer. Nothing on it is touched.
pub(super) fn first_doubtful(table: &MountTable, path: &Path, last: LastLink) -> Option<Device> {
    match follow(table, path, last, &mut ControlFlow::Break) {
        ControlFlow::Break(device) => Some(device),
        ControlFlow::Continue(_) => None,
    }
}

/// Follows a path to its end, or to the last part of it that exists. `enter` is called before the first access to each file
/// system that may not answer.
pub(super) fn follow<B>(
    table: &MountTable,
    path: &Path,
    last: LastLink,
    enter: &mut impl FnMut(Device) -> ControlFlow<B>,
) -> ControlFlow<B, PathBuf> {
    let mut rest = VecDeque::new();
    if path.is_relative() {
        push_front(&mut rest, path);
        // Known without an access to the file system.
        if let Ok(folder) = std::env::current_dir() {
            push_front(&mut rest, &folder);
        }
    } else {
        push_front(&mut rest, path);
    }
    let mut at = PathBuf::from("/");
    let mut entered = Vec::new();
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(&name);
        if let Some(device) = table.doubtful(&at)
            && !entered.contains(&device)
        {
            enter(device)?;
            entered.push(device);
        }
        let Ok(found) = at.symlink_metadata() else {
            at.pop();
            break;
        };
        if !found.is_symlink() || (last == LastLink::Keep && rest.is_empty()) {
            continue;
        }
        links += 1;
        let target = std::fs::read_link(&at);
        at.pop();
        let (Ok(target), true) = (target, links <= LINK_LIMIT) else {
            break;
        };
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        push_front(&mut rest, &target);
    }
    ControlFlow::Continue(at)
}

fn push_front(rest: &mut VecDeque<OsString>, path: &Path) {
    let names = path
        .components()
        .rev()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            Component::ParentDir => Some(OsStr::new("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        });
    for name in names {
        rest.push_front(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_their_mount() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["mount/inner", "other"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        symlink(top.join("mount"), top.join("absolute")).unwrap();
        symlink("../other/../mount/inner", top.join("other/relative")).unwrap();
        symlink("circle", top.join("circle")).unwrap();
        let shown = top.to_str().unwrap();
        let lines = format!("1 1 1:1 / / rw - ext4 x rw\n2 1 0:9 / {shown}/mount rw - nfs x rw\n");
        let table = MountTable::read(lines.as_bytes(), &[]);
        let doubtful =
            |path: &str| first_doubtful(&table, &top.join(path), LastLink::Follow).is_some();
        for path in [
            "mount",
            "mount/x",
            "absolute",
            "absolute/x/y",
            "other/relative",
            "other/../mount",
            "missing/../mount",
        ] {
            // What follows a missing folder is not reached.
            assert_eq!(doubtful(path), !path.starts_with("missing"), "{path}");
        }
        let link = top.join("absolute");
        assert!(first_doubtful(&table, &link, LastLink::Keep).is_none());
        for path in ["other", "circle", "missing/x", "mount/.."] {
            assert_eq!(doubtful(path), path == "mount/..", "{path}");
        }
    }

    #[test]
    fn the_end_is_the_last_part_that_exists() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("a")).unwrap();
        let table = MountTable::default();
        let mut enter = |_| ControlFlow::Break(());
        let end = follow(&table, &top.join("a/b/c"), LastLink::Follow, &mut enter);
        assert_eq!(end, ControlFlow::Continue(top.join("a")));
    }
}
