//! Jobs whose process ended before they did.

use std::path::Path;
use std::sync::Arc;

use codex_gate::TurnPolicy;
use codex_protocol::{AskForApproval, ResponseItem};
use codex_sandbox::Grants;
use codex_session_base::history::user_message;
use codex_session_base::session_context::SessionContext;
use codex_session_base::turn_settings::TurnSettings;
use codex_thread_state::{AgentJob, AgentJobStatus, StateError, ThreadState};

use super::output;

const ENDED_REASON: &str = "the program ended while the job ran";

/// Ends the jobs of a thread that was loaded again, and writes what was reported where that needs no approval. Returns what
/// the model is told of them.
pub async fn end_interrupted_jobs(
    session: &SessionContext,
    settings: &TurnSettings,
) -> Vec<ResponseItem> {
    let Some(state) = &session.config.services.thread_state else {
        return Vec::new();
    };
    let (state, thread) = (Arc::clone(state), session.emitter.thread().to_string());
    let turn_policy = settings.turn_policy(&session.config);
    let ending = tokio::task::spawn_blocking(move || {
        let mut texts = Vec::new();
        for job in state.running_agent_jobs(&thread)? {
            texts.push(end(&state, &job, &turn_policy)?);
        }
        Ok::<_, StateError>(texts)
    });
    match ending.await {
        Ok(Ok(texts)) => texts.into_iter().map(|text| user_message([text])).collect(),
        Ok(Err(error)) => {
            tracing::warn!(%error, "cannot end the jobs of a process that has ended");
            Vec::new()
        }
        Err(_) => Vec::new(),
    }
}

fn end(
    state: &ThreadState,
    job: &AgentJob,
    turn_policy: &TurnPolicy,
) -> Result<String, StateError> {
    state.end_agent_job(&job.id, AgentJobStatus::Failed, Some(ENDED_REASON))?;
    let counts = state.agent_job_counts(&job.id)?;
    let headers: Vec<String> = serde_json::from_str(&job.headers)?;
    let path = Path::new(&job.output_path);
    let where_results_are = match write(state, job, &headers, turn_policy) {
        Ok(()) => format!("Their results are in {}.", path.display()),
        Err(reason) => {
            state.fail_ended_agent_job(
                &job.id,
                &format!("{ENDED_REASON}; auto-export failed: {reason}"),
            )?;
            format!(
                "Their results could not be written to {}: {reason}.",
                path.display()
            )
        }
    };
    Ok(format!(
        "<agent_job_interrupted>\nJob {} ended with the program that ran it: {} items are completed, {} failed and {} were not \
         started. {where_results_are}\n</agent_job_interrupted>",
        job.id, counts.completed, counts.failed, counts.pending
    ))
}

/// Writes the results, if that needs no approval.
fn write(
    state: &ThreadState,
    job: &AgentJob,
    headers: &[String],
    turn_policy: &TurnPolicy,
) -> Result<(), String> {
    let content =
        output::content(state, &job.id, headers).map_err(|problem| problem.to_string())?;
    let path = Path::new(&job.output_path);
    let plan = output::plan(path, content)?;
    let touched: Vec<_> = plan.touched_paths().map(Path::to_owned).collect();
    let asks = turn_policy.approval == AskForApproval::UnlessTrusted;
    if asks || !turn_policy.may_write(&touched, Grants::default()) {
        return Err("writing there needs an approval".to_owned());
    }
    codex_apply_patch::apply(&plan).map_err(|error| error.to_string())
}
