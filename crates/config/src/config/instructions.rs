//! The instructions for the model.

use std::io;
use std::path::Path;

use crate::config::RequestParams;
use crate::error::{ConfigError, ReferencedFileError};
use crate::read::read_bounded;
use crate::schema::ConfigFile;

/// The instructions for the model. Where one is absent, the built-in text applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Replaces the built-in instructions.
    pub base: Option<String>,
    /// Added to the built-in instructions.
    pub developer: Option<String>,
    /// Replaces the built-in prompt for compaction.
    pub compact_prompt: Option<String>,
    /// The trailer for commit messages.
    pub commit_attribution: Option<String>,
    /// Which parts of the context the model gets.
    pub sections: SectionSettings,
}

/// Parts of the context that can be left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionSettings {
    pub without_permissions: bool,
    pub without_environment: bool,
    /// Without date and time zone.
    pub without_time: bool,
    pub without_modes: bool,
    pub without_apps: bool,
}

impl SectionSettings {
    fn from_file(file: &ConfigFile) -> Self {
        Self {
            without_permissions: file.include_permissions_instructions == Some(false),
            without_environment: file.include_environment_context == Some(false),
            without_time: file.include_environment_context_time == Some(false),
            without_modes: file.include_collaboration_mode_instructions == Some(false),
            without_apps: file.include_apps_instructions == Some(false),
        }
    }
}

impl Instructions {
    pub(super) fn resolve(file: &ConfigFile, params: &RequestParams) -> Result<Self, ConfigError> {
        let base = file.model_instructions_file.as_deref();
        let base = base
            .map(|path| read_referenced("model instructions", path))
            .transpose()?;
        let compact = file.experimental_compact_prompt_file.as_deref();
        let compact = compact
            .map(|path| read_referenced("experimental compact prompt", path))
            .transpose()?;
        let written = params
            .compact_prompt
            .as_ref()
            .or(file.compact_prompt.as_ref());
        Ok(Self {
            base: params.base_instructions.clone().or(base),
            developer: params
                .developer_instructions
                .clone()
                .or_else(|| file.developer_instructions.clone()),
            compact_prompt: written.and_then(|text| not_blank(text)).or(compact),
            commit_attribution: file.commit_attribution.clone(),
            sections: SectionSettings::from_file(file),
        })
    }
}

fn not_blank(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The trimmed text of a file that a setting names. An empty file is an error.
pub(super) fn read_referenced(
    what: &'static str,
    path: &Path,
) -> Result<String, ReferencedFileError> {
    let read_error = |source| ReferencedFileError::Read {
        what,
        path: path.to_path_buf(),
        source,
    };
    let text = read_bounded(path)
        .and_then(|text| text.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
        .map_err(read_error)?;
    not_blank(&text).ok_or_else(|| ReferencedFileError::Empty {
        what,
        path: path.to_path_buf(),
    })
}
