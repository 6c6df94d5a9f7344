//! All layers of settings for a working folder, and the requirements.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::{Table, Value};

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::layer::Layer;
use crate::merge::{merge, origins};
use crate::overrides::Overrides;
use crate::project::ProjectFolders;
use crate::project_layers::project_layers;
use crate::project_scope::MCP_SERVERS;
use crate::read::read_bounded;
use crate::requirements;
use crate::requirements::Requirements;
use crate::restrictions::{DEFAULT_PERMISSIONS, PERMISSIONS, UnknownRestrictions, restrictions_of};
use crate::schema::PROFILE_KEYS;
use crate::source::{CONFIG_FILE, LayerSource};
use crate::trust::{TrustLevel, TrustRules};

/// All layers of settings, including disabled ones.
#[derive(Clone, Debug)]
pub struct LayerStack {
    /// The layers, lowest precedence first.
    layers: Vec<Layer>,
    requirements: Requirements,
    project: Option<ProjectFolders>,
    trust: Option<TrustLevel>,
    trusted_folders: Vec<PathBuf>,
    ignores_rules: bool,
}

/// Merged settings, separated into the layers below and above the profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergedTables {
    pub(crate) below_profile: Table,
    pub(crate) profile: Table,
    /// Flags and managed settings.
    pub(crate) above_profile: Table,
}

impl LayerStack {
    /// Reads all layers. Project layers are included only with a working folder, which must be an absolute path.
    pub fn load(
        env: &Environment,
        cwd: Option<&Path>,
        flags: &Overrides,
    ) -> Result<Self, ConfigError> {
        let mut layers = Vec::new();
        layers.extend(system_layer(env)?);
        layers.push(if flags.ignores_user_file() {
            user_layer_of(env, String::new())?
        } else {
            user_layer(env)?
        });
        let flag_layer = flag_layer(env, cwd, flags);
        let managed = managed_layers(env)?;
        let requirements = requirements::load(env, &sources_and_tables(&managed))?;
        let mut project = None;
        let mut trust = None;
        let mut trusted_folders = Vec::new();
        if let Some(cwd) = cwd {
            let mut decisive = merged(layers.iter());
            merge(&mut decisive, flags.table());
            let found = ProjectFolders::discover(cwd, &root_markers(&decisive)?);
            let rules = TrustRules::from_table(&decisive);
            trust = rules.decide(cwd, &found).map(|decision| decision.level);
            let servers = decisive.get(MCP_SERVERS).and_then(Value::as_table);
            let servers = Arc::new(servers.into_iter().flat_map(Table::keys).cloned().collect());
            let of_project = project_layers(env, &found, &rules)?.into_iter();
            layers.extend(of_project.map(|layer| layer.below_servers(&servers)));
            trusted_folders = rules.trusted_folders();
            project = Some(found);
        }
        layers.extend(flag_layer);
        layers.extend(managed);
        Ok(Self {
            layers,
            requirements,
            project,
            trust,
            trusted_folders,
            ignores_rules: flags.ignores_rules(),
        })
    }

    /// Only the layers that need no files, which are flags, and what files restrict.
    pub(crate) fn without_files(
        env: &Environment,
        cwd: Option<&Path>,
        flags: &Overrides,
    ) -> (Self, UnknownRestrictions) {
        let requirements = managed_layers(env)
            .and_then(|managed| Ok(requirements::load(env, &sources_and_tables(&managed))?))
            .unwrap_or_else(|_| Requirements::unreadable());
        let mut unknown = UnknownRestrictions::default();
        let mut restrictions = |layers: Result<Vec<Layer>, ConfigError>| {
            let layers = layers.unwrap_or_else(|error| {
                unknown.add_file(&error);
                Vec::new()
            });
            let home = env.user_home.as_deref();
            let of_layer = |layer| restrictions_of(layer, home, &mut unknown);
            layers.iter().flat_map(of_layer).collect::<Vec<_>>()
        };
        let system = system_layer(env).map(|layer| layer.into_iter().collect());
        let mut layers = restrictions(system);
        if !flags.ignores_user_file() {
            layers.extend(restrictions(user_layer(env).map(|layer| vec![layer])));
        }
        layers.extend(flag_layer(env, cwd, flags));
        layers.extend(restrictions(managed_layers(env)));
        let stack = Self {
            layers,
            requirements,
            project: None,
            trust: None,
            trusted_folders: Vec::new(),
            ignores_rules: flags.ignores_rules(),
        };
        (stack, unknown)
    }

