//! What runs threads and commands.

use std::sync::Arc;

use codex_app_server::{
    ClientName, HostError, Identity, PreparedThread, RequestedSettings, ThreadEngines,
};
use codex_core::StandaloneCommands;
use codex_environments::Environments;

use super::{EngineHost, originator};
use crate::wiring;

impl ThreadEngines for EngineHost {
    fn identity(&self, client: &ClientName) -> Identity {
        let identity = wiring::identity(&originator(client), Some(client));
        Identity {
            user_agent: identity.user_agent,
            home: self.configuration.startup().home.clone(),
        }
    }

    fn prepare(&self, settings: &RequestedSettings) -> Result<PreparedThread, HostError> {
        self.try_prepare(settings)
            .map_err(|error| HostError::Other(format!("{error:#}")))
    }

    fn commands(&self) -> Result<Arc<StandaloneCommands>, HostError> {
        Ok(Arc::clone(&self.commands))
    }

    fn environments(&self) -> &Arc<Environments> {
        self.resources.environments()
    }
}
