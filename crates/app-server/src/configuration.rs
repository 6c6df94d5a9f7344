//! The configuration of the server: at its start, and now.
//!
//! Files are read again for each request; nothing watches them. Feature switches that a host application sets for
//! this process are kept here and applied to every configuration. A configuration without a folder has no project
//! settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codex_config::{
    Config, ConfigEdit, ConfigError, ConfigView, ConfigWarning, EditError, EditOutcome,
    EditRequest, Environment, Feature, LayerStack, LoadRequest, Overrides, RequestParams,
    Requirements, ViewError,
};
use parking_lot::Mutex;

/// The sources of the configuration, and its state at the start.
#[derive(Debug)]
pub struct Configuration {
    environment: Mutex<Environment>,
    flags: Overrides,
    cwd: PathBuf,
    host_features: Mutex<BTreeMap<Feature, bool>>,
    startup: Config,
}

impl Configuration {
    /// Loads the configuration of a process from its environment, flags and working folder. Unusable files are
    /// ignored and reported by the warnings of the start.
    ///
    /// # Errors
    /// The flags are invalid, or they require known settings and files are unusable.
    pub fn new(
        environment: Environment,
        flags: Overrides,
        cwd: PathBuf,
    ) -> Result<Self, ConfigError> {
        let request = LoadRequest {
            env: &environment,
            cwd: Some(&cwd),
            flags: &flags,
            params: &RequestParams::default(),
            host_features: &BTreeMap::new(),
        };
        let startup = match Config::load(request) {
            Ok(config) => config,
            Err(error) if flags.requires_known_settings() => return Err(error),
            Err(error) => {
                let mut config = Config::without_files(request)?;
                let warning = ConfigWarning::using_defaults(&error);
                config.warnings.insert(0, warning);
                config
            }
        };
        Ok(Self {
            environment: Mutex::new(environment),
            flags,
            cwd,
            host_features: Mutex::default(),
            startup,
        })
    }

    /// Sets the requirements of the account, from now on.
    pub fn set_account_requirements(&self, text: Option<String>) {
        self.environment.lock().account_requirements = text;
    }

    fn environment(&self) -> Environment {
        self.environment.lock().clone()
    }

    /// The configuration at the start of the process.
    #[must_use]
    pub fn startup(&self) -> &Config {
        &self.startup
    }

    /// The working folder of the process.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The folder that a request means.
    #[must_use]
    pub fn folder(&self, cwd: &str) -> PathBuf {
        self.environment.lock().absolute(&self.cwd, cwd)
    }

    /// The flags of the process.
    #[must_use]
    pub fn flags(&self) -> &Overrides {
        &self.flags
    }

    /// The configuration for a folder, with the overrides of a request.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn load(
        &self,
        cwd: &Path,
        overrides: &serde_json::Map<String, serde_json::Value>,
        params: &RequestParams,
    ) -> Result<(Config, LayerStack), ConfigError> {
        let mut flags = self.flags.clone();
        flags.add_json(overrides)?;
        let cwd = self.cwd.join(cwd);
        let environment = self.environment();
        let stack = LayerStack::load(&environment, Some(&cwd), &flags)?;
        let request = LoadRequest {
            env: &environment,
            cwd: Some(&cwd),
            flags: &flags,
            params,
            host_features: &self.host_features(),
        };
        Ok((Config::from_stack(&stack, request)?, stack))
    }

    /// The current configuration without project settings.
    pub(crate) fn without_projects(&self) -> Result<Config, ConfigError> {
        let params = RequestParams::default();
        Config::load(self.request(&self.environment(), None, &params, &self.host_features()))
    }

    /// The current configuration with its layers, for a folder if there is one.
    pub(crate) fn view(&self, cwd: Option<&Path>) -> Result<ConfigView, ViewError> {
        let cwd = cwd.map(|cwd| self.cwd.join(cwd));
        let params = RequestParams::default();
        let (environment, switches) = (self.environment(), self.host_features());
        ConfigView::read(self.request(&environment, cwd.as_deref(), &params, &switches))
    }

    /// The requirements of the administrator.
    pub(crate) fn requirements(&self) -> Result<Requirements, ConfigError> {
        let stack = LayerStack::load(&self.environment(), None, &self.flags)?;
        Ok(stack.requirements().clone())
    }

    /// The model provider that the settings name now, whether or not it is one. Project settings cannot.
    pub(crate) fn named_provider(&self) -> Option<String> {
        let stack = LayerStack::load(&self.environment(), None, &self.flags).ok()?;
        let name = stack.merged().get("model_provider")?.as_str()?.to_owned();
        Some(name)
    }

    /// The configuration file of the user, which need not exist.
    #[must_use]
    pub fn user_file(&self) -> PathBuf {
        self.environment.lock().user_config_file()
    }

    /// Edits the configuration file of the user.
    pub(crate) fn edit(
        &self,
        file: Option<&Path>,
        expected_version: Option<&str>,
        edits: &[ConfigEdit],
    ) -> Result<EditOutcome, EditError> {
        let file = file.map(|file| self.cwd.join(file));
        codex_config::edit_user_config(EditRequest {
            env: &self.environment(),
            flags: &self.flags,
            host_features: &self.host_features(),
            file: file.as_deref(),
            expected_version,
            edits,
        })
    }

    /// Switches features for this process. Explicit settings take precedence.
    pub(crate) fn switch(&self, features: &BTreeMap<Feature, bool>) {
        self.host_features.lock().extend(features);
    }

    fn request<'a>(
        &'a self,
        environment: &'a Environment,
        cwd: Option<&'a Path>,
        params: &'a RequestParams,
        host_features: &'a BTreeMap<Feature, bool>,
    ) -> LoadRequest<'a> {
        LoadRequest {
            env: environment,
            cwd,
            flags: &self.flags,
            params,
            host_features,
        }
    }

    fn host_features(&self) -> BTreeMap<Feature, bool> {
        self.host_features.lock().clone()
    }
}
