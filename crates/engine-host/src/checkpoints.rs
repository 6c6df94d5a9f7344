//! The store of checkpoints: opened with the limits of the settings, and kept in order.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use codex_checkpoints::{CheckpointLimits, CheckpointStore};
use codex_config::Config;
use codex_core::CheckpointOptions;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The store in a home folder.
pub fn store(config: &Config, home: &Path) -> Arc<CheckpointStore> {
    let settings = &config.storage.checkpoints;
    let defaults = CheckpointLimits::default();
    let keep = settings.keep_days.map_or(defaults.keep, |days| {
        let days = u32::try_from(days).ok().filter(|days| *days > 0)?;
        Some(DAY * days)
    });
    let limits = CheckpointLimits {
        max_file_bytes: settings.max_file_bytes.unwrap_or(defaults.max_file_bytes),
        max_total_bytes: settings.max_total_bytes.unwrap_or(defaults.max_total_bytes),
        keep,
        ..defaults
    };
    Arc::new(CheckpointStore::new(home, limits))
}

/// What sessions with this configuration record.
pub fn options(config: &Config) -> Option<CheckpointOptions> {
    let settings = &config.storage.checkpoints;
    settings.enabled.unwrap_or(true).then(|| CheckpointOptions {
        commands: settings.commands.unwrap_or(true),
    })
}

/// Finishes restores of processes that were killed, and removes what is too old or too much. On a thread of its own.
pub fn maintain(store: &Arc<CheckpointStore>) {
    if !store.exists() {
        return;
    }
    let store = Arc::clone(store);
    let maintain = move || {
        if let Err(error) = store.finish_restores() {
            tracing::warn!(%error, "an interrupted restore is not finished");
        }
        if let Err(error) = store.sweep(SystemTime::now()) {
            tracing::warn!(%error, "the store of checkpoints is not swept");
        }
    };
    let thread = std::thread::Builder::new().name("checkpoints".to_owned());
    if let Err(error) = thread.spawn(maintain) {
        tracing::warn!(%error, "the store of checkpoints is not swept");
    }
}
