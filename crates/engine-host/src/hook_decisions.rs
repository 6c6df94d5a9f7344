//! What the user decides about the hooks of a thread, while it is open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server::{Configuration, RequestedSettings};
use codex_config::{ConfigError, RequestParams};
use codex_core::HookDecisionSource;
use codex_hooks::{HOOKS_FILE, HookDecisions, HookPlace};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::{hooks, plugin_sources};

/// A larger file of settings is not compared; the decisions stay then.
const MAX_FILE: u64 = 16 << 20;

/// The decisions in the user's file of settings, and which hooks the user has at all. The files are read for each event, and
/// what follows from them is worked out when one has changed, whoever changed it.
#[derive(Debug)]
pub(crate) struct LiveHookDecisions {
    configuration: Arc<Configuration>,
    cwd: PathBuf,
    overrides: Map<String, Value>,
    params: RequestParams,
    known: Mutex<KnownDecisions>,
}

/// The user's file of settings, and the one with hooks beside it; none where one cannot be read.
pub(crate) type UserFiles = [Option<Vec<u8>>; 2];

pub(crate) fn user_files(configuration: &Configuration) -> UserFiles {
    let settings = configuration.user_file();
    let hooks = settings.with_file_name(HOOKS_FILE);
    [settings, hooks].map(|file| codex_regular_file::read(&file, MAX_FILE).ok())
}

#[derive(Debug)]
struct KnownDecisions {
    /// What they are from.
    files: UserFiles,
    decisions: Arc<HookDecisions>,
}

impl LiveHookDecisions {
    /// Those of a thread with these settings. The files were read before them.
    pub(crate) fn new(
        configuration: &Arc<Configuration>,
        cwd: &Path,
        settings: &RequestedSettings,
        files: UserFiles,
        decisions: HookDecisions,
    ) -> Self {
        Self {
            configuration: Arc::clone(configuration),
            cwd: cwd.to_owned(),
            overrides: settings.overrides.clone(),
            params: settings.params.clone(),
            known: Mutex::new(KnownDecisions {
                files,
                decisions: Arc::new(decisions),
            }),
        }
    }

    fn load(&self) -> Result<HookDecisions, ConfigError> {
        let (config, stack) = self
            .configuration
            .load(&self.cwd, &self.overrides, &self.params)?;
        let plugins = plugin_sources::enabled(&config);
        // Only the definitions count here, and they do not depend on the place.
        let place = HookPlace {
            cwd: &self.cwd,
            environment: &BTreeMap::new(),
            may_write: &|_| false,
            record: None,
        };
        let catalog = hooks::catalog(&stack, &[], &config.home, &place);
        Ok(HookDecisions {
            defined: Some(catalog.user_definitions()),
            ..hooks::decisions(&stack, &plugins, config.features)
        })
    }
}

impl HookDecisionSource for LiveHookDecisions {
    fn current(&self) -> Arc<HookDecisions> {
        let mut known = self.known.lock();
        let files = user_files(&self.configuration);
        if files != known.files {
            match self.load() {
                Ok(decisions) => known.decisions = Arc::new(decisions),
                // A file that is being edited: what was decided last holds.
                Err(error) => tracing::warn!(%error, "decisions about hooks are not read again"),
            }
            known.files = files;
        }
        Arc::clone(&known.decisions)
    }
}
