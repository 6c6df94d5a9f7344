//! `authenticate` and `logout`.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AuthMethod, AuthMethodAgent, AuthMethodTerminal, AuthenticateRequest, AuthenticateResponse,
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationRequestScope, ElicitationUrlMode, Error, LogoutRequest, LogoutResponse, RequestId,
};
use codex_json_rpc::Cancellation;
use serde_json::json;

use crate::agent::Agent;
use crate::client_features::ClientFeatures;
use crate::errors;
use crate::program::Program;

const CHATGPT: &str = "chat-gpt";
const API_KEY: &str = "api-key";
const TERMINAL: &str = "terminal";

/// The login methods. Always listed, because some clients show only agents that have one.
pub(crate) fn methods(program: &Program, client_features: ClientFeatures) -> Vec<AuthMethod> {
    let mut methods = Vec::new();
    if program.open_page.is_some() || client_features.pages {
        let method = AuthMethodAgent::new(CHATGPT, "ChatGPT")
            .description("Log in with a ChatGPT account in the browser".to_owned());
        methods.push(AuthMethod::Agent(method));
    }
    let method = AuthMethodAgent::new(API_KEY, "API key").description(
        "With the key in CODEX_API_KEY or OPENAI_API_KEY, or one that the client passes".to_owned(),
    );
    methods.push(AuthMethod::Agent(method));
    if client_features.terminal_login {
        let method = AuthMethodTerminal::new(TERMINAL, "In a terminal")
            .description("Log in with a browser or a code, step by step".to_owned())
            .args(vec!["--login".to_owned()]);
        methods.push(AuthMethod::Terminal(method));
    }
    methods
}

pub(crate) async fn authenticate(
    agent: Arc<Agent>,
    request: AuthenticateRequest,
    mut cancellation: Cancellation,
) -> Result<AuthenticateResponse, Error> {
    match &*request.method_id.0 {
        CHATGPT => {
            let id = request_id(cancellation.id());
            tokio::select! {
                done = with_page(&agent, id) => done?,
                () = cancellation.requested() => return Err(Error::request_cancelled()),
            }
        }
        API_KEY => with_key(&agent, &request).await?,
        TERMINAL => return Err(errors::invalid("the client runs this login in a terminal")),
        other => return Err(errors::invalid(format!("there is no login `{other}`"))),
    }
    Ok(AuthenticateResponse::new())
}

/// Logs in with a key. Editors ask for this at each start, so a login that works stays as it is unless the request has a
/// key of its own; where no login is needed nothing is done.
async fn with_key(agent: &Agent, request: &AuthenticateRequest) -> Result<(), Error> {
    let meta = request.meta.as_ref().and_then(|meta| meta.get(API_KEY));
    let given = meta
        .and_then(|meta| meta["apiKey"].as_str())
        .map(str::to_owned);
    // An account that cannot be read is no login that works.
    if let Ok(account) = agent.call("account/read", &json!({})).await {
        let is_needed = account["requiresOpenaiAuth"] != false;
        if !is_needed || (given.is_none() && !account["account"].is_null()) {
            return Ok(());
        }
    }
    let key = given
        .or_else(|| agent.program.api_key.clone())
        .ok_or_else(|| {
            errors::invalid(
                "there is no key: neither in the request nor in CODEX_API_KEY or OPENAI_API_KEY",
            )
        })?;
    let params = json!({ "type": "apiKey", "apiKey": key });
    agent.call("account/login/start", &params).await.map(|_| ())
}

/// Starts a login in the browser and waits for its end.
async fn with_page(agent: &Agent, request: RequestId) -> Result<(), Error> {
    let started = agent
        .call("account/login/start", &json!({ "type": "chatgpt" }))
        .await?;
    let (Some(id), Some(url)) = (started["loginId"].as_str(), started["authUrl"].as_str()) else {
        return Err(Error::internal_error());
    };
    let end = agent.await_login(id.to_owned());
    let mut login = RunningLogin {
        agent,
        id,
        is_over: false,
    };
    show_page(agent, request, id, url).await?;
    let result = end.await.map_err(|_| Error::request_cancelled())?;
    login.is_over = true;
    result.map_err(errors::failed)
}

/// Opens the page through the client if it supports that, otherwise in the browser of this machine.
async fn show_page(agent: &Agent, request: RequestId, id: &str, url: &str) -> Result<(), Error> {
    if let Some(open) = agent
        .program
        .open_page
        .filter(|_| !agent.client_features().pages)
    {
        open(url);
        return Ok(());
    }
    let scope = ElicitationRequestScope::new(request);
    let mode = ElicitationUrlMode::new(scope, id.to_owned(), url);
    let page = CreateElicitationRequest::new(mode, "Log in to ChatGPT");
    let answer = agent.peer.request("elicitation/create", page).await;
    let answer: CreateElicitationResponse = answer.map_err(errors::from_client)?;
    match answer.action {
        ElicitationAction::Accept(_) => Ok(()),
        _ => Err(Error::request_cancelled()),
    }
}

fn request_id(id: &codex_json_rpc::JsonRpcId) -> RequestId {
    match id {
        codex_json_rpc::JsonRpcId::Null => RequestId::Null,
        codex_json_rpc::JsonRpcId::Number(id) => RequestId::Number(*id),
        codex_json_rpc::JsonRpcId::Text(id) => RequestId::Str(id.clone()),
    }
}

/// A running login. Dropping it before its end cancels it.
struct RunningLogin<'a> {
    agent: &'a Agent,
    id: &'a str,
    is_over: bool,
}

impl Drop for RunningLogin<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let engine = self.agent.engine.clone();
        let params = json!({ "loginId": self.id });
        tokio::spawn(async move {
            let _ = engine.call("account/login/cancel", &params).await;
        });
    }
}

pub(crate) async fn log_out(agent: Arc<Agent>, _: LogoutRequest) -> Result<LogoutResponse, Error> {
    agent.call("account/logout", &json!(null)).await?;
    Ok(LogoutResponse::new())
}
