//! `codex proto`: the queue protocol over standard input and output, one submission or event per line.
//!
//! A session with the configured settings runs from the start. `configure_session`, the older form, replaces it; with
//! another provider or a stored thread the new session is another one, and only its events are printed from then on. A
//! line that cannot be parsed is answered with an error event.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use codex_config::{Config, RequestParams};
use codex_core::{
    EventReceiver, SessionConfig, StartedThread, Thread, ThreadManager, unreadable_submission,
};
use codex_model_client::ModelCatalog;
use codex_protocol::{
    CodexErrorInfo, ConfigureSession, ErrorEvent, Event, EventMsg, Op, Provider, SessionProvider,
    Submission, WarningEvent, WireApi,
};
use codex_skills::SkillLibrary;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdin, Stdout};

use crate::engine_files::engine_files;
use crate::realtime::ProviderRealtime;
use crate::resources::EngineResources;
use crate::session_settings::session_parts;
use crate::settings_flags::SettingsFlags;
use crate::wiring::{self, TraceRecorder};
use crate::{checkpoints, proto_memories, skills};

/// A longer line is an error.
const LINE_LIMIT: usize = 64 * 1024 * 1024;

#[derive(Debug, Args)]
#[command(after_help = "\
A line in is a submission, a line out an event, both as JSON. The session is there from the start and \
ends with the input.\n\n\
Example:\n  \
echo '{\"id\":\"1\",\"op\":{\"type\":\"user_input\",\"items\":[{\"type\":\"text\",\"text\":\"hi\"}]}}' | codex proto")]
pub(crate) struct ProtoArguments {}

pub(crate) fn run(settings: &SettingsFlags) -> anyhow::Result<()> {
    let overrides = settings.overrides()?;
    let runtime = crate::runtime::beside_output()?;
    let tracing = TraceRecorder::from_environment();
    let served = runtime.block_on(async {
        let cwd = std::env::current_dir().context("cannot determine the working folder")?;
        let config = wiring::load_config(Some(&cwd), &overrides, &RequestParams::default())?;
        tracing.keep_within(config.storage.traces);
        let skills = skills::library(overrides);
        ProtoSession::start(config, &cwd, tracing.clone(), skills)?
            .serve()
            .await
    });
    // A pending read of standard input must not keep the process alive.
    runtime.shutdown_background();
    tracing.finish();
    served
}

/// The session whose events are printed.
struct ProtoSession {
    resources: EngineResources,
    catalog: Arc<ModelCatalog>,
    config: Config,
    session: SessionConfig,
    tracing: TraceRecorder,
    manager: Arc<ThreadManager>,
    thread: Thread,
    events: EventReceiver,
    output: Stdout,
}

impl ProtoSession {
    fn start(
        config: Config,
        cwd: &Path,
        tracing: TraceRecorder,
        skills: Arc<SkillLibrary>,
    ) -> anyhow::Result<Self> {
        let resources = EngineResources::new(&config);
        let catalog = Arc::new(resources.catalog(&config)?);
        let chatgpt = resources.has_chatgpt_login();
        let engine = engine_files(&config);
        let environment = Arc::new(wiring::command_environment(&config));
        let store = checkpoints::store(&config);
        let parts = session_parts(
            config.clone(),
            environment,
            cwd,
            &catalog,
            chatgpt,
            &engine,
            &store,
        );
        let mut session = parts.config;
        session.skills = Some(skills);
        // Agents are disabled, because only the events of one thread are printed.
        session.agents = None;
        for warning in &parts.warnings {
            let details = warning.details.as_deref().unwrap_or_default();
            tracing::warn!(details, "{}", warning.summary);
        }
        let mut provider = wiring::provider(&config.model.provider);
        wiring::configure_provider(&mut provider, &config);
        let realtime = ProviderRealtime::of_config(
            &config,
            provider.clone(),
            wiring::ORIGINATOR,
            resources.accounts(),
            resources.connections(),
        );
        session.realtime = realtime.map(|realtime| Arc::new(realtime) as _);
        let ports = resources.ports(provider, identity(), Arc::clone(&catalog), &config)?;
        let manager = Arc::new(tracing.engine(ports));
        let StartedThread { thread, events, .. } = manager.start(session.clone())?;
        Ok(Self {
            resources,
            catalog,
            config,
            session,
            tracing,
            manager,
            thread,
            events,
            output: tokio::io::stdout(),
        })
    }

