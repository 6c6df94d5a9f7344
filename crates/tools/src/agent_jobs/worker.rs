//! The agent of one item.

use std::time::Duration;

use codex_protocol::{AgentStatus, SessionSource, SubAgentSource, ThreadId, UserInput};
use codex_session_base::agents::{AgentHandle, AgentRequest, AgentStartError, JobWorker, NewAgent};
use codex_session_base::config::SessionConfig;

use super::run::AgentJobRun;
use crate::agents::request;
use crate::tool::{ToolContext, ToolFailure};

const UNREPORTED_REASON: &str = "worker finished without calling report_agent_job_result";

/// The origin of the agents of a job begins with this.
const LABEL: &str = "agent_job:";

/// Whether a thread is the agent of an item.
pub(crate) fn is_worker(config: &SessionConfig) -> bool {
    matches!(&config.identity.source, SessionSource::SubAgent(SubAgentSource::Other(label)) if label.starts_with(LABEL))
}

/// An agent that works on an item.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) item: String,
    pub(super) thread: ThreadId,
    agent: AgentHandle,
}

impl Worker {
    /// Starts it. `thread` is the id that it gets.
    pub(super) async fn start(
        context: &ToolContext,
        job: &AgentJobRun,
        item: &str,
        thread: ThreadId,
        prompt: String,
    ) -> Result<Result<Self, AgentStartError>, ToolFailure> {
        let agent = NewAgent {
            config: job.worker_config.clone(),
            role: None,
            nicknames: Vec::new(),
            fork: None,
            input: vec![UserInput::Text {
                text: prompt,
                text_elements: Vec::new(),
            }],
            root_turn_id: context.settings.root_turn().to_owned(),
            worker: Some(JobWorker {
                id: thread.clone(),
                label: format!("{LABEL}{}", job.id),
            }),
        };
        let spawned = request(context, |reply| AgentRequest::Spawn(Box::new(agent), reply)).await?;
        Ok(spawned.map(|agent| Self {
            item: item.to_owned(),
            thread,
            agent,
        }))
    }

    /// Waits until it has ended, and ends it after this time. Why its item failed, if it has not been reported.
    pub(super) async fn end(
        mut self,
        context: &ToolContext,
        most: Duration,
    ) -> Result<(String, ThreadId, String), ToolFailure> {
        let done = tokio::select! {
            done = self.agent.status.wait_for(AgentStatus::is_final) => {
                Some(done.map_or(AgentStatus::Shutdown, |status| status.clone()))
            }
            () = context.session.clock.sleep(most) => None,
        };
        let taken = request(context, |reply| {
            AgentRequest::Take(self.thread.clone(), reply)
        })
        .await?;
        if let Some(child) = taken {
            child.close().await;
        }
        let failure = match done {
            None => format!("worker exceeded max runtime of {}s", most.as_secs()),
            Some(AgentStatus::Errored(reason)) => format!("{UNREPORTED_REASON}: {reason}"),
            Some(_) => UNREPORTED_REASON.to_owned(),
        };
        Ok((self.item, self.thread, failure))
    }
}
