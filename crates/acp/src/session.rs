//! A session: a thread of the engine that the client has open.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{SessionConfigOption, SessionId};
use codex_app_server_protocol::v2::{TokenUsageBreakdown, UserInput};
use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinHandle;

use crate::offers::Offers;
use crate::options::Settings;
use crate::run::Run;
use crate::updates::Projection;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) cwd: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) run: Run<Vec<UserInput>>,
    pub(crate) projection: Projection,
    pub(crate) settings: Settings,
    /// What the client was told last that can be set.
    told: Option<Vec<SessionConfigOption>>,
    /// Tokens of the thread: now, and when the prompt that runs began.
    pub(crate) tokens: Option<TokenUsageBreakdown>,
    pub(crate) tokens_before: Option<TokenUsageBreakdown>,
    /// Work with the buffers of the client that has to be over before a prompt is answered.
    pub(crate) buffers: Vec<JoinHandle<()>>,
}

impl Session {
    pub(crate) fn new(id: &str, cwd: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            id: SessionId::new(id),
            cwd,
            state: Mutex::default(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn thread_id(&self) -> &str {
        &self.id.0
    }
}

impl State {
    /// All options, which the client gets to know by this.
    pub(crate) fn tell_options(&mut self, offers: Offers) -> Vec<SessionConfigOption> {
        let options = self.settings.options(offers);
        self.told = Some(options.clone());
        options
    }

    /// All options, if the client knows others.
    pub(crate) fn changed_options(&mut self, offers: Offers) -> Option<Vec<SessionConfigOption>> {
        let options = self.settings.options(offers);
        let is_news = self.told.as_ref().is_some_and(|told| *told != options);
        is_news.then(|| self.tell_options(offers))
    }
}
