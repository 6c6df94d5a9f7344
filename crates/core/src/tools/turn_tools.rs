//! The tools of one turn.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::registry::ToolSet;

/// The tools of a turn. Tools of MCP servers are added once the servers have started.
#[derive(Debug)]
pub(crate) struct TurnTools {
    own: Arc<ToolSet>,
    all: OnceLock<Arc<ToolSet>>,
}

impl TurnTools {
    pub(crate) fn new(own: Arc<ToolSet>) -> Self {
        let all = OnceLock::new();
        Self { own, all }
    }

    /// Sets all tools of the turn.
    pub(crate) fn complete(&self, all: Arc<ToolSet>) {
        let _ = self.all.set(all);
    }
}

impl Deref for TurnTools {
    type Target = ToolSet;

    fn deref(&self) -> &ToolSet {
        self.all.get().unwrap_or(&self.own)
    }
}
