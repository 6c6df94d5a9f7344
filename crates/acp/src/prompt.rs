//! `session/prompt` and the replies to it. The state machine is in `run.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, Error, PromptRequest, PromptResponse, StopReason, Usage,
};
use codex_app_server_protocol::v2::{TokenUsageBreakdown, Turn, TurnStatus, UserInput};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::commands::{self, CommandOutcome};
use crate::run::{PromptAction, WaitingPrompts};
use crate::session::AcpSession;
use crate::{buffers, errors, prompt_blocks};
use codex_json_rpc::Responder;

/// Accepts a prompt. A later cancel applies to it.
pub(crate) fn take(agent: &Arc<Agent>, params: &RawValue, responder: Responder) {
    let read = errors::read::<PromptRequest>(params).and_then(|request| {
        let session = agent.session(&request.session_id)?;
        let inputs = prompt_blocks::inputs(&request.prompt, &HashMap::new())?;
        Ok((session, inputs, request.prompt))
    });
    let (session, inputs, blocks) = match read {
        Ok(read) => read,
        Err(error) => {
            tokio::spawn(responder.respond(Err::<(), _>(error)));
            return;
        }
    };
    let next = {
        let mut state = session.state();
        state.tokens_before = state.tokens.clone();
        state.run.prompt(responder, inputs)
    };
    let agent = Arc::clone(agent);
    match next {
        PromptAction::Start(inputs) => {
            tokio::spawn(async move { start(&agent, &session, inputs, &blocks).await });
        }
        PromptAction::Steer(turn, inputs) => {
            tokio::spawn(async move { steer(&agent, &session, &turn, inputs).await });
        }
        PromptAction::Wait => {}
    }
}

/// Starts a turn, or runs a command that needs none.
async fn start(
    agent: &Arc<Agent>,
    session: &Arc<AcpSession>,
    inputs: Vec<UserInput>,
    blocks: &[ContentBlock],
) {
    let begun = match commands::parse(prompt_blocks::first_text(blocks)) {
        Some(command) => commands::run(agent, session, command).await,
        None => start_turn(agent, session, inputs, blocks)
            .await
            .map(|()| CommandOutcome::Turn),
    };
    match begun {
        Ok(CommandOutcome::Turn) => {}
        Ok(CommandOutcome::Done) => refuse(agent, session, Ok(StopReason::EndTurn)).await,
        Ok(CommandOutcome::Prompt(text)) => {
            let inputs = vec![UserInput::Text {
                text,
                text_elements: Vec::new(),
            }];
            if let Err(error) = turn(agent, session, &inputs).await {
                refuse(agent, session, Err(error)).await;
            }
        }
        Err(error) => refuse(agent, session, Err(error)).await,
    }
}

async fn start_turn(
    agent: &Agent,
    session: &AcpSession,
    inputs: Vec<UserInput>,
    blocks: &[ContentBlock],
) -> Result<(), Error> {
    let unsaved = buffers::unsaved(agent, session, blocks).await;
    let inputs = if unsaved.is_empty() {
        inputs
    } else {
        prompt_blocks::inputs(blocks, &unsaved)?
    };
    turn(agent, session, &inputs).await
}

async fn turn(agent: &Agent, session: &AcpSession, inputs: &[UserInput]) -> Result<(), Error> {
    let params = json!({ "threadId": session.thread_id(), "input": inputs });
    agent.call("turn/start", &params).await.map(|_: Value| ())
}

/// Adds input to a turn. If the turn accepts none, such as a review, the input is dropped.
pub(crate) async fn steer(agent: &Agent, session: &AcpSession, turn: &str, inputs: Vec<UserInput>) {
    let params =
        json!({ "threadId": session.thread_id(), "input": inputs, "expectedTurnId": turn });
    if let Err(error) = agent.call("turn/steer", &params).await {
        let text = format!("This turn takes no further input: {}\n\n", error.message);
        agent
            .update(&session.id, crate::updates::message_chunk(&text, None))
            .await;
    }
}

/// Replies to a prompt that started no turn.
async fn refuse(agent: &Agent, session: &AcpSession, outcome: Result<StopReason, Error>) {
    let waiting = session.state().run.refuse();
    if let Some(waiting) = waiting {
        answer(waiting, outcome, None).await;
    }
    send_changed_settings(agent, session).await;
}

