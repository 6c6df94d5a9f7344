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
use crate::login;
use crate::offers::Offers;

/// Version 1 is the only one here, whatever is asked for; it may be asked for again.
pub(crate) fn answer(agent: &Agent, request: &InitializeRequest) -> InitializeResponse {
    let offers = Offers::from(&request.client_capabilities);
    agent.set_offers(offers);
    let program = &agent.program;
    let info = Implementation::new(program.name, program.version).title("Codex".to_owned());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities())
        .auth_methods(login::methods(&agent.program, offers))
        .agent_info(info)
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
        .auth(AgentAuthCapabilities::new().logout(LogoutCapabilities::new()))
}
