//! What tools use besides the context of the session.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use codex_checkpoints::ThreadRecorder;
use codex_model_client::ToolSpec;
use codex_protocol::DynamicToolSpec;
use codex_session_base::agents::{AgentRequest, TeamSeat};
use codex_session_base::cells::Cells;
use codex_session_base::gate::GateRequest;
use codex_session_base::mcp::McpServers;
use codex_session_base::ports::Model;
use codex_session_base::questions::QuestionRequest;
use codex_session_base::requests::Requests;
use codex_session_base::timeout_pauses::TimeoutPauses;
use parking_lot::Mutex;

use super::search_access::SearchAccess;
use super::terminals::TerminalRegistry;

/// What the tools of a session share.
#[derive(Debug)]
pub struct ToolServices {
    pub model: Arc<dyn Model>,
    pub terminals: TerminalRegistry,
    pub timeout_pauses: TimeoutPauses,
    pub mcp: McpServers,
    pub requests: ToolRequests,
    pub dynamic_tools: Vec<DynamicToolSpec>,
    /// The depth of the thread in its tree of agents.
    pub agent_depth: i32,
    /// The place of the thread in a team of agents.
    pub seat: Option<TeamSeat>,
    /// Records what files were before turns change them.
    pub recorder: Option<ThreadRecorder>,
    /// The scripts of the thread, from the first turn on that may have some.
    pub cells: OnceLock<Arc<Cells>>,
    /// Numbers the scripts of the thread. A reviewer has others, but the same thread.
    pub cell_numbers: Arc<AtomicU64>,
    /// The entry of the tool that starts agents, once it is made.
    pub spawn_tool: OnceLock<Arc<ToolSpec>>,
    /// Whether searches may go by full access.
    pub search_access: SearchAccess,
    /// The ids of the apps that the user has mentioned.
    pub selected_apps: Mutex<BTreeSet<String>>,
}

/// The handles to the session.
#[derive(Clone, Debug)]
pub struct ToolRequests {
    pub gate: Requests<GateRequest>,
    pub questions: Requests<QuestionRequest>,
    pub agents: Requests<AgentRequest>,
}

impl ToolServices {
    /// Those of a reviewer of the thread: its own terminals, and no tools of the client.
    pub fn for_reviewer(&self) -> Self {
        Self {
            model: Arc::clone(&self.model),
            terminals: TerminalRegistry::default(),
            timeout_pauses: self.timeout_pauses.clone(),
            mcp: self.mcp.clone(),
            requests: self.requests.clone(),
            dynamic_tools: Vec::new(),
            agent_depth: self.agent_depth,
            seat: None,
            recorder: self.recorder.clone(),
            cells: OnceLock::new(),
            cell_numbers: Arc::clone(&self.cell_numbers),
            spawn_tool: OnceLock::new(),
            search_access: SearchAccess::default(),
            selected_apps: Mutex::default(),
        }
    }

    /// The scripts of the thread.
    pub fn cells(&self) -> &Arc<Cells> {
        let numbers = || Arc::clone(&self.cell_numbers);
        self.cells.get_or_init(|| Arc::new(Cells::new(numbers())))
    }
}
