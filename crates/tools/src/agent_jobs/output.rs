//! The file of the results of a job: the columns of the input, then how each item ended.

use std::path::{Path, PathBuf};

use codex_apply_patch::{DiskFiles, Patch, PatchCaller, PatchPlan};
use codex_task_table::push_record;
use codex_thread_state::{AgentJobItem, StateError, ThreadState};
use jiff::Timestamp;

/// The largest file, which is held in memory.
const MAX_BYTES: usize = 64 << 20;

const COLUMNS: [&str; 10] = [
    "job_id",
    "item_id",
    "row_index",
    "source_id",
    "status",
    "attempt_count",
    "last_error",
    "result_json",
    "reported_at",
    "completed_at",
];

/// Why there is no file of the results.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputProblem {
    #[error("{0}")]
    State(#[from] StateError),
    #[error("the results are longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("{0}")]
    File(String),
    #[error("{} is another file now", .0.display())]
    Moved(PathBuf),
}

/// What writing the file would change, which the gate decides about.
pub(super) fn plan(path: &Path, content: String) -> Result<PatchPlan, String> {
    let failed =
        |reason: String| format!("failed to export output csv {}: {reason}", path.display());
    if codex_mounts::is_dir(path) {
        return Err(failed(codex_system::file::is_a_directory().to_string()));
    }
    let patch = Patch::new_file(&path.display().to_string(), content);
    let folder = path.parent().unwrap_or(path);
    let plan = patch.verify(folder, &DiskFiles, PatchCaller::Tool);
    plan.map_err(|error| failed(error.to_string()))
}

/// Writes the file, if this touches only what was permitted.
pub(super) fn write(
    path: &Path,
    content: String,
    permitted: &[PathBuf],
) -> Result<(), OutputProblem> {
    let plan = plan(path, content).map_err(OutputProblem::File)?;
    if let Some(other) = plan
        .touched_paths()
        .find(|path| !permitted.iter().any(|one| one == path))
    {
        return Err(OutputProblem::Moved(other.to_owned()));
    }
    codex_apply_patch::apply(&plan).map_err(|error| OutputProblem::File(error.to_string()))
}

/// The first line.
pub(super) fn header_line(headers: &[String]) -> String {
    let mut content = String::new();
    push_record(
        &mut content,
        headers.iter().map(String::as_str).chain(COLUMNS),
    );
    content
}

/// The content for the items of a job as they stand.
pub(super) fn content(
    state: &ThreadState,
    job: &str,
    headers: &[String],
) -> Result<String, OutputProblem> {
    let mut content = header_line(headers);
    let mut is_too_long = false;
    state.agent_job_items(job, |item| {
        is_too_long |= content.len() > MAX_BYTES;
        if !is_too_long {
            push_item(&mut content, job, item)?;
        }
        Ok(())
    })?;
    if is_too_long {
        return Err(OutputProblem::TooLong);
    }
    Ok(content)
}

fn push_item(content: &mut String, job: &str, item: AgentJobItem) -> Result<(), StateError> {
    let mut record: Vec<String> = serde_json::from_str(&item.row)?;
    record.extend([
        job.to_owned(),
        item.id,
        item.position.to_string(),
        item.source_id.unwrap_or_default(),
        item.status,
        item.attempts.to_string(),
        item.error.unwrap_or_default(),
        item.result.unwrap_or_default(),
        time(item.reported_at),
        time(item.completed_at),
    ]);
    push_record(content, record.iter().map(String::as_str));
    Ok(())
}

fn time(seconds: Option<i64>) -> String {
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(String::new, |time| {
        time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
    })
}
