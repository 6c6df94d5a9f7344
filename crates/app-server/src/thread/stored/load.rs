//! Reads the file of a thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_projection::dialect::StoredForm;
use codex_rollout::RolloutLoadError;

use crate::blocking::blocking;
use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::{StoredHistory, form_in, read_history};

/// Reads the file of a thread. `running` is the id of the turn that runs.
pub(crate) async fn load(
    server: &Arc<AppServer>,
    path: PathBuf,
    form: StoredForm,
    running: Option<String>,
) -> Result<(PathBuf, StoredHistory), Failure> {
    let server = Arc::clone(server);
    blocking(move || {
        let form = form_in(&path, form);
        let history = read_history(&path, form, running.as_deref(), server.outlines());
        let history = history.map_err(|error| unreadable(&path, &error))?;
        Ok((path, history))
    })
    .await
}

pub(crate) fn unreadable(path: &Path, error: &RolloutLoadError) -> Failure {
    let path = path.display();
    Failure::invalid(format!("failed to load rollout `{path}`: {error}"))
}
