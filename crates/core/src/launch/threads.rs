//! Makes sessions, and knows all running threads.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use codex_checkpoints::ThreadRecorder;
use codex_mcp_client::McpConnector;
use codex_model_client::ThreadConnection;
use codex_protocol::{
    DynamicToolSpec, EventMsg, ResponseItem, RolloutItem, ThreadId, TurnAbortReason,
    TurnAbortedEvent,
};
use codex_rollout::{
    LineKind, LockError, RolloutLog, RolloutPath, RolloutWriter, ThreadLocks, WriteClaim,
};
use codex_session_base::agents::{AgentTree, ResumedAgent};
use codex_session_base::budget::{StoredThreadUse, ThreadBudget};
use codex_session_base::config::SessionConfig;
use codex_session_base::events::{Emitter, EventReceiver};
use codex_session_base::history::{Conversation, UnfinishedTurn};
use codex_session_base::mcp::McpServers;
use codex_session_base::ports::{
    Clock, Ids, Model, Observer, Observers, Processes, StartingHistory, StartingThread,
};
use codex_session_base::session_context::{SessionBeginning, SessionContext};
use codex_session_base::stored_thread::StoredLines;
use codex_session_base::timeout_pauses::TimeoutPauses;
use codex_session_base::turn_settings::Instructions;
use codex_session_base::{context, gate};
use codex_tools::{SearchAccess, TerminalRegistry, ToolRequests, ToolServices};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tracing::Instrument;

use super::agent_launcher::{MAX_WAITING_AGENTS, SessionLauncher};
use super::first_lines::{initial_messages, is_paginated, write_start};
use super::started::{SpawnedAgent, StartError, StartedThread};
use crate::session::{CallQueue, SessionActor, SessionParts, Thread, TurnBase};
use crate::thread_origin::{RolloutFile, ThreadOrigin};

/// How many calls may wait.
const MAX_QUEUED_CALLS: usize = 512;

/// How many calls of tools may wait. Each tool waits for its reply.
const MAX_QUEUED_TOOL_CALLS: usize = 32;

/// What the engine uses in this process.
#[derive(Clone, Debug)]
pub struct Ports {
    /// The models.
    pub model: Arc<dyn Model>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn Ids>,
    /// Processes.
    pub processes: Arc<dyn Processes>,
    /// Connects to MCP servers; without it there are none.
    pub mcp: Option<McpConnector>,
    /// Writes the rollouts.
    pub writer: RolloutWriter,
}

/// All threads of the process, and what new ones are made with.
#[derive(Debug)]
pub(crate) struct Threads {
    pub(crate) ports: Ports,
    pub(crate) observers: Option<Arc<dyn Observers>>,
    running: Mutex<HashMap<ThreadId, Thread>>,
}

/// What a session starts with beside its context.
struct LoadedParts {
    path: Option<Arc<Path>>,
    instructions: Instructions,
    dynamic_tools: Vec<DynamicToolSpec>,
    agent_tree: AgentTree,
    resumed_agents: Vec<ResumedAgent>,
    conversation: Conversation,
    unfinished: Option<UnfinishedTurn>,
}

impl Threads {
    pub(crate) fn new(ports: Ports, observers: Option<Arc<dyn Observers>>) -> Self {
        Self {
            ports,
            observers,
            running: Mutex::default(),
        }
    }

    /// A running thread.
    pub(crate) fn get(&self, id: &ThreadId) -> Option<Thread> {
        self.running
            .lock()
            .get(id)
            .filter(|thread| !thread.calls.is_closed())
            .cloned()
    }

    /// The ids of all running threads.
    pub(crate) fn ids(&self) -> Vec<ThreadId> {
        let mut threads = self.running.lock();
        threads.retain(|_, thread| !thread.calls.is_closed());
        let mut ids: Vec<ThreadId> = threads.keys().cloned().collect();
        ids.sort();
        ids
    }

    /// Removes a thread.
    pub(crate) fn remove(&self, id: &ThreadId) -> Option<Thread> {
        self.running.lock().remove(id)
    }

    /// Removes a thread that has ended.
    fn forget_closed(&self, id: &ThreadId) {
        let mut threads = self.running.lock();
        if threads
            .get(id)
            .is_some_and(|thread| thread.calls.is_closed())
        {
            threads.remove(id);
        }
    }

