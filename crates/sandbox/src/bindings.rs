//! Resolves the paths of writable roots, once per session.
//!
//! The target of a root is resolved when a session first uses it, and is then fixed: a command that may write there could
//! otherwise replace the root by a link (or create one at a missing root), and the next command would get access to its
//! target. After that no component of the resolved path may be a link. It may be replaced by another real folder, which
//! requires write access that the command already has.
//!
//! Even at the first use, a link is not followed if a sandboxed command may have created it: a link inside another writable
//! root, or one that is younger than the first command of this process with write access there.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

/// The same limit on links as the kernel's.
const LINKS_LIMIT: usize = 40;

/// Beyond this number of folders the whole file system counts as writable by commands.
const HANDED_OUT_LIMIT: usize = 1024;

/// File times are less precise than the system clock.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// The resolved roots of a session.
#[derive(Debug, Default)]
pub struct BoundPaths {
    bound: Mutex<HashMap<PathBuf, Binding>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Binding {
    /// An absolute path without links, which need not exist.
    Place(PathBuf),
    /// The path leads through an untrusted link.
    Untrusted,
}

/// The current state of a resolved path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bound {
    /// It exists and is reached without links.
    Present(PathBuf),
    Absent,
    /// It is reached through a link that a command may have created.
    Untrusted,
}

impl BoundPaths {
    /// Decides what an absolute path stands for, unless that is decided. `roots` are the writable
    /// folders of the policy, which matter where there is a link.
    pub(crate) fn bind<'r>(&self, path: &Path, roots: impl Fn() -> &'r Vec<PathBuf>) {
        let mut known = self.bound.lock();
        if !known.contains_key(path) {
            known.insert(path.to_path_buf(), bind(path, &roots));
        }
    }

    /// What stands now at the place that an absolute path was bound to, or is bound to by this.
    pub(crate) fn resolve<'r>(&self, path: &Path, roots: impl Fn() -> &'r Vec<PathBuf>) -> Bound {
        self.bind(path, roots);
        match self.bound.lock().get(path) {
            Some(Binding::Place(place)) => now_at(place),
            Some(Binding::Untrusted) | None => Bound::Untrusted,
        }
    }
}

fn now_at(place: &Path) -> Bound {
    match place.canonicalize() {
        Ok(real) if real == place => Bound::Present(real),
        Ok(_) => Bound::Untrusted,
        Err(_) => Bound::Absent,
    }
}

fn bind<'r>(path: &Path, roots: &impl Fn() -> &'r Vec<PathBuf>) -> Binding {
    let mut place = PathBuf::from("/");
    let mut left: VecDeque<OsString> = parts(path).collect();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            place.pop();
            continue;
        }
        let next = place.join(&part);
        let Some(metadata) = next.symlink_metadata().ok().filter(|it| it.is_symlink()) else {
            place = next;
            continue;
        };
        links += 1;
        let target = std::fs::read_link(&next).ok();
        let Some(target) = target.filter(|_| {
            links <= LINKS_LIMIT && !may_be_of_a_command(&place, changed(&metadata), roots())
        }) else {
            return Binding::Untrusted;
        };
        if target.is_absolute() {
            place = PathBuf::from("/");
        }
        left = parts(&target).chain(left).collect();
    }
    Binding::Place(place)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    parts.collect::<Vec<_>>().into_iter()
}

/// Whether a confined command may have put a link into `folder`: made it, or moved a folder there that has it.
fn may_be_of_a_command(folder: &Path, changed: SystemTime, roots: &[PathBuf]) -> bool {
    if roots.iter().any(|root| folder.starts_with(root)) {
        return true;
    }
    let handed_out = HANDED_OUT.lock();
    handed_out.iter().any(|(root, since)| {
        folder.starts_with(root) && (changed >= *since || has_changed(folder, root, *since))
    })
}

/// Whether a folder or one of those around it was moved, or something in it, since then; `root` itself and what is
/// around that no command can move.
fn has_changed(folder: &Path, root: &Path, since: SystemTime) -> bool {
    let mut below_root = folder.ancestors().take_while(|around| *around != root);
    below_root.any(|around| {
        let metadata = around.symlink_metadata();
        metadata.map_or(true, |metadata| changed(&metadata) >= since)
    })
}

/// When something itself was made, renamed or changed. Nobody can set this time.
#[cfg(unix)]
fn changed(metadata: &std::fs::Metadata) -> SystemTime {
    use std::os::unix::fs::MetadataExt as _;
    let seconds = Duration::from_secs(u64::try_from(metadata.ctime()).unwrap_or_default());
    let rest = Duration::from_nanos(u64::try_from(metadata.ctime_nsec()).unwrap_or_default());
    SystemTime::UNIX_EPOCH + seconds + rest
}

#[cfg(not(unix))]
fn changed(metadata: &std::fs::Metadata) -> SystemTime {
    metadata.modified().unwrap_or_else(|_| SystemTime::now())
}

/// The folders that commands of this process could write to, and since when.
static HANDED_OUT: Mutex<Vec<(PathBuf, SystemTime)>> = Mutex::new(Vec::new());

