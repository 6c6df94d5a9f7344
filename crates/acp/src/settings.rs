//! `session/set_mode` and `session/set_config_option`. Changes apply from the next turn on.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, CurrentModeUpdate, Error, SessionConfigOptionValue, SessionId,
    SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeRequest, SetSessionModeResponse,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::options;
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

/// `session/set_model`, which clients sent before there were options.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetModelRequest {
    session_id: SessionId,
    /// A model, and its effort in brackets after it or not.
    model_id: String,
}

pub(crate) async fn set_model(agent: Arc<Agent>, request: SetModelRequest) -> Result<Value, Error> {
    let session = agent.session(&request.session_id)?;
    let (model, effort) = match request.model_id.strip_suffix(']') {
        Some(id) => id.split_once('[').unzip(),
        None => (Some(request.model_id.as_str()), None),
    };
    for (option, value) in [(options::MODEL, model), (options::EFFORT, effort)] {
        let Some(value) = value else { continue };
        let value = SessionConfigOptionValue::ValueId {
            value: value.to_owned().into(),
        };
        let change = session.state().settings.change(option, &value)?;
        apply(&agent, &session, change).await?;
    }
    Ok(json!({}))
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

/// Sends the settings of the session if they changed since the last update.
pub(crate) async fn send_changed(agent: &Agent, session: &AcpSession) {
    let (options, mode) = {
        let mut state = session.state();
        let options = state.changed_options(agent.client_features());
        (options, state.settings.mode_state().current_mode_id)
    };
    let Some(options) = options else {
        return;
    };
    let mode = SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode));
    agent.update(&session.id, mode).await;
    let options = SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options));
    agent.update(&session.id, options).await;
}
