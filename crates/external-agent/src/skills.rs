//! Imports skills, which are folders.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::files::Imported;
use crate::renaming::rename;

/// The maximum depth of nested folders.
const DEPTH_LIMIT: usize = 64;

/// The source and target folders of the skills that we lack.
pub(crate) fn missing(theirs: &Path, ours: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let listing = match codex_mounts::read_dir(theirs) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut skills = Vec::new();
    for entry in listing {
        let entry = entry?;
        let to = ours.join(entry.file_name());
        if entry.file_type()?.is_dir() && codex_mounts::symlink_metadata(&to).is_err() {
            skills.push((entry.path(), to));
        }
    }
    skills.sort();
    Ok(skills)
}

pub(crate) fn import(theirs: &Path, ours: &Path) -> io::Result<Vec<Imported>> {
    let mut imported = Vec::new();
    for (from, to) in missing(theirs, ours)? {
        copy(&from, &to, DEPTH_LIMIT)?;
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        imported.push(Imported {
            source: name.to_string(),
            target: name.to_string(),
        });
    }
    Ok(imported)
}

/// Copies folders and regular files; links and everything else are skipped.
fn copy(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in codex_mounts::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() && depth > 0 {
            copy(&entry.path(), &target, depth - 1)?;
        } else if kind.is_file() {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let name = from.file_name().unwrap_or_default();
    if name.eq_ignore_ascii_case("SKILL.md")
        && let Ok(text) = fs::read_to_string(from)
    {
        return fs::write(to, rename(&text));
    }
    fs::copy(from, to).map(drop)
}
