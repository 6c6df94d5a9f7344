//! A session: the actor behind one thread.
//!
//! It has one mailbox and handles one message after another. It owns everything that lasts longer
//! than a turn, and lends the conversation to the turn that runs. At most one task runs; a turn runs
//! on a task of its own, so that answers, more input and the word to stop come through meanwhile.

mod agents;
mod ask;
mod configured;
mod elicitation;
mod gatekeeper;
mod operations;
mod recall;
mod review;
mod settings;
mod task;
mod undo;
mod user_shell;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};

use codex_protocol::{
    CodexErrorInfo, DynamicToolSpec, ElicitationRequest, ErrorEvent, EventMsg, RequestId,
    RequestPermissionsResponse, ResponseItem, Submission, ThreadSettings, ThreadSettingsPatch,
    TurnAbortReason, WarningEvent,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::agents::{AgentTree, ChildAgents};
use crate::config::SessionConfig;
use crate::conversation::Conversation;
use crate::events::Emitter;
use crate::gate::{ApprovalStore, Effect, TurnPolicy};
use crate::launch::Threads;
use crate::mcp::{Connects, McpServer, McpServers};
use crate::ports::{Clock, Ids, Model, Processes};
use crate::timeout_pauses::TimeoutPauses;
use crate::tools::{BackgroundTerminal, SpawnAgentTool, TerminalRegistry};
use crate::turn::TurnSettings;

pub(crate) use agents::{AgentFork, AgentRequest, AgentSource, NewAgent, ResumedAgent};
use ask::OpenQuestions;
pub(crate) use ask::{Answer, Question, QuestionKey};
pub(crate) use gatekeeper::{Judge, Stage};
pub use operations::{NewTurn, StartTurnError, SteerError};
pub(crate) use operations::{SteerRequest, TurnReply};
pub use settings::SettingsError;
pub(crate) use settings::TurnOverrides;
use task::RunningTask;
pub use task::TaskKind;

/// How many submissions may wait.
pub(crate) const MAILBOX: usize = 512;

/// A message for a session.
#[derive(Debug)]
pub(crate) enum Mail {
    /// From the client.
    Submission(Box<Submission>),
    /// More input for the turn that runs.
    Steer(operations::SteerRequest),
    /// A turn, or more input for the one that runs.
    StartTurn(Box<NewTurn>, TurnReply),
    /// Other settings from the next turn on.
    UpdateSettings(
        Box<ThreadSettingsPatch>,
        oneshot::Sender<Result<Arc<ThreadSettings>, SettingsError>>,
    ),
    /// From an MCP server: a question for the user.
    Elicit {
        server: String,
        id: RequestId,
        request: Box<ElicitationRequest>,
        reply: oneshot::Sender<Answer>,
    },
    /// Other MCP servers, from the next turn on.
    McpServers(Vec<McpServer>),
    /// Items that the model is to see, without a turn.
    Inject(Vec<ResponseItem>),
    /// Which commands run in the background?
    Terminals(oneshot::Sender<Vec<BackgroundTerminal>>),
    /// Stop one of them; whether there was one is answered.
    StopTerminal(i32, oneshot::Sender<bool>),
    /// From a tool: something that the client has to answer.
    Ask(Box<Question>, oneshot::Sender<Answer>),
    /// From a tool: may this happen?
    Judge(Box<Judge>),
    /// From a tool: a wish for permissions.
    Grant {
        effect: Box<Effect>,
        settings: Arc<TurnSettings>,
        call_id: String,
        reply: oneshot::Sender<RequestPermissionsResponse>,
    },
    /// From a tool: something about the agents of the thread.
    Agents(AgentRequest),
}

/// What the parts of a session share. Nothing in it changes.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) config: SessionConfig,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) processes: Arc<dyn Processes>,
    /// Commands that go on by themselves.
    pub(crate) terminals: TerminalRegistry,
    /// The MCP servers.
    pub(crate) mcp: McpServers,
    pub(crate) mcp_connector: Connects,
    /// What holds the time limits of commands.
    pub(crate) timeout_pauses: TimeoutPauses,
    pub(crate) emitter: Emitter,
    /// All threads of the process, for starting agents.
    pub(crate) threads: Weak<Threads>,
    /// The tree of agents that the thread is part of.
    pub(crate) agent_tree: AgentTree,
    /// The tool that starts agents, once it is made.
    pub(crate) spawn_tool: OnceLock<SpawnAgentTool>,
    /// The way to the session itself, for tools that have to ask.
    pub(crate) mailbox: mpsc::WeakSender<Mail>,
    pub(crate) instructions: Arc<str>,
    pub(crate) user_instructions: Option<Arc<str>>,
    pub(crate) developer_instructions: Option<Arc<str>>,
    pub(crate) dynamic_tools: Vec<DynamicToolSpec>,
}

impl Services {
    /// The policies of a turn, as the gate sees them.
    pub(crate) fn turn_policy(&self, settings: &TurnSettings) -> TurnPolicy {
        let inline = self.config.features.exec_permissions;
        let engine = Arc::clone(&self.config.engine_files);
        TurnPolicy::of(settings, &self.config.environment, inline, engine)
    }

    /// The tool that starts agents, if there may be any.
    pub(crate) fn spawn_tool(&self) -> Option<SpawnAgentTool> {
        let settings = self.config.agents.as_ref()?;
        let made = || SpawnAgentTool::new(settings, &self.model.choices());
        Some(self.spawn_tool.get_or_init(made).clone())
    }
}

