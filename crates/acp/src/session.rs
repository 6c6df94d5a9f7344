//! An open session of the client, which is a thread of the engine.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{SessionConfigOption, SessionId};
use codex_app_server_protocol::v2::TokenUsageBreakdown;
use codex_protocol::AnswerCut;
use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinHandle;

use crate::client_features::ClientFeatures;
use crate::options::Settings;
use crate::prompt_input::PromptInput;
use crate::run::PromptRun;
use crate::update_gate::UpdateGate;
use crate::updates::Projection;

#[derive(Debug)]
pub(crate) struct AcpSession {
    pub(crate) id: SessionId,
    state: Mutex<SessionState>,
    pub(crate) gate: UpdateGate,
}

#[derive(Debug, Default)]
pub(crate) struct SessionState {
    pub(crate) cwd: PathBuf,
    pub(crate) run: PromptRun<PromptInput>,
    pub(crate) projection: Projection,
    pub(crate) settings: Settings,
    /// The options that were sent to the client last.
    sent_options: Option<Vec<SessionConfigOption>>,
    /// Token counts of the thread: now, and at the start of the running prompt.
    pub(crate) tokens: Option<TokenUsageBreakdown>,
    pub(crate) tokens_before: Option<TokenUsageBreakdown>,
    /// Why the last answer of the running prompt is not whole.
    pub(crate) cut: Option<AnswerCut>,
    /// Tasks that update the client's buffers. They end before the reply to the prompt.
    pub(crate) buffers: Vec<JoinHandle<()>>,
    /// Whether the engine has a file of the thread. A new one has none before its first turn.
    pub(crate) is_stored: bool,
    /// The title that the client knows.
    pub(crate) title: Option<String>,
}

impl AcpSession {
    pub(crate) fn new(id: &str) -> Arc<Self> {
        Arc::new(Self {
            id: SessionId::new(id),
            state: Mutex::default(),
            gate: UpdateGate::closed(),
        })
    }

    pub(crate) fn open(&self, cwd: PathBuf, settings: Settings) {
        let mut state = self.state();
        state.cwd = cwd;
        state.settings = settings;
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.state().cwd.clone()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }

    pub(crate) fn thread_id(&self) -> &str {
        &self.id.0
    }
}

impl SessionState {
    /// All options, remembered as sent.
    pub(crate) fn options_to_send(
        &mut self,
        client_features: ClientFeatures,
    ) -> Vec<SessionConfigOption> {
        let options = self.settings.options(client_features);
        self.sent_options = Some(options.clone());
        options
    }

    /// All options, if they changed since they were sent.
    pub(crate) fn changed_options(
        &mut self,
        client_features: ClientFeatures,
    ) -> Option<Vec<SessionConfigOption>> {
        let options = self.settings.options(client_features);
        let is_news = self
            .sent_options
            .as_ref()
            .is_some_and(|sent| *sent != options);
        is_news.then(|| self.options_to_send(client_features))
    }
}