    /// The log of a thread. A thread that another process writes is not loaded: its latest state is not
    /// known.
    fn log(
        &self,
        id: &ThreadId,
        config: &SessionConfig,
        file: &RolloutFile,
    ) -> Result<Option<RolloutLog>, LockError> {
        let (writer, home) = (self.ports.writer.clone(), &config.services.threads_home);
        Ok(match file {
            _ if config.identity.ephemeral => None,
            RolloutFile::Existing { path, length } => {
                if let Some(holder) = ThreadLocks::of_home(home).other_holder(id) {
                    return Err(LockError::new(id, holder));
                }
                let claim = WriteClaim::to_loaded(home, id, *length);
                Some(RolloutLog::existing(writer, RolloutPath::of_file(path)).claimed(claim))
            }
            RolloutFile::New | RolloutFile::Copy { .. } => {
                let clock = &self.ports.clock;
                let place = RolloutPath::new(home, id, clock.now(), &clock.zone());
                let log = RolloutLog::deferred(writer, place)
                    .numbered(config.identity.has_paginated_history);
                Some(log.claimed(WriteClaim::to_new(home, id)))
            }
        })
    }

    fn observer(
        &self,
        config: &SessionConfig,
        id: &ThreadId,
        rollout_path: Option<&Path>,
        is_resumed: bool,
        history: StartingHistory<'_>,
    ) -> Option<Arc<dyn Observer>> {
        let observers = self.observers.as_ref()?;
        let zone = self.ports.clock.zone();
        observers.observe(&StartingThread {
            thread: id,
            config,
            rollout_path,
            is_resumed,
            history,
            time_zone: zone.iana_name().unwrap_or("UTC"),
        })
    }

    fn context(
        &self,
        config: SessionConfig,
        id: &ThreadId,
        log: Option<RolloutLog>,
        observer: Option<Arc<dyn Observer>>,
        beginning: SessionBeginning,
        budget: ThreadBudget,
    ) -> (SessionContext, EventReceiver) {
        let clock = Arc::clone(&self.ports.clock);
        let (emitter, events) = Emitter::new(
            id.clone(),
            log,
            config.options.detail,
            Arc::clone(&clock),
            observer,
        );
        let context = SessionContext {
            config,
            clock,
            ids: Arc::clone(&self.ports.ids),
            processes: Arc::clone(&self.ports.processes),
            emitter,
            budget: Arc::new(budget),
            connection: ThreadConnection::default(),
            beginning: Mutex::new(Some(beginning)),
            mcp_tools: OnceLock::new(),
            warned_of_startup_files: AtomicBool::default(),
            models_told_of: Mutex::default(),
            last_request: Mutex::default(),
            sent_prefix: Mutex::default(),
            pins: Mutex::default(),
            background: Mutex::default(),
        };
        (context, events)
    }

    fn instructions(&self, config: &mut SessionConfig, team: Option<Arc<str>>) -> Instructions {
        let model = self
            .ports
            .model
            .resolve(&config.options.settings.model)
            .info;
        let given = config.options.base_instructions.take().map(Arc::from);
        let personality = config.options.settings.personality;
        let own = || model.instructions(personality).map(Arc::from);
        Instructions {
            base: given
                .or_else(own)
                .unwrap_or_else(context::base_instructions),
            user: config.options.user_instructions.take().map(Arc::from),
            developer: config.options.developer_instructions.take().map(Arc::from),
            allowed_commands: config.options.rules.allowed_prefixes_text().into(),
            sections: config.options.context_sections,
            team,
        }
    }

    fn tool_services(
        &self,
        emitter: &Emitter,
        dynamic_tools: Vec<DynamicToolSpec>,
        agent_tree: &AgentTree,
        takes_openai_forms: bool,
        recorder: Option<ThreadRecorder>,
        calls: &CallQueue,
    ) -> ToolServices {
        ToolServices {
            model: Arc::clone(&self.ports.model),
            terminals: TerminalRegistry::default(),
            timeout_pauses: TimeoutPauses::default(),
            mcp: McpServers::new(
                self.ports.mcp.clone(),
                emitter.clone(),
                calls.requests(),
                takes_openai_forms,
            ),
            requests: ToolRequests {
                gate: calls.requests(),
                questions: calls.requests(),
                agents: calls.requests(),
            },
            dynamic_tools,
            agent_depth: agent_tree.depth,
            seat: agent_tree.seat.clone(),
            recorder,
            cells: OnceLock::new(),
            cell_numbers: Arc::default(),
            spawn_tool: OnceLock::new(),
            search_access: SearchAccess::default(),
            selected_apps: Mutex::default(),
        }
    }