/// The actor.
#[derive(Debug)]
pub(crate) struct Session {
    services: Arc<Services>,
    mailbox: mpsc::Receiver<Mail>,
    settings: watch::Sender<Arc<ThreadSettings>>,
    tools: settings::ToolCache,
    questions: OpenQuestions,
    approvals: ApprovalStore,
    state: SessionState,
    /// MCP servers that take the place of those that run when the next turn starts.
    other_servers: Option<Vec<McpServer>>,
    /// Turns that wait for the end of a task that takes no input.
    queued_turns: VecDeque<operations::QueuedTurn>,
    /// The agents of the thread.
    children: ChildAgents,
    /// What the model is to be told once the task is over that has the conversation.
    notices: Vec<ResponseItem>,
}

#[derive(Debug)]
enum SessionState {
    Idle(Box<Conversation>),
    Running(RunningTask),
    /// Only while one of the others becomes the other.
    Between,
}

/// Whether the session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionFlow {
    On,
    Over,
}

impl Session {
    pub(crate) fn new(
        services: Arc<Services>,
        settings: watch::Sender<Arc<ThreadSettings>>,
        mailbox: mpsc::Receiver<Mail>,
        conversation: Conversation,
        children: ChildAgents,
    ) -> Self {
        Self {
            settings,
            tools: settings::ToolCache::default(),
            questions: OpenQuestions::default(),
            approvals: ApprovalStore::with_rules(services.config.rules.clone()),
            state: SessionState::Idle(Box::new(conversation)),
            other_servers: None,
            queued_turns: VecDeque::new(),
            children,
            notices: Vec::new(),
            services,
            mailbox,
        }
    }

    /// Runs until it is told to shut down, nobody can reach it any more or its parent lets go of it.
    pub(crate) async fn run(mut self, cancel: CancellationToken) {
        let _close = CloseOnDrop(self.services.emitter.clone());
        loop {
            let flow = tokio::select! {
                biased;
                conversation = task::ended(&mut self.state) => {
                    self.turn_ended(conversation);
                    self.start_queued().await;
                    SessionFlow::On
                }
                () = self.children.one_done() => {
                    self.report_agents();
                    SessionFlow::On
                }
                () = cancel.cancelled() => SessionFlow::Over,
                mail = self.mailbox.recv() => match mail {
                    Some(mail) => self.handle(mail).await,
                    None => SessionFlow::Over,
                },
            };
            if flow == SessionFlow::Over {
                break;
            }
            if self.running().is_none() && self.queued_turns.is_empty() {
                self.services.emitter.give_back();
            }
        }
        self.shut_down().await;
    }

    async fn handle(&mut self, mail: Mail) -> SessionFlow {
        match mail {
            Mail::Submission(submission) => {
                if let codex_protocol::Op::Shutdown = submission.op {
                    return SessionFlow::Over;
                }
                self.carry_out(*submission).await;
            }
            Mail::Elicit {
                server,
                id,
                request,
                reply,
            } => self.elicit(server, id, *request, reply),
            Mail::McpServers(servers) => self.other_servers = Some(servers),
            Mail::Inject(items) => items.into_iter().for_each(|item| self.tell_model(item)),
            Mail::Terminals(reply) => drop(reply.send(self.services.terminals.running())),
            Mail::StopTerminal(id, reply) => {
                let services = Arc::clone(&self.services);
                tokio::spawn(async move { reply.send(services.terminals.stop(id).await) });
            }
            Mail::Steer(steer) => self.steer(steer),
            Mail::StartTurn(turn, reply) => self.start_turn(*turn, reply).await,
            Mail::UpdateSettings(patch, reply) => {
                let _ = reply.send(self.change_settings(*patch));
            }
            Mail::Ask(question, answer) => self.ask(*question, answer),
            Mail::Judge(judge) => self.judge(*judge),
            Mail::Agents(mail) => self.agents(mail),
            Mail::Grant {
                effect,
                settings,
                call_id,
                reply,
            } => {
                self.request_permissions(&effect, settings, call_id, reply);
            }
        }
        SessionFlow::On
    }

    async fn shut_down(&mut self) {
        self.abort(TurnAbortReason::Interrupted).await;
        self.children.close_all().await;
        self.services.mcp.stop();
        self.services.terminals.stop_all().await;
        if let Err(error) = self.services.emitter.flush().await {
            self.warn("", format!("The conversation could not be saved: {error}"));
        }
        self.services.emitter.emit("", EventMsg::ShutdownComplete);
    }

    pub(crate) fn emitter(&self) -> &Emitter {
        &self.services.emitter
    }

    pub(crate) fn skill_library(&self) -> Option<Arc<codex_skills::Library>> {
        self.services.config.skills.clone()
    }

    pub(crate) fn warn(&self, id: &str, message: String) {
        self.services
            .emitter
            .emit(id, EventMsg::Warning(WarningEvent { message }));
    }

    fn error(&self, id: &str, message: impl Into<String>, info: CodexErrorInfo) {
        let codex_error_info = Some(info);
        let message = message.into();
        self.services.emitter.emit(
            id,
            EventMsg::Error(ErrorEvent {
                message,
                codex_error_info,
            }),
        );
    }
}

/// However the actor ends, its subscriber learns that nothing follows.
struct CloseOnDrop(Emitter);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}
