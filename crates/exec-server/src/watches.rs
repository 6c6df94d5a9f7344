//! Tells a connection when one of some missing paths appears.

use std::sync::Arc;
use std::time::Duration;

use codex_transport::Outbox;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::handles::blocking;
use crate::refusal::Refusal;
use crate::requests::WatchMissing;
use crate::session::line;

/// How often is looked. A folder that is missing cannot be watched, and neither can its parents, so there is nothing to wait for.
const INTERVAL: Duration = Duration::from_millis(500);

/// How many watches a connection may have.
const MAX_WATCHES: usize = 64;

/// How many paths a watch may have.
const MOST_PATHS: usize = 256;

/// The watches of a connection. They end with it.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    running: JoinSet<()>,
}

impl Watches {
    pub(crate) fn watch(
        &mut self,
        params: WatchMissing,
        outbox: Arc<Outbox>,
    ) -> Result<Value, Refusal> {
        while self.running.try_join_next().is_some() {}
        if self.running.len() >= MAX_WATCHES || params.missing.len() > MOST_PATHS {
            return Ok(json!({ "watching": false }));
        }
        self.running.spawn(async move {
            let paths = Arc::new(params.missing);
            loop {
                tokio::time::sleep(INTERVAL).await;
                let looked_at = Arc::clone(&paths);
                let looking =
                    move || Ok(looked_at.iter().any(|it| codex_mounts::exists(it.path())));
                if blocking(looking).await.unwrap_or(false) {
                    let params = json!({ "watchId": params.watch_id });
                    let message = json!({ "method": "fs/missingChanged", "params": params });
                    outbox.push_notification(line(&message));
                    return;
                }
            }
        });
        Ok(json!({ "watching": true }))
    }
}
