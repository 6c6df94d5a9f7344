//! The stored conversation of a session, sent as updates when a client loads it.

use std::sync::Arc;

use agent_client_protocol_schema::v1::Error;
use codex_app_server_protocol::v2::Turn;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::session::AcpSession;
use crate::{diffs, errors};

/// The number of stored turns per request.
const PAGE: usize = 20;

/// Notes the turn that runs when a client opens a session, which another client may have started.
pub(crate) async fn join_turn(agent: &Agent, session: &Arc<AcpSession>) -> Result<(), Error> {
    let params = json!({ "threadId": session.thread_id(), "limit": 1, "sortDirection": "desc" });
    let joining = Arc::clone(session);
    // Before the end of the turn can be handled.
    let join = move |page: &Value| {
        let turn = &page["data"][0];
        if turn["status"] == "inProgress"
            && let Some(id) = turn["id"].as_str()
        {
            joining.state().run.join(id);
        }
    };
    let listed = agent
        .engine
        .call_with_hook("thread/turns/list", &params, join);
    listed.await.map(drop).map_err(errors::from_engine)
}

/// Sends the stored items of the thread as updates.
pub(crate) async fn send(agent: &Agent, session: &AcpSession) -> Result<(), Error> {
    let mut params = json!({ "threadId": session.thread_id(), "limit": PAGE,
                             "sortDirection": "asc", "itemsView": "full" });
    loop {
        let mut page = agent.call("thread/turns/list", &params).await?;
        let turns: Vec<Turn> =
            serde_json::from_value(page["data"].take()).map_err(Error::into_internal_error)?;
        for item in turns.iter().flat_map(|turn| &turn.items) {
            let shown = diffs::of_item(item).await;
            let updates = session
                .state()
                .projection
                .replay(item, shown, agent.client_features());
            for update in updates {
                agent.update_now(&session.id, update).await;
            }
        }
        match page["nextCursor"].take() {
            Value::Null => return Ok(()),
            cursor => params["cursor"] = cursor,
        }
    }
}
