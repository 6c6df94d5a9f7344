//! One cell: what it printed, and whether it has ended.

use std::time::Duration;

use codex_protocol::FunctionCallOutputContentItem;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::caller::ScriptOrigin;
use crate::ports::{CellAnswer, CellState, Clock};

/// How much a cell may print between two reports, in bytes.
const MOST_OUTPUT: usize = 16 << 20;
/// What each item counts besides its text.
const ITEM_BYTES: usize = 64;

/// A script that runs, or has ended without a last report.
#[derive(Debug)]
pub struct Cell {
    pub id: u64,
    /// The call that started it.
    pub call_id: String,
    /// The turn of that call, or of the latest script of a console.
    pub(super) origin: Mutex<ScriptOrigin>,
    /// Whether it runs one script after the other.
    pub(super) is_console: bool,
    state: Mutex<CellProgress>,
    changed: Notify,
    /// Ends with the cell.
    calls: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct CellProgress {
    items: Vec<FunctionCallOutputContentItem>,
    bytes: usize,
    /// How many reports have begun. Only the last one gets the output.
    reports: u64,
    is_reporting: bool,
    /// What was printed until the cell yielded to the report that waits.
    yielded: Option<CellReport>,
    end: Option<CellStatus>,
}

/// The call that starts a cell.
#[derive(Debug)]
pub struct CellBegin<'a> {
    pub call_id: &'a str,
    pub origin: ScriptOrigin,
}

/// How a cell stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellStatus {
    Running,
    Completed,
    Failed(String),
    Terminated,
}

/// What a cell printed since the last report.
#[derive(Clone, Debug)]
pub struct CellReport {
    pub status: CellStatus,
    pub items: Vec<FunctionCallOutputContentItem>,
}

impl CellReport {
    /// As observers see it.
    pub fn answer(&self, cell: u64) -> CellAnswer<'_> {
        CellAnswer {
            cell,
            state: match &self.status {
                CellStatus::Running => CellState::Yielded,
                CellStatus::Completed => CellState::Completed,
                CellStatus::Failed(error) => CellState::Failed(error),
                CellStatus::Terminated => CellState::Terminated,
            },
            items: &self.items,
        }
    }
}

impl Cell {
    /// The call that starts it waits for its first report.
    pub(super) fn new(id: u64, begin: CellBegin<'_>, is_console: bool) -> Self {
        let state = CellProgress {
            is_reporting: !is_console,
            ..CellProgress::default()
        };
        Self {
            id,
            call_id: begin.call_id.to_owned(),
            origin: Mutex::new(begin.origin),
            is_console,
            state: Mutex::new(state),
            changed: Notify::new(),
            calls: Mutex::default(),
        }
    }

    /// Waits until the cell ends, yields, or the time is over. None if a later report takes over.
    pub(super) async fn report(&self, clock: &dyn Clock, wait: Duration) -> Option<CellReport> {
        let number = {
            let mut state = self.state.lock();
            state.reports += 1;
            state.is_reporting = true;
            state.reports
        };
        self.changed.notify_waiters();
        let mut time_is_up = clock.sleep(wait);
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let mut state = self.state.lock();
                if state.reports != number {
                    return None;
                }
                if let Some(yielded) = state.yielded.take() {
                    return Some(yielded);
                }
                if state.end.is_some() {
                    return Some(state.take_report());
                }
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = &mut time_is_up => {
                    let mut state = self.state.lock();
                    return (state.reports == number).then(|| state.take_report());
                }
            }
        }
    }

    /// Adds output. False if it is too much.
    pub(super) fn print(&self, item: FunctionCallOutputContentItem) -> bool {
        let length = match &item {
            FunctionCallOutputContentItem::InputText { text } => text.len(),
            FunctionCallOutputContentItem::InputImage { image_url, .. } => image_url.len(),
        };
        let mut state = self.state.lock();
        if state.end.is_some() {
            return true;
        }
        state.bytes += length + ITEM_BYTES;
        if state.bytes > MOST_OUTPUT {
            return false;
        }
        state.items.push(item);
        true
    }

    /// Reports what there is, if somebody waits for it.
    pub(super) fn yield_control(&self) {
        let mut state = self.state.lock();
        if state.is_reporting {
            state.yielded = Some(state.take_report());
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// The next report is about a script that a console is about to get.
    pub(super) fn expect_report(&self) {
        let mut state = self.state.lock();
        *state = CellProgress {
            is_reporting: true,
            reports: state.reports,
            end: state.end.take(),
            ..CellProgress::default()
        };
    }

    /// A console has run a script.
    pub(super) fn ran(&self, status: CellStatus) {
        let mut state = self.state.lock();
        if state.is_reporting {
            let report = state.take_report();
            state.yielded = Some(CellReport { status, ..report });
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Runs a call of the cell. It is dropped with the cell. False if there are too many.
    pub(super) fn run_call(
        &self,
        most: usize,
        call: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        let mut calls = self.calls.lock();
        while calls.try_join_next().is_some() {}
        if self.has_ended() {
            return true;
        }
        if calls.len() >= most {
            return false;
        }
        calls.spawn(call);
        true
    }

    /// Ends the cell, unless it has ended before. What it called is stopped.
    pub(super) fn end(&self, status: CellStatus) {
        self.state.lock().end.get_or_insert(status);
        self.calls.lock().abort_all();
        self.changed.notify_waiters();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().end.is_some()
    }
}

impl CellProgress {
    fn take_report(&mut self) -> CellReport {
        self.bytes = 0;
        self.is_reporting = false;
        CellReport {
            status: self.end.clone().unwrap_or(CellStatus::Running),
            items: std::mem::take(&mut self.items),
        }
    }
}