    /// The conversation of the lines and of a note after them.
    fn conversation(
        &self,
        model: &str,
        lines: StoredLines,
        note: Option<ResponseItem>,
    ) -> Conversation {
        let model = self.ports.model.resolve(model).info;
        let note = note.map(RolloutItem::ResponseItem);
        Conversation::rebuilt(lines.into_iter().chain(note), model.truncation())
    }

    /// A session with its handle, and the agents that it starts.
    fn actor(
        self: &Arc<Self>,
        context: SessionContext,
        parts: LoadedParts,
    ) -> (SessionActor, Thread, mpsc::Receiver<Box<SpawnedAgent>>) {
        let id = context.emitter.thread().clone();
        let (calls, received) = CallQueue::new(MAX_QUEUED_CALLS);
        // A queue of boxes, because it has room for 32 messages from the start.
        let (tool_calls, tools_received) = CallQueue::new(MAX_QUEUED_TOOL_CALLS);
        let (publish, agents) = mpsc::channel(MAX_WAITING_AGENTS);
        let (settings, watched) = watch::channel(Arc::new(context.config.options.settings.clone()));
        let mut tools = self.tool_services(
            &context.emitter,
            parts.dynamic_tools,
            &parts.agent_tree,
            context.config.options.takes_openai_forms,
            recorder(&context.config, &id),
            &tool_calls,
        );
        tools.search_access = SearchAccess::stored(parts.conversation.had_full_access);
        context.pins.lock().clone_from(&parts.conversation.pins);
        let mentioned = parts.conversation.mentioned_apps.iter().cloned();
        tools.selected_apps.lock().extend(mentioned);
        // New, so nothing is set yet.
        let _ = context.mcp_tools.set(Box::new(tools.mcp.clone()));
        let own_calls = calls.downgrade();
        let thread = Thread {
            id,
            path: parts.path,
            calls,
            settings: watched,
            ids: Arc::clone(&self.ports.ids),
            emitter: context.emitter.clone(),
            timeout_pauses: tools.timeout_pauses.clone(),
            mcp: tools.mcp.clone(),
            supports_realtime: context.config.services.realtime.is_some(),
        };
        if let Some(seat) = parts
            .agent_tree
            .seat
            .as_ref()
            .filter(|_| parts.agent_tree.depth == 0)
        {
            seat.team
                .set_root(thread.id.clone(), thread.emitter.status());
        }
        let launcher = SessionLauncher {
            threads: Arc::downgrade(self),
            publish,
        };
        let session = SessionActor::new(SessionParts {
            base: TurnBase {
                session: Arc::new(context),
                model: Arc::clone(&self.ports.model),
                tool_services: Arc::new(tools),
                instructions: parts.instructions,
                root: parts.agent_tree.root.clone(),
            },
            launcher: Box::new(launcher),
            agent_tree: parts.agent_tree,
            resumed_agents: parts.resumed_agents,
            settings,
            calls: received,
            own_calls,
            tool_calls: tools_received,
            conversation: parts.conversation,
            unfinished: parts.unfinished,
        });
        (session, thread, agents)
    }

    /// Runs a session on a task of its own.
    fn spawn(self: &Arc<Self>, session: SessionActor, id: ThreadId) {
        let span = tracing::debug_span!(parent: None, "thread", id = %id);
        let threads = Arc::downgrade(self);
        let running = async move {
            session.run().await;
            if let Some(threads) = threads.upgrade() {
                threads.forget_closed(&id);
            }
        };
        tokio::spawn(running.instrument(span));
    }

