//! The turns of a thread: those of its file, and the one that runs.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::v2::Turn;
use codex_projection::dialect::StoredForm;
use codex_rollout::ScannedLine;

use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::{Outline, TurnOrdinals, form_in};

/// The turns of a thread, oldest first. Only the lines of turns that are asked for are read.
pub(crate) struct StoredTurns {
    path: PathBuf,
    outline: Arc<Outline>,
    running: Option<Turn>,
    form: StoredForm,
}

impl StoredTurns {
    /// Reads where the turns are in the file.
    pub(crate) fn open(
        server: &AppServer,
        path: PathBuf,
        running: Option<Turn>,
    ) -> Result<Self, Failure> {
        let outline = server.outlines().get(&path);
        let outline = outline.map_err(|error| unreadable(&path, &error))?;
        Ok(Self {
            form: form_in(&path, StoredForm::NEWEST),
            path,
            outline,
            running,
        })
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.outline.ids().collect();
        // A turn that has just started is not in the file yet.
        let unstored = self.running.as_ref();
        ids.extend(
            unstored
                .map(|turn| &*turn.id)
                .filter(|id| !self.is_stored(id)),
        );
        ids
    }

    fn is_stored(&self, turn: &str) -> bool {
        self.outline.ids().any(|id| id == turn)
    }

    /// The positions of the turns in a range with a line that is wanted. The running turn always counts.
    pub(crate) fn positions_with(
        &self,
        range: Range<usize>,
        is_wanted: impl FnMut(&ScannedLine<'_>) -> bool,
    ) -> Result<Vec<usize>, Failure> {
        let found = self.outline.turns_with(range.clone(), is_wanted);
        let mut found = found.map_err(|error| unreadable(&self.path, &error))?;
        if let Some(running) = &self.running {
            let at = self.outline.ids().position(|id| id == running.id);
            let at = at.unwrap_or_else(|| self.outline.ids().len());
            if range.contains(&at) && !found.contains(&at) {
                found.push(at);
            }
        }
        Ok(found)
    }

    /// The ordinals of the turns at these positions.
    pub(crate) fn ordinals(&self, wanted: Range<usize>) -> Result<TurnOrdinals, Failure> {
        let ordinals = self.outline.ordinals(wanted, self.form.ids);
        ordinals.map_err(|error| unreadable(&self.path, &error))
    }

    /// The turns at these positions, with all their items.
    pub(crate) fn read(&self, wanted: Range<usize>) -> Result<Vec<Turn>, Failure> {
        let stored = self.outline.ids().len();
        let running = self.running.clone().filter(|turn| {
            let at = self.outline.ids().position(|id| id == turn.id);
            wanted.contains(&at.unwrap_or(stored))
        });
        let in_file = wanted.start.min(stored)..wanted.end.min(stored);
        let turns = self.outline.turns(in_file, self.form);
        let turns = turns.map_err(|error| unreadable(&self.path, &error))?;
        Ok(turns.with_running(running).into_vec())
    }
}

fn unreadable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::invalid(format!("failed to load rollout `{path}`: {error}"))
}
