//! Jobs that agents work through item by item, and what they reported.
//!
//! A job belongs to the thread that started it. Its items are written with it; each is pending, then running with the
//! thread of its agent, then completed or failed. One that has ended does not change any more.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::database::{StateError, ThreadState, all, now, one};

/// How many jobs are kept. Older ones are deleted with their items, unless they run.
const MOST_JOBS: i64 = 200;

/// A job that is to be written.
#[derive(Clone, Debug)]
pub struct NewAgentJob<'a> {
    pub id: &'a str,
    /// The thread that starts it.
    pub thread: &'a str,
    pub instruction: &'a str,
    /// As JSON.
    pub output_schema: Option<&'a str>,
    /// The names of the columns, as a JSON array.
    pub headers: &'a str,
    pub input_path: &'a str,
    pub output_path: &'a str,
    pub max_runtime_seconds: u64,
}

/// An item that is to be written.
#[derive(Clone, Debug)]
pub struct NewAgentJobItem {
    pub id: String,
    /// The value that the id was made from.
    pub source_id: Option<String>,
    /// The values of the columns, as a JSON array.
    pub row: String,
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentJobStatus {
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl AgentJobStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn parse(text: &str) -> Self {
        let known = [Self::Running, Self::Completed, Self::Cancelled];
        let found = known.into_iter().find(|status| status.as_str() == text);
        found.unwrap_or(Self::Failed)
    }
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentJob {
    pub id: String,
    pub status: AgentJobStatus,
    pub error: Option<String>,
    /// As a JSON array.
    pub headers: String,
    pub output_path: String,
}

/// A stored item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentJobItem {
    pub id: String,
    pub source_id: Option<String>,
    /// As a JSON array.
    pub row: String,
    pub position: i64,
    /// `pending`, `running`, `completed` or `failed`.
    pub status: String,
    pub attempts: i64,
    pub error: Option<String>,
    /// As JSON.
    pub result: Option<String>,
    /// In Unix seconds, like `completed_at`.
    pub reported_at: Option<i64>,
    pub completed_at: Option<i64>,
}

/// How many items of a job stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentJobCounts {
    pub pending: u32,
    pub running: u32,
    pub completed: u32,
    pub failed: u32,
}

/// The report of an agent about its item.
#[derive(Clone, Copy, Debug)]
pub struct AgentJobReport<'a> {
    pub job: &'a str,
    pub item: &'a str,
    /// The thread of the agent.
    pub worker: &'a str,
    /// As JSON.
    pub result: &'a str,
    /// Why no other item is to be started, if none is.
    pub stop: Option<&'a str>,
}

const ITEM_COLUMNS: &str =
    "item, source_id, row, position, status, attempts, error, result, reported_at, completed_at";

fn read_item(row: &Row<'_>) -> rusqlite::Result<AgentJobItem> {
    Ok(AgentJobItem {
        id: row.get("item")?,
        source_id: row.get("source_id")?,
        row: row.get("row")?,
        position: row.get("position")?,
        status: row.get("status")?,
        attempts: row.get("attempts")?,
        error: row.get("error")?,
        result: row.get("result")?,
        reported_at: row.get("reported_at")?,
        completed_at: row.get("completed_at")?,
    })
}

const JOB_COLUMNS: &str = "id, status, error, headers, output_path";

fn read_job(row: &Row<'_>) -> rusqlite::Result<AgentJob> {
    Ok(AgentJob {
        id: row.get("id")?,
        status: AgentJobStatus::parse(row.get_ref("status")?.as_str()?),
        error: row.get("error")?,
        headers: row.get("headers")?,
        output_path: row.get("output_path")?,
    })
}

fn end_job(
    connection: &Connection,
    job: &str,
    status: AgentJobStatus,
    error: Option<&str>,
) -> Result<(), StateError> {
    connection.execute(
        "UPDATE agent_jobs SET status = :status, error = :error, completed_at = :now WHERE id = :job AND status = 'running'",
        named_params! { ":status": status.as_str(), ":error": error, ":now": now(), ":job": job },
    )?;
    Ok(())
}

