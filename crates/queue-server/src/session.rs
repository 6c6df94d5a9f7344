//! One session of the queue protocol: submissions in, events out.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server::{ClientName, RequestedSettings, StartupSettings, Stores, ThreadEngines};
use codex_config::RequestParams;
use codex_core::{
    EventReceiver, SessionConfig, SpawnedAgent, StartedThread, Thread, ThreadManager,
    unreadable_submission,
};
use codex_engine_host::host::EngineHost;
use codex_protocol::{
    CodexErrorInfo, ConfigureSession, ErrorEvent, Event, EventMsg, Op, Provider, SessionProvider,
    Submission, ThreadLimits, ThreadNameUpdatedEvent, WarningEvent, WireApi,
};
use codex_thread_store::ThreadStore;
use serde_json::Map;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::agents::AgentQuestions;
use crate::events::write_event;
use crate::lines::{InputLine, InputLines};
use crate::memories;

/// What the first line of a client may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstLine {
    Any,
    /// The connection is closed otherwise.
    MustBeSubmission,
}

/// Loads the limits of the account, which hold for the sessions that follow.
///
/// # Errors
/// They cannot be loaded. Without them no session is started.
pub(crate) async fn load_account_limits(host: &EngineHost) -> anyhow::Result<()> {
    let limits = host.accounts().requirements().await?;
    host.configuration().set_account_requirements(limits);
    Ok(())
}

/// The session of a client.
pub(crate) struct QueueSession<W> {
    host: Arc<EngineHost>,
    session: SessionConfig,
    manager: Arc<ThreadManager>,
    thread: Thread,
    events: EventReceiver,
    agents: mpsc::Receiver<Box<SpawnedAgent>>,
    questions: AgentQuestions,
    /// The submission that started the last task.
    task: String,
    output: W,
}

impl<W: AsyncWrite + Unpin> QueueSession<W> {
    /// Starts a session with the configured settings. Reads files.
    pub(crate) fn start(host: Arc<EngineHost>, output: W) -> anyhow::Result<Self> {
        let prepared = host.prepare(&RequestedSettings {
            cwd: None,
            params: RequestParams::default(),
            overrides: Map::new(),
            limits: ThreadLimits::default(),
            stored_limits: ThreadLimits::default(),
            disabled_plugins: Vec::new(),
            takes_openai_forms: false,
            client: ClientName {
                name: String::new(),
                version: String::new(),
            },
        })?;
        for warning in host.warnings().iter().chain(&prepared.warnings) {
            let details = warning.details.as_deref().unwrap_or_default();
            tracing::warn!(details, "{}", warning.summary);
        }
        let (mut session, manager) = (prepared.config, prepared.manager);
        session.options.serves_queue = true;
        let StartedThread {
            thread,
            events,
            agents,
            ..
        } = manager.start(session.clone())?;
        Ok(Self {
            host,
            session,
            manager,
            thread,
            events,
            agents,
            questions: AgentQuestions::new(),
            task: String::new(),
            output,
        })
    }

