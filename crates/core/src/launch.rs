//! Launching threads: what a new actor is made of, and the register of all that run.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use codex_protocol::{ResponseItem, RolloutItem, ThreadId};
use codex_rollout::{LineKind, LockError, RolloutLog, RolloutPath, ThreadLocks, WriteClaim};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tracing::Instrument;

use crate::agents::{AGENTS, AgentTree, ChildAgents};
use crate::beginning::{CopiedLines, RolloutFile, initial_messages, write_start};
use crate::config::SessionConfig;
use crate::context;
use crate::conversation::Conversation;
use crate::events::Emitter;
use crate::gate;
use crate::manager::{Ports, StartError, StartedThread};
use crate::ports::{Observers, StartingThread};
use crate::session::{MAILBOX, Mail, Services, Session};
use crate::stored::StoredLines;
use crate::thread::Thread;

/// All threads of the process, and what new ones are made with.
#[derive(Debug)]
pub(crate) struct Threads {
    pub(crate) ports: Ports,
    pub(crate) observers: Option<Arc<dyn Observers>>,
    running: Mutex<HashMap<ThreadId, Thread>>,
}

/// What a thread begins with.
#[derive(Debug)]
pub(crate) struct ThreadOrigin {
    pub(crate) id: ThreadId,
    pub(crate) config: SessionConfig,
    pub(crate) lines: StoredLines,
    pub(crate) file: RolloutFile,
    pub(crate) forked_from: Option<ThreadId>,
    /// What the model is told of where it is, after what it takes over.
    pub(crate) note: Option<ResponseItem>,
    pub(crate) agent_tree: AgentTree,
}

impl Threads {
    pub(crate) fn new(ports: Ports, observers: Option<Arc<dyn Observers>>) -> Self {
        Self {
            ports,
            observers,
            running: Mutex::default(),
        }
    }

    /// A thread that runs.
    pub(crate) fn get(&self, id: &ThreadId) -> Option<Thread> {
        self.running
            .lock()
            .get(id)
            .filter(|thread| !thread.mailbox.is_closed())
            .cloned()
    }

    /// The ids of all threads that run.
    pub(crate) fn ids(&self) -> Vec<ThreadId> {
        let mut threads = self.running.lock();
        threads.retain(|_, thread| !thread.mailbox.is_closed());
        let mut ids: Vec<ThreadId> = threads.keys().cloned().collect();
        ids.sort();
        ids
    }

    /// Lets go of a thread.
    pub(crate) fn remove(&self, id: &ThreadId) -> Option<Thread> {
        self.running.lock().remove(id)
    }

    /// Lets go of a thread that has ended.
    fn forget_closed(&self, id: &ThreadId) {
        let mut threads = self.running.lock();
        if threads
            .get(id)
            .is_some_and(|thread| thread.mailbox.is_closed())
        {
            threads.remove(id);
        }
    }

