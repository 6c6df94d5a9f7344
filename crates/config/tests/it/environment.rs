//! A home, a folder of the system and a project to load configuration in.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use codex_config::{
    Config, ConfigError, ConfigView, Environment, Feature, LayerStack, LoadRequest, Overrides,
    RequestParams, ViewError,
};

/// Folders below a temporary one: `home` (ours), `user` (the user's), `etc`, `repo` (a git repository),
/// `repo/sub`.
pub(crate) struct TestEnvironment {
    _guard: tempfile::TempDir,
    pub(crate) top: PathBuf,
    pub(crate) env: Environment,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) flags: Overrides,
    pub(crate) params: RequestParams,
    pub(crate) host: BTreeMap<Feature, bool>,
}

impl TestEnvironment {
    /// A environment with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let guard = tempfile::tempdir().unwrap();
        let top = guard.path().canonicalize().unwrap();
        for folder in ["home", "user", "etc", "repo/.git", "repo/sub"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let mut env = Environment::with_home(top.join("home"));
        env.user_home = Some(top.join("user"));
        env.system_folder = Some(top.join("etc"));
        let environment = Self {
            _guard: guard,
            top,
            env,
            cwd: None,
            flags: Overrides::default(),
            params: RequestParams::default(),
            host: BTreeMap::new(),
        };
        for (path, text) in files {
            environment.write(path, text);
        }
        environment
    }

    /// A environment with a file of the user only.
    pub(crate) fn user(text: &str) -> Self {
        Self::new(&[("home/config.toml", text)])
    }

    /// Writes a file; `@` in its text stands for the top folder.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace('@', self.top.to_str().unwrap())).unwrap();
    }

    pub(crate) fn in_folder(mut self, folder: &str) -> Self {
        self.cwd = Some(self.top.join(folder));
        self
    }

    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.flags.add_flag(flag).unwrap();
        self
    }

    pub(crate) fn request(&self) -> LoadRequest<'_> {
        LoadRequest {
            env: &self.env,
            cwd: self.cwd.as_deref(),
            flags: &self.flags,
            params: &self.params,
            host_features: &self.host,
        }
    }

    pub(crate) fn stack(&self) -> LayerStack {
        LayerStack::load(&self.env, self.cwd.as_deref(), &self.flags).unwrap()
    }

    pub(crate) fn load(&self) -> Result<Config, ConfigError> {
        Config::load(self.request())
    }

    pub(crate) fn config(&self) -> Config {
        self.load().unwrap()
    }

    /// The text of the error, with `@` for the top folder.
    pub(crate) fn error(&self) -> String {
        self.shorten(&self.load().unwrap_err().to_string())
    }

    pub(crate) fn view(&self) -> Result<ConfigView, ViewError> {
        ConfigView::read(self.request())
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let warnings = self.config().warnings;
        warnings
            .iter()
            .map(|warning| self.shorten(&warning.summary))
            .collect()
    }

    pub(crate) fn shorten(&self, text: &str) -> String {
        text.replace(self.top.to_str().unwrap(), "@")
    }

    pub(crate) fn short_path(&self, path: &Path) -> String {
        self.shorten(path.to_str().unwrap())
    }
}
