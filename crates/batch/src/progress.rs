//! How far a batch is, for people: a table, and a line for each result.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};

use codex_client::harmless;

use crate::folder::{BatchFolder, RowResult};
use crate::run::WorkerEnd;
use crate::status::BatchStatus;

impl Display for BatchStatus {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let cost = match self.usage.cost {
            Some(cost) => format!(", {cost:.2} USD"),
            None => String::new(),
        };
        let left = match self.seconds_left {
            Some(seconds) if self.finished() < self.rows => format!(", {} left", time(seconds)),
            _ => String::new(),
        };
        writeln!(
            formatter,
            "rows     {} of {} finished, {} running, {} waiting\nresults  {} passed, {} failed, {} with a failed check, {} over a \
         limit\nrate     {:.1} rows a minute{left}\nused     {} tokens ({} cached), {} requests{cost}",
            self.finished(),
            self.rows,
            self.running,
            self.waiting,
            self.passed,
            self.failed,
            self.check_failed,
            self.over_limit,
            self.rate_per_minute,
            self.usage.tokens(),
            self.usage.cached_input_tokens,
            self.usage.requests,
        )
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// What is shown while a worker works: a line for each result, and on a terminal a line below that is written again.
#[derive(Debug)]
pub struct WorkerProgress {
    rows: usize,
    finished: usize,
    tokens: u64,
    is_terminal: bool,
}

impl WorkerProgress {
    #[must_use]
    pub fn new(folder: &BatchFolder, is_terminal: bool) -> Self {
        Self::of_rows(folder.rows.len(), is_terminal)
    }

    fn of_rows(rows: usize, is_terminal: bool) -> Self {
        Self {
            rows,
            finished: 0,
            tokens: 0,
            is_terminal,
        }
    }

    /// Shows a result.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finished(&mut self, out: &mut impl Write, result: &RowResult) -> io::Result<()> {
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
        if self.is_terminal {
            let (rows, finished, tokens) = (self.rows, self.finished, self.tokens);
            write!(
                out,
                "\r\x1b[K{line}\n{finished} of {rows} rows, {tokens} tokens"
            )?;
        } else {
            writeln!(out, "{line}")?;
        }
        out.flush()
    }
}

impl Display for WorkerEnd {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} rows finished here", self.finished)?;
        let others = [
            (self.held_by_others, "are worked on by others"),
            (self.left, "are left"),
        ];
        for (count, what) in others {
            if count > 0 {
                write!(formatter, ", {count} {what}")?;
            }
        }
        if self.is_budget_used {
            formatter.write_str("; the budget of the run is used")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_is_one_harmless_line() {
        let result = serde_json::json!({
            "index": 0, "id": "a\u{1b}[2J", "status": "failed", "error": "no model\nand more",
            "usage": { "inputTokens": 3, "cachedInputTokens": 0, "outputTokens": 1, "requests": 1 },
            "seconds": 1.0, "worker": "w", "host": "h"
        });
        let result: RowResult = serde_json::from_value(result).unwrap();
        let mut out = Vec::new();
        let mut progress = WorkerProgress::of_rows(2, false);
        progress.finished(&mut out, &result).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.ends_with(": no model\n"), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
    }

    #[test]
    fn worker_end_names_the_remaining_rows() {
        let end = WorkerEnd {
            finished: 3,
            held_by_others: 0,
            left: 2,
            is_budget_used: true,
        };
        assert_eq!(
            end.to_string(),
            "3 rows finished here, 2 are left; the budget of the run is used"
        );
    }
}