    async fn serve(mut self) -> anyhow::Result<()> {
        let mut input = InputLines::new();
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
                line = input.next() => match line? {
                    Some(line) => self.take(line).await?,
                    None => break,
                },
            }
        }
        let _ = self.thread.submit(Op::Shutdown).await;
        while self.events.next_batch(&mut batch).await {
            self.write(&batch).await?;
            batch.clear();
        }
        Ok(())
    }

    async fn take(&mut self, line: InputLine) -> anyhow::Result<()> {
        let submission = match line {
            InputLine::TooLong => Err("the line is too long".to_owned()),
            InputLine::Read(text) if text.trim_ascii().is_empty() => return Ok(()),
            InputLine::Read(text) => read(&text),
        };
        match submission {
            Ok(Submission {
                id,
                op: Op::ConfigureSession(configure),
                ..
            }) if configure.provider.is_some() || configure.resume_path.is_some() => {
                match self.replace(&id, *configure).await {
                    Ok(()) => Ok(()),
                    Err(error) => self.write(&[failure(id, &error)]).await,
                }
            }
            Ok(Submission {
                id,
                op: Op::DropMemories,
                ..
            }) => {
                let dropped = proto_memories::drop_all(&self.config).await;
                self.write(&[told(id, dropped)]).await
            }
            Ok(Submission {
                id,
                op: Op::UpdateMemories,
                ..
            }) => {
                let thread = self.thread.id();
                let started =
                    proto_memories::update(&self.config, &self.manager, &self.session, thread);
                self.write(&[told(id, started)]).await
            }
            Ok(submission) => {
                let id = submission.id.clone();
                match self.thread.submit_as(submission).await {
                    Ok(()) => Ok(()),
                    Err(error) => self.write(&[failure(id, &error.into())]).await,
                }
            }
            Err(reason) => self.write(&[unreadable_submission(&reason)]).await,
        }
    }

    /// Replaces the session and aborts the old one.
    async fn replace(&mut self, id: &str, configure: ConfigureSession) -> anyhow::Result<()> {
        let mut session = self.session.clone();
        session.base_instructions = configure.instructions.clone().or(session.base_instructions);
        let (given, path) = (configure.provider.clone(), configure.resume_path.clone());
        let before = session.settings;
        session.settings = before.apply(configure.into(), &before.cwd);
        let provider = match given {
            Some(given) => {
                session.settings.provider.clone_from(&given.name);
                older_provider(given)?
            }
            None => wiring::provider(&self.config.model.provider),
        };
        let catalog = Arc::clone(&self.catalog);
        let ports = (self.resources).ports(provider, identity(), catalog, &self.config)?;
        let manager = Arc::new(self.tracing.engine(ports));
        let StartedThread { thread, events, .. } = match path.map(PathBuf::from) {
            Some(path) => manager.resume(&path, session.clone())?,
            None => manager.start(session.clone())?,
        };
        self.manager.close(self.thread.id()).await;
        (self.session, self.manager) = (session, manager);
        (self.thread, self.events) = (thread, events);
        if let Some(mut configured) = self.events.next().await {
            configured.id = id.to_owned();
            self.write(&[configured]).await?;
        }
        Ok(())
    }

    async fn write(&mut self, events: &[Event]) -> anyhow::Result<()> {
        let mut text = Vec::new();
        for event in events {
            serde_json::to_writer(&mut text, event)?;
            text.push(b'\n');
            if let Some(twin) = codex_core::older_delta(event) {
                serde_json::to_writer(&mut text, &twin)?;
                text.push(b'\n');
            }
        }
        self.output.write_all(&text).await?;
        Ok(self.output.flush().await?)
    }
}

fn identity() -> codex_model_client::ClientIdentity {
    wiring::identity(wiring::ORIGINATOR, None)
}

fn read(line: &[u8]) -> Result<Submission, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    codex_protocol::from_json(text).map_err(|error| error.to_string())
}

/// What was done, or why it was not.
fn told(id: String, done: anyhow::Result<&'static str>) -> Event {
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

enum InputLine {
    Read(Vec<u8>),
    /// The line was skipped.
    TooLong,
}

/// Reads lines of standard input up to a maximum length. Cancel safe.
struct InputLines {
    input: BufReader<Stdin>,
    line: Vec<u8>,
    skipping: bool,
}

impl InputLines {
    fn new() -> Self {
        let input = BufReader::new(tokio::io::stdin());
        Self {
            input,
            line: Vec::new(),
            skipping: false,
        }
    }

    async fn next(&mut self) -> anyhow::Result<Option<InputLine>> {
        loop {
            let available = self
                .input
                .fill_buf()
                .await
                .context("cannot read standard input")?;
            if available.is_empty() {
                let last = std::mem::take(&mut self.line);
                return Ok((!last.is_empty()).then_some(InputLine::Read(last)));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(available.len());
            if !self.skipping {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(end.map_or(taken, |end| end + 1));
            if self.line.len() > LINE_LIMIT {
                self.skipping = true;
                self.line = Vec::new();
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                let skipped = std::mem::take(&mut self.skipping);
                return Ok(Some(if skipped {
                    InputLine::TooLong
                } else {
                    InputLine::Read(line)
                }));
            }
        }
    }
}
