//! What a session uses of the program around it: files, processes, and what others answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use codex_checkpoints::CheckpointStore;
use codex_plugins::PluginRegistry;
use codex_sandbox::EngineFiles;
use codex_skills::SkillLibrary;
use codex_thread_state::ThreadState;

use super::{
    ClientHooks, HostTools, InstructionFiles, McpApprovals, McpServer, OtherMachines,
    RealtimeService, ReplaySource, SessionHooks, ToolSuggestions, TurnEnded,
};

/// What a session uses of the program around it. None of it is in a trace.
#[derive(Clone, Debug)]
pub struct SessionServices {
    /// The home folder of the engine.
    pub home: PathBuf,
    /// The home folder with the files of threads, and what belongs to them: mostly the same.
    pub threads_home: PathBuf,
    /// The environment of commands, without the id of the thread.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The files that control the engine. Commands cannot change them.
    pub engine_files: Arc<EngineFiles>,
    /// The program whose kernels run scripts of the model: this one.
    pub kernel_program: PathBuf,
    /// Reads the instruction files for agents in other folders.
    pub instruction_files: Option<Arc<dyn InstructionFiles>>,
    /// Tools that the embedder carries out.
    pub host_tools: Option<Arc<dyn HostTools>>,
    /// The MCP servers.
    pub mcp_servers: Vec<McpServer>,
    /// Stores approvals of MCP tools for later threads.
    pub mcp_approvals: Option<Arc<dyn McpApprovals>>,
    /// What the model may suggest to install.
    pub suggestions: Option<Arc<dyn ToolSuggestions>>,
    /// The skills of this machine.
    pub skills: Option<Arc<SkillLibrary>>,
    /// The plugins of the user.
    pub plugins: Option<Arc<PluginRegistry>>,
    /// Where what files were before turns change them is kept; none if it is not kept.
    pub checkpoint_store: Option<Arc<CheckpointStore>>,
    /// Where jobs of agents are kept; none if there are none.
    pub thread_state: Option<Arc<ThreadState>>,
    /// The configured hooks.
    pub hooks: SessionHooks,
    /// The hooks of connected clients.
    pub client_hooks: Option<Arc<dyn ClientHooks>>,
    /// Is notified of turns that have ended.
    pub turn_ended: Option<Arc<dyn TurnEnded>>,
    /// Knows the server of realtime conversations; none if the thread has none.
    pub realtime: Option<Arc<dyn RealtimeService>>,
    /// The machines that the thread may work on beside this one; none if it may not.
    pub machines: Option<OtherMachines>,
    /// Provides what was recorded, when a recorded session runs again.
    pub replay: Option<Arc<dyn ReplaySource>>,
}

impl SessionServices {
    /// Those of a home folder alone.
    #[must_use]
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        Self {
            environment: Arc::default(),
            engine_files: Arc::new(EngineFiles::of_home(&home)),
            kernel_program: PathBuf::new(),
            instruction_files: None,
            host_tools: None,
            mcp_servers: Vec::new(),
            mcp_approvals: None,
            suggestions: None,
            skills: None,
            plugins: None,
            checkpoint_store: None,
            thread_state: None,
            hooks: SessionHooks::default(),
            client_hooks: None,
            turn_ended: None,
            realtime: None,
            machines: None,
            replay: None,
            threads_home: home.clone(),
            home,
        }
    }
}