    /// Launches a thread.
    pub(crate) fn launch(
        self: &Arc<Self>,
        origin: ThreadOrigin,
    ) -> Result<StartedThread, StartError> {
        if !origin.config.settings.cwd.is_absolute() {
            return Err(StartError::RelativeCwd(origin.config.settings.cwd));
        }
        let ThreadOrigin {
            id,
            config,
            lines,
            file,
            forked_from,
            note,
            agent_tree,
        } = origin;
        let cancel = agent_tree.cancel.clone();
        let log = self.log(&id, &config, &file)?;
        let path = log.as_ref().map(|log| Arc::from(log.path()));
        gate::prepare_folders(&config);
        let observer = self.observers.as_ref().and_then(|observers| {
            observers.observe(&StartingThread {
                thread: &id,
                config: &config,
                rollout_path: path.as_deref(),
                is_resumed: matches!(file, RolloutFile::Existing { .. }),
            })
        });
        let clock = Arc::clone(&self.ports.clock);
        let (emitter, events) = Emitter::new(id.clone(), log, config.detail, clock, observer);
        let (sender, mailbox) = mpsc::channel(MAILBOX);
        let services = Arc::new(self.services(config, emitter, sender.downgrade(), agent_tree));
        match &file {
            RolloutFile::New => {
                let copied = CopiedLines::Items(lines.read());
                write_start(&services, &id, forked_from.clone(), copied);
            }
            RolloutFile::Copy { source, length } => {
                let copied = CopiedLines::File(source, *length);
                write_start(&services, &id, forked_from.clone(), copied);
            }
            RolloutFile::Existing { .. } => {}
        }
        let policy = services
            .model
            .info(&services.config.settings.model)
            .truncation;
        let initial = initial_messages(&services.config, &file, forked_from.as_ref(), lines.read());
        if let Some(note) = &note {
            services.emitter.log(LineKind::ResponseItem, note);
        }
        let note = note.map(RolloutItem::ResponseItem);
        let conversation = Conversation::rebuilt(lines.into_iter().chain(note), policy);
        let (tell, agents) = mpsc::channel(AGENTS);
        let children = ChildAgents::new(tell);
        let settings = Arc::new(services.config.settings.clone());
        let (settings, watched) = watch::channel(settings);
        let session = Session::new(
            Arc::clone(&services),
            settings,
            mailbox,
            conversation,
            children,
        );
        let name = match file {
            RolloutFile::Existing { .. } => codex_rollout::name_of(&services.config.home, &id),
            RolloutFile::New | RolloutFile::Copy { .. } => None,
        };
        session.emit_configured(forked_from, initial, name);
        let servers = services.config.mcp_servers.clone();
        services.mcp.start(&services, servers);
        let (threads, own) = (Arc::downgrade(self), id.clone());
        let span = tracing::debug_span!(parent: None, "thread", id = %own);
        let running = async move {
            session.run(cancel).await;
            if let Some(threads) = threads.upgrade() {
                threads.forget_closed(&own);
            }
        };
        tokio::spawn(running.instrument(span));
        let thread = Thread {
            id: id.clone(),
            path,
            mailbox: sender,
            settings: watched,
            ids: Arc::clone(&self.ports.ids),
            emitter: services.emitter.clone(),
            timeout_pauses: services.timeout_pauses.clone(),
            mcp: services.mcp.clone(),
        };
        self.running.lock().insert(id, thread.clone());
        Ok(StartedThread {
            thread,
            events,
            agents,
        })
    }

    /// The log of a thread. One that another process goes on with just now is not loaded: what comes of it
    /// is not known yet.
    fn log(
        &self,
        id: &ThreadId,
        config: &SessionConfig,
        file: &RolloutFile,
    ) -> Result<Option<RolloutLog>, LockError> {
        let (writer, home) = (self.ports.writer.clone(), &config.home);
        Ok(match file {
            _ if config.ephemeral => None,
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
                Some(RolloutLog::deferred(writer, place).claimed(WriteClaim::to_new(home, id)))
            }
        })
    }

    fn services(
        self: &Arc<Self>,
        mut config: SessionConfig,
        emitter: Emitter,
        mailbox: mpsc::WeakSender<Mail>,
        agent_tree: AgentTree,
    ) -> Services {
        let model = self.ports.model.info(&config.settings.model);
        let given = config.base_instructions.take().map(Arc::from);
        let own = || model.instructions(config.settings.personality);
        let instructions = given
            .or_else(own)
            .unwrap_or_else(context::base_instructions);
        Services {
            model: Arc::clone(&self.ports.model),
            clock: Arc::clone(&self.ports.clock),
            ids: Arc::clone(&self.ports.ids),
            processes: Arc::clone(&self.ports.processes),
            terminals: Default::default(),
            mcp: Default::default(),
            mcp_connector: self.ports.mcp.clone(),
            timeout_pauses: Default::default(),
            emitter,
            mailbox,
            threads: Arc::downgrade(self),
            spawn_tool: OnceLock::new(),
            agent_tree: agent_tree.rooted(config.agents.as_ref()),
            instructions,
            user_instructions: config.user_instructions.take(),
            developer_instructions: config.developer_instructions.take().map(Arc::from),
            dynamic_tools: std::mem::take(&mut config.dynamic_tools),
            config,
        }
    }
}
