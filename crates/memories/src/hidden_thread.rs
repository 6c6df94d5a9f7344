//! Threads that no client sees: one turn, without a file, that asks nobody.

use std::time::Duration;

use codex_core::{
    EventReceiver, NewTurn, SessionConfig, StartError, StartTurn, StartTurnError, StartedThread,
    ThreadManager, TurnInput,
};
use codex_protocol::{EventMsg, UserInput};
use serde_json::Value;
use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum HiddenThreadError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Turn(#[from] StartTurnError),
    /// The turn failed, for this reason.
    #[error("{0}")]
    Failed(String),
    #[error("it took longer than {} minutes", .0.as_secs() / 60)]
    TimeLimit(Duration),
}

/// Starts a hidden thread and returns the answer of its only turn.
pub(crate) async fn ask(
    manager: &ThreadManager,
    config: SessionConfig,
    question: String,
    output_schema: Option<Value>,
    limit: Duration,
) -> Result<String, HiddenThreadError> {
    let StartedThread { thread, events, .. } = manager.start(config)?;
    let turn = NewTurn {
        id: uuid::Uuid::now_v7().to_string(),
        input: TurnInput::from(vec![UserInput::Text {
            text: question,
            text_elements: Vec::new(),
        }]),
        output_schema,
        ..NewTurn::default()
    };
    let answered = async {
        thread.ask(|reply| StartTurn { turn, reply }).await?;
        answer(events).await
    };
    let answered = tokio::time::timeout(limit, answered).await;
    manager.close(thread.id()).await;
    answered.unwrap_or(Err(HiddenThreadError::TimeLimit(limit)))
}

/// The last message of the turn.
async fn answer(mut events: EventReceiver) -> Result<String, HiddenThreadError> {
    let mut failure = None;
    while let Some(event) = events.next().await {
        match event.msg {
            EventMsg::Error(error) => failure = Some(error.message),
            EventMsg::TurnComplete(ended) => {
                let reason = || failure.unwrap_or_else(|| "there is no answer".to_owned());
                let answer = ended.last_agent_message;
                return answer.ok_or_else(|| HiddenThreadError::Failed(reason()));
            }
            EventMsg::TurnAborted(_) => break,
            _ => {}
        }
    }
    let reason = failure.unwrap_or_else(|| "the turn was stopped".to_owned());
    Err(HiddenThreadError::Failed(reason))
}
