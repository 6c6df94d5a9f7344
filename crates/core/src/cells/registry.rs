//! The cells of a thread, by their ids, and the kernel that runs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use codex_code_mode::{
    CallAnswer, CellCall, CellMessage, CellStart, KernelLine, MAX_LINE, ScriptTool, end_line,
    start_line, to_cell_line, tools_line,
};
use codex_protocol::{FunctionCallOutputContentItem, ImageDetail};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::caller::{ScriptCall, ScriptCaller};
use super::cell::{Cell, CellReport, CellStatus};
use super::kernel::Kernel;
use crate::ports::{Clock, Processes};

/// How many cells may run at once.
const MOST_RUNNING: usize = 16;
/// How many cells are kept in all.
const MOST_KEPT: usize = 64;
/// How many calls of a cell may run at once. Cells wait themselves at a lower number.
const MOST_CALLS: usize = 256;
/// The length of all stored values.
const MOST_STORED: usize = 8 << 20;

/// Why a cell has not started, or has no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CellError {
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
pub(crate) struct Cells {
    pub(super) state: Mutex<CellsState>,
    /// One kernel is started at a time.
    starting: tokio::sync::Mutex<()>,
    caller: watch::Sender<Option<Arc<dyn ScriptCaller>>>,
}

#[derive(Debug, Default)]
pub(super) struct CellsState {
    pub(super) kernel: Option<Kernel>,
    /// The tools that the kernel knows.
    tools: Option<Arc<[ScriptTool]>>,
    cells: BTreeMap<u64, Arc<Cell>>,
    last: u64,
    pub(super) console: Option<Arc<Cell>>,
    /// As JSON.
    stored: BTreeMap<String, String>,
    is_closed: bool,
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            caller: watch::Sender::new(None),
        }
    }
}

/// The turn that carries out the calls of cells. Until it is dropped, or another one is served.
#[derive(Debug)]
pub(crate) struct ServedTurn {
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
    /// Has calls carried out by a turn.
    pub(crate) fn serve(self: &Arc<Self>, caller: Arc<dyn ScriptCaller>) -> ServedTurn {
        self.caller.send_replace(Some(Arc::clone(&caller)));
        ServedTurn {
            cells: Arc::clone(self),
            caller,
        }
    }

    /// Starts a cell. `prepare` is called with its id before the script runs.
    pub(crate) async fn start(
        self: &Arc<Self>,
        processes: &dyn Processes,
        program: &Path,
        call_id: &str,
        source: String,
        prepare: impl FnOnce(u64),
    ) -> Result<Arc<Cell>, CellError> {
        let start = |stored| CellStart {
            source,
            stored,
            console: None,
        };
        self.start_with(processes, program, call_id, start, prepare)
            .await
    }

