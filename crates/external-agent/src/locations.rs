//! The paths of the agent's configuration, and of ours.

use std::path::{Path, PathBuf};

use crate::error::MigrationError;

const THEIR_FOLDER: &str = ".claude";
const THEIR_INSTRUCTIONS: &str = "CLAUDE.md";
const OUR_INSTRUCTIONS: &str = "AGENTS.md";
const OUR_SKILLS: &str = ".agents/skills";

/// The home folders.
#[derive(Clone, Debug)]
pub struct HomeFolders {
    /// The user's home folder.
    pub user: Option<PathBuf>,
    /// Our home folder.
    pub ours: PathBuf,
}

/// The paths in the user's home folder or in one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigLocations {
    /// The root of the repository; `None` for the user's home folder.
    pub(crate) repository: Option<PathBuf>,
    pub(crate) their_settings: PathBuf,
    pub(crate) our_settings: PathBuf,
    pub(crate) their_skills: PathBuf,
    pub(crate) our_skills: PathBuf,
    /// The first one that has any text is imported.
    pub(crate) their_instructions: Vec<PathBuf>,
    pub(crate) our_instructions: PathBuf,
}

impl ConfigLocations {
    pub(crate) fn home(homes: &HomeFolders) -> Result<Self, MigrationError> {
        let user = homes.user.as_ref().ok_or(MigrationError::NoHome)?;
        let theirs = user.join(THEIR_FOLDER);
        // Skills are shared with other agents, so they are beside our home folder, not in it.
        let shared = homes.ours.parent().unwrap_or(&homes.ours);
        Ok(Self {
            repository: None,
            their_settings: theirs.join("settings.json"),
            our_settings: homes.ours.join("config.toml"),
            their_skills: theirs.join("skills"),
            our_skills: shared.join(OUR_SKILLS),
            their_instructions: vec![theirs.join(THEIR_INSTRUCTIONS)],
            our_instructions: homes.ours.join(OUR_INSTRUCTIONS),
        })
    }

    /// The paths of the repository around a folder. `None` if the folder does not exist.
    pub(crate) fn repository(folder: &Path) -> Option<Self> {
        if !codex_mounts::exists(folder) {
            return None;
        }
        let folder = std::path::absolute(folder).ok()?;
        let root = codex_project_markers::marked_folder(&folder, ".git").unwrap_or(&folder);
        let theirs = root.join(THEIR_FOLDER);
        Some(Self {
            repository: Some(root.to_path_buf()),
            their_settings: theirs.join("settings.json"),
            our_settings: root.join(".codex/config.toml"),
            their_skills: theirs.join("skills"),
            our_skills: root.join(OUR_SKILLS),
            their_instructions: vec![
                root.join(THEIR_INSTRUCTIONS),
                theirs.join(THEIR_INSTRUCTIONS),
            ],
            our_instructions: root.join(OUR_INSTRUCTIONS),
        })
    }
}
