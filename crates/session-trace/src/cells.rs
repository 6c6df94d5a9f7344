//! Records scripts of the model: their cells, and where their calls belong.

use codex_core::{CellAnswer, CellState};
use codex_protocol::{FunctionCallOutputContentItem, ResponseItem};
use codex_rollout_trace::format::{CellStatus, Event, PayloadKind, Requester};
use codex_rollout_trace::ids::RuntimeToolId;
use serde::Serialize;
use serde_json::Value;

use crate::thread_recorder::ThreadRecorder;

/// Where a call of a script belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NestedPlace {
    pub(crate) cell: u64,
    /// The number of the call in its cell.
    pub(crate) number: u64,
}

impl NestedPlace {
    pub(crate) fn tool_id(self) -> RuntimeToolId {
        format!("tool-{}", self.number).into()
    }

    pub(crate) fn requester(self) -> Requester {
        Requester::CodeCell {
            runtime_cell_id: self.cell.to_string().into(),
        }
    }
}

/// Whether a call of the model runs a script.
pub(crate) fn is_script(call: &ResponseItem) -> bool {
    matches!(call, ResponseItem::CustomToolCall { name, .. } if name == "exec")
}

/// The approximate memory size of a value.
pub(crate) fn weight_of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight_of_value).sum(),
        Value::Object(members) => members.values().map(weight_of_value).sum(),
        _ => 8,
    }
}

pub(crate) fn started(trace: &ThreadRecorder, turn: &str, cell: u64, call: &str, source: &str) {
    let (call, source_js) = (call.to_owned(), source.to_owned());
    trace.record(turn, source_js.len(), move |_| Event::CodeCellStarted {
        runtime_cell_id: cell.to_string().into(),
        model_visible_call_id: call.into(),
        source_js,
    });
}

pub(crate) fn answered(trace: &ThreadRecorder, turn: &str, answer: &CellAnswer<'_>) {
    let (response, status) = (CellResponse::from_answer(answer), status_of(answer.state));
    let cell = answer.cell;
    trace.record(turn, weight_of_items(answer.items), move |payloads| {
        Event::CodeCellInitialResponse {
            runtime_cell_id: cell.to_string().into(),
            status,
            response_payload: Some(payloads.add(PayloadKind::ToolResult, &response)),
        }
    });
}

pub(crate) fn ended(trace: &ThreadRecorder, turn: &str, answer: &CellAnswer<'_>) {
    let (response, status) = (CellResponse::from_answer(answer), status_of(answer.state));
    let cell = answer.cell;
    trace.record(turn, weight_of_items(answer.items), move |payloads| {
        Event::CodeCellEnded {
            runtime_cell_id: cell.to_string().into(),
            status,
            response_payload: Some(payloads.add(PayloadKind::ToolResult, &response)),
        }
    });
}

fn status_of(state: CellState<'_>) -> CellStatus {
    match state {
        CellState::Yielded => CellStatus::Yielded,
        CellState::Completed => CellStatus::Completed,
        CellState::Failed(_) => CellStatus::Failed,
        CellState::Terminated => CellStatus::Terminated,
    }
}

fn weight_of_items(items: &[FunctionCallOutputContentItem]) -> usize {
    let weight = |item: &FunctionCallOutputContentItem| match item {
        FunctionCallOutputContentItem::InputText { text } => text.len(),
        FunctionCallOutputContentItem::InputImage { image_url, .. } => image_url.len(),
    };
    items.iter().map(weight).sum()
}

/// `tool_result` of a cell.
#[derive(Debug, Serialize)]
struct CellResponse {
    response: CellOutput,
}

#[derive(Debug, Serialize)]
enum CellOutput {
    Yielded {
        cell_id: String,
        content_items: Vec<FunctionCallOutputContentItem>,
    },
    Terminated {
        cell_id: String,
        content_items: Vec<FunctionCallOutputContentItem>,
    },
    Result {
        cell_id: String,
        content_items: Vec<FunctionCallOutputContentItem>,
        error_text: Option<String>,
    },
}

impl CellResponse {
    fn from_answer(answer: &CellAnswer<'_>) -> Self {
        let cell_id = answer.cell.to_string();
        let content_items = answer.items.to_vec();
        let response = match answer.state {
            CellState::Yielded => CellOutput::Yielded {
                cell_id,
                content_items,
            },
            CellState::Terminated => CellOutput::Terminated {
                cell_id,
                content_items,
            },
            CellState::Completed => CellOutput::Result {
                cell_id,
                content_items,
                error_text: None,
            },
            CellState::Failed(error) => CellOutput::Result {
                cell_id,
                content_items,
                error_text: Some(error.to_owned()),
            },
        };
        Self { response }
    }
}
