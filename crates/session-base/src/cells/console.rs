//! The console of a thread: a cell that runs one script after another and keeps what they declare.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_code_mode::{CellStart, ConsoleFolders, ConsoleScript, run_line};
use codex_protocol::FunctionCallOutputContentItem;

use super::caller::ScriptOrigin;
use super::cell::{Cell, CellBegin, CellReport, CellStatus};
use super::kernel::Kernel;
use super::registry::{CellError, Cells};
use crate::ports::{Clock, Processes};

/// A script for the console.
#[derive(Debug)]
pub struct ConsoleRun<'a> {
    pub call_id: &'a str,
    pub origin: ScriptOrigin,
    pub code: String,
    pub timeout: Duration,
}

fn begun_anew() -> FunctionCallOutputContentItem {
    FunctionCallOutputContentItem::InputText {
        text: "The console was started anew, because the permissions of the thread have changed: what \
               earlier scripts declared is gone."
            .to_owned(),
    }
}

impl Cells {
    /// Runs a script in the console of the thread, which is started if there is none. The console ends if the script
    /// does not in time, or is not waited for. One that was begun with other rights ends first: what its scripts left
    /// running must not get those of this turn.
    pub async fn run_in_console(
        self: &Arc<Self>,
        processes: &dyn Processes,
        program: &Path,
        clock: &dyn Clock,
        folders: ConsoleFolders,
        ConsoleRun {
            call_id,
            origin,
            code,
            timeout,
        }: ConsoleRun<'_>,
    ) -> Result<CellReport, CellError> {
        let known = self.state.lock().console.clone();
        let mut known = known.filter(|console| !console.has_ended());
        let has_other_rights = |console: &Arc<Cell>| console.origin.lock().rights != origin.rights;
        let is_begun_anew = known.as_ref().is_some_and(has_other_rights);
        if is_begun_anew {
            self.reset_console();
            known = None;
        }
        let console = match known {
            Some(console) => {
                *console.origin.lock() = origin;
                console
            }
            None => {
                let begin = CellBegin { call_id, origin };
                let start = |_| CellStart {
                    source: String::new(),
                    stored: BTreeMap::new(),
                    console: Some(folders),
                };
                let started = self.start_with(processes, program, begin, start, |_| {});
                let console = started.await?;
                self.state.lock().console = Some(Arc::clone(&console));
                console
            }
        };
        let lines = self.state.lock().kernel.as_ref().map(Kernel::sender);
        let lines = lines.ok_or(CellError::KernelEnded)?;
        let mut running = RunningConsole(Some((&**self, Arc::clone(&console))));
        console.expect_report();
        let line = run_line(console.id, &ConsoleScript { run: code });
        if lines.send(line).await.is_err() {
            return Err(CellError::KernelEnded);
        }
        let report = console.report(clock, timeout).await;
        let mut report = report.ok_or(CellError::KernelEnded)?;
        if is_begun_anew {
            report.items.insert(0, begun_anew());
        }
        if report.status != CellStatus::Running && !console.has_ended() {
            running.0 = None;
        }
        Ok(report)
    }

    /// Ends the console of the thread, if there is one.
    pub fn reset_console(&self) {
        let console = self.state.lock().console.take();
        if let Some(console) = console {
            self.discard(&console);
        }
    }
}

/// A script that runs in the console. If nobody waits for it any more, the console ends.
struct RunningConsole<'a>(Option<(&'a Cells, Arc<Cell>)>);

impl Drop for RunningConsole<'_> {
    fn drop(&mut self) {
        if let Some((cells, console)) = self.0.take() {
            cells.discard(&console);
        }
    }
}
