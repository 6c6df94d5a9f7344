//! `session/prompt` and the replies to it. The state machine is in `run.rs`.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, PromptRequest, PromptResponse, StopReason, Usage};
use codex_app_server_protocol::v2::{TokenUsageBreakdown, Turn, TurnStatus, UserInput};
use codex_json_rpc::{JsonRpcId, Responder};
use codex_protocol::AnswerCut;
use serde_json::json;
use serde_json::value::RawValue;

use crate::agent::Agent;
use crate::commands::{self, CommandOutcome};
use crate::prompt_input::{self, PromptInput};
use crate::run::{PromptAction, PromptRunEnd, SteeringPrompt, WaitingPrompts};
use crate::session::AcpSession;
use crate::{errors, input, settings};

/// Accepts a prompt. A later cancel applies to it.
pub(crate) fn take(agent: &Arc<Agent>, params: &RawValue, responder: Responder) {
    let read = errors::read::<PromptRequest>(params).and_then(|request| {
        let session = agent.session(&request.session_id)?;
        Ok((session, PromptInput::read(request.prompt)?))
    });
    let (session, prompt) = match read {
        Ok(read) => read,
        Err(error) => {
            tokio::spawn(responder.respond(Err::<(), _>(error)));
            return;
        }
    };
    let action = session.state().run.prompt(responder, prompt);
    match action {
        PromptAction::Start(prompt) => spawn_start(agent, &session, prompt),
        PromptAction::Steer(steering) => spawn_steer(agent, &session, steering),
        PromptAction::Wait => {}
    }
}

fn spawn_start(agent: &Arc<Agent>, session: &Arc<AcpSession>, prompt: PromptInput) {
    let (agent, session) = (Arc::clone(agent), Arc::clone(session));
    tokio::spawn(async move {
        let mut next = Some(prompt);
        while let Some(prompt) = next {
            next = match start(&agent, &session, &prompt).await {
                Ok(Started::Turn) => None,
                Ok(Started::Nothing) => refuse(&session, Ok(StopReason::EndTurn)).await,
                Err(error) => refuse(&session, Err(error)).await,
            };
            settings::send_changed(&agent, &session).await;
        }
    });
}

/// What a prompt started.
enum Started {
    Turn,
    /// The prompt was a command that needs no turn.
    Nothing,
}

async fn start(
    agent: &Arc<Agent>,
    session: &Arc<AcpSession>,
    prompt: &PromptInput,
) -> Result<Started, Error> {
    let inputs = match commands::parse(prompt.first_text()) {
        Some(command) => match commands::run(agent, session, command).await? {
            CommandOutcome::Prompt(text) => vec![prompt_input::text(text)],
            CommandOutcome::Turn => return Ok(Started::Turn),
            CommandOutcome::Done => return Ok(Started::Nothing),
        },
        None => input::with_unsaved(agent, session, prompt).await?,
    };
    let params = json!({ "threadId": session.thread_id(), "input": inputs,
                         "clientUserMessageId": agent.message_ids.next() });
    agent.call("turn/start", &params).await?;
    Ok(Started::Turn)
}

/// Replies to a prompt that started no turn, and returns the next one.
async fn refuse(session: &AcpSession, outcome: Result<StopReason, Error>) -> Option<PromptInput> {
    let PromptRunEnd { answered, next } = session.state().run.refuse()?;
    session.gate.opened().await;
    answer(answered, outcome, None).await;
    next
}

/// Adds the prompt to the running turn if that accepts it. Commands wait for its end.
fn spawn_steer(
    agent: &Arc<Agent>,
    session: &Arc<AcpSession>,
    steering: SteeringPrompt<PromptInput>,
) {
    let SteeringPrompt { turn, id, input } = steering;
    if commands::parse(input.first_text()).is_some() {
        return;
    }
    let (agent, session) = (Arc::clone(agent), Arc::clone(session));
    tokio::spawn(async move {
        let Ok(inputs) = input::with_unsaved(&agent, &session, &input).await else {
            return;
        };
        let owner = Arc::clone(&session);
        let accepted = (turn.clone(), id);
        let accept = move || owner.state().run.accepted(&accepted.0, &accepted.1);
        if let Err(error) = steer(&agent, &session, &turn, &inputs, accept).await {
            tracing::debug!(%error.message, "the prompt waits for the end of the turn");
        }
    });
}

