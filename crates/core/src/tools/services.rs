//! What tools use besides the context of the session.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use codex_checkpoints::ThreadRecorder;
use codex_model_client::ToolSpec;
use codex_protocol::DynamicToolSpec;
use parking_lot::Mutex;

use super::unified_exec::TerminalRegistry;
use super::web_search::SearchAccess;
use crate::agents::{AgentRequest, TeamSeat};
use crate::cells::Cells;
use crate::gate::GateRequest;
use crate::mcp::McpServers;
use crate::ports::Model;
use crate::questions::QuestionRequest;
use crate::requests::Requests;
use crate::timeout_pauses::TimeoutPauses;

/// What the tools of a session share.
#[derive(Debug)]
pub(crate) struct ToolServices {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) terminals: TerminalRegistry,
    pub(crate) timeout_pauses: TimeoutPauses,
    pub(crate) mcp: McpServers,
    pub(crate) requests: ToolRequests,
    pub(crate) dynamic_tools: Vec<DynamicToolSpec>,
    /// The depth of the thread in its tree of agents.
    pub(crate) agent_depth: i32,
    /// The place of the thread in a team of agents.
    pub(crate) seat: Option<TeamSeat>,
    /// Records what files were before turns change them.
    pub(crate) recorder: Option<ThreadRecorder>,
    /// The scripts of the thread, from the first turn on that may have some.
    pub(crate) cells: OnceLock<Arc<Cells>>,
    /// Numbers the scripts of the thread. A reviewer has others, but the same thread.
    pub(crate) cell_numbers: Arc<AtomicU64>,
    /// The entry of the tool that starts agents, once it is made.
    pub(crate) spawn_tool: OnceLock<Arc<ToolSpec>>,
    /// Whether searches may go by full access.
    pub(crate) search_access: SearchAccess,
    /// The ids of the apps that the user has mentioned.
    pub(crate) selected_apps: Mutex<BTreeSet<String>>,
}

/// The handles to the session.
#[derive(Clone, Debug)]
pub(crate) struct ToolRequests {
    pub(crate) gate: Requests<GateRequest>,
    pub(crate) questions: Requests<QuestionRequest>,
    pub(crate) agents: Requests<AgentRequest>,
}

impl ToolServices {
    /// Those of a reviewer of the thread: its own terminals, and no tools of the client.
    pub(crate) fn for_reviewer(&self) -> Self {
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
    pub(crate) fn cells(&self) -> &Arc<Cells> {
        let numbers = || Arc::clone(&self.cell_numbers);
        self.cells.get_or_init(|| Arc::new(Cells::new(numbers())))
    }
}
