//! The layers of a project: its `.codex` folders, disabled until the project is trusted.

use std::cell::LazyCell;
use std::io;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::layer::Layer;
use crate::project::ProjectFolders;
use crate::project_scope::SettingScope;
use crate::source::{CONFIG_FILE, LayerSource};
use crate::trust::{TrustDecision, TrustLevel, TrustRules};

/// The layers of a project, from its root down, without the home folder.
pub(crate) fn project_layers(
    env: &Environment,
    project: &ProjectFolders,
    rules: &TrustRules,
) -> Result<Vec<Layer>, ConfigError> {
    let real_home = LazyCell::new(|| codex_mounts::canonicalize(&env.codex_home).ok());
    let mut layers = Vec::new();
    for parent in project.folders() {
        let folder = parent.join(".codex");
        let is_home =
            || folder == env.codex_home || codex_mounts::canonicalize(&folder).ok() == *real_home;
        let is_there =
            codex_project_markers::has_marker(parent, ".codex") && codex_mounts::is_dir(&folder);
        if !is_there || is_home() {
            continue;
        }
        let decision = rules.decide(parent, project);
        let scope = SettingScope::of_folder(parent, decision.as_ref());
        let layer = project_layer(env, folder, decision, project)?;
        layers.push(layer.with_scope(scope));
    }
    Ok(layers)
}

fn project_layer(
    env: &Environment,
    folder: PathBuf,
    decision: Option<TrustDecision>,
    project: &ProjectFolders,
) -> Result<Layer, ConfigError> {
    let source = LayerSource::Project {
        folder: folder.clone(),
    };
    let base = env.path_base(&folder);
    let trusted = decision.as_ref().map(|decision| decision.level) == Some(TrustLevel::Trusted);
    if trusted {
        return Layer::read(source, base).map_err(|error| match error {
            ConfigError::File(error) => ConfigError::ProjectFile { error },
            other => other,
        });
    }
    // A disabled layer may be invalid.
    let layer =
        Layer::read(source.clone(), base).or_else(|_| Layer::parse(source, String::new(), base))?;
    Ok(layer.disabled(disabled_reason(env, decision, project)))
}

fn disabled_reason(
    env: &Environment,
    decision: Option<TrustDecision>,
    project: &ProjectFolders,
) -> String {
    let file = env.user_config_file();
    let file = file.display();
    match decision {
        Some(decision) => format!(
            "{} is marked as untrusted in {file}. To load config.toml, mark it trusted.",
            decision.folder.display(),
        ),
        None => format!(
            "To load config.toml, add {} as a trusted project in {file}.",
            project.trust_key().display(),
        ),
    }
}

/// Whether a folder of a disabled project contains anything that would take effect.
pub(crate) fn has_settings(folder: &std::path::Path) -> io::Result<bool> {
    for name in [CONFIG_FILE, "rules", "hooks.json", "agents", "skills"] {
        match codex_mounts::metadata(folder.join(name)) {
            Ok(_) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
