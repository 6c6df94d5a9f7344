//! Collects the results of a batch: CSV, JSON lines, and a page for people.

use std::io::Write as _;
use std::path::PathBuf;

use codex_regular_file::{NewFile, OutputFile};
use codex_task_table::push_record;

use crate::folder::{BatchError, BatchFolder, RowResult, RowStatus};
use crate::report;

/// What was written.
#[derive(Clone, Debug)]
pub struct CollectedFiles {
    pub csv: PathBuf,
    pub json_lines: PathBuf,
    pub page: PathBuf,
    /// Rows with a result.
    pub finished: usize,
    /// Rows without one.
    pub unfinished: usize,
}

impl RowStatus {
    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::CheckFailed => "checkFailed",
            Self::OverLimit => "overLimit",
        }
    }
}

/// Writes the results of a batch into its folder.
///
/// # Errors
/// A result cannot be read, or a file cannot be written.
pub fn collect(folder: &BatchFolder) -> Result<CollectedFiles, BatchError> {
    let mut results = Vec::new();
    for index in 0..folder.rows.len() {
        results.extend(folder.result(index)?);
    }
    let written = |name: &str, text: String| {
        let path = folder.path().join(name);
        let file = OutputFile::derived(&path);
        let done = file.write(NewFile::Private, |file| file.write_all(text.as_bytes()));
        done.map(|()| path.clone())
            .map_err(|source| BatchError::Io { path, source })
    };
    let json_lines: String = results
        .iter()
        .filter_map(|result| serde_json::to_string(result).ok())
        .map(|line| line + "\n")
        .collect();
    Ok(CollectedFiles {
        csv: written("results.csv", csv(&results))?,
        json_lines: written("results.jsonl", json_lines)?,
        page: written("results.html", report::page(folder, &results))?,
        finished: results.len(),
        unfinished: folder.rows.len() - results.len(),
    })
}

fn csv(results: &[RowResult]) -> String {
    let mut text = String::new();
    let headers = [
        "index",
        "id",
        "status",
        "message",
        "output",
        "error",
        "failed_check",
        "input_tokens",
        "cached_input_tokens",
        "output_tokens",
        "requests",
        "cost",
        "seconds",
        "thread_id",
        "rollout",
    ];
    push_record(&mut text, headers);
    for result in results {
        let failed = result
            .checks
            .iter()
            .find(|check| check.exit_code != Some(0));
        let output = result.output.as_ref().map(ToString::to_string);
        let cost = result.usage.cost.map(|cost| cost.to_string());
        let rollout = result
            .rollout
            .as_ref()
            .map(|path| path.display().to_string());
        let record = [
            result.index.to_string(),
            result.id.clone(),
            result.status.name().to_owned(),
            result.message.clone().unwrap_or_default(),
            output.unwrap_or_default(),
            result.error.clone().unwrap_or_default(),
            failed
                .map(|check| check.command.clone())
                .unwrap_or_default(),
            result.usage.input_tokens.to_string(),
            result.usage.cached_input_tokens.to_string(),
            result.usage.output_tokens.to_string(),
            result.usage.requests.to_string(),
            cost.unwrap_or_default(),
            format!("{:.3}", result.seconds),
            result.thread_id.clone().unwrap_or_default(),
            rollout.unwrap_or_default(),
        ];
        push_record(&mut text, record.iter().map(String::as_str));
    }
    text
}
