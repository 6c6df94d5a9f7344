//! Launches agents and hidden threads for a session.

use std::sync::{Arc, Weak};

use codex_protocol::{ThreadId, UserMessageEvent};
use codex_session_base::events::EventReceiver;
use codex_session_base::thread::AgentThread;
use tokio::sync::mpsc;

use super::started::{SpawnedAgent, StartedThread};
use super::threads::Threads;
use crate::thread_origin::{AgentLauncher, LaunchError, ThreadOrigin};

/// How many agents may wait for the subscriber of their parent.
pub(super) const MAX_WAITING_AGENTS: usize = 64;

/// The launcher of one session.
#[derive(Debug)]
pub(super) struct SessionLauncher {
    pub(super) threads: Weak<Threads>,
    /// Passes the agents on to the subscriber of the thread.
    pub(super) publish: mpsc::Sender<Box<SpawnedAgent>>,
}

impl SessionLauncher {
    fn launch(&self, origin: ThreadOrigin) -> Result<StartedThread, LaunchError> {
        let threads = self.threads.upgrade();
        let threads = threads.ok_or(LaunchError::EngineGone)?;
        let started = threads.launch(origin);
        started.map_err(|error| LaunchError::Start(Box::new(error)))
    }
}

impl AgentLauncher for SessionLauncher {
    fn launch_agent(
        &self,
        origin: ThreadOrigin,
        first: Option<UserMessageEvent>,
    ) -> Result<AgentThread, LaunchError> {
        let config = Box::new(origin.config.clone());
        let started = self.launch(origin)?;
        let thread = Arc::new(started.thread.clone());
        let agent = SpawnedAgent {
            started,
            config,
            first,
        };
        let published = self.publish.try_send(Box::new(agent));
        published.map_err(|_| LaunchError::NoSubscriber)?;
        Ok(thread)
    }

    fn launch_hidden(
        &self,
        origin: ThreadOrigin,
    ) -> Result<(AgentThread, EventReceiver), LaunchError> {
        let started = self.launch(origin)?;
        Ok((Arc::new(started.thread), started.events))
    }

    fn is_loaded(&self, id: &ThreadId) -> bool {
        let threads = self.threads.upgrade();
        threads.is_some_and(|threads| threads.get(id).is_some())
    }
}
