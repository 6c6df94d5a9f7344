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

use crate::platform::{as_stored, changed};

/// The same limit on links as the kernel's.
const LINKS_LIMIT: usize = 40;

/// Beyond this number of folders the whole file system counts as writable by commands.
const WRITABLE_SINCE_LIMIT: usize = 1024;

/// File times are less precise than the system clock.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// The resolved roots of a session.
#[derive(Debug, Default)]
pub struct ResolvedRoots {
    resolutions: Mutex<HashMap<PathBuf, Resolution>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Resolution {
    /// An absolute path without links, which need not exist.
    Path(PathBuf),
    /// The path leads through an untrusted link.
    Untrusted,
}

/// The current state of a resolved path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RootState {
    /// It exists and is reached without links.
    Present(PathBuf),
    Absent,
    /// It is reached through a link that a command may have created.
    Untrusted,
}

impl ResolvedRoots {
    /// Resolves an absolute path, unless it was resolved before. `roots` are the writable folders of the policy; they
    /// decide whether a link on the path is trusted.
    pub(crate) fn resolve_once<'r>(&self, path: &Path, roots: impl Fn() -> &'r Vec<PathBuf>) {
        let mut known = self.resolutions.lock();
        if !known.contains_key(path) {
            known.insert(path.to_path_buf(), resolve(path, &roots));
        }
    }

    /// The current state of an absolute path, which is resolved now unless it was resolved before.
    pub(crate) fn state<'r>(&self, path: &Path, roots: impl Fn() -> &'r Vec<PathBuf>) -> RootState {
        self.resolve_once(path, roots);
        match self.resolutions.lock().get(path) {
            Some(Resolution::Path(path)) => current_state(path),
            Some(Resolution::Untrusted) | None => RootState::Untrusted,
        }
    }
}

fn current_state(path: &Path) -> RootState {
    match codex_mounts::canonicalize(path) {
        Ok(real) if real == path => RootState::Present(real),
        Ok(_) => RootState::Untrusted,
        Err(_) => RootState::Absent,
    }
}

fn resolve<'r>(path: &Path, roots: &impl Fn() -> &'r Vec<PathBuf>) -> Resolution {
    let mut resolved = root_of(path);
    let mut left: VecDeque<OsString> = parts(path).collect();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&part);
        let Some(metadata) = codex_mounts::symlink_metadata(&next)
            .ok()
            .filter(|it| it.is_symlink())
        else {
            resolved = next;
            continue;
        };
        links += 1;
        let target = codex_mounts::read_link(&next).ok();
        let Some(target) = target.filter(|_| {
            links <= LINKS_LIMIT && !may_be_made_by_command(&resolved, changed(&metadata), roots())
        }) else {
            return Resolution::Untrusted;
        };
        if target.is_absolute() {
            resolved = root_of(&target);
        }
        left = parts(&target).chain(left).collect();
    }
    Resolution::Path(as_stored(resolved))
}

/// The root of an absolute path: `/`, or a drive or share of Windows.
fn root_of(path: &Path) -> PathBuf {
    path.ancestors().last().unwrap_or(path).to_path_buf()
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    parts.collect::<Vec<_>>().into_iter()
}

/// Whether a sandboxed command may have created a link in `folder`, or moved a folder that contains one there.
fn may_be_made_by_command(folder: &Path, changed: SystemTime, roots: &[PathBuf]) -> bool {
    if roots.iter().any(|root| folder.starts_with(root)) {
        return true;
    }
    let writable_since = WRITABLE_SINCE.lock();
    writable_since.iter().any(|(root, since)| {
        folder.starts_with(root) && (changed >= *since || has_changed(folder, root, *since))
    })
}

/// Whether `folder` or one of its ancestors below `root` has changed since then. Commands cannot move `root` itself or
/// its ancestors.
fn has_changed(folder: &Path, root: &Path, since: SystemTime) -> bool {
    let mut below_root = folder.ancestors().take_while(|around| *around != root);
    below_root.any(|around| {
        let metadata = codex_mounts::symlink_metadata(around);
        metadata.map_or(true, |metadata| changed(&metadata) >= since)
    })
}

/// The folders that commands of this process may write to, and since when.
static WRITABLE_SINCE: Mutex<Vec<(PathBuf, SystemTime)>> = Mutex::new(Vec::new());

