//! Applies a confinement: changes access lists, places what must stay absent, and makes the token.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::windows::io::OwnedHandle;
use std::path::{Path, PathBuf};

use super::placeholders::Placeholder;
use super::{security, token};
use crate::access::entries::AccessPlan;
use crate::access::sid::Sid;
use crate::enforcement::Enforcement;
use crate::file_rules::FileRules;

/// How a command is confined on Windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowsConfinement {
    plan: AccessPlan,
}

/// Why a confinement could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The access list of a path could not be changed.
    #[error("the access list of {} cannot be changed: {error}", path.display())]
    AccessList { path: PathBuf, error: io::Error },
    /// Nothing could be placed at a path that commands must not create.
    #[error("the creation of {} cannot be prevented: {error}", path.display())]
    Placeholder { path: PathBuf, error: io::Error },
    /// There is no restricted token.
    #[error("cannot create a restricted token: {0}")]
    Token(io::Error),
}

/// What a command is started with. Must be kept until it has ended.
#[derive(Debug)]
pub struct AppliedConfinement {
    token: OwnedHandle,
    _placeholders: Vec<Placeholder>,
}

impl AppliedConfinement {
    /// The token of the command.
    #[must_use]
    pub fn token(&self) -> &OwnedHandle {
        &self.token
    }
}

impl WindowsConfinement {
    pub(super) fn new(rules: &FileRules) -> Self {
        Self {
            plan: AccessPlan::from_rules(rules, is_folder),
        }
    }

    pub(crate) fn enforcement(&self) -> Enforcement {
        Enforcement::RestrictedToken
    }

    /// Changes the access lists that lack an entry. The first time in a folder this takes as long as it has files.
    ///
    /// # Errors
    /// A list cannot be changed, for example because the folder belongs to somebody else.
    pub fn prepare(&self) -> Result<(), ConfineError> {
        for (path, entries) in &self.plan.entries {
            security::set_entries(path, entries).map_err(|error| ConfineError::AccessList {
                path: path.clone(),
                error,
            })?;
        }
        Ok(())
    }

    /// Prepares everything for one command.
    ///
    /// # Errors
    /// The confinement would not be complete.
    pub fn apply(&self) -> Result<AppliedConfinement, ConfineError> {
        self.prepare()?;
        let placeholders = self.plan.placeholders.iter().map(|(path, entries)| {
            Placeholder::hold(path, entries).map_err(|error| ConfineError::Placeholder {
                path: path.clone(),
                error,
            })
        });
        let placeholders = placeholders.collect::<Result<_, _>>()?;
        let number = RandomState::new().hash_one(std::process::id());
        let token = token::restricted(&self.plan.sids, &Sid::of_command(number));
        Ok(AppliedConfinement {
            token: token.map_err(ConfineError::Token)?,
            _placeholders: placeholders,
        })
    }
}

/// Whether a folder is at a path. A link is none.
fn is_folder(path: &Path) -> Option<bool> {
    let metadata = path.symlink_metadata().ok()?;
    Some(metadata.is_dir())
}
