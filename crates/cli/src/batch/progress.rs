//! How far a batch is, for people: a line for each result, and a table that is written again.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use codex_batch::{BatchFolder, BatchStatus, RowResult, WorkerEnd, status};
use codex_client::harmless;

use crate::print::{answer, output};

/// How often the table is written again.
const REFRESH: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// The run folder.
    folder: PathBuf,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Once, also on a terminal. Otherwise it is shown until no row runs.
    #[arg(long)]
    once: bool,
}

pub(super) fn show(arguments: &StatusArguments) -> anyhow::Result<()> {
    let folder = BatchFolder::open(&arguments.folder)?;
    if arguments.json {
        answer(&serde_json::to_string_pretty(&status(&folder)?)?);
        return Ok(());
    }
    let is_live = !arguments.once && std::io::stdout().is_terminal();
    let mut out = output();
    let mut lines = 0;
    loop {
        let now = status(&folder)?;
        if lines > 0 {
            write!(out, "\x1b[{lines}A\x1b[J")?;
        }
        let text = table(&now);
        lines = text.lines().count();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        if !is_live || now.running == 0 {
            return Ok(());
        }
        std::thread::sleep(REFRESH);
    }
}

fn table(status: &BatchStatus) -> String {
    let cost = match status.usage.cost {
        Some(cost) => format!(", {cost:.2} USD"),
        None => String::new(),
    };
    let left = match status.seconds_left {
        Some(seconds) if status.finished() < status.rows => format!(", {} left", time(seconds)),
        _ => String::new(),
    };
    format!(
        "rows     {} of {} finished, {} running, {} waiting\nresults  {} passed, {} failed, {} with a failed check, {} over a \
         limit\nrate     {:.1} rows a minute{left}\nused     {} tokens ({} cached), {} requests{cost}\n",
        status.finished(),
        status.rows,
        status.running,
        status.waiting,
        status.passed,
        status.failed,
        status.check_failed,
        status.over_limit,
        status.rate_per_minute,
        status.usage.tokens(),
        status.usage.cached_input_tokens,
        status.usage.requests,
    )
}

fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// What is shown while a worker works.
pub(super) struct LiveTable {
    rows: usize,
    finished: usize,
    tokens: u64,
    is_terminal: bool,
}

impl LiveTable {
    pub(super) fn new(folder: &BatchFolder, is_terminal: bool) -> Self {
        Self {
            rows: folder.rows.len(),
            finished: 0,
            tokens: 0,
            is_terminal,
        }
    }

    pub(super) fn finished(&mut self, result: &RowResult) {
        self.finished += 1;
        self.tokens += result.usage.tokens();
        let id = harmless(&result.id);
        let reason = result.error.as_deref().unwrap_or_default();
        let reason = harmless(reason.lines().next().unwrap_or_default());
        let reason = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        let status = result.status.name();
        let line = format!("{id} {status} ({:.1} s){reason}", result.seconds);
        let mut err = std::io::stderr().lock();
        let written = if self.is_terminal {
            let Self {
                rows,
                finished,
                tokens,
                ..
            } = self;
            write!(
                err,
                "\r\x1b[K{line}\n{finished} of {rows} rows, {tokens} tokens"
            )
        } else {
            writeln!(err, "{line}")
        };
        // Nobody may look.
        let _ = written.and_then(|()| err.flush());
    }
}

/// Says what a worker has done.
pub(super) fn say_end(end: WorkerEnd) {
    let mut text = format!("{} rows finished here", end.finished);
    let others = [
        (end.held_by_others, "are worked on by others"),
        (end.left, "are left"),
    ];
    for (count, what) in others {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    if end.is_budget_used {
        text += "; the budget of the run is used";
    }
    answer(&text);
}
