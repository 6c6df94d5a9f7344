//! `spawn_agents_on_csv`: has an agent work on each row of a CSV file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_model_client::ToolSpec;
use codex_task_table::{TaskRow, TaskTable};
use codex_thread_state::{NewAgentJob, NewAgentJobItem, ThreadState};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::run::{AgentJobRun, blocking, run, write_output};
use super::{output, progress};
use crate::arguments::{arguments, function};
use crate::patch_item::{PermittedPatch, permit};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// The longest input file.
const MAX_BYTES: u64 = 16 << 20;
/// The most items of a job.
const MAX_ITEMS: usize = 10_000;
/// How many agents work at once, unless it is said, and at most.
const DEFAULT_WORKERS: usize = 16;
const MAX_WORKERS: usize = 64;
/// How many failures are answered.
const MAX_FAILURES: u32 = 5;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SpawnAgentsOnCsvTool;

#[derive(Deserialize)]
struct JobArguments {
    csv_path: String,
    instruction: String,
    id_column: Option<String>,
    output_csv_path: Option<String>,
    output_schema: Option<Value>,
    max_concurrency: Option<usize>,
    max_workers: Option<usize>,
    max_runtime_seconds: Option<u64>,
}

#[derive(Serialize)]
struct JobResult {
    job_id: String,
    status: &'static str,
    output_csv_path: String,
    total_items: u32,
    completed_items: u32,
    failed_items: u32,
    job_error: Option<String>,
    failed_item_errors: Option<Vec<FailedItem>>,
}

#[derive(Serialize)]
struct FailedItem {
    item_id: String,
    source_id: Option<String>,
    last_error: String,
}

