//! All threads of the process: starting, resuming, forking, finding and closing them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codex_protocol::{
    BaseInstructions, CodexErrorInfo, Event, EventMsg, Op, RolloutItem, SessionMeta, Submission,
    ThreadId, UserInput,
};
use codex_rollout::{LineKind, LoadError, Loaded, Log, Place, Writer, is_persisted};
use tokio::sync::{mpsc, oneshot};

use crate::config::SessionConfig;
use crate::context::{self, read_project_docs};
use crate::conversation::Conversation;
use crate::events::{Emitter, Events};
use crate::ports::{Clock, Ids, Model, Observer, Processes};
use crate::session::{MAILBOX, Mail, Services, Session, Steer, SteerError};

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
    /// There is no such thread.
    #[error("no rollout found for thread id {0}")]
    NotFound(ThreadId),
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
    threads: Mutex<HashMap<ThreadId, Thread>>,
}

/// The handle of a thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    path: Option<Arc<Path>>,
    mailbox: mpsc::Sender<Mail>,
    ids: Arc<dyn Ids>,
}

/// The thread is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("internal error; agent loop died unexpectedly")]
pub struct Closed;

impl ThreadManager {
    /// No threads yet.
    #[must_use]
    pub fn new(ports: Ports) -> Self {
        Self {
            ports,
            threads: Mutex::default(),
        }
    }

    /// Starts a new thread.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn start(
        &self,
        config: SessionConfig,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Started, StartError> {
        let id = self.ports.ids.thread();
        self.launch(Origin {
            id,
            config,
            observer,
            lines: Vec::new(),
            file: File::New,
            forked_from: None,
        })
    }

    /// Loads a thread and goes on with it in the same file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn resume(
        &self,
        path: &Path,
        mut config: SessionConfig,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Started, StartError> {
        let loaded = codex_rollout::load(path)?;
        inherit(&mut config, &loaded);
        let id = loaded.meta.id.clone();
        let file = File::Existing(path.to_owned());
        self.launch(Origin {
            id,
            config,
            observer,
            lines: loaded.items,
            file,
            forked_from: None,
        })
    }

