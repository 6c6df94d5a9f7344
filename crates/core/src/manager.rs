//! All threads of the process: starting, resuming, forking, finding and closing them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codex_mcp_client::Connector;
use codex_protocol::{Op, ResponseItem, RolloutItem, ThreadId};
use codex_rollout::{Claim, LoadError, Log, Place, Writer};
use tokio::sync::mpsc;

use crate::beginning::{Copied, File, inherit, initial_messages, write_start};
use crate::config::SessionConfig;
use crate::context::{self, read_project_docs};
use crate::conversation::Conversation;
use crate::events::{Emitter, Events};
use crate::ports::{Beginning, Clock, Ids, Model, Observers, Processes};
use crate::session::{MAILBOX, Mail, Services, Session};
use crate::stored::{Lines, Stored};
use crate::thread::Thread;

/// What the engine works with in this process.
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
    pub mcp: Option<Connector>,
    /// Writes the rollouts.
    pub writer: Writer,
}

/// Why there is no thread.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The working folder is relative.
    #[error("cwd is not absolute: {0}")]
    RelativeCwd(PathBuf),
    /// The file cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It is loaded already; go on with that one.
    #[error("thread {0} is already loaded")]
    AlreadyLoaded(ThreadId),
}

/// A thread that was just started.
#[derive(Debug)]
pub struct Started {
    /// The thread.
    pub thread: Thread,
    /// Its events. The first is `session_configured`.
    pub events: Events,
}

/// How much of a thread a fork takes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkAt {
    /// All of it.
    End,
    /// What comes before the n-th user message, counted from 0.
    BeforeUserMessage(usize),
}

/// All threads of the process.
#[derive(Debug)]
pub struct ThreadManager {
    ports: Ports,
    observers: Option<Arc<dyn Observers>>,
    threads: Mutex<HashMap<ThreadId, Thread>>,
}

impl ThreadManager {
    /// No threads yet.
    #[must_use]
    pub fn new(ports: Ports) -> Self {
        Self {
            ports,
            observers: None,
            threads: Mutex::default(),
        }
    }

    /// The same, with every thread shown to those who may want to watch it.
    #[must_use]
    pub fn observed_by(self, observers: Option<Arc<dyn Observers>>) -> Self {
        Self { observers, ..self }
    }