/// Adds input to a turn. `accepted` runs before later messages of the engine are handled.
pub(crate) async fn steer(
    agent: &Agent,
    session: &AcpSession,
    turn: &str,
    inputs: &[UserInput],
    accepted: impl FnOnce() + Send + 'static,
) -> Result<(), Error> {
    let params = json!({ "threadId": session.thread_id(), "input": inputs, "expectedTurnId": turn,
                         "clientUserMessageId": agent.message_ids.next() });
    let hook = move |_: &_| accepted();
    let reply = agent.engine.call_with_hook("turn/steer", &params, hook);
    reply.await.map(|_| ()).map_err(errors::from_engine)
}

/// A turn of the session started.
pub(crate) fn begin(agent: &Arc<Agent>, session: &Arc<AcpSession>, turn: &str) {
    let actions = {
        let mut state = session.state();
        state.tokens_before = state.tokens.clone();
        state.cut = None;
        state.is_stored = true;
        state.run.begin(turn)
    };
    if actions.interrupt {
        spawn_interrupt(agent, session);
    }
    for steering in actions.steering {
        spawn_steer(agent, session, steering);
    }
}

/// Replies to the prompts of a turn that ended, after all updates of the turn, and starts the next one.
pub(crate) async fn complete(agent: &Arc<Agent>, session: &Arc<AcpSession>, turn: &Turn) {
    let (end, usage, cut, buffers) = {
        let mut state = session.state();
        let usage = spent(state.tokens.as_ref(), state.tokens_before.as_ref());
        let buffers = std::mem::take(&mut state.buffers);
        (state.run.end(), usage, state.cut.take(), buffers)
    };
    let Some(PromptRunEnd { answered, next }) = end else {
        return;
    };
    let outcome = outcome_of(turn, cut.as_ref());
    if buffers.is_empty() && session.gate.is_open() {
        answer(answered, outcome, usage).await;
    } else {
        let session = Arc::clone(session);
        // The task that handles notifications must not wait: what opens the gate may need it.
        tokio::spawn(async move {
            for work in buffers {
                let _ = work.await;
            }
            session.gate.opened().await;
            answer(answered, outcome, usage).await;
        });
    }
    if let Some(prompt) = next {
        spawn_start(agent, session, prompt);
    }
}

fn outcome_of(turn: &Turn, cut: Option<&AnswerCut>) -> Result<StopReason, Error> {
    match turn.status {
        TurnStatus::Interrupted => Ok(StopReason::Cancelled),
        TurnStatus::Completed | TurnStatus::InProgress => Ok(match cut {
            Some(AnswerCut::Length) => StopReason::MaxTokens,
            Some(AnswerCut::ContentFilter) => StopReason::Refusal,
            Some(AnswerCut::Other(_)) | None => StopReason::EndTurn,
        }),
        TurnStatus::Failed => Err(errors::from_turn(turn.error.as_ref())),
    }
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

/// Cancels the prompts of a session until now.
pub(crate) fn cancel(agent: &Arc<Agent>, session: &Arc<AcpSession>) {
    if session.state().run.cancel() {
        spawn_interrupt(agent, session);
    }
}

/// Cancels one request, if it is a prompt: a waiting one alone, otherwise its turn.
pub(crate) fn cancel_request(agent: &Arc<Agent>, id: &JsonRpcId) {
    for session in agent.sessions() {
        let queued = session.state().run.unqueue(id);
        if let Some(responder) = queued {
            let cancelled = PromptResponse::new(StopReason::Cancelled);
            tokio::spawn(responder.respond(Ok::<_, Error>(cancelled)));
        } else if session.state().run.has(id) {
            cancel(agent, &session);
        }
    }
}

fn spawn_interrupt(agent: &Arc<Agent>, session: &Arc<AcpSession>) {
    let (agent, session) = (Arc::clone(agent), Arc::clone(session));
    tokio::spawn(async move { interrupt(&agent, &session).await });
}

async fn interrupt(agent: &Agent, session: &AcpSession) {
    let params = json!({ "threadId": session.thread_id(), "turnId": "" });
    // Fails if no turn runs, which is fine.
    let _ = agent.call("turn/interrupt", &params).await;
}

/// Ends a session: cancels its prompts and replies to them here, because no more notifications are handled.
pub(crate) async fn end(agent: &Agent, session: &AcpSession) {
    let responders = session.state().run.close();
    interrupt(agent, session).await;
    let waiting = WaitingPrompts {
        responders,
        is_cancelled: true,
    };
    answer(waiting, Ok(StopReason::Cancelled), None).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_usage_is_the_difference() {
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
