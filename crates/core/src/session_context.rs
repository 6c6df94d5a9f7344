//! What every part of a session works with.

use std::sync::Arc;

use codex_model_client::ThreadConnection;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::budget::ThreadBudget;
use crate::config::SessionConfig;
use crate::events::Emitter;
use crate::ports::{Clock, Ids, Processes};

/// The configuration, the ports and the emitter of a session. Fixed when the session starts.
#[derive(Debug)]
pub(crate) struct SessionContext {
    pub(crate) config: SessionConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) processes: Arc<dyn Processes>,
    pub(crate) emitter: Emitter,
    /// What the thread uses.
    pub(crate) budget: Arc<ThreadBudget>,
    /// The connection to the model, for providers that keep one per thread.
    pub(crate) connection: ThreadConnection,
    /// How the session came about, until its first turn.
    pub(crate) beginning: Mutex<Option<SessionBeginning>>,
    /// Work that nobody waits for. It ends with the session.
    pub(crate) background: Mutex<JoinSet<()>>,
}

/// How a session came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionBeginning {
    Startup,
    Resume,
    Fork,
}

impl SessionContext {
    /// Does work that nobody waits for.
    pub(crate) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }
}
