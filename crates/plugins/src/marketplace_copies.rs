//! Copies of marketplaces that are published as repositories: `.tmp/marketplaces/<name>` in the home folder.
//!
//! A copy is made in a folder of its own and then takes its place at once, so a process that ends at any moment leaves the
//! former copy or the new one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_system::copying;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::mended::mend;

/// The file that says what a copy is of. Other engines write the same.
const ORIGIN: &str = ".codex-marketplace-install.json";
const ORIGIN_LIMIT: u64 = 64 * 1024;
/// After this time unfinished work of another process is not wanted any more.
const ABANDONED_TIME: Duration = Duration::from_secs(60 * 60);

/// The copies of a home folder.
#[derive(Clone, Debug)]
pub struct MarketplaceCopies {
    home: PathBuf,
    folder: PathBuf,
}

/// What a copy is of.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CopyOrigin {
    /// Always `git`.
    pub source_type: String,
    /// The address of the repository.
    pub source: String,
    /// The branch, tag or commit that was wanted.
    pub ref_name: Option<String>,
    /// The only folders that were copied.
    #[serde(default)]
    pub sparse_paths: Vec<String>,
    /// The commit.
    pub revision: String,
}

/// A folder for a new copy, which is removed unless it is published.
#[derive(Debug)]
pub struct StagedCopy(TempDir);

impl StagedCopy {
    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl MarketplaceCopies {
    /// The copies of this home folder.
    #[must_use]
    pub fn of_home(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            folder: home.join(".tmp/marketplaces"),
        }
    }

    /// The folder of a copy. `name` must be usable in ids of plugins.
    #[must_use]
    pub fn root(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder of a copy that will be read. One of an older release, which others could read, becomes private.
    #[must_use]
    pub fn used_root(&self, name: &str) -> PathBuf {
        let root = self.root(name);
        mend(&self.home, &root);
        root
    }

    /// What a copy is of, if there is one.
    #[must_use]
    pub fn origin(&self, name: &str) -> Option<CopyOrigin> {
        let text =
            codex_regular_file::read(&self.used_root(name).join(ORIGIN), ORIGIN_LIMIT).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// An empty folder for a new copy.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn stage(&self) -> io::Result<StagedCopy> {
        let folder = self.folder.join(".staging");
        codex_private_files::create_dir_all(&folder)?;
        for entry in codex_mounts::read_dir(&folder)?.flatten() {
            let changed = entry.metadata().and_then(|found| found.modified());
            let age = changed.ok().and_then(|changed| changed.elapsed().ok());
            if age.is_some_and(|age| age > ABANDONED_TIME) {
                let _ = codex_mounts::remove_dir_all(entry.path());
            }
        }
        let staged = tempfile::Builder::new().prefix("copy-").tempdir_in(folder);
        staged.map(StagedCopy)
    }

    /// Has a finished copy take its place. The former one is removed.
    ///
    /// # Errors
    /// The system failed, and the former copy is kept.
    pub fn publish(
        &self,
        staged: StagedCopy,
        name: &str,
        origin: &CopyOrigin,
    ) -> io::Result<PathBuf> {
        codex_private_files::write(&staged.path().join(ORIGIN), &serde_json::to_vec(origin)?)?;
        // Git knows no private files.
        codex_private_files::tighten_tree(staged.path());
        let root = self.root(name);
        match copying::exchange(staged.path(), &root) {
            // The former copy is now the staged one, and is removed with it.
            Ok(()) => drop(staged),
            Err(_) => self.replace(&staged, &root)?,
        }
        Ok(root)
    }

    /// Moves a copy to its place, where folders cannot be exchanged or there is no former copy.
    fn replace(&self, staged: &StagedCopy, root: &Path) -> io::Result<()> {
        let aside = self.stage()?;
        let former = aside.path().join("former");
        let had_former = match fs::rename(root, &former) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            renamed => renamed.is_ok(),
        };
        let moved = fs::rename(staged.path(), root);
        if moved.is_err() && had_former {
            fs::rename(&former, root)?;
        }
        moved
    }

    /// Removes a copy. Returns its folder, if there was one.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<Option<PathBuf>> {
        let root = self.root(name);
        if codex_mounts::symlink_metadata(&root).is_err() {
            return Ok(None);
        }
        // Renamed first, so that half a copy is never read.
        let staged = self.stage()?;
        fs::rename(&root, staged.path().join("removed"))?;
        Ok(Some(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(revision: &str) -> CopyOrigin {
        CopyOrigin {
            source_type: "git".to_owned(),
            source: "https://h/x".to_owned(),
            ref_name: None,
            sparse_paths: Vec::new(),
            revision: revision.to_owned(),
        }
    }

    #[test]
    fn a_copy_is_published_replaced_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let copies = MarketplaceCopies::of_home(home.path());
        assert!(copies.origin("team").is_none() && copies.remove("team").unwrap().is_none());
        for revision in ["one", "two"] {
            let staged = copies.stage().unwrap();
            fs::write(staged.path().join("text"), revision).unwrap();
            let root = copies.publish(staged, "team", &origin(revision)).unwrap();
            assert_eq!(fs::read_to_string(root.join("text")).unwrap(), revision);
            assert_eq!(copies.origin("team").unwrap(), origin(revision));
        }
        drop(copies.stage().unwrap());
        let left = fs::read_dir(home.path().join(".tmp/marketplaces/.staging")).unwrap();
        assert_eq!(left.count(), 0);
        assert_eq!(copies.remove("team").unwrap(), Some(copies.root("team")));
        assert!(!copies.root("team").exists());
    }
}
