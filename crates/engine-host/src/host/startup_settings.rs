//! What the settings at the start of the server say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_app_server::{Configuration, HostError, StartupSettings};
use codex_config::{ConfigWarning, Feature};
use codex_protocol::{Release, SandboxPolicy};

use super::EngineHost;
use crate::environment::variable;
use crate::user_shell::user_shell;

impl StartupSettings for EngineHost {
    fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }

    fn default_provider(&self) -> String {
        self.configuration.startup().model.provider_id.clone()
    }

    fn has_goals(&self) -> bool {
        self.configuration
            .startup()
            .features
            .enabled(Feature::Goals)
    }

    fn thread_unload_delay(&self) -> Duration {
        self.configuration.startup().storage.thread_unload_delay
    }

    fn client_release(&self) -> Option<Release> {
        self.configuration.startup().client_release
    }

    fn working_folder(&self) -> &Path {
        self.configuration.cwd()
    }

    fn shell(&self) -> PathBuf {
        user_shell(variable)
    }

    fn check_sandbox_policy(&self, policy: &SandboxPolicy) -> Result<(), HostError> {
        let requirements = &self.configuration.startup().requirements;
        Ok(requirements.check_sandbox_policy(policy)?)
    }
}