impl ThreadState {
    /// Writes a job that runs, with its items in this order.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn add_agent_job(
        &self,
        job: &NewAgentJob<'_>,
        items: &[NewAgentJobItem],
    ) -> Result<(), StateError> {
        self.change(|transaction| {
            for table in ["agent_job_items WHERE job", "agent_jobs WHERE id"] {
                let sql = format!(
                    "DELETE FROM {table} IN (SELECT id FROM agent_jobs WHERE status <> 'running' \
                     ORDER BY created_at DESC, id LIMIT -1 OFFSET :most)"
                );
                transaction.execute(&sql, named_params! { ":most": MOST_JOBS - 1 })?;
            }
            transaction.execute(
                "INSERT INTO agent_jobs (id, thread, status, instruction, output_schema, headers, input_path, output_path, \
                 max_runtime_seconds, created_at) VALUES (:id, :thread, 'running', :instruction, :output_schema, :headers, \
                 :input_path, :output_path, :max_runtime_seconds, :now)",
                named_params! {
                    ":id": job.id,
                    ":thread": job.thread,
                    ":instruction": job.instruction,
                    ":output_schema": job.output_schema,
                    ":headers": job.headers,
                    ":input_path": job.input_path,
                    ":output_path": job.output_path,
                    ":max_runtime_seconds": i64::try_from(job.max_runtime_seconds).unwrap_or(i64::MAX),
                    ":now": now(),
                },
            )?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO agent_job_items (job, thread, item, position, source_id, row, status, attempts) \
                 VALUES (:job, :thread, :item, :position, :source_id, :row, 'pending', 0)",
            )?;
            for (position, item) in (0_i64..).zip(items) {
                insert.execute(named_params! {
                    ":job": job.id,
                    ":thread": job.thread,
                    ":item": item.id,
                    ":position": position,
                    ":source_id": item.source_id,
                    ":row": item.row,
                })?;
            }
            Ok(())
        })
    }

    /// Gives an item that is pending to an agent, whose thread this is.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn start_agent_job_item(
        &self,
        job: &str,
        item: &str,
        worker: &str,
    ) -> Result<(), StateError> {
        self.change(|transaction| {
            transaction.execute(
                "UPDATE agent_job_items SET status = 'running', worker = :worker, attempts = attempts + 1 \
                 WHERE job = :job AND item = :item AND status = 'pending'",
                named_params! { ":worker": worker, ":job": job, ":item": item },
            )?;
            Ok(())
        })
    }

    /// Takes a report, and whether it was accepted: the item is running, and with this agent.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn report_agent_job_item(&self, report: &AgentJobReport<'_>) -> Result<bool, StateError> {
        self.change(|transaction| {
            let changed = transaction.execute(
                "UPDATE agent_job_items SET status = 'completed', result = :result, reported_at = :now, completed_at = :now, \
                 worker = NULL WHERE job = :job AND item = :item AND status = 'running' AND worker = :worker",
                named_params! {
                    ":result": report.result,
                    ":now": now(),
                    ":job": report.job,
                    ":item": report.item,
                    ":worker": report.worker,
                },
            )?;
            if changed == 0 {
                return Ok(false);
            }
            if let Some(reason) = report.stop {
                end_job(transaction, report.job, AgentJobStatus::Cancelled, Some(reason))?;
            }
            Ok(true)
        })
    }

    /// Takes an item back from an agent that did not start.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn return_agent_job_item(&self, job: &str, item: &str) -> Result<(), StateError> {
        self.change(|transaction| {
            transaction.execute(
                "UPDATE agent_job_items SET status = 'pending', worker = NULL, attempts = attempts - 1 \
                 WHERE job = :job AND item = :item AND status = 'running'",
                named_params! { ":job": job, ":item": item },
            )?;
            Ok(())
        })
    }

    /// Marks an item as failed, unless it has ended.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn fail_agent_job_item(
        &self,
        job: &str,
        item: &str,
        error: &str,
    ) -> Result<(), StateError> {
        self.change(|transaction| {
            transaction.execute(
                "UPDATE agent_job_items SET status = 'failed', error = :error, completed_at = :now, worker = NULL \
                 WHERE job = :job AND item = :item AND status IN ('pending', 'running')",
                named_params! { ":error": error, ":now": now(), ":job": job, ":item": item },
            )?;
            Ok(())
        })
    }

    /// Ends a job, unless it has ended. Items that are running have failed with the same error.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn end_agent_job(
        &self,
        job: &str,
        status: AgentJobStatus,
        error: Option<&str>,
    ) -> Result<(), StateError> {
        self.change(|transaction| {
            end_job(transaction, job, status, error)?;
            transaction.execute(
                "UPDATE agent_job_items SET status = 'failed', error = :error, completed_at = :now, worker = NULL \
                 WHERE job = :job AND status = 'running'",
                named_params! { ":error": error, ":now": now(), ":job": job },
            )?;
            Ok(())
        })
    }

    /// Records that what a job produced could not be written.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn fail_ended_agent_job(&self, job: &str, error: &str) -> Result<(), StateError> {
        self.change(|transaction| {
            transaction.execute(
                "UPDATE agent_jobs SET status = 'failed', error = :error WHERE id = :job",
                named_params! { ":error": error, ":job": job },
            )?;
            Ok(())
        })
    }

    /// A job.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn agent_job(&self, job: &str) -> Result<Option<AgentJob>, StateError> {
        self.query(None, |connection| {
            let sql = format!("SELECT {JOB_COLUMNS} FROM agent_jobs WHERE id = :job");
            one(connection, &sql, named_params! { ":job": job }, read_job)
        })
    }

    /// The jobs of a thread that run, or ran when their process ended.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn running_agent_jobs(&self, thread: &str) -> Result<Vec<AgentJob>, StateError> {
        self.query(Vec::new(), |connection| {
            let sql = format!(
                "SELECT {JOB_COLUMNS} FROM agent_jobs WHERE thread = :thread AND status = 'running' ORDER BY created_at, id"
            );
            all(connection, &sql, named_params! { ":thread": thread }, read_job)
        })
    }

    /// How the items of a job stand.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn agent_job_counts(&self, job: &str) -> Result<AgentJobCounts, StateError> {
        self.query(AgentJobCounts::default(), |connection| {
            let sql = "SELECT count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'running'), \
                       count(*) FILTER (WHERE status = 'completed'), count(*) FILTER (WHERE status = 'failed') \
                       FROM agent_job_items WHERE job = :job";
            let mut statement = connection.prepare_cached(sql)?;
            let counts = statement.query_row(named_params! { ":job": job }, |row| {
                Ok(AgentJobCounts {
                    pending: row.get(0)?,
                    running: row.get(1)?,
                    completed: row.get(2)?,
                    failed: row.get(3)?,
                })
            });
            Ok(counts.optional()?.unwrap_or_default())
        })
    }

    /// The first items that failed, in order.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn failed_agent_job_items(
        &self,
        job: &str,
        most: u32,
    ) -> Result<Vec<AgentJobItem>, StateError> {
        self.query(Vec::new(), |connection| {
            let sql = format!(
                "SELECT {ITEM_COLUMNS} FROM agent_job_items WHERE job = :job AND status = 'failed' \
                 ORDER BY position LIMIT :most"
            );
            all(
                connection,
                &sql,
                named_params! { ":job": job, ":most": most },
                read_item,
            )
        })
    }

    /// Hands out all items of a job in order.
    ///
    /// # Errors
    /// The database cannot be read, or `take` fails.
    pub fn agent_job_items(
        &self,
        job: &str,
        mut take: impl FnMut(AgentJobItem) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        self.query((), |connection| {
            let sql = format!(
                "SELECT {ITEM_COLUMNS} FROM agent_job_items WHERE job = :job ORDER BY position"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(named_params! { ":job": job })?;
            while let Some(row) = rows.next()? {
                take(read_item(row)?)?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job<'a>(id: &'a str, thread: &'a str) -> NewAgentJob<'a> {
        NewAgentJob {
            id,
            thread,
            instruction: "do {a}",
            output_schema: None,
            headers: r#"["a"]"#,
            input_path: "/in.csv",
            output_path: "/out.csv",
            max_runtime_seconds: 5,
        }
    }

    fn items(count: usize) -> Vec<NewAgentJobItem> {
        let item = |number| NewAgentJobItem {
            id: format!("row-{number}"),
            source_id: None,
            row: r#"["x"]"#.to_owned(),
        };
        (1..=count).map(item).collect()
    }

    fn report<'a>(item: &'a str, worker: &'a str, stop: Option<&'a str>) -> AgentJobReport<'a> {
        AgentJobReport {
            job: "j",
            item,
            worker,
            result: "{}",
            stop,
        }
    }

    #[test]
    fn item_is_reported_once_by_its_agent() {
        let home = tempfile::tempdir().unwrap();
        let state = ThreadState::of_home(home.path(), |_| None);
        state.add_agent_job(&job("j", "t"), &items(3)).unwrap();
        assert!(
            !state
                .report_agent_job_item(&report("row-1", "w1", None))
                .unwrap()
        );
        state.start_agent_job_item("j", "row-1", "w1").unwrap();
        state.start_agent_job_item("j", "row-2", "w2").unwrap();
        assert!(
            !state
                .report_agent_job_item(&report("row-1", "w2", None))
                .unwrap()
        );
        assert!(
            state
                .report_agent_job_item(&report("row-1", "w1", Some("enough")))
                .unwrap()
        );
        assert!(
            !state
                .report_agent_job_item(&report("row-1", "w1", None))
                .unwrap()
        );
        let stopped = state.agent_job("j").unwrap().unwrap();
        assert_eq!(stopped.status, AgentJobStatus::Cancelled);
        assert_eq!(stopped.error.as_deref(), Some("enough"));
        // What runs goes on.
        assert!(
            state
                .report_agent_job_item(&report("row-2", "w2", None))
                .unwrap()
        );
        let counts = state.agent_job_counts("j").unwrap();
        assert_eq!((counts.pending, counts.completed), (1, 2));
    }

    #[test]
    fn a_job_whose_process_ended_is_found_and_ended() {
        let home = tempfile::tempdir().unwrap();
        let state = ThreadState::of_home(home.path(), |_| None);
        assert_eq!(state.running_agent_jobs("t").unwrap(), []);
        state.add_agent_job(&job("j", "t"), &items(2)).unwrap();
        state.start_agent_job_item("j", "row-1", "w1").unwrap();
        let state = ThreadState::of_home(home.path(), |_| None);
        assert_eq!(state.running_agent_jobs("other").unwrap(), []);
        let found = state.running_agent_jobs("t").unwrap().remove(0);
        state
            .end_agent_job(&found.id, AgentJobStatus::Failed, Some("ended"))
            .unwrap();
        assert_eq!(state.running_agent_jobs("t").unwrap(), []);
        let failed = state.failed_agent_job_items("j", 5).unwrap();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].error.as_deref(), Some("ended"));
        let mut all = Vec::new();
        state
            .agent_job_items("j", |item| {
                all.push((item.id, item.status));
                Ok(())
            })
            .unwrap();
        assert_eq!(all[1], ("row-2".to_owned(), "pending".to_owned()));
        state.forget_thread("t").unwrap();
        assert_eq!(state.agent_job("j").unwrap(), None);
        assert_eq!(
            state.agent_job_counts("j").unwrap(),
            AgentJobCounts::default()
        );
    }

    #[test]
    fn old_jobs_are_deleted() {
        let home = tempfile::tempdir().unwrap();
        let state = ThreadState::of_home(home.path(), |_| None);
        state.add_agent_job(&job("runs", "t"), &items(1)).unwrap();
        for number in 0..=MOST_JOBS {
            let id = format!("job-{number}");
            state.add_agent_job(&job(&id, "t"), &items(1)).unwrap();
            state
                .end_agent_job(&id, AgentJobStatus::Completed, None)
                .unwrap();
        }
        let kept = (0..=MOST_JOBS).filter(|number| {
            let id = format!("job-{number}");
            state.agent_job(&id).unwrap().is_some()
        });
        assert_eq!(kept.count(), 200);
        assert!(state.agent_job("runs").unwrap().is_some());
    }
}