    /// Serves until the input ends, the session ends, or `stopped` is.
    pub(crate) async fn serve<R: AsyncRead + Unpin>(
        mut self,
        input: R,
        line_limit: usize,
        mut first_line: FirstLine,
        stopped: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let mut input = InputLines::new(input, line_limit);
        let mut stopped = std::pin::pin!(stopped);
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                open = self.events.next_batch(&mut batch) => {
                    self.write(&batch).await?;
                    batch.clear();
                    if !open {
                        return Ok(());
                    }
                }
                Some(agent) = self.agents.recv() => self.questions.add(*agent),
                mut question = self.questions.next() => {
                    question.id.clone_from(&self.task);
                    self.write(&[question]).await?;
                }
                line = input.next() => match line? {
                    Some(line) => {
                        let Some(submission) = parse(line) else {
                            continue;
                        };
                        let is_read = submission.is_ok();
                        self.take(submission).await?;
                        if !is_read && first_line == FirstLine::MustBeSubmission {
                            break;
                        }
                        first_line = FirstLine::Any;
                    }
                    None => break,
                },
                () = &mut stopped => break,
            }
        }
        let _ = self.thread.submit(Op::Shutdown).await;
        self.write_rest().await
    }

    /// Writes the events until the session has ended.
    async fn write_rest(&mut self) -> anyhow::Result<()> {
        let mut batch = Vec::new();
        while self.events.next_batch(&mut batch).await {
            self.write(&batch).await?;
            batch.clear();
        }
        self.write(&batch).await
    }

    async fn take(&mut self, submission: Result<Submission, String>) -> anyhow::Result<()> {
        let mut submission = match submission {
            Ok(submission) => submission,
            Err(reason) => return self.write(&[unreadable_submission(&reason)]).await,
        };
        let id = submission.id.clone();
        match submission.op {
            Op::ConfigureSession(configure)
                if configure.provider.is_some() || configure.resume_path.is_some() =>
            {
                match self.replace(&id, *configure).await {
                    Ok(()) => Ok(()),
                    Err(error) => self.write(&[failure(id, &error)]).await,
                }
            }
            Op::DropMemories => {
                let dropped = memories::drop_all(self.host.configuration().startup()).await;
                self.write(&[answer(id, dropped)]).await
            }
            Op::UpdateMemories => {
                let config = self.host.configuration().startup();
                let thread = self.thread.id();
                let started = memories::update(config, &self.manager, &self.session, thread);
                self.write(&[answer(id, started)]).await
            }
            _ => {
                let asker = self.questions.answered(&mut submission.op);
                let thread = asker.unwrap_or(&self.thread).clone();
                match thread.submit_as(submission).await {
                    Ok(()) => Ok(()),
                    Err(error) => self.write(&[failure(id, &error.into())]).await,
                }
            }
        }
    }

    /// Replaces the session and aborts the old one.
    async fn replace(&mut self, id: &str, configure: ConfigureSession) -> anyhow::Result<()> {
        let mut session = self.session.clone();
        session.options.base_instructions = configure
            .instructions
            .clone()
            .or(session.options.base_instructions);
        let (given, path) = (configure.provider.clone(), configure.resume_path.clone());
        let before = session.options.settings;
        session.options.settings = before.apply(configure.into(), &before.cwd);
        let manager = match given {
            Some(given) => {
                session.options.settings.provider.clone_from(&given.name);
                self.host.engine_with(older_provider(given)?)?
            }
            None => Arc::clone(&self.manager),
        };
        let path = path.map(PathBuf::from);
        let is_own = path
            .as_deref()
            .is_some_and(|path| self.thread.rollout_path() == Some(path));
        if is_own {
            self.manager.close(self.thread.id()).await;
        }
        let StartedThread {
            thread,
            events,
            agents,
            ..
        } = match path {
            Some(path) => manager.resume(&path, session.clone())?,
            None => manager.start(session.clone())?,
        };
        self.manager.close(self.thread.id()).await;
        self.write_rest_but_last().await?;
        (self.session, self.manager) = (session, manager);
        (self.thread, self.events, self.agents) = (thread, events, agents);
        self.questions = AgentQuestions::new();
        if let Some(mut configured) = self.events.next().await {
            configured.id = id.to_owned();
            self.write(&[configured]).await?;
        }
        Ok(())
    }

    /// Writes how the task of a session ended that is replaced by another one.
    async fn write_rest_but_last(&mut self) -> anyhow::Result<()> {
        while let Some(event) = self.events.next().await {
            if event.msg != EventMsg::ShutdownComplete {
                self.write(&[event]).await?;
            }
        }
        Ok(())
    }

    async fn write(&mut self, events: &[Event]) -> anyhow::Result<()> {
        let mut text = Vec::new();
        for event in events {
            match &event.msg {
                EventMsg::TurnStarted(_) => self.task.clone_from(&event.id),
                EventMsg::ThreadNameUpdated(renamed) => {
                    send_name(self.host.store().clone(), renamed).await?;
                }
                _ => {}
            }
            write_event(&mut text, event)?;
        }
        self.output.write_all(&text).await?;
        Ok(self.output.flush().await?)
    }
}

/// Writes the name of a thread into the index of other releases.
async fn send_name(store: ThreadStore, renamed: &ThreadNameUpdatedEvent) -> anyhow::Result<()> {
    let (id, name) = (renamed.thread_id.clone(), renamed.thread_name.clone());
    let telling = tokio::task::spawn_blocking(move || {
        if let Some(name) = name {
            store.update_name_elsewhere(&id, &name);
        }
    });
    Ok(telling.await?)
}

/// A line as a submission, or why it is none; nothing of an empty line.
fn parse(line: InputLine) -> Option<Result<Submission, String>> {
    match line {
        InputLine::TooLong => Some(Err("the line is too long".to_owned())),
        InputLine::Read(text) if text.trim_ascii().is_empty() => None,
        InputLine::Read(text) => Some(read(&text)),
    }
}

fn read(line: &[u8]) -> Result<Submission, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    codex_protocol::from_json(text).map_err(|error| error.to_string())
}

/// What was done, or why it was not.
fn answer(id: String, done: anyhow::Result<&'static str>) -> Event {
    match done {
        Ok(message) => Event {
            id,
            msg: EventMsg::Warning(WarningEvent {
                message: message.to_owned(),
            }),
        },
        Err(error) => failure(id, &error),
    }
}

fn failure(id: String, error: &anyhow::Error) -> Event {
    let codex_error_info = Some(CodexErrorInfo::BadRequest);
    let message = format!("{error:#}");
    Event {
        id,
        msg: EventMsg::Error(ErrorEvent {
            message,
            codex_error_info,
            exceeded_limit: None,
        }),
    }
}

fn older_provider(given: SessionProvider) -> anyhow::Result<Provider> {
    let wire_api = match given.wire_api.as_deref() {
        None | Some("responses") => WireApi::Responses,
        Some("chat") => WireApi::Chat,
        Some(other) => {
            anyhow::bail!("the provider cannot be used: `wire_api = \"{other}\"` is not supported")
        }
    };
    Ok(Provider {
        wire_api,
        env_key: given.env_key,
        env_key_instructions: given.env_key_instructions,
        query_params: given.query_params,
        http_headers: given.http_headers,
        env_http_headers: given.env_http_headers,
        ..Provider::new(given.name, given.base_url)
    })
}
