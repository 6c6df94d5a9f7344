//! Requests about stored sessions: list, title, close, delete.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse, Error,
    ListSessionsRequest, ListSessionsResponse, SessionInfo, SetSessionTitleRequest,
    SetSessionTitleResponse,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::{errors, open, prompt, titles};

/// The sources of threads that people started; threads of agents are not listed.
const KINDS: [&str; 3] = ["cli", "vscode", "appServer"];

const PAGE: usize = 50;

pub(crate) async fn list(
    agent: Arc<Agent>,
    request: ListSessionsRequest,
) -> Result<ListSessionsResponse, Error> {
    let mut params = json!({ "limit": PAGE, "sortKey": "updated_at", "sourceKinds": KINDS,
                             "modelProviders": [], "cursor": request.cursor });
    if let Some(cwd) = &request.cwd {
        if !cwd.is_absolute() {
            return Err(errors::invalid("`cwd` has to be an absolute path"));
        }
        params["cwd"] = json!(cwd);
    }
    let page = agent.call("thread/list", &params).await?;
    let threads = page["data"].as_array().into_iter().flatten();
    let next = page["nextCursor"].as_str().map(str::to_owned);
    Ok(ListSessionsResponse::new(threads.filter_map(info).collect()).next_cursor(next))
}

fn info(thread: &Value) -> Option<SessionInfo> {
    let id = thread["id"].as_str()?.to_owned();
    let cwd = thread["cwd"].as_str()?;
    let title = titles::of_thread(thread);
    let updated = thread["updatedAt"]
        .as_i64()
        .and_then(|at| Timestamp::from_second(at).ok());
    let updated = updated.map(|at| at.to_string());
    Some(SessionInfo::new(id, cwd).title(title).updated_at(updated))
}

pub(crate) async fn close(
    agent: Arc<Agent>,
    request: CloseSessionRequest,
) -> Result<CloseSessionResponse, Error> {
    let session = agent.session(&request.session_id)?;
    prompt::end(&agent, &session).await;
    open::store(&agent, &session).await?;
    agent.close_session(&request.session_id);
    let params = json!({ "threadId": session.thread_id() });
    agent.call("thread/unsubscribe", &params).await?;
    Ok(CloseSessionResponse::new())
}

/// Succeeds if the session does not exist.
pub(crate) async fn delete(
    agent: Arc<Agent>,
    request: DeleteSessionRequest,
) -> Result<DeleteSessionResponse, Error> {
    let params = json!({ "threadId": request.session_id });
    if let Some(session) = agent.find(&request.session_id.0) {
        prompt::end(&agent, &session).await;
        agent.close_session(&request.session_id);
        let _ = agent.call("thread/unsubscribe", &params).await;
    }
    if agent.call("thread/read", &params).await.is_ok() {
        agent.call("thread/delete", &params).await?;
    }
    Ok(DeleteSessionResponse::new())
}

pub(crate) async fn set_title(
    agent: Arc<Agent>,
    request: SetSessionTitleRequest,
) -> Result<SetSessionTitleResponse, Error> {
    let params = json!({ "threadId": request.session_id, "name": request.title });
    let renamed = agent.call("thread/name/set", &params).await;
    if renamed.is_err() && agent.find(&request.session_id.0).is_none() {
        return Err(Error::session_not_found(request.session_id));
    }
    renamed?;
    Ok(SetSessionTitleResponse::new(request.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_title_is_its_name_or_first_message() {
        let thread = |name: Value| {
            let thread = json!({ "id": "t", "cwd": "/w", "name": name, "preview": "\nfirst\nsecond",
                                 "updatedAt": 0 });
            json!(info(&thread).unwrap())
        };
        let expected = json!({ "sessionId": "t", "cwd": "/w", "title": "first",
                               "updatedAt": "1970-01-01T00:00:00Z" });
        assert_eq!(thread(Value::Null), expected);
        assert_eq!(thread(json!("named"))["title"], "named");
    }
}
