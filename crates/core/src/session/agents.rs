//! The agents of a thread: started, found, closed and loaded again on behalf of its tools.
//!
//! A tool does what takes time and hands the rest in here, where it is done at once. What a tool is
//! answered after an agent was found done, the model is told before: the notice is in by then.

use codex_protocol::{
    Op, ResponseItem, SessionSource, SubAgentSource, Submission, ThreadId, UserInput, UserInputOp,
    UserMessageEvent,
};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{Mail, Session};
use crate::agents::{AgentHandle, ChildAgent, SpawnedAgent, notice};
use crate::beginning::RolloutFile;
use crate::config::SessionConfig;
use crate::conversation::Recorder;
use crate::launch::ThreadOrigin;
use crate::stored::{StoredLines, StoredThread};
use crate::turn::Input;

/// What tools want of the agents of their thread.
#[derive(Debug)]
pub(crate) enum AgentRequest {
    /// A new one. If it cannot be, a sentence says why.
    Spawn(Box<NewAgent>, oneshot::Sender<Result<AgentHandle, String>>),
    /// Those that are open among these.
    Find(Vec<ThreadId>, oneshot::Sender<Vec<Option<AgentHandle>>>),
    /// One that is to be closed.
    Take(ThreadId, oneshot::Sender<Option<ChildAgent>>),
    /// One that was closed. If it cannot be loaded, a sentence says why.
    Resume(
        Box<ResumedAgent>,
        oneshot::Sender<Result<AgentHandle, String>>,
    ),
}

/// An agent that is to be started.
#[derive(Debug)]
pub(crate) struct NewAgent {
    pub(crate) config: SessionConfig,
    pub(crate) role: Option<String>,
    /// What it may be called; anything if nothing is said.
    pub(crate) nicknames: Vec<String>,
    pub(crate) fork: Option<AgentFork>,
    pub(crate) input: Vec<UserInput>,
}

/// What an agent goes on from.
#[derive(Debug)]
pub(crate) struct AgentFork {
    pub(crate) stored: AgentSource,
    /// What it is told of that.
    pub(crate) note: ResponseItem,
}

/// A stored thread, and the first thing that a person said in it.
#[derive(Debug)]
pub(crate) struct AgentSource {
    pub(crate) thread: StoredThread,
    pub(crate) first: Option<UserMessageEvent>,
}

/// An agent that is to be loaded again.
#[derive(Debug)]
pub(crate) struct ResumedAgent {
    pub(crate) config: SessionConfig,
    pub(crate) stored: AgentSource,
}

/// What a thread of agents is made from.
struct AgentStart {
    id: ThreadId,
    config: SessionConfig,
    lines: StoredLines,
    file: RolloutFile,
    forked_from: Option<ThreadId>,
    note: Option<ResponseItem>,
    first: Option<UserMessageEvent>,
    nickname: Option<String>,
    role: Option<String>,
}

impl Session {
    pub(super) fn agents(&mut self, mail: AgentRequest) {
        self.report_agents();
        // A tool that is not there any more has no use for an answer.
        match mail {
            AgentRequest::Spawn(agent, reply) => drop(reply.send(self.spawn(*agent))),
            AgentRequest::Find(ids, reply) => {
                let agent = ids.iter().map(|id| self.children.find(id));
                drop(reply.send(agent.collect()));
            }
            AgentRequest::Take(id, reply) => drop(reply.send(self.children.remove(&id))),
            AgentRequest::Resume(agent, reply) => drop(reply.send(self.load(*agent))),
        }
    }

    fn spawn(&mut self, agent: NewAgent) -> Result<AgentHandle, String> {
        let slot = self.slot()?;
        let NewAgent {
            config,
            role,
            nicknames,
            fork,
            input,
        } = agent;
        let nickname = self.children.name(&nicknames, self.services.clock.jitter());
        let mut start = AgentStart {
            id: self.services.ids.thread(),
            config,
            lines: StoredLines::Read(Vec::new()),
            file: RolloutFile::New,
            forked_from: None,
            note: None,
            first: None,
            nickname: Some(nickname),
            role,
        };
        if let Some(AgentFork { stored, note }) = fork {
            start.file = RolloutFile::Copy {
                source: stored.thread.path,
                length: stored.thread.length,
            };
            start.lines = stored.thread.lines;
            start.forked_from = Some(stored.thread.meta.id);
            (start.note, start.first) = (Some(note), stored.first);
        }
        let agent = self.start_agent(start, slot)?;
        let submission = Submission {
            id: self.services.ids.submission(),
            op: Op::UserInput(UserInputOp {
                items: input,
                ..UserInputOp::default()
            }),
            trace: None,
        };
        let mail = Mail::Submission(Box::new(submission));
        let sent = agent.thread.mailbox.try_send(mail);
        sent.map_err(|_| "the agent ended before it began".to_owned())?;
        Ok(agent)
    }

