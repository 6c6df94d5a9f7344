//! The cells of a thread, by their ids, and the kernel that runs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use codex_code_mode::{CellStart, ScriptTool, end_line, start_line, tools_line};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::caller::ScriptCaller;
use super::cell::{Cell, CellBegin, CellReport, CellStatus};
use super::kernel::Kernel;
use crate::ports::{Clock, Processes};

/// How many cells may run at once.
const MOST_RUNNING: usize = 16;
/// How many cells are kept in all.
const MOST_KEPT: usize = 64;

/// Why a cell has not started, or has no report.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    #[error("exec cell {0} not found")]
    NotFound(String),
    #[error("code mode session is shutting down")]
    ShuttingDown,
    #[error(
        "{MOST_RUNNING} cells are running, which is the most: wait for one of them, or terminate it with `wait`"
    )]
    TooMany,
    #[error("exec runtime cannot be started: {0}")]
    Kernel(String),
    #[error("exec runtime ended unexpectedly")]
    KernelEnded,
}

/// The cells of a thread.
#[derive(Debug)]
pub struct Cells {
    pub(super) state: Mutex<CellsState>,
    /// One kernel is started at a time.
    starting: tokio::sync::Mutex<()>,
    /// The number of the last cell of the thread.
    numbers: Arc<AtomicU64>,
    pub(super) caller: watch::Sender<Option<Arc<dyn ScriptCaller>>>,
}

#[derive(Debug, Default)]
pub(super) struct CellsState {
    pub(super) kernel: Option<Kernel>,
    /// The tools that the kernel knows.
    tools: Option<Arc<[ScriptTool]>>,
    pub(super) cells: BTreeMap<u64, Arc<Cell>>,
    pub(super) console: Option<Arc<Cell>>,
    /// As JSON.
    pub(super) stored: BTreeMap<String, String>,
    is_closed: bool,
}

/// The turn that carries out the calls of cells. Until it is dropped, or another one is served.
#[derive(Debug)]
pub struct ServedTurn {
    cells: Arc<Cells>,
    caller: Arc<dyn ScriptCaller>,
}

impl Drop for ServedTurn {
    fn drop(&mut self) {
        self.cells.caller.send_if_modified(|current| {
            let is_own = (current.as_ref()).is_some_and(|one| Arc::ptr_eq(one, &self.caller));
            if is_own {
                *current = None;
            }
            is_own
        });
    }
}

impl Cells {
    /// No cells; the next has the number after the given one.
    pub fn new(numbers: Arc<AtomicU64>) -> Self {
        Self {
            state: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            numbers,
            caller: watch::Sender::new(None),
        }
    }

    /// Has calls carried out by a turn.
    pub fn serve(self: &Arc<Self>, caller: Arc<dyn ScriptCaller>) -> ServedTurn {
        self.caller.send_replace(Some(Arc::clone(&caller)));
        ServedTurn {
            cells: Arc::clone(self),
            caller,
        }
    }

    /// Starts a cell. `prepare` is called with its id before the script runs.
    pub async fn start(
        self: &Arc<Self>,
        processes: &dyn Processes,
        program: &Path,
        begin: CellBegin<'_>,
        source: String,
        prepare: impl FnOnce(u64),
    ) -> Result<Arc<Cell>, CellError> {
        let start = |stored| CellStart {
            source,
            stored,
            console: None,
        };
        self.start_with(processes, program, begin, start, prepare)
            .await
    }

