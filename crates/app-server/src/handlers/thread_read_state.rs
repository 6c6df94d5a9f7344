//! `thread/readState/update`, and read states as the wire shows them.

use std::sync::Arc;

use codex_app_server_protocol::v2::{
    ThreadReadStateChangedNotification, ThreadReadStateOperation, ThreadReadStateUpdateParams,
    ThreadReadStateUpdateResponse,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_projection::wire_read_state;
use codex_protocol::{InvalidThreadId, ThreadId};
use codex_thread_state::{ReadStateError, UnreadStart};
use serde_json::json;

use super::call::{EarlyReply, RequestContext};
use super::stored::stored_or_live;
use super::{blocking, state_failed};
use crate::background_notifier::NotificationSink;
use crate::failure::Failure;

pub(super) async fn update(
    RequestContext { server, .. }: RequestContext,
    params: ThreadReadStateUpdateParams,
) -> Result<EarlyReply<method::ThreadReadStateUpdate>, Failure> {
    let invalid = |error: InvalidThreadId| Failure::invalid_params(error.to_string());
    let id = ThreadId::parse(&params.thread_id).map_err(invalid)?;
    let is_written = match stored_or_live(&server, &id).await? {
        (None, None) => return Err(Failure::invalid(format!("thread not loaded: {id}"))),
        (record, _) => record.is_some_and(|record| record.facts.preview.is_some()),
    };
    if !is_written {
        return Err(Failure::invalid("thread read state unavailable"));
    }
    let first_unread = match params.operation {
        ThreadReadStateOperation::Read => None,
        ThreadReadStateOperation::Unread => Some(UnreadStart::ThreadStart),
    };
    let (state, revision) = (Arc::clone(server.state()), params.expected_revision);
    let thread = id.to_string();
    let changed = blocking(move || {
        let changed = state.set_read_state(&thread, first_unread, &revision);
        changed.map_err(refused)
    });
    let read_state = wire_read_state(changed.await?);
    let response = ThreadReadStateUpdateResponse {
        read_state: read_state.clone(),
    };
    Ok(EarlyReply::sent_by(move |reply| async move {
        let connection = Arc::clone(reply.connection());
        reply.accept(&response);
        let notification =
            ServerNotification::ThreadReadStateChanged(ThreadReadStateChangedNotification {
                thread_id: id.to_string(),
                read_state,
            });
        match server.thread(id.as_str()) {
            Some(thread) => drop(thread.call_now(|it| it.notify(notification)).await),
            None => connection.notify(&notification),
        }
    }))
}

fn refused(error: ReadStateError) -> Failure {
    match error {
        ReadStateError::Conflict(current) => {
            let current = wire_read_state(current);
            let data = json!({ "reason": "readStateConflict", "readState": current });
            Failure::invalid("read state changed").with_data(data)
        }
        ReadStateError::State(error) => state_failed(error),
    }
}
