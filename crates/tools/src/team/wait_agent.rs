//! `wait_agent`: waits for a message of another agent.

use std::time::Duration;

use codex_model_client::ToolSpec;
use codex_protocol::{CollabWaitingBeginEvent, CollabWaitingEndEvent, EventMsg};
use codex_session_base::agents::TeamSeat;
use codex_session_base::config::TeamSettings;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::shared::{begin, refused};
use crate::agents::EndEvent;
use crate::arguments::function;
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(super) struct WaitForMailTool {
    least: u128,
    most: u128,
    usual: u128,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitAgentArguments {
    timeout_ms: Option<i64>,
}

impl WaitForMailTool {
    pub(super) fn new(team: &TeamSettings) -> Self {
        Self {
            least: team.min_wait.as_millis(),
            most: team.max_wait.as_millis(),
            usual: team.default_wait.as_millis(),
        }
    }
}

impl Tool for WaitForMailTool {
    fn spec(&self) -> ToolSpec {
        let Self { least, most, usual } = self;
        function(
            "wait_agent",
            "Waits until a message of another agent is there for you, such as the result of a turn. You read it \
             with your next step; you would without waiting too. The wait ends early if the user says something.",
            json!({
                "timeout_ms": {
                    "type": "number",
                    "description": format!(
                        "How long to wait, in milliseconds: {least} to {most}, {usual} unless given."
                    ),
                },
            }),
            &[],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { wait(&context).await })
    }
}

async fn wait(context: &ToolContext) -> ToolResult {
    let (asked, seat): (WaitAgentArguments, TeamSeat) = begin(context).await?;
    let (timeout, note) = timeout(&seat.team.settings, asked.timeout_ms)?;
    let sender = context.session.emitter.thread().clone();
    let begin = EventMsg::CollabWaitingBegin(CollabWaitingBeginEvent {
        sender_thread_id: sender.clone(),
        receiver_thread_ids: Vec::new(),
        receiver_agents: Vec::new(),
        call_id: context.call.id.clone(),
    });
    let end = EventMsg::CollabWaitingEnd(CollabWaitingEndEvent {
        sender_thread_id: sender,
        call_id: context.call.id.clone(),
        agent_statuses: Vec::new(),
        statuses: std::collections::BTreeMap::new(),
    });
    let end_event = EndEvent::begin(context, begin, end.clone());
    let (message, timed_out) = tokio::select! {
        biased;
        () = seat.mailbox.arrived() => ("Wait completed.", false),
        () = context.input_queue.arrived() => ("Wait ended: the user has said something.", false),
        () = context.session.clock.sleep(timeout) => ("Wait timed out.", true),
    };
    for ended in seat.mailbox.take_ended() {
        context.emitter.emit(EventMsg::SubAgentActivity(ended));
    }
    end_event.end(end);
    let message = format!("{message}{note}");
    text(json!({ "message": message, "timed_out": timed_out }).to_string())
}

/// The time to wait, and what the model is told about it.
fn timeout(team: &TeamSettings, asked: Option<i64>) -> Result<(Duration, String), ToolFailure> {
    let Some(asked) = asked else {
        return Ok((team.default_wait, String::new()));
    };
    let asked = Duration::from_millis(u64::try_from(asked).unwrap_or(0));
    if asked < team.min_wait {
        let least = team.min_wait.as_millis();
        let note = format!(" The time was {least} ms, the least that is allowed.");
        return Ok((team.min_wait, note));
    }
    if asked > team.max_wait {
        let most = team.max_wait.as_millis();
        return Err(refused(format!("timeout_ms must be at most {most}")));
    }
    Ok((asked, String::new()))
}