impl Tool for SpawnAgentsOnCsvTool {
    fn spec(&self) -> ToolSpec {
        let number = |description: &str| json!({ "type": "number", "description": description });
        let string = |description: &str| json!({ "type": "string", "description": description });
        function(
            "spawn_agents_on_csv",
            "Has an agent work on each row of a CSV file, several at once, and answers when all have ended. Each agent gets \
             the instruction with the values of its row in place of `{column}` (`{{` is a brace), and reports one JSON \
             object; a row without a report has failed. The results are in another CSV file: the columns of the input, then \
             `status`, `last_error`, `result_json` and others. Use it only if the user asks for agents or for work in \
             parallel.",
            json!({
                "csv_path": string("The path of the CSV file. Its first row has the names of the columns."),
                "instruction": string("What to do with a row, with {column} where a value of the row belongs."),
                "id_column": string("The column that names the items; by default they are row-1, row-2 and so on."),
                "output_csv_path": string("The path of the results; by default it is beside the input."),
                "output_schema": { "type": "object", "properties": {} },
                "max_concurrency": number("How many agents work at once. Default: 16, or what the settings allow."),
                "max_workers": number("Another name for max_concurrency. 1 is one row after the other."),
                "max_runtime_seconds": number("How long an agent may work on its row. Default: 1800 seconds."),
            }),
            &["csv_path", "instruction"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { call(&context).await })
    }
}

async fn call(context: &ToolContext) -> ToolResult {
    let asked: JobArguments = arguments(context)?;
    let (job, patch) = prepare(context, asked).await?;
    let job = Arc::new(job);
    run(context, &job).await?;
    let written = write_output(&job).await;
    patch.end(written.is_ok());
    let unwritten = written
        .err()
        .map(|reason| format!("auto-export failed: {reason}"));
    let result = job.stored(move |state, id| {
        if let Some(error) = unwritten {
            state.fail_ended_agent_job(id, &error)?;
        }
        let stored = state.agent_job(id)?;
        let failed = state.failed_agent_job_items(id, MAX_FAILURES)?;
        Ok((stored, state.agent_job_counts(id)?, failed))
    });
    let (stored, counts, failed) = result.await?;
    let stored = stored.ok_or_else(|| ToolFailure::Model("the job was deleted".to_owned()))?;
    if counts.failed > 0 {
        let message = format!("agent job completed with {} failed items", counts.failed);
        progress::emit_message(&context.emitter, message);
    }
    let failures: Vec<FailedItem> = (failed.into_iter())
        .map(|item| FailedItem {
            item_id: item.id,
            source_id: item.source_id,
            last_error: item.error.unwrap_or_default(),
        })
        .collect();
    let result = JobResult {
        job_id: stored.id,
        status: stored.status.as_str(),
        output_csv_path: stored.output_path,
        total_items: counts.pending + counts.running + counts.completed + counts.failed,
        completed_items: counts.completed,
        failed_items: counts.failed,
        job_error: stored.error,
        failed_item_errors: (!failures.is_empty()).then_some(failures),
    };
    let answer = serde_json::to_string(&result);
    text(answer.map_err(|error| ToolFailure::Model(error.to_string()))?)
}

/// Checks the arguments, reads the input, has the output permitted, and stores the job.
async fn prepare(
    context: &ToolContext,
    asked: JobArguments,
) -> Result<(AgentJobRun, PermittedPatch), ToolFailure> {
    let failed = |text: String| ToolFailure::Model(text);
    let config = &context.session.config;
    let (Some(jobs), Some(state)) = (config.options.agent_jobs, &config.services.thread_state)
    else {
        return Err(failed("jobs are not available".to_owned()));
    };
    if asked.instruction.trim().is_empty() {
        return Err(failed("instruction must be non-empty".to_owned()));
    }
    if asked.max_runtime_seconds == Some(0) {
        return Err(failed("max_runtime_seconds must be >= 1".to_owned()));
    }
    let id = uuid::Uuid::new_v4().to_string();
    let input_path = context.settings.resolve(&asked.csv_path);
    let input = read_input(context, input_path.clone(), asked.id_column).await?;
    let output_path = match &asked.output_csv_path {
        Some(path) => context.settings.resolve(path),
        None => usual_output(&input_path, &id),
    };
    let header = output::header_line(&input.headers);
    let path = output_path.clone();
    let plan = blocking(move || output::plan(&path, header)).await?;
    let permitted = plan.touched_paths().map(Path::to_owned).collect();
    let patch = permit(context, &plan).await?;
    let max_threads = config
        .options
        .agents
        .as_ref()
        .map_or(0, |agents| agents.max_threads);
    let wanted = asked.max_concurrency.or(asked.max_workers);
    let mut worker_config = config.for_agent(&context.settings, context.services.agent_depth);
    let worker_config = blocking(move || {
        worker_config.read_instructions();
        Ok(worker_config)
    });
    let job = AgentJobRun {
        id,
        state: Arc::clone(state),
        input,
        instruction: asked.instruction,
        output_schema: asked.output_schema,
        most_workers: (wanted.unwrap_or(DEFAULT_WORKERS))
            .min(MAX_WORKERS)
            .min(max_threads)
            .max(1),
        max_runtime: asked
            .max_runtime_seconds
            .map_or(jobs.max_runtime, Duration::from_secs),
        worker_config: worker_config.await?,
        output_path,
        permitted,
    };
    let message = format!(
        "agent job concurrency: job_id={} requested={wanted:?} max_threads={max_threads:?} effective={}",
        job.id, job.most_workers
    );
    progress::emit_message(&context.emitter, message);
    store(context, &job, &input_path).await?;
    Ok((job, patch))
}

async fn read_input(
    context: &ToolContext,
    path: PathBuf,
    id_column: Option<String>,
) -> Result<TaskTable, ToolFailure> {
    let turn_policy = context.settings.turn_policy(&context.session.config);
    blocking(move || {
        let shown = path.display();
        let failed = |error: std::io::Error| format!("failed to read csv input {shown}: {error}");
        let real = codex_mounts::canonicalize(&path).map_err(failed)?;
        if !turn_policy.may_read(&real, codex_sandbox::Grants::default()) {
            return Err(format!(
                "failed to read csv input {shown}: not readable in the sandbox"
            ));
        }
        let text = codex_regular_file::read_text(&real, MAX_BYTES).map_err(failed)?;
        TaskTable::parse(&text, id_column.as_deref(), MAX_ITEMS)
            .map_err(|problem| problem.to_string())
    })
    .await
}

fn usual_output(input: &Path, job: &str) -> PathBuf {
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    let start = job.split('-').next().unwrap_or_default();
    input.with_file_name(format!("{stem}.agent-job-{start}.csv"))
}

async fn store(
    context: &ToolContext,
    job: &AgentJobRun,
    input_path: &Path,
) -> Result<(), ToolFailure> {
    let json = |list: &[String]| serde_json::to_string(list).unwrap_or_default();
    let item = |item: &TaskRow| NewAgentJobItem {
        id: item.id.clone(),
        source_id: item.source_id.clone(),
        row: json(&item.row),
    };
    let items: Vec<NewAgentJobItem> = job.input.items.iter().map(item).collect();
    let thread = context.session.emitter.thread().to_string();
    let (instruction, headers) = (job.instruction.clone(), json(&job.input.headers));
    let output_schema = job.output_schema.as_ref().map(Value::to_string);
    let (input_path, output_path) = (
        input_path.display().to_string(),
        job.output_path.display().to_string(),
    );
    let max_runtime_seconds = job.max_runtime.as_secs();
    job.stored(move |state: &ThreadState, id| {
        let job = NewAgentJob {
            id,
            thread: &thread,
            instruction: &instruction,
            output_schema: output_schema.as_deref(),
            headers: &headers,
            input_path: &input_path,
            output_path: &output_path,
            max_runtime_seconds,
        };
        state.add_agent_job(&job, &items)
    })
    .await
}
