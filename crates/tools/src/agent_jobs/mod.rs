//! Jobs: an agent for each row of a CSV file, and their results in another.
//!
//! The job and its items are stored ([`codex_thread_state::AgentJob`]), so what agents have reported outlives the process.
//! The file of the results is permitted before the first agent starts, and written when the last one has ended. A job that
//! is stopped ends its agents; one whose process ended is marked when its thread is loaded again.

mod interrupted;
mod output;
mod progress;
mod prompt;
mod report_agent_job_result;
mod run;
mod spawn_agents_on_csv;
mod worker;

pub use interrupted::end_interrupted_jobs;

use super::offer::{ToolSetBuilder, ToolSituation};
use report_agent_job_result::ReportAgentJobResultTool;
use spawn_agents_on_csv::SpawnAgentsOnCsvTool;
use worker::is_worker;

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    if situation.options().agent_jobs.is_none() {
        return;
    }
    if situation.options().agents.is_some() {
        builder.offer(SpawnAgentsOnCsvTool);
    }
    if is_worker(situation.config) {
        builder.offer(ReportAgentJobResultTool);
    }
}