    /// Starts a thread.
    pub(super) fn launch(
        self: &Arc<Self>,
        origin: ThreadOrigin,
    ) -> Result<StartedThread, StartError> {
        let ThreadOrigin {
            id,
            mut config,
            lines,
            file,
            forked_from,
            stored_fork_source,
            note,
            unfinished,
            agent_tree,
            cut_turn,
            agents: resumed_agents,
        } = origin;
        if !config.options.settings.cwd.is_absolute() {
            return Err(StartError::RelativeCwd(config.options.settings.cwd));
        }
        if config.options.settings.cwd.to_str().is_none() {
            return Err(StartError::UnnamedCwd(config.options.settings.cwd));
        }
        config.identity.forked_from = forked_from.clone().or(stored_fork_source);
        let is_resumed = matches!(file, RolloutFile::Existing { .. });
        let agent_tree = agent_tree.rooted(config.options.agents.as_ref(), is_resumed);
        config.identity.has_paginated_history = is_paginated(&config, &file, &lines);
        let log = self.log(&id, &config, &file)?;
        let path = log.as_ref().map(|log| Arc::from(log.path()));
        gate::prepare_folders(&config);
        let history = starting_history(&file, &lines);
        let observer = self.observer(&config, &id, path.as_deref(), is_resumed, history);
        let instructions = self.instructions(&mut config, agent_tree.hint());
        let dynamic_tools = std::mem::take(&mut config.options.dynamic_tools);
        let budget = budget(&config, &id, &agent_tree, &file);
        let (mut context, events) =
            self.context(config, &id, log, observer, beginning(&file), budget);
        if !is_resumed {
            let (base, forked_from) = (&instructions.base, forked_from.as_ref());
            write_start(
                &context,
                base,
                &dynamic_tools,
                &file,
                forked_from,
                lines.read(),
            );
        }
        let initial = initial_messages(&context.config, &file, forked_from.as_ref(), lines.read());
        let note = note.or_else(|| {
            cut_turn
                .is_some()
                .then(|| context::turn_aborted_marker(false))
        });
        if let Some(note) = &note {
            context.emitter.log(LineKind::ResponseItem, note);
        }
        if let Some(turn) = cut_turn {
            context.emitter.log(LineKind::EventMsg, &interrupted(turn));
        }
        let mut conversation =
            self.conversation(&context.config.options.settings.model, lines, note);
        // A thread that worked on other machines goes on there, never here instead.
        if let Some(reference) = &conversation.reference
            && !reference.environments.is_empty()
        {
            let settings = &mut context.config.options.settings;
            settings.environments.clone_from(&reference.environments);
        }
        let unfinished = unfinished.and_then(|turn| turn.with_calls(&conversation));
        if unfinished.is_none() {
            conversation.history.close_calls();
        }
        let name = if is_resumed {
            codex_rollout::name_of(&context.config.services.threads_home, &id)
        } else {
            None
        };
        let servers = context.config.services.mcp_servers.clone();
        let (mut session, thread, agents) = self.actor(
            context,
            LoadedParts {
                path,
                instructions,
                dynamic_tools,
                agent_tree,
                resumed_agents,
                conversation,
                unfinished: unfinished.clone(),
            },
        );
        session.emit_configured(forked_from, initial, name);
        session.warn_about_hooks();
        session.warn_about_network();
        session.start_mcp_servers(servers);
        session.prewarm();
        self.spawn(session, id.clone());
        self.running.lock().insert(id, thread.clone());
        Ok(StartedThread {
            thread,
            events,
            agents,
            unfinished,
        })
    }
}

fn beginning(file: &RolloutFile) -> SessionBeginning {
    match file {
        RolloutFile::New => SessionBeginning::Startup,
        RolloutFile::Existing { .. } => SessionBeginning::Resume,
        RolloutFile::Copy { .. } => SessionBeginning::Fork,
    }
}

/// The budget of a thread. A fork begins with what its source had used.
fn budget(
    config: &SessionConfig,
    thread: &ThreadId,
    tree: &AgentTree,
    file: &RolloutFile,
) -> ThreadBudget {
    let stored = match file {
        RolloutFile::New => None,
        RolloutFile::Copy {
            source: path,
            length,
        }
        | RolloutFile::Existing { path, length } => Some(StoredThreadUse {
            home: config.services.threads_home.clone(),
            path: path.clone(),
            length: *length,
        }),
    };
    ThreadBudget::new(thread.clone(), tree.parent_budget.clone(), stored)
}

/// The end of a turn that a fork takes along without one.
fn interrupted(turn: String) -> EventMsg {
    EventMsg::TurnAborted(TurnAbortedEvent {
        turn_id: Some(turn),
        reason: TurnAbortReason::Interrupted,
        completed_at: None,
        duration_ms: None,
        usage: None,
    })
}

fn starting_history<'a>(file: &'a RolloutFile, lines: &'a StoredLines) -> StartingHistory<'a> {
    match file {
        RolloutFile::Existing { path, length }
        | RolloutFile::Copy {
            source: path,
            length,
        } => StartingHistory::File {
            path,
            length: *length,
        },
        RolloutFile::New if lines.read().is_empty() => StartingHistory::None,
        RolloutFile::New => StartingHistory::Lines(lines.read()),
    }
}

/// The recorder of what turns of a thread change. A thread without a file has none.
fn recorder(config: &SessionConfig, thread: &ThreadId) -> Option<ThreadRecorder> {
    let options = (config.options.checkpoints).filter(|_| !config.identity.ephemeral)?;
    let store = config.services.checkpoint_store.clone()?;
    Some(ThreadRecorder::new(
        store,
        thread.as_str(),
        options.commands,
    ))
}