    fn load(&mut self, agent: ResumedAgent) -> Result<AgentHandle, String> {
        let id = agent.stored.thread.meta.id.clone();
        if let Some(agent) = self.children.find(&id) {
            return Ok(agent);
        }
        if self
            .services
            .threads
            .upgrade()
            .is_some_and(|all| all.get(&id).is_some())
        {
            return Err(format!("agent with id {id} is in use"));
        }
        let slot = self.slot()?;
        let ResumedAgent { mut config, stored } = agent;
        let (stored, first) = (stored.thread, stored.first);
        config.base_instructions = stored.instructions.or(config.base_instructions);
        let nickname = stored.meta.agent_nickname.clone();
        if let Some(name) = &nickname {
            self.children.take_name(name);
        }
        let file = RolloutFile::Existing {
            path: stored.path,
            length: stored.size,
        };
        self.start_agent(
            AgentStart {
                id,
                config,
                lines: stored.lines,
                file,
                forked_from: None,
                note: None,
                first,
                nickname,
                role: stored.meta.agent_role,
            },
            slot,
        )
    }

    /// A place in the tree, of which there are so many.
    fn slot(&mut self) -> Result<OwnedSemaphorePermit, String> {
        self.children.forget_closed();
        let most = self.services.config.agents.as_ref();
        let most = most.map_or(0, |agents| agents.max_threads);
        let slots = self.services.agent_tree.slots.clone();
        let slot = slots.and_then(|slots| slots.try_acquire_owned().ok());
        slot.ok_or_else(|| format!("agent thread limit reached (max {most})"))
    }

    fn start_agent(
        &mut self,
        start: AgentStart,
        slot: OwnedSemaphorePermit,
    ) -> Result<AgentHandle, String> {
        let AgentStart {
            id,
            mut config,
            lines,
            file,
            forked_from,
            note,
            first,
            nickname,
            role,
        } = start;
        let threads = self.services.threads.upgrade();
        let threads = threads.ok_or("the engine is going away")?;
        let agent_tree = self.services.agent_tree.of_agent();
        config.source = SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id: self.services.emitter.thread().clone(),
            depth: agent_tree.depth,
            agent_path: None,
            agent_nickname: nickname.clone(),
            agent_role: role.clone(),
        });
        config.rules = self.approvals.rules().clone();
        let cancel = agent_tree.cancel.clone().drop_guard();
        let started = threads
            .launch(ThreadOrigin {
                id,
                config: config.clone(),
                lines,
                file,
                forked_from,
                note,
                agent_tree,
            })
            .map_err(|error| error.to_string())?;
        let child = ChildAgent::new(started.thread.clone(), nickname, role, cancel, slot);
        let agent = SpawnedAgent {
            started,
            config: Box::new(config),
            first,
        };
        if !self.children.publish(agent) {
            return Err("nobody would hear the agent".to_owned());
        }
        let id = child.thread.id().clone();
        self.children.add(child);
        self.children
            .find(&id)
            .ok_or_else(|| "the agent has ended".to_owned())
    }

    /// Tells the model which agents are done.
    pub(super) fn report_agents(&mut self) {
        for (id, status) in self.children.report() {
            self.tell_model(notice(&id, &status));
        }
    }

    /// Puts something into the conversation that nobody is shown, now or when its task is over.
    pub(super) fn tell_model(&mut self, item: ResponseItem) {
        let is_regular = self
            .running()
            .is_some_and(|running| running.kind == super::TaskKind::Regular);
        let mut item = Box::new(item);
        if is_regular {
            match self.put_into_turn(Input::Hidden(item)) {
                Ok(_) | Err(Input::User(_)) => return,
                Err(Input::Hidden(back)) => item = back,
            }
        }
        let policy = self.services.model.info(&self.settings().model);
        let services = std::sync::Arc::clone(&self.services);
        match self.idle() {
            Some(conversation) => {
                let recorder = Recorder {
                    emitter: &services.emitter,
                    turn: "",
                    policy: policy.truncation,
                    raw_items: services.config.raw_items,
                };
                conversation.record(*item, &recorder);
            }
            None => self.notices.push(*item),
        }
    }
}
