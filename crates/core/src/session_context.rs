//! What every part of a session works with.

use std::sync::Arc;

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
}
