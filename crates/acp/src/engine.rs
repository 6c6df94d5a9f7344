//! Handles messages of the engine: notifications of threads become session updates, requests go to the client.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, CurrentModeUpdate, SessionUpdate, ToolCallContent,
};
use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_client::Adapter;
use codex_json_rpc::Incoming;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::session::AcpSession;
use crate::{buffers, dispatch, open, prompt, questions};

impl Adapter for Agent {
    fn receive(self: &Arc<Self>, incoming: Incoming) {
        dispatch::receive(self, incoming);
    }

    async fn notified(self: &Arc<Self>, notification: &ServerNotification) {
        notified(self, notification).await;
    }

    async fn answer(self: Arc<Self>, id: &RequestId, request: &ServerRequest) -> Option<Value> {
        questions::answer(&self, id, request).await
    }
}

async fn notified(agent: &Arc<Agent>, notification: &ServerNotification) {
    if let ServerNotification::AccountLoginCompleted(it) = notification
        && let Some(id) = &it.login_id
    {
        let failed = it
            .error
            .clone()
            .unwrap_or_else(|| "the login failed".to_owned());
        agent.end_login(id, if it.success { Ok(()) } else { Err(failed) });
    }
    let session = notification
        .thread_id()
        .and_then(|thread| agent.find(thread));
    if let Some(session) = session {
        notified_of_session(agent, &session, notification).await;
    }
}

async fn notified_of_session(
    agent: &Arc<Agent>,
    session: &Arc<AcpSession>,
    notification: &ServerNotification,
) {
    let diffs = diffs_in(notification).await;
    let updates = session
        .state()
        .projection
        .notified(notification, diffs, agent.client_features());
    for update in updates {
        agent.update(&session.id, update).await;
    }
    match notification {
        ServerNotification::TurnStarted(it) => begin(agent, session, &it.turn.id),
        ServerNotification::TurnCompleted(it) => prompt::complete(session, &it.turn).await,
        ServerNotification::ItemCompleted(it) => buffers::after(agent, session, &it.item),
        ServerNotification::ThreadTokenUsageUpdated(it) => {
            session.state().tokens = Some(it.token_usage.total.clone());
        }
        ServerNotification::ThreadSettingsUpdated(it) => {
            session.state().settings.take(&json!(it.thread_settings));
            send_changed_settings(agent, session).await;
        }
        _ => {}
    }
}

fn begin(agent: &Arc<Agent>, session: &Arc<AcpSession>, turn: &str) {
    let Some(begun) = session.state().run.begin(turn) else {
        return;
    };
    let (agent, session, turn) = (Arc::clone(agent), Arc::clone(session), turn.to_owned());
    tokio::spawn(async move {
        if begun.interrupt {
            prompt::interrupt(&agent, &session).await;
        }
        for inputs in begun.more {
            prompt::steer(&agent, &session, &turn, inputs).await;
        }
    });
}

async fn diffs_in(notification: &ServerNotification) -> Vec<ToolCallContent> {
    match notification {
        ServerNotification::ItemStarted(it) => open::diffs_of(&it.item).await,
        ServerNotification::ItemCompleted(it) => open::diffs_of(&it.item).await,
        _ => Vec::new(),
    }
}

/// Sends the settings of the session if they changed since the last update.
pub(crate) async fn send_changed_settings(agent: &Agent, session: &AcpSession) {
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
