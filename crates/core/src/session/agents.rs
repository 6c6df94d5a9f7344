//! The agents of a thread: started, found, closed and resumed for its tools.
//!
//! A tool does what takes time; the session does the rest at once. Before it replies, the model is told which
//! agents are done.

use codex_protocol::{
    AgentStatus, Op, ResponseItem, SessionSource, SubAgentSource, Submission, ThreadId,
    UserInputOp, UserMessageEvent,
};
use codex_session_base::agents::{
    AgentFork, AgentHandle, AgentRequest, AgentSource, AgentStartError, ChildAgent, NewAgent,
    ResumedAgent, result_text,
};
use codex_session_base::history::user_message;
use codex_session_base::thread::AgentThread;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::DropGuard;

use super::actor::SessionActor;
use super::call::ThreadCall;
use crate::thread_origin::{LaunchError, ThreadOrigin};

/// What an agent is known by.
enum AgentIdentity {
    Named {
        nickname: Option<String>,
        role: Option<String>,
    },
    /// It works on an item of a job, and this is the origin of its thread.
    Worker(String),
}

impl ThreadCall for AgentRequest {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        session.report_agents();
        // If the tool has ended, nobody takes the reply.
        match self {
            Self::Spawn(agent, reply) => drop(reply.send(session.spawn(*agent))),
            Self::Find(ids, reply) => {
                let agents = ids.iter().map(|id| session.children.find(id));
                drop(reply.send(agents.collect()));
            }
            Self::Take(id, reply) => drop(reply.send(session.children.remove(&id))),
            Self::Resume(agent, reply) => drop(reply.send(session.resume(*agent))),
            Self::SpawnMember(agent, reply) => drop(reply.send(session.spawn_member(*agent))),
            Self::LoadMember(agent, reply) => drop(reply.send(session.load_member(*agent))),
        }
    }
}

impl SessionActor {
    fn spawn(&mut self, agent: NewAgent) -> Result<AgentHandle, AgentStartError> {
        let slot = self.agent_slot()?;
        let (id, identity) = match agent.worker {
            Some(worker) => (worker.id, AgentIdentity::Worker(worker.label)),
            None => {
                let jitter = self.context.clock.jitter();
                let nickname = Some(self.children.name(&agent.nicknames, jitter));
                let role = agent.role;
                let identity = AgentIdentity::Named { nickname, role };
                (self.context.ids.thread(), identity)
            }
        };
        let (origin, first) = match agent.fork {
            None => (ThreadOrigin::new(id, agent.config), None),
            Some(AgentFork { source, note }) => {
                let mut origin = ThreadOrigin::forked(id, source.thread, agent.config);
                origin.note = Some(note);
                (origin, source.first)
            }
        };
        let handle = self.start_agent(origin, first, identity, slot)?;
        let submission = Submission {
            id: self.context.ids.submission(),
            op: Op::UserInput(UserInputOp {
                items: agent.input,
                root_turn_id: Some(agent.root_turn_id),
                ..UserInputOp::default()
            }),
            trace: None,
        };
        if handle.thread.try_submit(submission) {
            Ok(handle)
        } else {
            Err(AgentStartError::EndedBeforeStart)
        }
    }

    fn resume(&mut self, agent: ResumedAgent) -> Result<AgentHandle, AgentStartError> {
        let AgentSource { thread, first } = agent.source;
        let id = &thread.meta.id;
        if let Some(handle) = self.children.find(id) {
            return Ok(handle);
        }
        if self.launcher.is_loaded(id) {
            return Err(AgentStartError::InUse(id.clone()));
        }
        let slot = self.agent_slot()?;
        let mut config = agent.config;
        config.options.base_instructions = thread
            .instructions
            .clone()
            .or(config.options.base_instructions);
        let (nickname, role) = (
            thread.meta.agent_nickname.clone(),
            thread.meta.agent_role.clone(),
        );
        if let Some(name) = &nickname {
            self.children.take_name(name);
        }
        let mut origin = ThreadOrigin::resumed(thread, config);
        origin.agents = agent.agents;
        let identity = AgentIdentity::Named { nickname, role };
        self.start_agent(origin, first, identity, slot)
    }

    /// Loads an agent that was open when the thread was closed.
    pub(super) fn resume_with_thread(&mut self, agent: ResumedAgent) {
        let id = agent.source.thread.meta.id.clone();
        if let Err(error) = self.resume(agent) {
            self.warn("", format!("The agent {id} was not loaded again: {error}"));
        }
    }

    /// A slot in the tree of agents.
    fn agent_slot(&mut self) -> Result<OwnedSemaphorePermit, AgentStartError> {
        self.children.forget_closed();
        let most = self.context.config.options.agents.as_ref();
        let most = most.map_or(0, |agents| agents.max_threads);
        let slots = self.agent_tree.slots.clone();
        let slot = slots.and_then(|slots| slots.try_acquire_owned().ok());
        slot.ok_or(AgentStartError::Limit(most))
    }

    fn start_agent(
        &mut self,
        mut origin: ThreadOrigin,
        first: Option<UserMessageEvent>,
        identity: AgentIdentity,
        slot: OwnedSemaphorePermit,
    ) -> Result<AgentHandle, AgentStartError> {
        origin.agent_tree = self.tree_of_agent();
        let is_worker = matches!(identity, AgentIdentity::Worker(_));
        let (source, nickname, role) = match identity {
            AgentIdentity::Worker(label) => (SubAgentSource::Other(label), None, None),
            AgentIdentity::Named { nickname, role } => {
                let source = SubAgentSource::ThreadSpawn {
                    parent_thread_id: self.context.emitter.thread().clone(),
                    depth: origin.agent_tree.depth,
                    agent_path: None,
                    agent_nickname: nickname.clone(),
                    agent_role: role.clone(),
                };
                (source, nickname, role)
            }
        };
        origin.config.identity.source = SessionSource::SubAgent(source);
        origin.config.identity.cache_root = Some(self.context.cache_root().clone());
        let (thread, cancel) = self.launch_agent(origin, first)?;
        let mut child = ChildAgent::new(thread, nickname, role, cancel, slot);
        if is_worker {
            child = child.unreported();
        }
        let id = child.thread.id().clone();
        self.children.add(child);
        let handle = self.children.find(&id);
        handle.ok_or(AgentStartError::Ended)
    }

    /// Launches an agent and passes it on to the subscriber of the thread. Dropping the guard ends it.
    pub(super) fn launch_agent(
        &mut self,
        mut origin: ThreadOrigin,
        first: Option<UserMessageEvent>,
    ) -> Result<(AgentThread, DropGuard), LaunchError> {
        origin.config.options.rules = self.approvals.rules().clone();
        let cancel = origin.agent_tree.cancel.clone().drop_guard();
        let thread = self.launcher.launch_agent(origin, first)?;
        Ok((thread, cancel))
    }

    /// Tells the model which agents are done.
    pub(super) fn report_agents(&mut self) {
        for (id, status) in self.children.report() {
            self.add_notice(notice(&id, &status));
        }
    }
}

/// The message that an agent is done.
fn notice(agent: &ThreadId, status: &AgentStatus) -> ResponseItem {
    user_message([result_text(agent.as_str(), status)])
}
