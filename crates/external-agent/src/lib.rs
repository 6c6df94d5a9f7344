//! Layer: capability. Takes over what another coding agent was set up with: its settings, its skills
//! and its instructions, from the user's home and from repositories.
//!
//! It promises to add and never to replace: what is there already stays, and doing it again changes
//! nothing.
//!
//! Code map: `place` (where things are), `settings`, `skills`, `instructions` (one kind each),
//! `renaming` (what is said of the other agent is said of us).

mod instructions;
mod place;
mod renaming;
mod settings;
mod skills;

use std::io;
use std::path::{Path, PathBuf};

pub use place::Homes;
use place::Place;

/// What can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Settings, as keys that ours do not have yet.
    Settings,
    /// Folders of skills, where there are none of the same name.
    Skills,
    /// Instructions, where there are none.
    Instructions,
}

/// Something that can be taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// For people: from where to where.
    pub description: String,
    /// The root of the repository that it is in; none if it is the user's own.
    pub repository: Option<PathBuf>,
}

/// Why something was not taken over.
#[derive(Debug, thiserror::Error)]
pub enum TakeOverError {
    /// Files cannot be read or written.
    #[error(transparent)]
    Files(#[from] io::Error),
    /// The other agent's settings are no JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The other agent's settings are not a table.
    #[error("external agent settings root must be an object")]
    NoTable,
    /// Our settings cannot be read.
    #[error("invalid existing config.toml: {0}")]
    Ours(String),
    /// Nobody's home is known.
    #[error("the home folder of the user is not known")]
    NoHome,
}

/// What can be taken over from the user's home, if wanted, and from the repositories around
/// `folders`. Folders that do not exist are passed over.
///
/// # Errors
/// Something that is there cannot be read.
pub fn detect(
    homes: &Homes,
    with_home: bool,
    folders: &[PathBuf],
) -> Result<Vec<Item>, TakeOverError> {
    let mut places = Vec::new();
    if with_home {
        places.push(Place::home(homes)?);
    }
    for folder in folders {
        if let Some(place) = Place::repository(folder)
            && !places.contains(&place)
        {
            places.push(place);
        }
    }
    let mut items = Vec::new();
    for place in places {
        items.extend(detect_in(&place)?);
    }
    Ok(items)
}

fn detect_in(place: &Place) -> Result<Vec<Item>, TakeOverError> {
    let mut items = Vec::new();
    let mut offer = |kind, description| {
        items.push(Item {
            kind,
            description,
            repository: place.repository.clone(),
        });
    };
    let (from, to) = (&place.their_settings, &place.our_settings);
    if settings::plan(from, to)?.is_some() {
        offer(Kind::Settings, sentence("Migrate", from, "into", to));
    }
    let (from, to) = (&place.their_skills, &place.our_skills);
    if !skills::missing(from, to)?.is_empty() {
        offer(
            Kind::Skills,
            sentence("Copy skill folders from", from, "to", to),
        );
    }
    let to = &place.our_instructions;
    if let Some(from) = instructions::source(&place.their_instructions, to)? {
        offer(Kind::Instructions, sentence("Import", from, "to", to));
    }
    Ok(items)
}

fn sentence(verb: &str, from: &Path, preposition: &str, to: &Path) -> String {
    format!("{verb} {} {preposition} {}", from.display(), to.display())
}

/// Takes over one kind of thing, from the repository around a folder or from the user's home. Nothing
/// to take over is no error.
///
/// # Errors
/// Something cannot be read or written.
pub fn take_over(homes: &Homes, kind: Kind, folder: Option<&Path>) -> Result<(), TakeOverError> {
    let place = match folder {
        None => Place::home(homes)?,
        Some(folder) => match Place::repository(folder) {
            Some(place) => place,
            None => return Ok(()),
        },
    };
    match kind {
        Kind::Settings => settings::take_over(&place.their_settings, &place.our_settings),
        Kind::Skills => Ok(skills::take_over(&place.their_skills, &place.our_skills)?),
        Kind::Instructions => {
            let from = &place.their_instructions;
            Ok(instructions::take_over(from, &place.our_instructions)?)
        }
    }
}

/// Replaces a file as a whole, or makes it with the folders above.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    // A link stays one: what it leads to is replaced.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(before) = path.metadata() {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.persist(path)?;
    Ok(())
}

/// What a file holds; none if there is no such file.
fn read_existing(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
