//! The tools of one turn.

use std::sync::Arc;

use parking_lot::RwLock;

use super::registry::ToolSet;

/// The tools of a turn. Tools of MCP servers are added once the servers have started, and tools of apps when the user
/// mentions the apps.
#[derive(Debug)]
pub struct TurnTools(RwLock<Arc<ToolSet>>);

impl TurnTools {
    pub fn new(own: Arc<ToolSet>) -> Self {
        Self(RwLock::new(own))
    }

    /// The tools of the next request, and of the calls in its response.
    pub fn current(&self) -> Arc<ToolSet> {
        Arc::clone(&self.0.read())
    }

    pub fn replace(&self, all: Arc<ToolSet>) {
        *self.0.write() = all;
    }
}
