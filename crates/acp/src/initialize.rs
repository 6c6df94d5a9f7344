//! The handshake.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentAuthCapabilities, AgentCapabilities, Implementation, InitializeRequest,
    InitializeResponse, LogoutCapabilities, McpCapabilities, PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities,
    SessionResumeCapabilities, SessionTitleCapabilities,
};

use crate::agent::Agent;
use crate::client_features::ClientFeatures;
use crate::{login, rewind, steering};

/// Always replies with version 1, the only supported one. May be called again.
pub(crate) fn answer(agent: &Agent, request: &InitializeRequest) -> InitializeResponse {
    let mut client_features = ClientFeatures::from(&request.client_capabilities);
    // A command runs once, so none runs in a terminal of one of several clients.
    client_features.terminals &= !agent.program.is_shared;
    agent.set_client_features(client_features);
    let program = &agent.program;
    let info = Implementation::new(program.name, program.version).title("Codex".to_owned());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities())
        .auth_methods(login::methods(&agent.program, client_features))
        .agent_info(info)
        .meta(steering::meta())
}

fn capabilities() -> AgentCapabilities {
    let session = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .title(SessionTitleCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(session)
        .meta(rewind::announced())
        .auth(AgentAuthCapabilities::new().logout(LogoutCapabilities::new()))
}
