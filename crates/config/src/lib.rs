//! Layer: capability. Configuration: layers and their origins, requirements, edits that keep comments.
//!
//! This crate decides which value a setting has. Environment variables and the home folder come in as values
//! (`Environment`). Files are read only below the folders named there, in the project of the working folder, and where
//! settings name them. The only file ever written is the user's `config.toml`.
//!
//! - `LayerStack` reads the layers, decides which of them are trusted, and merges them.
//! - `Config` is the typed result for the engine: profile applied, requirements enforced.
//! - `ConfigView` is the view for clients: merged settings with the source of each value.
//! - `edit_user_config` edits the user's file and keeps everything else in it.
//! - `Requirements` are limits set by an administrator; they are also checked at run time.
//! - `ProjectDocSettings` finds AGENTS.md files.
//!
//! Nothing from a project's `.codex` folder takes effect before the user trusts the project.

mod config;
mod decode;
mod dotenv;
mod edit;
mod environment;
mod error;
mod feature_levels;
mod features;
mod home;
mod hook_layers;
mod key_path;
mod layer;
mod locate;
mod merge;
mod nesting;
mod overrides;
mod path_keys;
mod paths;
mod project;
mod project_docs;
mod project_layers;
mod project_scope;
mod read;
mod requirements;
mod restrictions;
pub mod schema;
#[cfg(test)]
mod settings_schema;
mod source;
mod stack;
mod trust;
mod unknown_settings;
mod unknown_values;
mod value;
mod view;
mod warning;
mod without_effect;

pub use config::*;
pub use dotenv::parse_dotenv;
pub use edit::{
    ConfigEdit, EditError, EditErrorKind, EditOutcome, EditRequest, MergeStrategy, Overridden,
    SettingChange, edit_text, edit_user_config,
};
pub use environment::{Environment, EnvironmentVariables, ManagedPreferences};
pub use error::{ConfigError, FileError, ReferencedFileError, SettingError, UnknownSettings};
pub use feature_levels::DeprecationNotice;
pub use features::{
    BetaTexts, Feature, FeatureSet, FeatureStage, HOST_FEATURES, HostFeatureError,
    LISTED_BETA_FEATURES, LISTED_FEATURES, is_without_effect,
};
pub use home::{HomeError, resolve_home};
pub use hook_layers::HookLayer;
pub use key_path::{KeyPath, KeyPathError};
pub use layer::Layer;
pub use locate::{TextPosition, TextRange};
pub use nesting::parse_table;
pub use overrides::{OverrideError, Overrides};
pub use project::ProjectFolders;
pub use project_docs::{ProjectDocSettings, ProjectDocs};
pub use requirements::*;
pub use source::LayerSource;
pub use stack::LayerStack;
pub use trust::{TrustLevel, trust_key_path};
pub use unknown_settings::refuse_unknown_settings;
pub use value::ValueError;
pub use view::{ConfigView, LayerMetadata, LayerView, ViewError};
pub use warning::ConfigWarning;
pub use without_effect::WITHOUT_EFFECT;
