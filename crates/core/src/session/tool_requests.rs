//! The requests of tools and MCP servers to the session.

use crate::agents::AgentRequest;
use crate::gate::GateRequest;
use crate::mcp::Elicitation;
use crate::questions::QuestionRequest;

/// A request from below the session. Each sender knows its own kind only.
#[derive(Debug)]
pub(crate) enum ToolRequest {
    Gate(GateRequest),
    Question(QuestionRequest),
    Elicitation(Elicitation),
    Agents(AgentRequest),
}

impl From<GateRequest> for ToolRequest {
    fn from(request: GateRequest) -> Self {
        Self::Gate(request)
    }
}

impl From<QuestionRequest> for ToolRequest {
    fn from(request: QuestionRequest) -> Self {
        Self::Question(request)
    }
}

impl From<Elicitation> for ToolRequest {
    fn from(request: Elicitation) -> Self {
        Self::Elicitation(request)
    }
}

impl From<AgentRequest> for ToolRequest {
    fn from(request: AgentRequest) -> Self {
        Self::Agents(request)
    }
}
