//! `session/set_mode` and `session/set_config_option`. Changes apply from the next turn on.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::session::AcpSession;

pub(crate) async fn set_mode(
    agent: Arc<Agent>,
    request: SetSessionModeRequest,
) -> Result<SetSessionModeResponse, Error> {
    let session = agent.session(&request.session_id)?;
    let change = session.state().settings.change_mode(&request.mode_id.0)?;
    apply(&agent, &session, change).await?;
    Ok(SetSessionModeResponse::new())
}

pub(crate) async fn set_option(
    agent: Arc<Agent>,
    request: SetSessionConfigOptionRequest,
) -> Result<SetSessionConfigOptionResponse, Error> {
    let session = agent.session(&request.session_id)?;
    let option = &request.config_id.0;
    let change = session.state().settings.change(option, &request.value)?;
    apply(&agent, &session, change).await?;
    let options = session.state().options_to_send(agent.client_features());
    Ok(SetSessionConfigOptionResponse::new(options))
}

/// Changes the settings of a thread in the engine.
pub(crate) async fn apply(agent: &Agent, session: &AcpSession, change: Value) -> Result<(), Error> {
    if change.as_object().is_none_or(serde_json::Map::is_empty) {
        return Ok(());
    }
    let mut params = change.clone();
    params["threadId"] = json!(session.thread_id());
    agent.call("thread/settings/update", &params).await?;
    session.state().settings.assume(&change);
    Ok(())
}
