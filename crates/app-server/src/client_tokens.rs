//! Renews the tokens of a login that clients manage.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use codex_app_server_protocol::rpc::{ErrorObject, RequestId};
use codex_app_server_protocol::{ServerRequest, v2};
use codex_login::{ExternalTokens, TokenRefreshError, TokenRefresher};

use crate::clients::Clients;
use crate::open_requests::{ClientAnswer, OpenRequests};

/// The time limit for the reply of a client.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Requests tokens from all clients. The first reply of one of them is used.
#[derive(Debug)]
pub(crate) struct ClientTokens {
    pub(crate) clients: Arc<Clients>,
    pub(crate) requests: Arc<OpenRequests>,
}

#[async_trait]
impl TokenRefresher for ClientTokens {
    async fn renew(
        &self,
        previous_account: Option<&str>,
    ) -> Result<ExternalTokens, TokenRefreshError> {
        let params = v2::ChatgptAuthTokensRefreshParams {
            reason: v2::ChatgptAuthTokensRefreshReason::Unauthorized,
            previous_account_id: previous_account.map(str::to_owned),
        };
        let request = ServerRequest::ChatgptAuthTokensRefresh(params);
        let text = self.ask(&request).await?.map_err(|error| {
            let ErrorObject { code, message, .. } = error;
            TokenRefreshError::Refused { code, message }
        })?;
        let tokens: v2::ChatgptAuthTokensRefreshResponse = serde_json::from_str(&text)
            .map_err(|error| TokenRefreshError::Unreadable(error.to_string()))?;
        Ok(ExternalTokens {
            access_token: tokens.access_token,
            account_id: tokens.chatgpt_account_id,
            plan: tokens.chatgpt_plan_type,
        })
    }
}

impl ClientTokens {
    async fn ask(&self, request: &ServerRequest) -> Result<ClientAnswer, TokenRefreshError> {
        let clients = self.clients.ready();
        if clients.is_empty() {
            return Err(TokenRefreshError::NoClient);
        }
        let asked = clients.iter().map(|client| client.id()).collect();
        let (id, answer) = self.requests.open(asked);
        for client in clients {
            client.ask(&RequestId::Integer(id), request, client.dialect());
        }
        let answer = tokio::time::timeout(TIME_LIMIT, answer).await;
        self.requests.forget(id);
        let answer = answer.ok().and_then(Result::ok);
        answer.ok_or(TokenRefreshError::TimedOut(TIME_LIMIT))
    }
}