    pub(super) async fn start_with(
        self: &Arc<Self>,
        processes: &dyn Processes,
        program: &Path,
        call_id: &str,
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
            state.last += 1;
            let script = make(state.stored.clone());
            let cell = Cell::new(state.last, call_id, script.console.is_some());
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
    pub(crate) async fn report(
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
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Cell>, CellError> {
        let cell = id.parse().ok();
        let cell = cell.and_then(|id: u64| self.state.lock().cells.get(&id).cloned());
        let cell = cell.filter(|cell| !cell.is_console);
        cell.ok_or_else(|| CellError::NotFound(id.to_owned()))
    }

    /// Ends a cell, unless it has ended.
    pub(crate) fn end(&self, cell: &Cell, status: CellStatus) {
        if cell.has_ended() {
            return;
        }
        cell.end(status);
        if let Some(kernel) = &self.state.lock().kernel {
            kernel.send_at_once(end_line(cell.id));
        }
    }

    /// Ends a cell and forgets it.
    pub(crate) fn discard(&self, cell: &Cell) {
        self.end(cell, CellStatus::Terminated);
        self.state.lock().cells.remove(&cell.id);
    }

    /// Ends all cells. No other can start.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.kernel = None;
        let cells = std::mem::take(&mut state.cells);
        drop(state);
        for cell in cells.into_values() {
            cell.end(CellStatus::Terminated);
        }
    }

    fn take_line(self: &Arc<Self>, line: Option<KernelLine>) {
        match line {
            Some(KernelLine::Message(id, message)) => {
                let cell = self.state.lock().cells.get(&id).cloned();
                if let Some(cell) = cell.filter(|cell| !cell.has_ended()) {
                    self.take_message(&cell, *message);
                }
            }
            Some(KernelLine::Ended(id)) => {
                if let Some(cell) = self.state.lock().cells.get(&id) {
                    cell.end(CellStatus::Failed(CellError::KernelEnded.to_string()));
                }
            }
            None => {
                let mut state = self.state.lock();
                state.kernel = None;
                for cell in state.cells.values() {
                    cell.end(CellStatus::Failed(CellError::KernelEnded.to_string()));
                }
            }
        }
    }

    fn take_message(self: &Arc<Self>, cell: &Arc<Cell>, message: CellMessage) {
        let fits = match message {
            CellMessage::Text { text } => {
                cell.print(FunctionCallOutputContentItem::InputText { text })
            }
            CellMessage::Image { image_url, detail } => {
                let detail = detail_of(&detail);
                cell.print(FunctionCallOutputContentItem::InputImage { image_url, detail })
            }
            CellMessage::Call(call) => {
                let work = Arc::clone(self).carry_out(cell.id, cell.is_console, call);
                cell.run_call(MOST_CALLS, work)
            }
            CellMessage::Notify { text } => {
                if let Some(caller) = &*self.caller.borrow() {
                    caller.notify(&cell.call_id, text);
                }
                true
            }
            CellMessage::Yield => {
                cell.yield_control();
                true
            }
            CellMessage::Ran { error } => {
                cell.ran(error.map_or(CellStatus::Completed, CellStatus::Failed));
                true
            }
            CellMessage::Done { error, stored } => {
                self.store(stored);
                cell.end(error.map_or(CellStatus::Completed, CellStatus::Failed));
                true
            }
        };
        if !fits {
            let much = "the script printed or called too much at once".to_owned();
            self.end(cell, CellStatus::Failed(much));
        }
    }

    /// Carries out a call as soon as a turn does that.
    async fn carry_out(self: Arc<Self>, cell: u64, is_raw: bool, call: CellCall) {
        let CellCall { id, name, input } = call;
        let caller = {
            let mut callers = self.caller.subscribe();
            let served = callers.wait_for(Option::is_some).await;
            served.ok().and_then(|caller| caller.clone())
        };
        let Some(caller) = caller else { return };
        let number = id;
        let call = ScriptCall {
            cell,
            number,
            name,
            input,
            is_raw,
        };
        let result = caller.call(call).await;
        let mut line = to_cell_line(cell, &CallAnswer { id, result });
        if line.len() > MAX_LINE {
            let result = Err("the result is too large for a script".to_owned());
            line = to_cell_line(cell, &CallAnswer { id, result });
        }
        let lines = self.state.lock().kernel.as_ref().map(Kernel::sender);
        if let Some(lines) = lines {
            let _ = lines.send(line).await;
        }
    }

    /// Keeps what a cell stored, as long as there is room.
    fn store(&self, values: BTreeMap<String, String>) {
        let mut state = self.state.lock();
        let length = |values: &BTreeMap<String, String>| -> usize {
            values
                .iter()
                .map(|(key, value)| key.len() + value.len())
                .sum()
        };
        if length(&state.stored) + length(&values) <= MOST_STORED {
            state.stored.extend(values);
        } else {
            tracing::warn!("the stored values of cells are too long and were dropped");
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

fn detail_of(detail: &str) -> Option<ImageDetail> {
    Some(match detail {
        "auto" => ImageDetail::Auto,
        "low" => ImageDetail::Low,
        "high" => ImageDetail::High,
        "original" => ImageDetail::Original,
        _ => return None,
    })
}