    /// Starts a new thread.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn start(&self, config: SessionConfig) -> Result<Started, StartError> {
        let id = self.ports.ids.thread();
        self.launch(Origin {
            id,
            config,
            lines: Lines::Read(Vec::new()),
            file: File::New,
            forked_from: None,
        })
    }

    /// Starts a new thread that goes on from these items.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn start_with(
        &self,
        config: SessionConfig,
        items: Vec<ResponseItem>,
    ) -> Result<Started, StartError> {
        let id = self.ports.ids.thread();
        let items = items.into_iter().map(RolloutItem::ResponseItem);
        self.launch(Origin {
            id,
            config,
            lines: Lines::Read(items.collect()),
            file: File::New,
            forked_from: None,
        })
    }

    /// Loads a thread and goes on with it in the same file. Reads the whole file before it returns.
    ///
    /// # Errors
    /// The file cannot be read, or the thread is loaded already.
    pub fn resume(&self, path: &Path, config: SessionConfig) -> Result<Started, StartError> {
        // Who wants all events again has to be given them.
        let stored = match config.replay_events {
            true => Stored::read_all(path)?,
            false => Stored::read(path, None, |_| {})?,
        };
        self.resume_stored(stored, config)
    }

    /// Goes on with a thread that was read just now.
    ///
    /// # Errors
    /// The thread is loaded already.
    pub fn resume_stored(
        &self,
        stored: Stored,
        mut config: SessionConfig,
    ) -> Result<Started, StartError> {
        inherit(&mut config, &stored);
        let id = stored.meta.id;
        if self.get(&id).is_some() {
            return Err(StartError::AlreadyLoaded(id));
        }
        let file = File::Existing {
            path: stored.path,
            length: stored.size,
        };
        self.launch(Origin {
            id,
            config,
            lines: stored.lines,
            file,
            forked_from: None,
        })
    }

    /// Starts a new thread with what another one holds. Reads the whole file before it returns.
    ///
    /// # Errors
    /// The file of the other one cannot be read.
    pub fn fork(
        &self,
        source: &Path,
        at: ForkAt,
        mut config: SessionConfig,
    ) -> Result<Started, StartError> {
        if at == ForkAt::End && !config.replay_events {
            return self.fork_stored(Stored::read(source, None, |_| {})?, config);
        }
        let stored = Stored::read_all(source)?;
        inherit(&mut config, &stored);
        let lines = Lines::Read(crate::fork::cut(stored.lines.into_iter().collect(), at));
        self.launch_fork(stored.meta.id, lines, File::New, config)
    }

    /// Starts a new thread with all that another one holds, which was read just now.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn fork_stored(
        &self,
        stored: Stored,
        mut config: SessionConfig,
    ) -> Result<Started, StartError> {
        inherit(&mut config, &stored);
        let file = File::Copy {
            source: stored.path,
            length: stored.length,
        };
        self.launch_fork(stored.meta.id, stored.lines, file, config)
    }

    fn launch_fork(
        &self,
        from: ThreadId,
        lines: Lines,
        file: File,
        config: SessionConfig,
    ) -> Result<Started, StartError> {
        self.launch(Origin {
            id: self.ports.ids.thread(),
            config,
            forked_from: Some(from),
            lines,
            file,
        })
    }

    /// A thread that runs.
    #[must_use]
    pub fn get(&self, id: &ThreadId) -> Option<Thread> {
        self.lock()
            .get(id)
            .filter(|thread| !thread.mailbox.is_closed())
            .cloned()
    }

    /// The ids of all threads that run.
    #[must_use]
    pub fn ids(&self) -> Vec<ThreadId> {
        let mut threads = self.lock();
        threads.retain(|_, thread| !thread.mailbox.is_closed());
        let mut ids: Vec<ThreadId> = threads.keys().cloned().collect();
        ids.sort();
        ids
    }

    /// Closes a thread and waits until it is. False if it did not run.
    pub async fn close(&self, id: &ThreadId) -> bool {
        let Some(thread) = self.lock().remove(id) else {
            return false;
        };
        let told = thread.submit(Op::Shutdown).await.is_ok();
        thread.mailbox.closed().await;
        told
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadId, Thread>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn launch(&self, origin: Origin) -> Result<Started, StartError> {
        if !origin.config.cwd.is_absolute() {
            return Err(StartError::RelativeCwd(origin.config.cwd));
        }
        let Origin {
            id,
            config,
            lines,
            file,
            forked_from,
        } = origin;
        let log = self.log(&id, &config, &file);
        let path = log.as_ref().map(|log| Arc::from(log.path()));
        let observer = self.observers.as_ref().and_then(|observers| {
            observers.observe(&Beginning {
                thread: &id,
                config: &config,
                rollout_path: path.as_deref(),
                is_resumed: matches!(file, File::Existing { .. }),
            })
        });
        let clock = Arc::clone(&self.ports.clock);
        let (emitter, events) = Emitter::new(id.clone(), log, config.detail, clock, observer);
        let (sender, mailbox) = mpsc::channel(MAILBOX);
        let services = Arc::new(self.services(config, emitter, sender.downgrade()));
        match &file {
            File::New => {
                let copied = Copied::Lines(lines.read());
                write_start(&services, &id, forked_from.clone(), copied);
            }
            File::Copy { source, length } => {
                let copied = Copied::File(source, *length);
                write_start(&services, &id, forked_from.clone(), copied);
            }
            File::Existing { .. } => {}
        }
        let policy = services.model.info(&services.config.model).truncation;
        let initial = initial_messages(&services.config, &file, forked_from.as_ref(), lines.read());
        let conversation = Conversation::rebuilt(lines, policy);
        let session = Session::new(Arc::clone(&services), mailbox, conversation);
        let name = match file {
            File::Existing { .. } => codex_rollout::name_of(&services.config.home, &id),
            File::New | File::Copy { .. } => None,
        };
        session.say_configured(forked_from, initial, name);
        let servers = services.config.mcp_servers.clone();
        services.mcp.start(&services, servers);
        tokio::spawn(session.run());
        let thread = Thread {
            id: id.clone(),
            path,
            mailbox: sender,
            ids: Arc::clone(&self.ports.ids),
            emitter: services.emitter.clone(),
            holds: services.holds.clone(),
            mcp: services.mcp.clone(),
        };
        self.lock().insert(id, thread.clone());
        Ok(Started { thread, events })
    }

    fn log(&self, id: &ThreadId, config: &SessionConfig, file: &File) -> Option<Log> {
        let (writer, home) = (self.ports.writer.clone(), &config.home);
        match file {
            _ if config.ephemeral => None,
            File::Existing { path, length } => {
                let claim = Claim::to_loaded(home, id, *length);
                Some(Log::existing(writer, Place::of_file(path)).claimed(claim))
            }
            File::New | File::Copy { .. } => {
                let clock = &self.ports.clock;
                let place = Place::new(home, id, clock.now(), &clock.zone());
                Some(Log::held(writer, place).claimed(Claim::to_new(home, id)))
            }
        }
    }

    fn services(
        &self,
        mut config: SessionConfig,
        emitter: Emitter,
        mailbox: mpsc::WeakSender<Mail>,
    ) -> Services {
        let model = self.ports.model.info(&config.model);
        let given = config.base_instructions.take().map(Arc::from);
        let own = || model.base_instructions.clone();
        let instructions = given
            .or_else(own)
            .unwrap_or_else(context::base_instructions);
        let docs = read_project_docs(&config.home, &config.cwd, &config.project_docs);
        Services {
            model: Arc::clone(&self.ports.model),
            clock: Arc::clone(&self.ports.clock),
            ids: Arc::clone(&self.ports.ids),
            processes: Arc::clone(&self.ports.processes),
            terminals: Default::default(),
            mcp: Default::default(),
            mcp_connector: self.ports.mcp.clone(),
            holds: Default::default(),
            emitter,
            mailbox,
            instructions,
            user_instructions: docs.map(Arc::from),
            developer_instructions: config.developer_instructions.take().map(Arc::from),
            dynamic_tools: std::mem::take(&mut config.dynamic_tools),
            config,
        }
    }
}

struct Origin {
    id: ThreadId,
    config: SessionConfig,
    lines: Lines,
    file: File,
    forked_from: Option<ThreadId>,
}