    /// A copy in which files name no permissions.
    pub(crate) fn without_permissions_of_files(&self) -> Self {
        let mut stack = self.clone();
        for layer in &mut stack.layers {
            if layer.source != LayerSource::SessionFlags {
                layer.table.remove(DEFAULT_PERMISSIONS);
                layer.table.remove(PERMISSIONS);
            }
        }
        stack
    }

    /// The layers, lowest precedence first, including disabled ones.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    pub fn user(&self) -> Option<&Layer> {
        let user = |layer: &&Layer| matches!(layer.source, LayerSource::User { .. });
        self.layers.iter().find(user)
    }

    /// A copy with another user layer.
    pub(crate) fn with_user(&self, user: Layer) -> Self {
        let mut stack = self.clone();
        for layer in &mut stack.layers {
            if matches!(layer.source, LayerSource::User { .. }) {
                *layer = user.clone();
            }
        }
        stack
    }

    /// The requirements in force.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// The project of the working folder.
    pub fn project(&self) -> Option<&ProjectFolders> {
        self.project.as_ref()
    }

    /// The user's trust decision about the project of the working folder.
    pub fn trust(&self) -> Option<TrustLevel> {
        self.trust
    }

    /// All folders whose project settings take effect for anyone who works there. Sandboxed commands may not write them.
    pub fn trusted_folders(&self) -> &[PathBuf] {
        &self.trusted_folders
    }

    /// The enabled layers, lowest precedence first.
    pub fn enabled(&self) -> impl DoubleEndedIterator<Item = &Layer> {
        self.layers.iter().filter(|layer| layer.is_enabled())
    }

    /// The folders whose rules, hooks, agent roles and skills take effect, lowest precedence first. A project's folders
    /// are included only if it is trusted and sandboxed commands cannot have written them.
    pub fn active_folders(&self) -> impl Iterator<Item = &Path> {
        self.enabled().filter_map(Layer::active_folder)
    }

    /// The folders with rules of the layers that are in force.
    pub(crate) fn rule_folders(&self) -> impl Iterator<Item = PathBuf> {
        let is_ignored = |layer: &&Layer| {
            let is_own = matches!(
                layer.source,
                LayerSource::User { .. } | LayerSource::Project { .. }
            );
            self.ignores_rules && is_own
        };
        let layers = self.enabled().filter(move |layer| !is_ignored(layer));
        let folders = layers.filter_map(Layer::active_folder);
        folders.map(|folder| folder.join("rules"))
    }

    /// All settings merged, without a profile.
    pub fn merged(&self) -> Table {
        merged(self.enabled())
    }

    /// The layer that supplied each value, by dotted path.
    pub fn origins(&self) -> BTreeMap<String, &Layer> {
        let layers: Vec<&Layer> = self.enabled().collect();
        let tables: Vec<_> = layers.iter().map(|layer| layer.effective_table()).collect();
        let tables: Vec<&Table> = tables.iter().map(AsRef::as_ref).collect();
        let found = origins(&tables).into_iter();
        found
            .filter_map(|(path, at)| Some((path, *layers.get(at)?)))
            .collect()
    }

    /// The settings below and above the chosen profile.
    pub(crate) fn around_profile(&self) -> Result<MergedTables, ConfigError> {
        let merged_all = self.merged();
        let profile = match merged_all.get("profile").and_then(Value::as_str) {
            None => Table::new(),
            Some(name) => {
                let profiles = merged_all.get("profiles").and_then(Value::as_table);
                let profile = profiles.and_then(|profiles| profiles.get(name)?.as_table());
                profile
                    .ok_or_else(|| ConfigError::ProfileNotFound(name.to_owned()))?
                    .clone()
            }
        };
        let (above, below): (Vec<&Layer>, Vec<&Layer>) = self
            .enabled()
            .partition(|layer| layer.source.beats_profile());
        Ok(MergedTables {
            below_profile: merged(below.into_iter()),
            profile,
            above_profile: merged(above.into_iter()),
        })
    }
}

