//! What adds to threads: MCP servers, apps, hooks, skills, plugins.

use std::path::Path;
use std::sync::Arc;

use codex_app_server::{AppsAccess, Extensions, HostError, McpSettings};
use codex_config::{Feature, RequestParams};
use codex_hooks::HookCatalog;
use codex_skills::{SkillLibrary, SkillToggle};
use serde_json::{Map, Value};

use super::EngineHost;
use crate::program_checks::ProgramChecks;
use crate::{app_sources, mcp_servers, plugin_sources, skills};

impl Extensions for EngineHost {
    fn mcp_servers(&self, cwd: &Path) -> Result<McpSettings, HostError> {
        let params = RequestParams::default();
        let (mut config, _) = self.configuration.load(cwd, &Map::new(), &params)?;
        plugin_sources::add_to(&mut config);
        let mut enabled = mcp_servers::enabled(&config);
        let environment = self.environment_of(&config);
        let engine = &self.commands.engine_files;
        ProgramChecks::from_config(&config, cwd, &environment, engine).guard_servers(&mut enabled);
        let apps = app_sources::account(&config, self.resources.accounts());
        enabled.extend(apps.map(|account| app_sources::server(&config, &account)));
        Ok(McpSettings {
            connector: self.resources.connector(self.launcher.clone(), &config),
            enabled,
            disabled: mcp_servers::disabled(&config),
        })
    }

    fn apps(
        &self,
        cwd: &Path,
        overrides: &Map<String, Value>,
    ) -> Result<Option<AppsAccess>, HostError> {
        let params = RequestParams::default();
        let (config, _) = self.configuration.load(cwd, overrides, &params)?;
        let Some(account) = app_sources::account(&config, self.resources.accounts()) else {
            return Ok(None);
        };
        Ok(Some(AppsAccess {
            server: app_sources::server(&config, &account),
            connector: self.resources.connector(self.launcher.clone(), &config),
            http: Arc::clone(self.resources.connections()),
            catalog: Arc::clone(&self.apps),
            plugins: plugin_sources::enabled(&config),
            key: account.key,
            directory: account.directory,
        }))
    }

    fn hooks(&self, cwd: &Path) -> Result<HookCatalog, HostError> {
        let params = RequestParams::default();
        let (config, layers) = self.configuration.load(cwd, &Map::new(), &params)?;
        let plugins = plugin_sources::enabled(&config);
        let environment = self.environment_of(&config);
        if !config.features.enabled(Feature::Hooks) {
            return Ok(HookCatalog::default());
        }
        Ok(self.hooks_of(&config, &layers, &plugins, cwd, &environment))
    }

    fn skills(&self) -> &Arc<SkillLibrary> {
        &self.skills
    }

    fn switch_skill(&self, rule: &SkillToggle) -> Result<(), HostError> {
        let switched = skills::switch(rule, self.configuration.flags());
        switched.map_err(|error| HostError::Other(format!("{error:#}")))
    }

    fn read_plugins(&self) -> Result<(), HostError> {
        let params = RequestParams::default();
        let (config, _) =
            self.configuration
                .load(self.configuration.cwd(), &Map::new(), &params)?;
        self.plugins.set(plugin_sources::enabled(&config));
        self.skills.forget();
        Ok(())
    }
}
