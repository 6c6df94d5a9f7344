//! Runs a job: starts its agents, waits for them, and ends it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_protocol::ThreadId;
use codex_session_base::agents::{AgentRequest, AgentStartError};
use codex_session_base::config::SessionConfig;
use codex_session_base::session_context::SessionContext;
use codex_task_table::{TaskRow, TaskTable};
use codex_thread_state::{AgentJobStatus, StateError, ThreadState};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use serde_json::Value;

use super::prompt::prompt;
use super::worker::Worker;
use super::{output, progress};
use crate::services::ToolServices;
use crate::tool::{ToolContext, ToolFailure};

const INTERRUPTED_MESSAGE: &str = "the job was interrupted";

/// A job that is stored and may run.
#[derive(Debug)]
pub(super) struct AgentJobRun {
    pub(super) id: String,
    pub(super) state: Arc<ThreadState>,
    pub(super) input: TaskTable,
    pub(super) instruction: String,
    pub(super) output_schema: Option<Value>,
    pub(super) most_workers: usize,
    pub(super) max_runtime: Duration,
    pub(super) worker_config: SessionConfig,
    pub(super) output_path: PathBuf,
    /// The paths that may be written for the output.
    pub(super) permitted: Vec<PathBuf>,
}

impl AgentJobRun {
    /// Uses the stored job on a thread for blocking work.
    pub(super) async fn stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ThreadState, &str) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, ToolFailure> {
        let (state, id) = (Arc::clone(&self.state), self.id.clone());
        blocking(move || work(&state, &id).map_err(|error| error.to_string())).await
    }

    async fn is_stopped(&self) -> Result<bool, ToolFailure> {
        let job = self.stored(ThreadState::agent_job).await?;
        Ok(job.is_none_or(|job| job.status != AgentJobStatus::Running))
    }
}

/// Does blocking work whose failure is for the model.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, ToolFailure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err("the job crashed".to_owned()))
        .map_err(ToolFailure::Model)
}

/// Runs a job until its items have ended, or it is stopped. Dropping the future ends the job.
pub(super) async fn run(context: &ToolContext, job: &Arc<AgentJobRun>) -> Result<(), ToolFailure> {
    let mut running = RunningJob {
        job: Arc::clone(job),
        session: Arc::clone(&context.session),
        services: Arc::clone(&context.services),
        workers: Arc::default(),
        has_ended: false,
    };
    let outcome = run_items(context, job, &running.workers).await;
    let (status, error) = match &outcome {
        Ok(()) => (AgentJobStatus::Completed, None),
        Err(ToolFailure::Model(reason)) => (AgentJobStatus::Failed, Some(reason.clone())),
        Err(ToolFailure::Aborted) => return outcome,
    };
    let ended = job.stored(move |state, id| state.end_agent_job(id, status, error.as_deref()));
    ended.await?;
    // After a failure agents may still run.
    running.has_ended = outcome.is_ok();
    outcome
}

async fn run_items(
    context: &ToolContext,
    job: &AgentJobRun,
    threads: &Mutex<Vec<ThreadId>>,
) -> Result<(), ToolFailure> {
    let clock = context.session.clock.as_ref();
    let started = clock.elapsed();
    let mut waiting = job.input.items.iter().peekable();
    let mut workers = FuturesUnordered::new();
    let mut next_progress = clock.sleep(Duration::ZERO);
    loop {
        while workers.len() < job.most_workers
            && let Some(item) = waiting.peek()
        {
            if job.is_stopped().await? {
                waiting = [].iter().peekable();
                break;
            }
            match start(context, job, item, threads).await? {
                Ok(worker) => {
                    workers.push(worker.end(context, job.max_runtime));
                    waiting.next();
                }
                // A slot is free again when one of the others has ended.
                Err(_) if !workers.is_empty() => break,
                Err(reason) => {
                    let reason = format!("collab spawn failed: {reason}");
                    return Err(ToolFailure::Model(reason));
                }
            }
        }
        let ended = tokio::select! {
            biased;
            ended = workers.next() => ended,
            () = &mut next_progress => {
                let counts = job.stored(ThreadState::agent_job_counts).await?;
                let elapsed = clock.elapsed().saturating_sub(started);
                progress::emit(&context.emitter, &job.id, counts, elapsed);
                next_progress = clock.sleep(progress::INTERVAL);
                continue;
            }
        };
        let Some(ended) = ended else { break };
        let (item, thread, failure) = ended?;
        threads.lock().retain(|one| *one != thread);
        // An item that was reported has ended already.
        job.stored(move |state, id| state.fail_agent_job_item(id, &item, &failure))
            .await?;
    }
    let counts = job.stored(ThreadState::agent_job_counts).await?;
    let elapsed = clock.elapsed().saturating_sub(started);
    progress::emit(&context.emitter, &job.id, counts, elapsed);
    Ok(())
}

/// Starts the agent of an item. The error is why there is none for now.
async fn start(
    context: &ToolContext,
    job: &AgentJobRun,
    item: &TaskRow,
    threads: &Mutex<Vec<ThreadId>>,
) -> Result<Result<Worker, AgentStartError>, ToolFailure> {
    let thread = context.session.ids.thread();
    let schema = job.output_schema.as_ref();
    let text = prompt(&job.id, item, &job.input.headers, &job.instruction, schema);
    threads.lock().push(thread.clone());
    let (id, worker) = (item.id.clone(), thread.to_string());
    job.stored(move |state, job| state.start_agent_job_item(job, &id, &worker))
        .await?;
    let started = Worker::start(context, job, &item.id, thread.clone(), text).await?;
    if started.is_err() {
        threads.lock().retain(|one| *one != thread);
        let id = item.id.clone();
        job.stored(move |state, job| state.return_agent_job_item(job, &id))
            .await?;
    }
    Ok(started)
}

/// Writes the output. The error is a sentence.
pub(super) async fn write_output(job: &Arc<AgentJobRun>) -> Result<(), String> {
    let job = Arc::clone(job);
    let writing = tokio::task::spawn_blocking(move || {
        let content = output::content(&job.state, &job.id, &job.input.headers);
        let written =
            content.and_then(|content| output::write(&job.output_path, content, &job.permitted));
        written.map_err(|problem| problem.to_string())
    });
    writing.await.unwrap_or_else(|error| Err(error.to_string()))
}

/// A job that has not ended well. When it is dropped, its agents end, and what they reported is written.
struct RunningJob {
    job: Arc<AgentJobRun>,
    session: Arc<SessionContext>,
    services: Arc<ToolServices>,
    workers: Arc<Mutex<Vec<ThreadId>>>,
    has_ended: bool,
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let (job, services) = (Arc::clone(&self.job), Arc::clone(&self.services));
        let threads = std::mem::take(&mut *self.workers.lock());
        self.session.in_background(async move {
            let cancel = |state: &ThreadState, id: &str| {
                state.end_agent_job(id, AgentJobStatus::Cancelled, Some(INTERRUPTED_MESSAGE))
            };
            if let Err(failure) = job.stored(cancel).await {
                tracing::warn!(?failure, "cannot mark a job as cancelled");
            }
            for thread in threads {
                let take = |reply| AgentRequest::Take(thread, reply);
                if let Some(Some(child)) = services.requests.agents.ask(take).await {
                    child.close().await;
                }
            }
            if let Err(reason) = write_output(&job).await {
                tracing::warn!(
                    reason,
                    "cannot write the results of a job that was interrupted"
                );
            }
        });
    }
}
