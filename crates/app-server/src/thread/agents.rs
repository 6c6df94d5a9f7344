//! The agents of a thread. Its subscribers subscribe to them too.

use std::sync::Arc;

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{ThreadStatus, ThreadStatusChangedNotification};
use codex_core::{SpawnedAgent, StartedThread};
use codex_projection::preview_of_message;
use codex_protocol::EventMsg;
use futures::future::BoxFuture;

use super::actor::Actor;
use super::facts::ThreadFacts;
use crate::connection::Connection;

impl Actor {
    /// Loads the agents that were started before the next event of the engine.
    pub(super) fn take_agents(&mut self) {
        while let Ok(agent) = self.agents_to_load.try_recv() {
            self.take_agent(*agent);
        }
    }

    /// Loads an agent. The subscribers of this thread get its notifications and questions.
    pub(super) fn take_agent(&mut self, agent: SpawnedAgent) {
        let SpawnedAgent {
            started,
            config,
            first,
        } = agent;
        let StartedThread {
            thread,
            mut events,
            agents,
            unfinished: _,
        } = started;
        let said = events.try_next().map(|event| event.msg);
        let Some(EventMsg::SessionConfigured(configured)) = said else {
            tracing::warn!("an agent ended before it began");
            return;
        };
        let preview = first.as_ref().and_then(preview_of_message);
        let preview = preview.unwrap_or_default().to_owned();
        let mut facts = ThreadFacts::new(&thread, *configured, &config, preview);
        facts.overrides = Arc::clone(&self.facts.overrides);
        let thread_id = thread.id().to_string();
        let (server, manager) = (Arc::clone(&self.server), Arc::clone(&self.manager));
        let mut actor = Self::new(server, manager, thread, events, agents, facts);
        actor.is_agent = true;
        actor.subscribers.clone_from(&self.subscribers);
        self.agents.retain(|agent| !agent.is_closed());
        self.agents.push(actor.handle.clone());
        let status = ThreadStatus::Idle;
        self.server
            .broadcast(&ServerNotification::ThreadStatusChanged(
                ThreadStatusChangedNotification { thread_id, status },
            ));
        actor.spawn();
    }

    /// Subscribes a client to the agents without a subscriber, which may wait for an answer.
    pub(super) async fn share_agents(&self, connection: &Arc<Connection>) {
        for agent in &self.agents {
            let connection = Arc::clone(connection);
            agent
                .send(|agent| agent.subscribe_if_none(connection))
                .await;
        }
    }

    /// Subscribes a client if the thread has no subscriber, and sends it the open questions. The same for its agents.
    fn subscribe_if_none(&mut self, connection: Arc<Connection>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.subscribers.is_empty() {
                self.subscribe(&connection);
                self.ask_again(&connection);
            }
            self.share_agents(&connection).await;
        })
    }
}