/// Records that commands may write to these folders from now on.
pub(crate) fn hand_out(roots: &[PathBuf]) {
    let mut handed_out = HANDED_OUT.lock();
    let now = SystemTime::now();
    let since = now.checked_sub(CLOCK_STEP).unwrap_or(now);
    for root in roots {
        if handed_out.iter().any(|(known, _)| root.starts_with(known)) {
            continue;
        }
        let full = handed_out.len() >= HANDED_OUT_LIMIT;
        let folder = if full { Path::new("/") } else { root };
        handed_out.push((folder.to_path_buf(), since));
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Folders {
        _guard: tempfile::TempDir,
        top: PathBuf,
        bound: BoundPaths,
    }

    fn folders(names: &[&str]) -> Folders {
        // Not below `/tmp`, which other tests in this process make writable.
        let guard = tempfile::tempdir_in("/var/tmp").unwrap();
        let top = guard.path().canonicalize().unwrap();
        for name in names {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        Folders {
            _guard: guard,
            top,
            bound: BoundPaths::default(),
        }
    }

    impl Folders {
        fn resolve(&self, path: &str, roots: &[&str]) -> Bound {
            let roots: Vec<_> = roots.iter().map(|root| self.top.join(root)).collect();
            self.bound.resolve(&self.top.join(path), || &roots)
        }

        fn present(&self, path: &str) -> Bound {
            Bound::Present(self.top.join(path))
        }
    }

    #[test]
    fn links_of_the_person_are_followed_once() {
        let folders = folders(&["real/sub", "other/sub"]);
        symlink("real", folders.top.join("link")).unwrap();
        assert_eq!(
            folders.resolve("link/sub", &[]),
            folders.present("real/sub")
        );
        fs::remove_file(folders.top.join("link")).unwrap();
        symlink("other", folders.top.join("link")).unwrap();
        assert_eq!(
            folders.resolve("link/sub", &[]),
            folders.present("real/sub")
        );
    }

    #[test]
    fn what_is_replaced_by_a_link_is_lost() {
        let folders = folders(&["work", "other"]);
        assert_eq!(folders.resolve("work", &[]), folders.present("work"));
        fs::rename(folders.top.join("work"), folders.top.join("moved")).unwrap();
        assert_eq!(folders.resolve("work", &[]), Bound::Absent);
        symlink("other", folders.top.join("work")).unwrap();
        assert_eq!(folders.resolve("work", &[]), Bound::Untrusted);
        fs::remove_file(folders.top.join("work")).unwrap();
        fs::create_dir(folders.top.join("work")).unwrap();
        assert_eq!(folders.resolve("work", &[]), folders.present("work"));
    }

    #[test]
    fn what_does_not_exist_may_come_but_not_as_a_link() {
        let folders = folders(&["work", "other/later"]);
        assert_eq!(folders.resolve("work/later", &[]), Bound::Absent);
        assert_eq!(folders.resolve("work/a/../b", &[]), Bound::Absent);
        symlink("../other/later", folders.top.join("work/later")).unwrap();
        assert_eq!(folders.resolve("work/later", &[]), Bound::Untrusted);
        fs::create_dir(folders.top.join("work/b")).unwrap();
        assert_eq!(
            folders.resolve("work/a/../b", &[]),
            folders.present("work/b")
        );
    }

    #[test]
    fn links_in_a_writable_root_are_not_followed() {
        let folders = folders(&["work", "other"]);
        symlink("../other", folders.top.join("work/link")).unwrap();
        assert_eq!(folders.resolve("work/link", &["work"]), Bound::Untrusted);
        assert_eq!(folders.resolve("work/link", &[]), Bound::Untrusted);
    }

    #[test]
    fn links_younger_than_the_right_to_make_them_are_not_followed() {
        let folders = folders(&["work/old", "other"]);
        let link = |name: &str| symlink("../other", folders.top.join("work").join(name)).unwrap();
        link("before");
        let later = SystemTime::now() + Duration::from_secs(10);
        HANDED_OUT.lock().push((folders.top.join("work"), later));
        assert_eq!(
            folders.resolve("work/before", &[]),
            folders.present("other")
        );
        hand_out(std::slice::from_ref(&folders.top));
        link("after");
        assert_eq!(folders.resolve("work/after", &[]), Bound::Untrusted);
    }

    #[test]
    fn links_in_a_folder_that_a_command_moved_are_not_followed() {
        let folders = folders(&["work/one", "other"]);
        let place = |name: &str| folders.top.join("work").join(name);
        symlink("../../other", place("one/link")).unwrap();
        let of_link = changed(&place("one/link").symlink_metadata().unwrap());
        let since = of_link + Duration::from_nanos(1);
        HANDED_OUT.lock().push((folders.top.join("work"), since));
        // The clock of file times takes a moment to go on.
        while changed(&place("one").symlink_metadata().unwrap()) < since {
            fs::rename(place("one"), place("two")).unwrap();
            fs::rename(place("two"), place("one")).unwrap();
        }
        assert_eq!(folders.resolve("work/one/link", &[]), Bound::Untrusted);
    }

    #[test]
    fn circles_end() {
        let folders = folders(&[]);
        symlink("b", folders.top.join("a")).unwrap();
        symlink("a", folders.top.join("b")).unwrap();
        assert_eq!(folders.resolve("a", &[]), Bound::Untrusted);
    }
}
