//! `codex batch create`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use codex_batch::{BatchFolder, BatchSettings, RowLimits, RunBudget, TaskDefaults, read_tasks};

use crate::print::answer;

/// The largest file that is read.
const LIMIT: u64 = 1 << 30;

#[derive(Debug, Args)]
#[command(after_help = "\
A row of the task file may have: id, prompt, cwd, environment, model, effort, sandbox, limits, outputSchema, checks. \
Whatever else it has are values for the templates: {name} stands for one, {{ for a brace.")]
pub(super) struct CreateArguments {
    /// The run folder, which must be new or empty.
    folder: PathBuf,
    /// The task file: CSV, or a JSON object in each line.
    #[arg(long, value_name = "FILE")]
    tasks: PathBuf,
    /// The prompt of every row, a template with its values.
    #[arg(long, value_name = "TEMPLATE")]
    prompt: Option<String>,
    /// The same, from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    prompt_file: Option<PathBuf>,
    /// The working folder of rows that name none, a template with their values. The present folder by default.
    #[arg(short = 'C', long = "cd", value_name = "TEMPLATE")]
    cwd: Option<String>,
    /// The environment of rows that name none.
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// The model of rows that name none.
    #[arg(short, long)]
    model: Option<String>,
    /// The effort of rows that name none.
    #[arg(long)]
    effort: Option<String>,
    /// The sandbox of rows that name none.
    #[arg(short, long, value_name = "MODE", value_parser = ["read-only", "workspace-write", "danger-full-access"])]
    sandbox: Option<String>,
    /// A command that must succeed after the turn, for rows without checks. May be repeated.
    #[arg(long = "check", value_name = "COMMAND")]
    checks: Vec<String>,
    /// The JSON schema of the last message of rows that have none.
    #[arg(long, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    /// The column or member with the id of a row.
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,
    /// Most tokens of a row.
    #[arg(long, value_name = "NUMBER")]
    max_tokens: Option<u64>,
    /// Most requests of a row to the model.
    #[arg(long, value_name = "NUMBER")]
    max_requests: Option<u64>,
    /// Most seconds of a row.
    #[arg(long, value_name = "NUMBER")]
    max_seconds: Option<u64>,
    /// Highest cost of a row in US dollars.
    #[arg(long, value_name = "NUMBER")]
    max_cost: Option<f64>,
    /// Most tokens of all rows together.
    #[arg(long, value_name = "NUMBER")]
    run_max_tokens: Option<u64>,
    /// Highest cost of all rows together in US dollars.
    #[arg(long, value_name = "NUMBER")]
    run_max_cost: Option<f64>,
    /// How long a row belongs to a worker that says nothing any more.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(3..=86400))]
    lease_seconds: u64,
}

pub(super) fn create(arguments: CreateArguments) -> anyhow::Result<()> {
    let read = |path: &Path| {
        codex_mounts::check(path)
            .map_err(std::io::Error::from)
            .and_then(|()| codex_regular_file::read_text(path, LIMIT))
            .with_context(|| format!("cannot read {}", path.display()))
    };
    let prompt = match &arguments.prompt_file {
        Some(file) => Some(read(file)?),
        None => arguments.prompt,
    };
    let output_schema = match &arguments.output_schema {
        Some(file) => {
            let schema = serde_json::from_str(&read(file)?);
            let schema = schema.with_context(|| format!("{} is not JSON", file.display()))?;
            Some(schema)
        }
        None => None,
    };
    let cwd = match arguments.cwd {
        Some(cwd) => cwd,
        // A brace in the name of the folder is no value.
        None => {
            let here = std::env::current_dir().context("cannot determine the working folder")?;
            let here = here
                .to_str()
                .context("the working folder has no UTF-8 name")?;
            here.replace('{', "{{").replace('}', "}}")
        }
    };
    let cwd = std::path::absolute(&cwd).map_or(cwd, |path| path.display().to_string());
    let defaults = TaskDefaults {
        prompt,
        cwd: Some(cwd),
        environment: arguments.environment,
        model: arguments.model,
        effort: arguments.effort,
        sandbox: arguments.sandbox,
        limits: RowLimits {
            max_tokens: arguments.max_tokens,
            max_requests: arguments.max_requests,
            max_seconds: arguments.max_seconds,
            max_cost: arguments.max_cost,
        },
        output_schema,
        checks: arguments.checks,
        id_column: arguments.id_column,
    };
    let text = read(&arguments.tasks)?;
    let rows = read_tasks(&arguments.tasks, &text, &defaults)
        .with_context(|| format!("{} is no task file", arguments.tasks.display()))?;
    let settings = BatchSettings {
        lease_seconds: arguments.lease_seconds,
        budget: RunBudget {
            max_tokens: arguments.run_max_tokens,
            max_cost: arguments.run_max_cost,
        },
        ..BatchSettings::default()
    };
    let folder = BatchFolder::create(&arguments.folder, settings, rows)?;
    answer(format!(
        "{} has {} rows. `codex batch run {0}` works on them.",
        arguments.folder.display(),
        folder.rows.len()
    ));
    Ok(())
}
