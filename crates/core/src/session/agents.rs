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
use crate::agents::{Child, Known, Spawned, notice};
use crate::beginning::File;
use crate::config::SessionConfig;
use crate::conversation::Recorder;
use crate::launch::Origin;
use crate::stored::{Lines, Stored};
use crate::turn::Input;

/// What tools want of the agents of their thread.
#[derive(Debug)]
pub(crate) enum AgentMail {
    /// A new one. If it cannot be, a sentence says why.
    Spawn(Box<NewAgent>, oneshot::Sender<Result<Known, String>>),
    /// Those that are open among these.
    Find(Vec<ThreadId>, oneshot::Sender<Vec<Option<Known>>>),
    /// One that is to be closed.
    Take(ThreadId, oneshot::Sender<Option<Child>>),
    /// One that was closed. If it cannot be loaded, a sentence says why.
    Resume(Box<StoredAgent>, oneshot::Sender<Result<Known, String>>),
}

/// An agent that is to be started.
#[derive(Debug)]
pub(crate) struct NewAgent {
    pub(crate) config: SessionConfig,
    pub(crate) role: Option<String>,
    /// What it may be called; anything if nothing is said.
    pub(crate) nicknames: Vec<String>,
    pub(crate) fork: Option<Fork>,
    pub(crate) input: Vec<UserInput>,
}

/// What an agent goes on from.
#[derive(Debug)]
pub(crate) struct Fork {
    pub(crate) stored: StoredThread,
    /// What it is told of that.
    pub(crate) told: ResponseItem,
}

/// A stored thread, and the first thing that a person said in it.
#[derive(Debug)]
pub(crate) struct StoredThread {
    pub(crate) thread: Stored,
    pub(crate) first: Option<UserMessageEvent>,
}

/// An agent that is to be loaded again.
#[derive(Debug)]
pub(crate) struct StoredAgent {
    pub(crate) config: SessionConfig,
    pub(crate) stored: StoredThread,
}

/// What a thread of agents is made from.
struct Beginning {
    id: ThreadId,
    config: SessionConfig,
    lines: Lines,
    file: File,
    forked_from: Option<ThreadId>,
    told: Option<ResponseItem>,
    first: Option<UserMessageEvent>,
    nickname: Option<String>,
    role: Option<String>,
}

impl Session {
    pub(super) fn agents(&mut self, mail: AgentMail) {
        self.report_agents();
        // A tool that is not there any more has no use for an answer.
        match mail {
            AgentMail::Spawn(agent, reply) => drop(reply.send(self.spawn(*agent))),
            AgentMail::Find(ids, reply) => {
                let known = ids.iter().map(|id| self.children.find(id));
                drop(reply.send(known.collect()));
            }
            AgentMail::Take(id, reply) => drop(reply.send(self.children.remove(&id))),
            AgentMail::Resume(agent, reply) => drop(reply.send(self.load(*agent))),
        }
    }

    fn spawn(&mut self, agent: NewAgent) -> Result<Known, String> {
        let place = self.place()?;
        let NewAgent {
            config,
            role,
            nicknames,
            fork,
            input,
        } = agent;
        let nickname = self.children.name(&nicknames, self.services.clock.jitter());
        let mut beginning = Beginning {
            id: self.services.ids.thread(),
            config,
            lines: Lines::Read(Vec::new()),
            file: File::New,
            forked_from: None,
            told: None,
            first: None,
            nickname: Some(nickname),
            role,
        };
        if let Some(Fork { stored, told }) = fork {
            beginning.file = File::Copy {
                source: stored.thread.path,
                length: stored.thread.length,
            };
            beginning.lines = stored.thread.lines;
            beginning.forked_from = Some(stored.thread.meta.id);
            (beginning.told, beginning.first) = (Some(told), stored.first);
        }
        let known = self.start_agent(beginning, place)?;
        let submission = Submission {
            id: self.services.ids.submission(),
            op: Op::UserInput(UserInputOp {
                items: input,
                ..UserInputOp::default()
            }),
            trace: None,
        };
        let mail = Mail::Submission(Box::new(submission));
        let told = known.thread.mailbox.try_send(mail);
        told.map_err(|_| "the agent ended before it began".to_owned())?;
        Ok(known)
    }

    fn load(&mut self, agent: StoredAgent) -> Result<Known, String> {
        let id = agent.stored.thread.meta.id.clone();
        if let Some(known) = self.children.find(&id) {
            return Ok(known);
        }
        if self
            .services
            .threads
            .upgrade()
            .is_some_and(|all| all.get(&id).is_some())
        {
            return Err(format!("agent with id {id} is in use"));
        }
        let place = self.place()?;
        let StoredAgent { mut config, stored } = agent;
        let (stored, first) = (stored.thread, stored.first);
        config.base_instructions = stored.instructions.or(config.base_instructions);
        let nickname = stored.meta.agent_nickname.clone();
        if let Some(name) = &nickname {
            self.children.take_name(name);
        }
        let file = File::Existing {
            path: stored.path,
            length: stored.size,
        };
        self.start_agent(
            Beginning {
                id,
                config,
                lines: stored.lines,
                file,
                forked_from: None,
                told: None,
                first,
                nickname,
                role: stored.meta.agent_role,
            },
            place,
        )
    }

    /// A place in the tree, of which there are so many.
    fn place(&mut self) -> Result<OwnedSemaphorePermit, String> {
        self.children.forget_closed();
        let most = self.services.config.agents.as_ref();
        let most = most.map_or(0, |agents| agents.max_threads);
        let places = self.services.bond.places.clone();
        let place = places.and_then(|places| places.try_acquire_owned().ok());
        place.ok_or_else(|| format!("agent thread limit reached (max {most})"))
    }

    fn start_agent(
        &mut self,
        beginning: Beginning,
        place: OwnedSemaphorePermit,
    ) -> Result<Known, String> {
        let Beginning {
            id,
            mut config,
            lines,
            file,
            forked_from,
            told,
            first,
            nickname,
            role,
        } = beginning;
        let threads = self.services.threads.upgrade();
        let threads = threads.ok_or("the engine is going away")?;
        let bond = self.services.bond.of_agent();
        config.source = SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id: self.services.emitter.thread().clone(),
            depth: bond.depth,
            agent_path: None,
            agent_nickname: nickname.clone(),
            agent_role: role.clone(),
        });
        config.rules = self.memory.rules().clone();
        let leash = bond.leash.clone().drop_guard();
        let started = threads
            .launch(Origin {
                id,
                config: config.clone(),
                lines,
                file,
                forked_from,
                told,
                bond,
            })
            .map_err(|error| error.to_string())?;
        let child = Child::new(started.thread.clone(), nickname, role, leash, place);
        let agent = Spawned {
            started,
            config: Box::new(config),
            first,
        };
        if !self.children.tell(agent) {
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
            match self.put_into_turn(Input::Silent(item)) {
                Ok(_) | Err(Input::Said(_)) => return,
                Err(Input::Silent(back)) => item = back,
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