impl MergedTables {
    /// All settings merged, including the profile.
    pub(crate) fn merge(&self) -> Table {
        let mut table = self.below_profile.clone();
        let mut profile = self.profile.clone();
        profile.retain(|key, _| PROFILE_KEYS.contains(&key));
        merge(&mut table, &profile);
        merge(&mut table, &self.above_profile);
        table
    }
}

fn merged<'a>(layers: impl Iterator<Item = &'a Layer>) -> Table {
    let mut table = Table::new();
    for layer in layers {
        merge(&mut table, &layer.effective_table());
    }
    table
}

fn system_layer(env: &Environment) -> Result<Option<Layer>, ConfigError> {
    let Some(folder) = &env.system_folder else {
        return Ok(None);
    };
    let file = folder.join(CONFIG_FILE);
    Layer::read(LayerSource::System { file }, env.path_base(folder)).map(Some)
}

/// The user's layer as currently on disk.
fn user_layer(env: &Environment) -> Result<Layer, ConfigError> {
    let file = env.user_config_file();
    Layer::read(LayerSource::User { file }, env.path_base(&env.codex_home))
}

/// The user's layer from a text.
pub(crate) fn user_layer_of(env: &Environment, text: String) -> Result<Layer, ConfigError> {
    let file = env.user_config_file();
    Layer::parse(
        LayerSource::User { file },
        text,
        env.path_base(&env.codex_home),
    )
}

fn flag_layer(env: &Environment, cwd: Option<&Path>, flags: &Overrides) -> Option<Layer> {
    if flags.is_empty() {
        return None;
    }
    let base = env.path_base(cwd.unwrap_or(&env.codex_home));
    Some(Layer::new(
        LayerSource::SessionFlags,
        flags.table().clone(),
        base,
    ))
}

fn managed_layers(env: &Environment) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = Vec::new();
    if let Some(file) = &env.managed_config_file {
        let text = read_bounded(file).map_err(|source| ConfigError::Read {
            path: file.clone(),
            source,
        })?;
        if let Some(text) = text {
            let folder = file.parent().unwrap_or(&env.codex_home);
            let source = LayerSource::ManagedFile { file: file.clone() };
            layers.push(Layer::parse(source, text, env.path_base(folder))?);
        }
    }
    if let Some(preferences) = &env.managed_preferences
        && let Some(text) = &preferences.config
    {
        let source = LayerSource::ManagedPreferences {
            domain: preferences.domain.clone(),
        };
        layers.push(Layer::parse(
            source,
            text.clone(),
            env.path_base(&env.codex_home),
        )?);
    }
    Ok(layers)
}

fn root_markers(table: &Table) -> Result<Vec<String>, ConfigError> {
    let Some(value) = table.get("project_root_markers") else {
        return Ok(vec![".git".to_owned()]);
    };
    let strings = |items: &Vec<Value>| {
        let items = items.iter().map(|item| item.as_str().map(str::to_owned));
        items.collect::<Option<Vec<String>>>()
    };
    value
        .as_array()
        .and_then(strings)
        .ok_or_else(|| ConfigError::setting("project_root_markers takes a list of strings"))
}
fn sources_and_tables(layers: &[Layer]) -> Vec<(&LayerSource, &Table)> {
    let layers = layers.iter();
    layers.map(|layer| (&layer.source, &layer.table)).collect()
}
