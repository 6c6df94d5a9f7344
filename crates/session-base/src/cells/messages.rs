//! What cells send: output, calls and their ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_code_mode::{CallAnswer, CellCall, CellMessage, KernelLine, MAX_LINE, to_cell_line};
use codex_protocol::{FunctionCallOutputContentItem, ImageDetail};

use super::caller::ScriptCall;
use super::cell::{Cell, CellStatus};
use super::kernel::Kernel;
use super::registry::{CellError, Cells};

/// How many calls of a cell may run at once. Cells wait themselves at a lower number.
const MOST_CALLS: usize = 256;
/// The length of all stored values.
const MOST_STORED: usize = 8 << 20;

impl Cells {
    pub(super) fn take_line(self: &Arc<Self>, line: Option<KernelLine>) {
        match line {
            Some(KernelLine::Message(id, message)) => {
                let cell = self.state.lock().cells.get(&id).cloned();
                if let Some(cell) = cell.filter(|cell| !cell.has_ended()) {
                    self.take_message(&cell, *message);
                }
            }
            // Only its own cell ends: it writes what it likes.
            Some(KernelLine::Unreadable(id)) => {
                let cell = self.state.lock().cells.get(&id).cloned();
                if let Some(cell) = cell {
                    let reason = "the script sent a message that cannot be read".to_owned();
                    self.end(&cell, CellStatus::Failed(reason));
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
                let work = Arc::clone(self).carry_out(Arc::clone(cell), call);
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
    async fn carry_out(self: Arc<Self>, cell: Arc<Cell>, call: CellCall) {
        let CellCall { id, name, input } = call;
        let (origin, is_raw) = (cell.origin.lock().clone(), cell.is_console);
        let cell = cell.id;
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
            origin,
        };
        let result = caller.call(call).await.map_err(|rejection| rejection.0);
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

fn detail_of(detail: &str) -> Option<ImageDetail> {
    Some(match detail {
        "auto" => ImageDetail::Auto,
        "low" => ImageDetail::Low,
        "high" => ImageDetail::High,
        "original" => ImageDetail::Original,
        _ => return None,
    })
}
