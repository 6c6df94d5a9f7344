//! Where the other agent keeps things, and where ours go.

use std::path::{Path, PathBuf};

use crate::TakeOverError;

const THEIR_FOLDER: &str = ".claude";
const THEIR_INSTRUCTIONS: &str = "CLAUDE.md";
const OUR_INSTRUCTIONS: &str = "AGENTS.md";
const OUR_SKILLS: &str = ".agents/skills";

/// The home folders.
#[derive(Clone, Debug)]
pub struct Homes {
    /// The user's.
    pub user: Option<PathBuf>,
    /// Ours.
    pub ours: PathBuf,
}

/// The user's home, or a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its root; none for the user's home.
    pub(crate) repository: Option<PathBuf>,
    pub(crate) their_settings: PathBuf,
    pub(crate) our_settings: PathBuf,
    pub(crate) their_skills: PathBuf,
    pub(crate) our_skills: PathBuf,
    /// The first of them that has any text counts.
    pub(crate) their_instructions: Vec<PathBuf>,
    pub(crate) our_instructions: PathBuf,
}

impl Place {
    pub(crate) fn home(homes: &Homes) -> Result<Self, TakeOverError> {
        let user = homes.user.as_ref().ok_or(TakeOverError::NoHome)?;
        let theirs = user.join(THEIR_FOLDER);
        // Skills are shared with others: they are beside our home, not in it.
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

    /// None if there is no such folder.
    pub(crate) fn repository(folder: &Path) -> Option<Self> {
        if !folder.exists() {
            return None;
        }
        let folder = std::path::absolute(folder).ok()?;
        let root = codex_sandbox::marked_folder(&folder, ".git").unwrap_or(&folder);
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
