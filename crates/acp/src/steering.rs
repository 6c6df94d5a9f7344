//! `_session/steering`, an extension: input for the running turn, replied to at once.
//!
//! The reply says what became of it: `injected` into the turn, or `startedNewTurn` because none ran. A client that
//! wants to send a prompt itself in that case says so with `_meta.steering.idleBehavior`, and gets `promptRequired`.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{ContentBlock, Error, Meta, SessionId};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::prompt_input::PromptInput;
use crate::{input, prompt};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SteeringRequest {
    session_id: SessionId,
    prompt: Vec<ContentBlock>,
    #[serde(rename = "_meta")]
    meta: Option<SteeringMeta>,
}

#[derive(Deserialize)]
struct SteeringMeta {
    steering: Option<SteeringOptions>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SteeringOptions {
    idle_behavior: Option<IdleBehavior>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum IdleBehavior {
    PromptRequired,
}

impl SteeringRequest {
    fn must_not_start_a_turn(&self) -> bool {
        let options = self.meta.as_ref().and_then(|meta| meta.steering.as_ref());
        options.is_some_and(|options| options.idle_behavior.is_some())
    }
}

/// Announces the extension in the reply to `initialize`.
pub(crate) fn meta() -> Meta {
    Map::from_iter([("steering".to_owned(), json!({ "supported": true }))])
}

pub(crate) async fn steer(agent: Arc<Agent>, request: SteeringRequest) -> Result<Value, Error> {
    let must_not_start = request.must_not_start_a_turn();
    let session = agent.session(&request.session_id)?;
    let prompt = PromptInput::read(request.prompt)?;
    let inputs = input::with_unsaved(&agent, &session, &prompt).await?;
    let running = session.state().run.turn().map(str::to_owned);
    if let Some(turn) = running {
        let steered = prompt::steer(&agent, &session, &turn, &inputs, || ()).await;
        if steered.is_ok() {
            return Ok(json!({ "outcome": "injected" }));
        }
        // The turn has ended meanwhile.
    }
    if must_not_start {
        return Ok(json!({ "outcome": "promptRequired", "reason": "noRunningTurn" }));
    }
    let params = json!({ "threadId": session.thread_id(), "input": inputs });
    agent.call("turn/start", &params).await?;
    Ok(json!({ "outcome": "startedNewTurn" }))
}
