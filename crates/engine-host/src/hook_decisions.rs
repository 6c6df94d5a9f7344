//! What the user decides about the hooks of a thread, while it is open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server::{Configuration, RequestedSettings};
use codex_config::{ConfigError, RequestParams};
use codex_core::HookDecisionSource;
use codex_hooks::HookDecisions;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::{hooks, plugin_sources};

/// A larger file of settings is not compared; the decisions stay then.
const MAX_FILE: u64 = 16 << 20;

/// The decisions in the user's file of settings. It is read for each event, and what follows from it is worked out when it
/// has changed, whoever changed it.
#[derive(Debug)]
pub(crate) struct LiveHookDecisions {
    configuration: Arc<Configuration>,
    cwd: PathBuf,
    overrides: Map<String, Value>,
    params: RequestParams,
    known: Mutex<KnownDecisions>,
}

/// The user's file of settings.
pub(crate) fn user_file(configuration: &Configuration) -> Option<Vec<u8>> {
    codex_regular_file::read(&configuration.user_file(), MAX_FILE).ok()
}

#[derive(Debug)]
struct KnownDecisions {
    /// The file that they are from; none if it could not be read.
    file: Option<Vec<u8>>,
    decisions: Arc<HookDecisions>,
}

impl LiveHookDecisions {
    /// Those of a thread with these settings. The file was read before them.
    pub(crate) fn new(
        configuration: &Arc<Configuration>,
        cwd: &Path,
        settings: &RequestedSettings,
        file: Option<Vec<u8>>,
        decisions: HookDecisions,
    ) -> Self {
        Self {
            configuration: Arc::clone(configuration),
            cwd: cwd.to_owned(),
            overrides: settings.overrides.clone(),
            params: settings.params.clone(),
            known: Mutex::new(KnownDecisions {
                file,
                decisions: Arc::new(decisions),
            }),
        }
    }

    fn load(&self) -> Result<HookDecisions, ConfigError> {
        let (config, stack) = self
            .configuration
            .load(&self.cwd, &self.overrides, &self.params)?;
        let plugins = plugin_sources::enabled(&config);
        Ok(hooks::decisions(&stack, &plugins, config.features))
    }
}

impl HookDecisionSource for LiveHookDecisions {
    fn current(&self) -> Arc<HookDecisions> {
        let mut known = self.known.lock();
        let file = user_file(&self.configuration);
        if file != known.file {
            match self.load() {
                Ok(decisions) => known.decisions = Arc::new(decisions),
                // A file that is being edited: what was decided last holds.
                Err(error) => tracing::warn!(%error, "decisions about hooks are not read again"),
            }
            known.file = file;
        }
        Arc::clone(&known.decisions)
    }
}
