//! The terminals of a session, by their ids.

mod terminal;
mod typed_line;

use std::collections::HashSet;
use std::sync::Arc;

use codex_session_base::thread::BackgroundTerminal;
use parking_lot::Mutex;
pub(crate) use terminal::{DeniedCommand, StartedCommand, Terminal};

/// The maximum number of terminals.
const MAX_TERMINALS: usize = 64;
/// From this number on the model gets a warning.
pub(crate) const WARN_AT: usize = 60;
/// The most recently used terminals are never closed to make room.
const PROTECTED_RECENT: usize = 8;

/// The terminals; the most recently used are last.
#[derive(Debug, Default)]
pub struct TerminalRegistry(Mutex<Vec<Arc<Terminal>>>);

impl TerminalRegistry {
    /// An unused id.
    pub fn fresh_id(&self) -> i32 {
        let terminals = self.0.lock();
        let taken = |id| terminals.iter().any(|terminal| terminal.id == id);
        loop {
            let random = uuid::Uuid::new_v4().as_u128() % 99_000;
            let id = 1_000 + i32::try_from(random).unwrap_or(0);
            if !taken(id) {
                return id;
            }
        }
    }

    /// Adds a terminal, and closes another if there is no room. Returns how many there are.
    pub fn add(&self, terminal: Arc<Terminal>) -> usize {
        let mut terminals = self.0.lock();
        if terminals.len() >= MAX_TERMINALS {
            let candidates = terminals.len() - PROTECTED_RECENT;
            let ended = terminals[..candidates]
                .iter()
                .position(|old| old.status().is_some());
            terminals.remove(ended.unwrap_or(0)).stop();
        }
        terminals.push(terminal);
        terminals.len()
    }

    /// Finds a terminal, and marks it as used.
    pub fn get(&self, id: i32) -> Option<Arc<Terminal>> {
        let mut terminals = self.0.lock();
        let at = terminals.iter().position(|terminal| terminal.id == id)?;
        let terminal = terminals.remove(at);
        terminals.push(Arc::clone(&terminal));
        Some(terminal)
    }

    pub fn remove(&self, id: i32) {
        self.0.lock().retain(|terminal| terminal.id != id);
    }

    /// The terminals whose commands run.
    pub fn running(&self) -> Vec<BackgroundTerminal> {
        let terminals = self.0.lock();
        let running = terminals.iter().filter(|one| one.status().is_none());
        running.map(|one| one.in_background()).collect()
    }

    /// Stops a terminal and waits for its end. Returns false if there is none with a running command.
    pub async fn stop(&self, id: i32) -> bool {
        let runs = |one: &Arc<Terminal>| one.id == id && one.status().is_none();
        let found = {
            let mut terminals = self.0.lock();
            let at = terminals.iter().position(runs);
            at.map(|at| terminals.remove(at))
        };
        let Some(terminal) = found else {
            return false;
        };
        terminal.stop();
        terminal.until_reported().await;
        true
    }

    /// Stops all and waits for their ends.
    pub async fn stop_all(&self) {
        self.stop_those(|_| true).await;
    }

    /// Stops the terminals of these calls and waits for their ends.
    pub async fn stop_of_calls(&self, calls: &HashSet<Arc<str>>) {
        self.stop_those(|one| calls.contains(&*one.call_id)).await;
    }

    async fn stop_those(&self, is_meant: impl Fn(&Terminal) -> bool) {
        let stopped: Vec<_> = {
            let mut terminals = self.0.lock();
            terminals.extract_if(.., |one| is_meant(one)).collect()
        };
        stopped.iter().for_each(|terminal| terminal.stop());
        for terminal in stopped {
            terminal.until_reported().await;
        }
    }
}

impl Drop for TerminalRegistry {
    fn drop(&mut self) {
        self.0.lock().iter().for_each(|terminal| terminal.stop());
    }
}
