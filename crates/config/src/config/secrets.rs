//! Which files are hidden from models and their commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_hidden_files::{HiddenFiles, PatternError, PatternList, PatternOwner};

use super::LoadRequest;
use crate::error::ConfigError;
use crate::requirements::{Requirements, SecretsRequirements};
use crate::schema::ConfigFile;

/// The patterns of hidden files. Each was checked.
#[derive(Clone, Debug)]
pub struct SecretSettings {
    /// The home folder of the user, if the built-in list applies. The list is made when it is needed.
    built_in: Option<PathBuf>,
    lists: Vec<Arc<PatternList>>,
    /// Whether settings name files.
    pub has_patterns: bool,
    /// Why it is not known what settings hide, if it is not.
    pub(super) unknown: Option<String>,
}

impl SecretSettings {
    pub(super) fn resolve(
        file: &ConfigFile,
        requirements: &Requirements,
        request: LoadRequest<'_>,
    ) -> Result<Self, ConfigError> {
        let home = request.env.user_home.as_deref();
        let own = file.secrets.clone().unwrap_or_default();
        let required = |choice: fn(&SecretsRequirements) -> bool| {
            let mut all = requirements.secrets.iter();
            all.any(|required| choice(&required.value))
        };
        let has_built_in =
            own.built_in.unwrap_or(true) || required(|required| required.built_in == Some(true));
        // Without a home folder there is nothing in it.
        let built_in = home.filter(|_| has_built_in).map(Path::to_owned);
        let mut lists = Vec::new();
        let patterns = own.deny_read.unwrap_or_default();
        let has_patterns = !patterns.is_empty();
        let list = PatternList::of_settings(PatternOwner::Settings, &patterns, home);
        lists.push(list.map_err(|error| invalid("deny_read", &error))?.into());
        for required in &requirements.secrets {
            let patterns = required.value.deny_read.as_deref().unwrap_or_default();
            let list = PatternList::of_settings(PatternOwner::Administrator, patterns, home);
            let list = list.map_err(|error| {
                let source = &required.source;
                ConfigError::setting(format!("`secrets.deny_read` of {source}: {error}"))
            })?;
            lists.push(list.into());
        }
        Ok(Self {
            built_in,
            lists,
            has_patterns,
            unknown: None,
        })
    }

    /// For one session, or for commands without one.
    #[must_use]
    pub fn hidden_files(&self) -> HiddenFiles {
        if let Some(problem) = &self.unknown {
            return HiddenFiles::unknown(problem);
        }
        let (home, lists) = (self.built_in.clone(), self.lists.clone());
        HiddenFiles::made_when_needed(move || {
            let built_in = home.as_deref().map(PatternList::built_in).transpose()?;
            Ok(built_in.into_iter().chain(lists).collect())
        })
    }
}

fn invalid(key: &str, error: &PatternError) -> ConfigError {
    ConfigError::setting(format!("`secrets.{key}`: {error}"))
}
