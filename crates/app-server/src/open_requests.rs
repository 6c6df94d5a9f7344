//! Questions of the server itself to all of its clients, of which the first answer counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use codex_app_server_protocol::rpc::{ErrorObject, RequestId};
use codex_app_server_protocol::{ServerRequest, v2};
use codex_login::{ExternalTokens, TokenKeeper};
use tokio::sync::oneshot;

use crate::server::Server;

/// How long clients have to bring new tokens.
const TOKEN_TIME: Duration = Duration::from_secs(10);

/// What a client answered: the text of its result, or its error.
pub(crate) type Answer = Result<String, ErrorObject>;

/// The questions that are open. Each has a limit of time, after which it is forgotten.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions(Mutex<HashMap<i64, oneshot::Sender<Answer>>>);

impl OpenQuestions {
    fn open(&self, id: i64) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(id, sender);
        receiver
    }

    /// Takes an answer. Gives it back if nobody here asked that.
    pub(crate) fn answer(&self, id: i64, answer: Answer) -> Result<(), Answer> {
        match self.lock().remove(&id) {
            // Whoever asked may have gone.
            Some(asked) => {
                let _ = asked.send(answer);
                Ok(())
            }
            None => Err(answer),
        }
    }

    fn forget(&self, id: i64) {
        self.lock().remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Answer>>> {
        // Entries are whole: a panic elsewhere leaves nothing half-done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the clients for the tokens of a login that they keep.
#[derive(Debug)]
pub(crate) struct ClientTokens(pub(crate) Weak<Server>);

#[async_trait]
impl TokenKeeper for ClientTokens {
    async fn renew(&self, previous_account: Option<&str>) -> Result<ExternalTokens, String> {
        let gone = || "auth refresh request canceled: no client is connected".to_owned();
        let server = self.0.upgrade().ok_or_else(gone)?;
        let params = v2::ChatgptAuthTokensRefreshParams {
            reason: v2::ChatgptAuthTokensRefreshReason::Unauthorized,
            previous_account_id: previous_account.map(str::to_owned),
        };
        let request = ServerRequest::ChatgptAuthTokensRefresh(params);
        let answer = ask(&server, &request).await.ok_or_else(gone)?;
        let answer = answer.ok_or("auth refresh request timed out after 10s")?;
        let text = answer.map_err(|error| {
            let ErrorObject { code, message, .. } = error;
            format!("auth refresh request failed: code={code} message={message}")
        })?;
        let tokens: v2::ChatgptAuthTokensRefreshResponse = serde_json::from_str(&text)
            .map_err(|error| format!("auth refresh request failed: {error}"))?;
        Ok(ExternalTokens {
            access_token: tokens.access_token,
            account_id: tokens.chatgpt_account_id,
            plan: tokens.chatgpt_plan_type,
        })
    }
}

/// The first answer to a question to everybody: nothing if nobody is there, and nothing inside of that if
/// nobody answered in time.
async fn ask(server: &Arc<Server>, request: &ServerRequest) -> Option<Option<Answer>> {
    let clients = server.ready_clients();
    if clients.is_empty() {
        return None;
    }
    let id = server.next_question();
    let answer = server.own_questions().open(id);
    for client in clients {
        client.ask(&RequestId::Integer(id), request);
    }
    let answer = tokio::time::timeout(TOKEN_TIME, answer).await;
    server.own_questions().forget(id);
    Some(answer.ok().and_then(Result::ok))
}
