//! Layer: capability. Imports the configuration of another coding agent (settings, skills, instructions) from the
//! user's home folder and from repositories.
//!
//! It only adds: existing keys, folders and files stay unchanged, and a second import changes nothing.
//!
//! Code map: `locations` (the paths of both agents), `settings`, `skills`, `instructions` (one kind of item each),
//! `renaming` (replaces the agent's name in texts).

mod error;
mod files;
mod instructions;
mod locations;
mod renaming;
mod settings;
mod skills;

use std::path::{Path, PathBuf};

pub use error::MigrationError;
pub use files::Imported;
use locations::ConfigLocations;
pub use locations::HomeFolders;

/// The kinds of items that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationKind {
    /// Settings that ours do not contain yet.
    Settings,
    /// Skill folders, if we have none of the same name.
    Skills,
    /// Instructions, if we have none.
    Instructions,
}

/// Something that can be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationItem {
    pub kind: MigrationKind,
    /// A sentence for the user: what is imported from where to where.
    pub description: String,
    /// The root of the repository that contains it; `None` for the user's home folder.
    pub repository: Option<PathBuf>,
}

/// Lists what can be imported from the user's home folder (if `with_home`) and from the repositories around
/// `folders`. Folders that do not exist are skipped.
///
/// # Errors
/// An existing file cannot be read.
pub fn detect(
    homes: &HomeFolders,
    with_home: bool,
    folders: &[PathBuf],
) -> Result<Vec<MigrationItem>, MigrationError> {
    let mut all_locations = Vec::new();
    if with_home {
        all_locations.push(ConfigLocations::home(homes)?);
    }
    for folder in folders {
        if let Some(locations) = ConfigLocations::repository(folder)
            && !all_locations.contains(&locations)
        {
            all_locations.push(locations);
        }
    }
    let mut items = Vec::new();
    for locations in all_locations {
        items.extend(detect_in(&locations)?);
    }
    Ok(items)
}

fn detect_in(locations: &ConfigLocations) -> Result<Vec<MigrationItem>, MigrationError> {
    let mut items = Vec::new();
    let mut offer = |kind, description| {
        items.push(MigrationItem {
            kind,
            description,
            repository: locations.repository.clone(),
        });
    };
    let (from, to) = (&locations.their_settings, &locations.our_settings);
    if settings::plan(from, to)?.is_some() {
        offer(
            MigrationKind::Settings,
            sentence("Migrate", from, "into", to),
        );
    }
    let (from, to) = (&locations.their_skills, &locations.our_skills);
    if !skills::missing(from, to)?.is_empty() {
        offer(
            MigrationKind::Skills,
            sentence("Copy skill folders from", from, "to", to),
        );
    }
    let to = &locations.our_instructions;
    if let Some(from) = instructions::source(&locations.their_instructions, to)? {
        offer(
            MigrationKind::Instructions,
            sentence("Import", from, "to", to),
        );
    }
    Ok(items)
}

fn sentence(verb: &str, from: &Path, preposition: &str, to: &Path) -> String {
    format!("{verb} {} {preposition} {}", from.display(), to.display())
}

/// Imports all items of one kind, from the repository around a folder or from the user's home folder. Returns those
/// that were imported; none if there is nothing new.
///
/// # Errors
/// A file cannot be read or written.
pub fn import(
    homes: &HomeFolders,
    kind: MigrationKind,
    folder: Option<&Path>,
) -> Result<Vec<Imported>, MigrationError> {
    let locations = match folder {
        None => ConfigLocations::home(homes)?,
        Some(folder) => match ConfigLocations::repository(folder) {
            Some(locations) => locations,
            None => return Ok(Vec::new()),
        },
    };
    match kind {
        MigrationKind::Settings => {
            settings::import(&locations.their_settings, &locations.our_settings)
        }
        MigrationKind::Skills => Ok(skills::import(
            &locations.their_skills,
            &locations.our_skills,
        )?),
        MigrationKind::Instructions => {
            let from = &locations.their_instructions;
            Ok(instructions::import(from, &locations.our_instructions)?)
        }
    }
}

#[cfg(test)]
mod tests;