/// Sends the options if a command changed them.
async fn send_changed_settings(agent: &Agent, session: &AcpSession) {
    crate::engine::send_changed_settings(agent, session).await;
}

/// Replies to the prompts of a turn that ended, after all updates of the turn.
pub(crate) async fn complete(session: &Arc<AcpSession>, turn: &Turn) {
    let (waiting, usage, buffers) = {
        let mut state = session.state();
        let usage = spent(state.tokens.as_ref(), state.tokens_before.as_ref());
        (state.run.end(), usage, std::mem::take(&mut state.buffers))
    };
    let Some(waiting) = waiting else {
        return;
    };
    let outcome = match turn.status {
        TurnStatus::Interrupted => Ok(StopReason::Cancelled),
        TurnStatus::Failed => Err(errors::of_turn(turn.error.as_ref())),
        TurnStatus::Completed | TurnStatus::InProgress => Ok(StopReason::EndTurn),
    };
    if buffers.is_empty() {
        return answer(waiting, outcome, usage).await;
    }
    tokio::spawn(async move {
        for work in buffers {
            let _ = work.await;
        }
        answer(waiting, outcome, usage).await;
    });
}

async fn answer(waiting: WaitingPrompts, outcome: Result<StopReason, Error>, usage: Option<Usage>) {
    let outcome = if waiting.is_cancelled {
        Ok(StopReason::Cancelled)
    } else {
        outcome
    };
    for responder in waiting.responders {
        let reply = outcome
            .clone()
            .map(|reason| PromptResponse::new(reason).usage(usage.clone()));
        responder.respond(reply).await;
    }
}

/// The difference of two token counts.
fn spent(now: Option<&TokenUsageBreakdown>, before: Option<&TokenUsageBreakdown>) -> Option<Usage> {
    let now = now?;
    let count = |of: fn(&TokenUsageBreakdown) -> i64| {
        let spent = of(now) - before.map_or(0, of);
        u64::try_from(spent).unwrap_or_default()
    };
    let usage = Usage::new(
        count(|usage| usage.total_tokens),
        count(|usage| usage.input_tokens),
        count(|usage| usage.output_tokens),
    );
    let usage = usage
        .thought_tokens(count(|usage| usage.reasoning_output_tokens))
        .cached_read_tokens(count(|usage| usage.cached_input_tokens));
    Some(usage)
}

/// Cancels the running prompt, if there is one.
pub(crate) fn cancel(agent: &Arc<Agent>, session: &Arc<AcpSession>) {
    if session.state().run.cancel() {
        let (agent, session) = (Arc::clone(agent), Arc::clone(session));
        tokio::spawn(async move { interrupt(&agent, &session).await });
    }
}

/// Interrupts the running turn.
pub(crate) async fn interrupt(agent: &Agent, session: &AcpSession) {
    let params = json!({ "threadId": session.thread_id(), "turnId": "" });
    // Fails if no turn runs, which is fine.
    let _ = agent.call("turn/interrupt", &params).await;
}

/// Ends a session: cancels its prompts and replies to them here, because no more notifications are handled.
pub(crate) async fn end(agent: &Agent, session: &AcpSession) {
    session.state().run.cancel();
    interrupt(agent, session).await;
    let waiting = {
        let mut state = session.state();
        state.run.end().or_else(|| state.run.refuse())
    };
    if let Some(waiting) = waiting {
        answer(waiting, Ok(StopReason::Cancelled), None).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_spent_what_was_not_spent_before() {
        let tokens = |total: i64| TokenUsageBreakdown {
            total_tokens: total,
            input_tokens: total - 1,
            cached_input_tokens: 0,
            cache_write_input_tokens: None,
            output_tokens: 1,
            reasoning_output_tokens: 0,
        };
        let usage = spent(Some(&tokens(10)), Some(&tokens(4))).unwrap();
        assert_eq!(
            (usage.total_tokens, usage.input_tokens, usage.output_tokens),
            (6, 6, 0)
        );
        assert!(spent(None, None).is_none());
    }
}