    pub(super) async fn start_with(
        self: &Arc<Self>,
        processes: &dyn Processes,
        program: &Path,
        begin: CellBegin<'_>,
        make: impl FnOnce(BTreeMap<String, String>) -> CellStart,
        prepare: impl FnOnce(u64),
    ) -> Result<Arc<Cell>, CellError> {
        self.ensure_kernel(processes, program).await?;
        let tools = self.caller.borrow().as_ref().map(|caller| caller.tools());
        let (lines, cell, start) = {
            let mut state = self.state.lock();
            let running = state.cells.values().filter(|cell| !cell.has_ended());
            if running.count() >= MOST_RUNNING {
                return Err(CellError::TooMany);
            }
            let Some(kernel) = &state.kernel else {
                return Err(CellError::KernelEnded);
            };
            let lines = kernel.sender();
            let mut start = Vec::new();
            if let Some(tools) = tools
                && !(state.tools.as_ref()).is_some_and(|known| Arc::ptr_eq(known, &tools))
            {
                start = tools_line(&tools);
                state.tools = Some(tools);
            }
            let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
            let script = make(state.stored.clone());
            let cell = Cell::new(number, begin, script.console.is_some());
            let cell = Arc::new(cell);
            state.make_room();
            state.cells.insert(cell.id, Arc::clone(&cell));
            start.extend(start_line(cell.id, &script));
            (lines, cell, start)
        };
        prepare(cell.id);
        if lines.send(start).await.is_err() {
            cell.end(CellStatus::Failed(CellError::KernelEnded.to_string()));
        }
        Ok(cell)
    }

    /// Starts a kernel, if none runs.
    async fn ensure_kernel(
        self: &Arc<Self>,
        processes: &dyn Processes,
        program: &Path,
    ) -> Result<(), CellError> {
        let _one = self.starting.lock().await;
        {
            let state = self.state.lock();
            if state.is_closed {
                return Err(CellError::ShuttingDown);
            }
            if state
                .kernel
                .as_ref()
                .is_some_and(|kernel| !kernel.has_ended())
            {
                return Ok(());
            }
        }
        let cells = Arc::downgrade(self);
        let take = move |line| {
            if let Some(cells) = Weak::upgrade(&cells) {
                cells.take_line(line);
            }
        };
        let kernel = Kernel::start(processes, program, take).await;
        let kernel = kernel.map_err(CellError::Kernel)?;
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(CellError::ShuttingDown);
        }
        state.kernel = Some(kernel);
        state.tools = None;
        Ok(())
    }

    /// Waits for a report of a cell. The cell is gone after the last one.
    pub async fn report(
        &self,
        cell: &Cell,
        clock: &dyn Clock,
        wait: Duration,
    ) -> Result<CellReport, CellError> {
        let report = cell.report(clock, wait).await;
        let not_found = || CellError::NotFound(cell.id.to_string());
        let report = report.ok_or_else(not_found)?;
        if report.status != CellStatus::Running {
            self.state.lock().cells.remove(&cell.id);
        }
        Ok(report)
    }

    /// A cell without a last report.
    pub fn find(&self, id: &str) -> Result<Arc<Cell>, CellError> {
        id.parse()
            .ok()
            .and_then(|id: u64| self.state.lock().cells.get(&id).cloned())
            .filter(|cell| !cell.is_console)
            .ok_or_else(|| CellError::NotFound(id.to_owned()))
    }

    /// Ends a cell, unless it has ended.
    pub fn end(&self, cell: &Cell, status: CellStatus) {
        if cell.has_ended() {
            return;
        }
        cell.end(status);
        if let Some(kernel) = &self.state.lock().kernel {
            kernel.send_at_once(end_line(cell.id));
        }
    }

    /// Ends a cell and forgets it.
    pub fn discard(&self, cell: &Cell) {
        self.end(cell, CellStatus::Terminated);
        self.state.lock().cells.remove(&cell.id);
    }

    /// Ends all cells. No other can start.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.kernel = None;
        let cells = std::mem::take(&mut state.cells);
        drop(state);
        for cell in cells.into_values() {
            cell.end(CellStatus::Terminated);
        }
    }
}

impl CellsState {
    /// Forgets the oldest cell that has ended, if there are too many.
    fn make_room(&mut self) {
        if self.cells.len() < MOST_KEPT {
            return;
        }
        let ended = self.cells.values().find(|cell| cell.has_ended());
        if let Some(id) = ended.map(|cell| cell.id) {
            self.cells.remove(&id);
        }
    }
}
