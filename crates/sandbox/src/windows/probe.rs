//! Determines by a trial whether this system enforces restricted tokens: Wine makes them, but enforces nothing.
//!
//! A thread takes the rights of a command and tries what a command may do and what it may not. Nothing is assumed about
//! which rights a restricted token limits.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use super::apply::WindowsConfinement;
use super::token;
use crate::enforcement::EnforcementLevels;
use crate::file_rules::{FileRules, ProtectedPath, ReadScope, WhenAbsent};

pub(crate) fn probe() -> EnforcementLevels {
    // A thread of its own: it ends with whatever rights it has.
    let trial = std::thread::spawn(|| trial().unwrap_or(false));
    EnforcementLevels {
        restricted_token: trial.join().unwrap_or(false),
        ..EnforcementLevels::default()
    }
}

fn trial() -> io::Result<bool> {
    let folder = TrialFolder::make()?;
    let confinement = WindowsConfinement::new(&folder.rules());
    let applied = confinement.apply().map_err(io::Error::other)?;
    token::with_rights_of(applied.token(), || {
        refused_operations(&folder).iter().all(is_refused)
            && allowed_operations(&folder.inside()).is_ok()
    })
}

/// What a command may not do.
fn refused_operations(folder: &TrialFolder) -> Vec<io::Result<()>> {
    let (inside, outside) = (folder.inside(), folder.outside());
    let protected = inside.join(".git");
    let mut results = Vec::new();
    for folder in [&outside, &protected] {
        let (file, empty) = (folder.join("file"), folder.join("empty"));
        results.extend([
            File::create(folder.join("new")).map(drop),
            fs::create_dir(folder.join("new-folder")),
            OpenOptions::new().append(true).open(&file).map(drop),
            fs::rename(&file, folder.join("moved")),
            fs::remove_file(&file),
            fs::remove_dir(&empty),
        ]);
    }
    results.extend([
        fs::rename(&protected, inside.join("moved")),
        File::create(inside.join("around/.codex/new")).map(drop),
        fs::rename(inside.join("around"), inside.join("moved")),
        fs::rename(&inside, folder.0.join("moved")),
    ]);
    results
}

fn is_refused(result: &io::Result<()>) -> bool {
    let error = result.as_ref().err();
    error.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// What a command may do in a writable root.
fn allowed_operations(root: &Path) -> io::Result<()> {
    let (file, folder) = (root.join("file"), root.join("new"));
    fs::write(&file, "changed")?;
    fs::create_dir(&folder)?;
    fs::rename(&file, folder.join("moved"))?;
    fs::remove_file(folder.join("moved"))?;
    fs::remove_dir(&folder)
}

/// A temporary folder with a writable root and a folder beside it.
struct TrialFolder(PathBuf);

impl TrialFolder {
    fn make() -> io::Result<Self> {
        let temporary = dunce::canonicalize(std::env::temp_dir())?;
        let number = RandomState::new().hash_one(std::process::id());
        let folder = temporary.join(format!("codex-sandbox-trial-{number:x}"));
        fs::create_dir(&folder)?;
        let folder = Self(folder);
        fs::create_dir_all(folder.inside().join("around"))?;
        fs::write(folder.inside().join("file"), "")?;
        for made in [folder.outside(), folder.inside().join(".git")] {
            fs::create_dir_all(made.join("empty"))?;
            fs::write(made.join("file"), "")?;
        }
        Ok(folder)
    }

    fn inside(&self) -> PathBuf {
        self.0.join("inside")
    }

    fn outside(&self) -> PathBuf {
        self.0.join("outside")
    }

    fn rules(&self) -> FileRules {
        let inside = self.inside();
        let protected = [".git", "around/.codex"].map(|name| ProtectedPath {
            path: inside.join(name),
            when_absent: WhenAbsent::KeepAbsent,
        });
        FileRules {
            read: ReadScope::Everything,
            writable: vec![inside],
            protected: protected.into(),
            hidden: Vec::new(),
            masked: Vec::new(),
            untrusted: Vec::new(),
        }
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_system_enforces_tokens_unless_it_is_wine() {
        let folder = TrialFolder::make().unwrap();
        let applied = WindowsConfinement::new(&folder.rules()).apply().unwrap();
        let (refused, allowed) = token::with_rights_of(applied.token(), || {
            (
                refused_operations(&folder),
                allowed_operations(&folder.inside()),
            )
        })
        .unwrap();
        println!("refused: {refused:?}, allowed: {allowed:?}");
        let is_wine = std::env::var_os("WINEPREFIX").is_some();
        assert_eq!(probe().restricted_token, !is_wine);
    }
}
