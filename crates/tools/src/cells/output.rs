//! The output of a cell for the model.

use std::time::Duration;

use codex_protocol::{
    FunctionCallOutputBody, FunctionCallOutputContentItem, TruncationMode, TruncationPolicy,
};
use codex_session_base::cells::{CellReport, CellStatus};
use codex_session_base::history::truncate::{byte_budget, cut_parts, formatted_cut};

/// The limit of an output in tokens.
pub(super) const DEFAULT_TOKENS: u64 = 10_000;

/// The state of the cell, then what it printed.
pub(super) fn output(
    cell: u64,
    report: CellReport,
    took: Duration,
    max_tokens: Option<u64>,
) -> FunctionCallOutputBody {
    let state = match &report.status {
        CellStatus::Running => format!("Script running with cell ID {cell}"),
        CellStatus::Completed => "Script completed".to_owned(),
        CellStatus::Failed(_) => "Script failed".to_owned(),
        CellStatus::Terminated => "Script terminated".to_owned(),
    };
    let mut items = report.items;
    if let CellStatus::Failed(error) = report.status {
        items.push(text(format!("Script error:\n{error}")));
    }
    let seconds = took.as_secs_f64();
    let header = format!("{state}\nWall time {seconds:.1} seconds\nOutput:\n");
    if items.is_empty() {
        return FunctionCallOutputBody::Text(header.into());
    }
    let mut output = vec![text(header)];
    output.extend(cut(items, max_tokens.unwrap_or(DEFAULT_TOKENS)));
    FunctionCallOutputBody::Content(output)
}

fn text(text: String) -> FunctionCallOutputContentItem {
    FunctionCallOutputContentItem::InputText { text }
}

/// Texts alone become one if they are too long. Beside images, each is cut until the limit is used up.
fn cut(
    items: Vec<FunctionCallOutputContentItem>,
    max_tokens: u64,
) -> Vec<FunctionCallOutputContentItem> {
    let policy = TruncationPolicy {
        mode: TruncationMode::Tokens,
        limit: max_tokens,
    };
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|item| match item {
            FunctionCallOutputContentItem::InputText { text } => Some(text.as_str()),
            FunctionCallOutputContentItem::InputImage { .. } => None,
        })
        .collect();
    let Some(texts) = texts else {
        return cut_parts(items, policy);
    };
    let whole = texts.join("\n");
    if whole.len() <= byte_budget(policy) {
        return items;
    }
    vec![text(formatted_cut(&whole, policy))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: CellStatus, items: &[&str], max_tokens: Option<u64>, expected: &[&str]) {
        let items = items.iter().map(|item| text((*item).to_owned())).collect();
        let report = CellReport { status, items };
        let texts: Vec<String> = match output(7, report, Duration::from_millis(440), max_tokens) {
            FunctionCallOutputBody::Text(text) => vec![text.as_str().into_owned()],
            FunctionCallOutputBody::Content(items) => items
                .into_iter()
                .map(|item| match item {
                    FunctionCallOutputContentItem::InputText { text } => text,
                    image => panic!("{image:?}"),
                })
                .collect(),
        };
        assert_eq!(texts, expected);
    }

    #[test]
    fn the_state_comes_first() {
        check(
            CellStatus::Completed,
            &[],
            None,
            &["Script completed\nWall time 0.4 seconds\nOutput:\n"],
        );
        check(
            CellStatus::Running,
            &["a", "b"],
            None,
            &[
                "Script running with cell ID 7\nWall time 0.4 seconds\nOutput:\n",
                "a",
                "b",
            ],
        );
        check(
            CellStatus::Failed("boom".to_owned()),
            &["a"],
            None,
            &[
                "Script failed\nWall time 0.4 seconds\nOutput:\n",
                "a",
                "Script error:\nboom",
            ],
        );
    }

    #[test]
    fn long_texts_become_one() {
        check(
            CellStatus::Terminated,
            &["0123456789", "0123456789"],
            Some(2),
            &[
                "Script terminated\nWall time 0.4 seconds\nOutput:\n",
                "Total output lines: 2\n\n0123…4 tokens truncated…6789",
            ],
        );
    }
}