    /// Starts a new thread with what another one holds.
    ///
    /// # Errors
    /// The file of the other one cannot be read.
    pub fn fork(
        &self,
        source: &Path,
        at: ForkAt,
        mut config: SessionConfig,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Started, StartError> {
        let loaded = codex_rollout::load(source)?;
        inherit(&mut config, &loaded);
        let forked_from = Some(loaded.meta.id.clone());
        let lines = crate::fork::cut(loaded.items, at);
        let id = self.ports.ids.thread();
        self.launch(Origin {
            id,
            config,
            observer,
            lines,
            file: File::New,
            forked_from,
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
            observer,
            lines,
            file,
            forked_from,
        } = origin;
        let log = self.log(&id, &config, &file);
        let path = log.as_ref().map(|log| Arc::from(log.path()));
        let clock = Arc::clone(&self.ports.clock);
        let (emitter, events) = Emitter::new(id.clone(), log, config.detail, clock, observer);
        let (sender, mailbox) = mpsc::channel(MAILBOX);
        let services = Arc::new(self.services(config, emitter, sender.downgrade()));
        if matches!(file, File::New) {
            write_start(&services, &id, forked_from.clone(), &lines);
        }
        let policy = services.model.info(&services.config.model).truncation;
        let conversation = Conversation::rebuilt(&lines, policy);
        let session = Session::new(Arc::clone(&services), mailbox, conversation);
        let initial = initial_messages(&services.config, &file, forked_from.as_ref(), lines);
        let name = match file {
            File::Existing(_) => codex_rollout::name_of(&services.config.home, &id),
            File::New => None,
        };
        session.say_configured(forked_from, initial, name);
        tokio::spawn(session.run());
        let thread = Thread {
            id: id.clone(),
            path,
            mailbox: sender,
            ids: Arc::clone(&self.ports.ids),
        };
        self.lock().insert(id, thread.clone());
        Ok(Started { thread, events })
    }

    fn log(&self, id: &ThreadId, config: &SessionConfig, file: &File) -> Option<Log> {
        let writer = self.ports.writer.clone();
        match file {
            _ if config.ephemeral => None,
            File::Existing(path) => Some(Log::existing(writer, Place::of_file(path))),
            File::New => {
                let clock = &self.ports.clock;
                let place = Place::new(&config.home, id, clock.now(), &clock.zone());
                Some(Log::held(writer, place))
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
    observer: Option<Arc<dyn Observer>>,
    lines: Vec<RolloutItem>,
    file: File,
    forked_from: Option<ThreadId>,
}

enum File {
    New,
    Existing(PathBuf),
}

/// What a loaded thread brings along where the configuration says nothing.
fn inherit(config: &mut SessionConfig, loaded: &Loaded) {
    if config.base_instructions.is_none() {
        let metas = loaded.items.iter().filter_map(|item| match item {
            RolloutItem::SessionMeta(meta) => meta.base_instructions.as_ref(),
            _ => None,
        });
        config.base_instructions = metas.map(|base| base.text.clone()).next();
    }
    if config.dynamic_tools.is_empty() {
        config.dynamic_tools = loaded.meta.dynamic_tools.clone().unwrap_or_default();
    }
}

/// The first lines of a new file, and those of the thread that it is forked from.
fn write_start(
    services: &Services,
    id: &ThreadId,
    forked_from: Option<ThreadId>,
    lines: &[RolloutItem],
) {
    let (config, emitter) = (&services.config, &services.emitter);
    let tools = &services.dynamic_tools;
    let is_fork = forked_from.is_some();
    let meta = SessionMeta {
        id: id.clone(),
        forked_from_id: forked_from,
        timestamp: format!("{:.3}", services.clock.now()),
        cwd: config.cwd.display().to_string(),
        originator: config.originator.clone(),
        cli_version: config.version.clone(),
        source: config.source.clone(),
        agent_nickname: None,
        agent_role: None,
        agent_path: None,
        model_provider: Some(config.provider.clone()),
        base_instructions: Some(BaseInstructions {
            text: services.instructions.to_string(),
        }),
        dynamic_tools: (!tools.is_empty()).then(|| tools.clone()),
        memory_mode: None,
        git: None,
    };
    emitter.log(LineKind::SessionMeta, &meta);
    for line in lines {
        match line {
            RolloutItem::SessionMeta(meta) => emitter.log(LineKind::SessionMeta, meta),
            RolloutItem::ResponseItem(item) => emitter.log(LineKind::ResponseItem, item),
            RolloutItem::EventMsg(event) => emitter.log(LineKind::EventMsg, event),
            RolloutItem::TurnContext(context) => emitter.log(LineKind::TurnContext, context),
            RolloutItem::Compacted(compacted) => emitter.log(LineKind::Compacted, compacted),
            _ => {}
        }
    }
    if is_fork {
        emitter.materialise();
    }
}

fn initial_messages(
    config: &SessionConfig,
    file: &File,
    forked_from: Option<&ThreadId>,
    lines: Vec<RolloutItem>,
) -> Option<Vec<EventMsg>> {
    let is_new = matches!(file, File::New) && forked_from.is_none();
    if is_new || !config.replay_events {
        return None;
    }
    let events = lines.into_iter().filter_map(|line| match line {
        RolloutItem::EventMsg(event) if is_persisted(&event, config.detail) => Some(event),
        _ => None,
    });
    Some(events.collect())
}

impl Thread {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// The file, whether it is there yet or not; none for threads that leave none.
    #[must_use]
    pub fn rollout_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Hands an operation in, waiting while the queue is full. Answers the id of the submission,
    /// which is that of the turn if it starts one.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn submit(&self, op: Op) -> Result<String, Closed> {
        let id = self.ids.submission();
        self.submit_as(Submission {
            id: id.clone(),
            op,
            trace: None,
        })
        .await?;
        Ok(id)
    }

    /// Hands a submission in that has its id already.
    ///
    /// # Errors
    /// The thread is closed.
    pub async fn submit_as(&self, submission: Submission) -> Result<(), Closed> {
        let mail = Mail::Submission(Box::new(submission));
        self.mailbox.send(mail).await.map_err(|_| Closed)
    }

    /// Puts input into the turn that runs and answers its id.
    ///
    /// # Errors
    /// It did not get in.
    pub async fn steer(
        &self,
        expected: Option<String>,
        items: Vec<UserInput>,
    ) -> Result<String, SteerError> {
        let (reply, answer) = oneshot::channel();
        let mail = Mail::Steer(Steer {
            expected,
            items,
            reply,
        });
        self.mailbox
            .send(mail)
            .await
            .map_err(|_| SteerError::Closed)?;
        answer.await.map_err(|_| SteerError::Closed)?
    }
}

/// The event for a line that cannot be read as a submission.
#[must_use]
pub fn unreadable_submission(reason: &str) -> Event {
    let message = format!("invalid submission: {reason}");
    let codex_error_info = Some(CodexErrorInfo::BadRequest);
    let msg = EventMsg::Error(codex_protocol::ErrorEvent {
        message,
        codex_error_info,
    });
    Event {
        id: String::new(),
        msg,
    }
}