/// Records that commands may write to these folders from now on.
pub(crate) fn record_writable(roots: &[PathBuf]) {
    let mut writable_since = WRITABLE_SINCE.lock();
    let now = SystemTime::now();
    let since = now.checked_sub(CLOCK_STEP).unwrap_or(now);
    for root in roots {
        if writable_since
            .iter()
            .any(|(known, _)| root.starts_with(known))
        {
            continue;
        }
        let full = writable_since.len() >= WRITABLE_SINCE_LIMIT;
        let folder = if full { root_of(root) } else { root.clone() };
        writable_since.push((folder, since));
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
        resolved_roots: ResolvedRoots,
    }

    fn folders(names: &[&str]) -> Folders {
        // Not below `/tmp`, which other tests in this process make writable.
        let guard = tempfile::tempdir_in("/var/tmp").unwrap();
        let top = dunce::canonicalize(guard.path()).unwrap();
        for name in names {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        Folders {
            _guard: guard,
            top,
            resolved_roots: ResolvedRoots::default(),
        }
    }

    impl Folders {
        fn resolve(&self, path: &str, roots: &[&str]) -> RootState {
            let roots: Vec<_> = roots.iter().map(|root| self.top.join(root)).collect();
            self.resolved_roots.state(&self.top.join(path), || &roots)
        }

        fn present(&self, path: &str) -> RootState {
            RootState::Present(self.top.join(path))
        }
    }

    #[test]
    fn links_of_the_user_are_followed_once() {
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
    fn root_replaced_by_a_link_is_untrusted() {
        let folders = folders(&["work", "other"]);
        assert_eq!(folders.resolve("work", &[]), folders.present("work"));
        fs::rename(folders.top.join("work"), folders.top.join("moved")).unwrap();
        assert_eq!(folders.resolve("work", &[]), RootState::Absent);
        symlink("other", folders.top.join("work")).unwrap();
        assert_eq!(folders.resolve("work", &[]), RootState::Untrusted);
        fs::remove_file(folders.top.join("work")).unwrap();
        fs::create_dir(folders.top.join("work")).unwrap();
        assert_eq!(folders.resolve("work", &[]), folders.present("work"));
    }

    #[test]
    fn absent_root_may_become_a_folder_but_no_link() {
        let folders = folders(&["work", "other/later"]);
        assert_eq!(folders.resolve("work/later", &[]), RootState::Absent);
        assert_eq!(folders.resolve("work/a/../b", &[]), RootState::Absent);
        symlink("../other/later", folders.top.join("work/later")).unwrap();
        assert_eq!(folders.resolve("work/later", &[]), RootState::Untrusted);
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
        assert_eq!(
            folders.resolve("work/link", &["work"]),
            RootState::Untrusted
        );
        assert_eq!(folders.resolve("work/link", &[]), RootState::Untrusted);
    }

    #[test]
    fn links_created_under_write_access_are_not_followed() {
        let folders = folders(&["work/old", "other"]);
        let link = |name: &str| symlink("../other", folders.top.join("work").join(name)).unwrap();
        link("before");
        let later = SystemTime::now() + Duration::from_secs(10);
        WRITABLE_SINCE
            .lock()
            .push((folders.top.join("work"), later));
        assert_eq!(
            folders.resolve("work/before", &[]),
            folders.present("other")
        );
        record_writable(std::slice::from_ref(&folders.top));
        link("after");
        assert_eq!(folders.resolve("work/after", &[]), RootState::Untrusted);
    }

    #[test]
    fn links_in_moved_folder_are_not_followed() {
        let folders = folders(&["work/one", "other"]);
        let at = |name: &str| folders.top.join("work").join(name);
        symlink("../../other", at("one/link")).unwrap();
        let of_link = changed(&at("one/link").symlink_metadata().unwrap());
        let since = of_link + Duration::from_nanos(1);
        WRITABLE_SINCE
            .lock()
            .push((folders.top.join("work"), since));
        // The clock of file times takes a moment to go on.
        while changed(&at("one").symlink_metadata().unwrap()) < since {
            fs::rename(at("one"), at("two")).unwrap();
            fs::rename(at("two"), at("one")).unwrap();
        }
        assert_eq!(folders.resolve("work/one/link", &[]), RootState::Untrusted);
    }

    #[test]
    fn circles_end() {
        let folders = folders(&[]);
        symlink("b", folders.top.join("a")).unwrap();
        symlink("a", folders.top.join("b")).unwrap();
        assert_eq!(folders.resolve("a", &[]), RootState::Untrusted);
    }
}
