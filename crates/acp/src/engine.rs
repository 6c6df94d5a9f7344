//! Handles messages of the engine: notifications of threads become session updates, requests go to the client.

use std::sync::Arc;

use agent_client_protocol_schema::v1::ToolCallContent;
use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::v2::ThreadItem;
use codex_app_server_protocol::{ServerNotification, ServerRequest};
use codex_client::Adapter;
use codex_json_rpc::Incoming;
use codex_protocol::AnswerCut;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::session::AcpSession;
use crate::{buffers, diffs, dispatch, prompt, questions, settings, titles, updates};

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
    let Some(thread) = notification.thread_id() else {
        return;
    };
    match agent.find(thread) {
        Some(session) => notified_of_session(agent, &session, notification).await,
        None => notified_of_child(agent, thread, notification).await,
    }
}

/// Handles a notification of a thread that is not a session: of an agent, if the client knows child sessions.
async fn notified_of_child(agent: &Agent, thread: &str, notification: &ServerNotification) {
    let client_features = agent.client_features();
    if !client_features.subagents {
        return;
    }
    let diffs = diffs_in(notification).await;
    let updates = agent
        .children()
        .notified(thread, notification, diffs, client_features);
    agent.send_all(updates).await;
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
    if let ServerNotification::ItemStarted(it) = notification
        && agent.message_ids.is_of_another(&it.item)
    {
        for update in updates::user_message(&it.item) {
            agent.update(&session.id, update).await;
        }
    }
    if agent.client_features().subagents {
        let updates = agent.children().follow(notification);
        agent.send_all(updates).await;
    }
    match notification {
        ServerNotification::TurnStarted(it) => prompt::begin(agent, session, &it.turn.id),
        ServerNotification::TurnCompleted(it) => prompt::complete(agent, session, &it.turn).await,
        ServerNotification::ItemStarted(it) => send_first_title(agent, session, &it.item).await,
        ServerNotification::ItemCompleted(it) => buffers::after(agent, session, &it.item),
        ServerNotification::ThreadNameUpdated(it) => {
            session.state().title.clone_from(&it.thread_name);
        }
        ServerNotification::Warning(it) => {
            let cut = AnswerCut::known_in_text(&it.message);
            let mut state = session.state();
            state.cut = cut.or(state.cut.take());
        }
        ServerNotification::ThreadTokenUsageUpdated(it) => {
            session.state().tokens = Some(it.token_usage.total.clone());
        }
        ServerNotification::ThreadSettingsUpdated(it) => {
            session.state().settings.take(&json!(it.thread_settings));
            settings::send_changed(agent, session).await;
        }
        _ => {}
    }
}

/// The first message of a session without a title gives it one.
async fn send_first_title(agent: &Agent, session: &AcpSession, item: &ThreadItem) {
    let Some(title) = titles::of_message(item) else {
        return;
    };
    {
        let mut state = session.state();
        if state.title.is_some() {
            return;
        }
        state.title = Some(title.clone());
    }
    let update = titles::update(title, Timestamp::now());
    agent.update(&session.id, update).await;
}

async fn diffs_in(notification: &ServerNotification) -> Vec<ToolCallContent> {
    match notification {
        ServerNotification::ItemStarted(it) => diffs::of_item(&it.item).await,
        ServerNotification::ItemCompleted(it) => diffs::of_item(&it.item).await,
        _ => Vec::new(),
    }
}
