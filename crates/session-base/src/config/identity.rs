//! What a session is: who started it, and which file it has.

use codex_protocol::{SessionSource, ThreadId};
use serde::{Deserialize, Serialize};

/// What a session is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionIdentity {
    /// What started the thread.
    pub source: SessionSource,
    /// The name of the client.
    pub originator: String,
    /// The version that is written to the rollout.
    pub version: String,
    /// The thread that this one is a copy of. Set when it is launched.
    pub forked_from: Option<ThreadId>,
    /// The thread at whose requests the provider's cache begins, if it is another one. Set when it is launched.
    pub cache_root: Option<ThreadId>,
    /// What the client says about the origin of the thread; stored with it.
    pub thread_source: Option<String>,
    /// Whether the thread has no file.
    pub ephemeral: bool,
    /// Whether the thread belongs to the one that it is forked from.
    pub is_side_thread: bool,
    /// Whether the items of its history have no ids and times of their own, as its client chose.
    pub has_legacy_history: bool,
    /// Whether its file is written so that other engines show all of it.
    pub has_paginated_history: bool,
    /// Whether nobody is there whom the model could ask: it belongs to a run without a client.
    pub is_unattended: bool,
}

impl Default for SessionIdentity {
    fn default() -> Self {
        Self {
            source: SessionSource::default(),
            originator: "codex_cli_rs".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            forked_from: None,
            cache_root: None,
            thread_source: None,
            ephemeral: false,
            is_side_thread: false,
            has_legacy_history: false,
            is_unattended: false,
            has_paginated_history: false,
        }
    }
}
