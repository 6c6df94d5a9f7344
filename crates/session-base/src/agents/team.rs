//! The agents of a tree that are addressed by path.
//!
//! All threads of the tree share the team. It knows every agent, delivers messages, and keeps the number of agents that
//! work, and that are in memory, within a limit. To make room, the agent that was idle longest is unloaded; the next
//! task for it loads it again from its file. The session of the root owns the agents: they end with it.

mod closing;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use codex_protocol::{AgentPath, AgentStatus, Op, Submission, ThreadId};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use super::mail::{AgentMail, Mailbox, MailboxFull};
use super::paths::{PathError, is_within, resolve_path, root_path};
use super::stored_team::StoredMember;
use crate::config::TeamSettings;
use crate::thread::{AgentThread, SessionEnd};

/// Why something about an agent failed. The texts are for models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("agent path `{0}` already exists")]
    Taken(String),
    #[error("live agent path `{0}` not found")]
    NotFound(String),
    #[error("agent thread limit reached")]
    Limit,
    #[error(transparent)]
    Full(#[from] MailboxFull),
    #[error("the agents of this thread have ended")]
    Closed,
    #[error("agent `{0}` was closed")]
    MemberClosed(String),
    #[error("an agent can close neither itself nor one above it")]
    Above,
    #[error("root is not a spawned agent")]
    Root,
}

/// The agents of a tree.
#[derive(Debug)]
pub struct AgentTeam {
    pub settings: Arc<TeamSettings>,
    root: OnceLock<RootThread>,
    root_mailbox: Arc<Mailbox>,
    state: Mutex<TeamState>,
    /// Held while an agent is loaded, or the stored agents are looked up.
    pub loading: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct RootThread {
    id: ThreadId,
    status: watch::Receiver<AgentStatus>,
}

#[derive(Debug, Default)]
struct TeamState {
    members: BTreeMap<AgentPath, Member>,
    /// Whether agents of an earlier process may be in files that were not looked at.
    has_unknown: bool,
    /// Counts uses of agents.
    uses: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct Member {
    id: ThreadId,
    mailbox: Arc<Mailbox>,
    residence: Residence,
}

/// Where an agent is.
#[derive(Debug)]
enum Residence {
    /// It is being started or loaded.
    Starting,
    Loaded(LoadedAgent),
    /// In its file alone.
    Stored {
        status: AgentStatus,
        /// The end of its former session, which may not have come yet.
        former: Option<SessionEnd>,
    },
    /// It was ended for good.
    Closed,
}

#[derive(Debug)]
struct LoadedAgent {
    thread: AgentThread,
    status: watch::Receiver<AgentStatus>,
    /// A turn is about to start.
    is_due: bool,
    last_use: u64,
    _cancel: DropGuard,
}

/// An agent as models see it in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedAgent {
    pub agent_name: String,
    pub agent_status: AgentStatus,
    /// Unknown for agents: their tasks may be encrypted.
    pub last_task_message: Option<&'static str>,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It waits for the agent with this thread.
    Done(ThreadId),
    /// The agent has to be loaded first.
    NeedsLoading(ThreadId),
}

/// The place of a thread in a team.
#[derive(Clone, Debug)]
pub struct TeamSeat {
    pub team: Arc<AgentTeam>,
    pub path: AgentPath,
    pub mailbox: Arc<Mailbox>,
}

/// A place for an agent that is being started or loaded. Dropped unused, it is given back.
#[derive(Debug)]
pub struct Reservation {
    pub seat: TeamSeat,
    /// What the agent becomes if it is not started: nothing, or what it was.
    otherwise: Option<AgentStatus>,
    is_used: bool,
}

impl AgentTeam {
    /// The team of a new tree. `has_unknown` says that an earlier process may have started agents in it.
    pub fn new(settings: Arc<TeamSettings>, has_unknown: bool) -> Self {
        Self {
            settings,
            root: OnceLock::new(),
            root_mailbox: Arc::default(),
            state: Mutex::new(TeamState {
                has_unknown,
                ..TeamState::default()
            }),
            loading: tokio::sync::Mutex::default(),
        }
    }

    /// Makes the root known, once.
    pub fn set_root(&self, id: ThreadId, status: watch::Receiver<AgentStatus>) {
        let _ = self.root.set(RootThread { id, status });
    }

    pub fn root_seat(self: &Arc<Self>) -> TeamSeat {
        TeamSeat {
            team: Arc::clone(self),
            path: root_path(),
            mailbox: Arc::clone(&self.root_mailbox),
        }
    }

    pub fn root_id(&self) -> Option<&ThreadId> {
        self.root.get().map(|root| &root.id)
    }

    /// The path that `caller` means: an absolute or relative one, or that of a thread.
    pub fn resolve(&self, caller: &AgentPath, reference: &str) -> Result<AgentPath, TeamError> {
        if let Ok(id) = ThreadId::parse(reference) {
            return self.path_of(&id).ok_or_else(|| not_found(reference));
        }
        let path = resolve_path(caller, reference)?;
        let is_known = path == root_path() || self.state.lock().members.contains_key(&path);
        is_known
            .then_some(path.clone())
            .ok_or_else(|| not_found(&path.0))
    }

    fn path_of(&self, id: &ThreadId) -> Option<AgentPath> {
        if self.root_id() == Some(id) {
            return Some(root_path());
        }
        let state = self.state.lock();
        let found = state.members.iter().find(|(_, member)| member.id == *id);
        found.map(|(path, _)| path.clone())
    }

    /// Whether agents of an earlier process have to be looked up.
    pub fn has_unknown(&self) -> bool {
        self.state.lock().has_unknown
    }

    /// Adds the agents of an earlier process.
    pub fn add_stored(&self, stored: Vec<StoredMember>) {
        let mut state = self.state.lock();
        state.has_unknown = false;
        for stored in stored {
            let former = None;
            let residence = match stored.status {
                Some(status) => Residence::Stored { status, former },
                None => Residence::Closed,
            };
            state.members.entry(stored.path).or_insert_with(|| Member {
                id: stored.id,
                mailbox: Arc::default(),
                residence,
            });
        }
    }

    /// Reserves a place for a new agent.
    pub fn reserve(
        self: &Arc<Self>,
        path: AgentPath,
        id: ThreadId,
    ) -> Result<Reservation, TeamError> {
        let mut state = self.state.lock();
        if state.members.contains_key(&path) {
            return Err(TeamError::Taken(path.0));
        }
        state.check_not_closed_above(&path)?;
        state.make_room(&self.settings)?;
        let mailbox = Arc::<Mailbox>::default();
        let member = Member {
            id,
            mailbox: Arc::clone(&mailbox),
            residence: Residence::Starting,
        };
        state.members.insert(path.clone(), member);
        Ok(self.reservation(path, mailbox, None))
    }

    /// Reserves the place of a stored agent that is to be loaded; none if it is loaded already.
    pub fn reserve_stored(
        self: &Arc<Self>,
        path: &AgentPath,
    ) -> Result<Option<Reservation>, TeamError> {
        let mut state = self.state.lock();
        let status = match state.members.get(path).map(|member| &member.residence) {
            None => return Err(not_found(&path.0)),
            Some(Residence::Closed) => return Err(member_closed(path)),
            Some(Residence::Starting | Residence::Loaded(_)) => return Ok(None),
            Some(Residence::Stored { status, .. }) => status.clone(),
        };
        state.make_room(&self.settings)?;
        let Some(member) = state.members.get_mut(path) else {
            return Err(not_found(&path.0));
        };
        member.residence = Residence::Starting;
        let mailbox = Arc::clone(&member.mailbox);
        Ok(Some(self.reservation(path.clone(), mailbox, Some(status))))
    }

    fn reservation(
        self: &Arc<Self>,
        path: AgentPath,
        mailbox: Arc<Mailbox>,
        otherwise: Option<AgentStatus>,
    ) -> Reservation {
        let team = Arc::clone(self);
        Reservation {
            seat: TeamSeat {
                team,
                path,
                mailbox,
            },
            otherwise,
            is_used: false,
        }
    }

    /// Waits until the former session of a stored agent has ended.
    pub async fn former_ended(&self, path: &AgentPath) {
        let former = match self
            .state
            .lock()
            .members
            .get(path)
            .map(|member| &member.residence)
        {
            Some(Residence::Stored { former, .. }) => former.clone(),
            _ => None,
        };
        if let Some(former) = former {
            former.await;
        }
    }

    /// Puts a message into the mailbox of its receiver, and wakes the receiver if it should start a turn.
    pub fn deliver(&self, mail: AgentMail) -> Result<Delivery, TeamError> {
        let path = mail.recipient.clone();
        if path == root_path() {
            self.root_mailbox.put(mail)?;
            let root = self.root_id().ok_or(TeamError::Closed)?;
            return Ok(Delivery::Done(root.clone()));
        }
        let mut state = self.state.lock();
        let starts_turn = mail.turn.is_some();
        let is_full = state.busy() >= self.settings.max_agents;
        let uses = state.next_use();
        let member = state.members.get_mut(&path);
        let member = member.ok_or_else(|| not_found(&path.0))?;
        match &mut member.residence {
            Residence::Closed => return Err(member_closed(&path)),
            Residence::Stored { .. } if starts_turn => {
                return Ok(Delivery::NeedsLoading(member.id.clone()));
            }
            Residence::Loaded(agent) if starts_turn => {
                if !agent.is_busy() && is_full {
                    return Err(TeamError::Limit);
                }
                member.mailbox.put(mail)?;
                agent.is_due = true;
                agent.last_use = uses;
                if !agent.thread.try_wake() {
                    return Err(not_found(&path.0));
                }
            }
            _ => member.mailbox.put(mail)?,
        }
        Ok(Delivery::Done(member.id.clone()))
    }

    /// A turn of an agent has ended.
    pub fn turn_ended(&self, path: &AgentPath) {
        let mut state = self.state.lock();
        let uses = state.next_use();
        if let Some(Residence::Loaded(agent)) = state
            .members
            .get_mut(path)
            .map(|member| &mut member.residence)
        {
            agent.is_due = false;
            agent.last_use = uses;
        }
    }

    /// The root and the agents that are `top` or below it, without those that were closed.
    pub fn list(&self, top: &AgentPath) -> Vec<ListedAgent> {
        let mut listed = Vec::new();
        if let Some(root) = self.root.get()
            && *top == root_path()
        {
            listed.push(ListedAgent {
                agent_name: root_path().0,
                agent_status: root.status.borrow().clone(),
                last_task_message: Some("Main thread"),
            });
        }
        let state = self.state.lock();
        let within = state
            .members
            .iter()
            .filter(|(path, member)| is_within(path, top) && !member.is_closed());
        listed.extend(within.map(|(path, member)| ListedAgent {
            agent_name: path.0.clone(),
            agent_status: member.residence.status(),
            last_task_message: None,
        }));
        listed
    }

    /// Interrupts the turn of an agent, if it has one. Returns its thread and what it did.
    pub fn interrupt(
        &self,
        path: &AgentPath,
        submission: String,
    ) -> Result<(ThreadId, AgentStatus), TeamError> {
        if *path == root_path() {
            return Err(TeamError::Root);
        }
        let state = self.state.lock();
        let member = state.members.get(path).ok_or_else(|| not_found(&path.0))?;
        if member.is_closed() {
            return Err(member_closed(path));
        }
        let status = member.residence.status();
        if let Residence::Loaded(agent) = &member.residence
            && agent.is_busy()
        {
            let interrupt = Submission {
                id: submission,
                op: Op::Interrupt,
                trace: None,
            };
            if !agent.thread.try_submit(interrupt) {
                return Err(not_found(&path.0));
            }
        }
        Ok((member.id.clone(), status))
    }

    /// Ends all agents, and waits until they have ended. No more are started.
    pub async fn close(&self) {
        let ending = self.state.lock().close();
        futures::future::join_all(ending).await;
    }
}

impl TeamState {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// The number of agents that work.
    fn busy(&self) -> usize {
        let is_busy = |member: &&Member| match &member.residence {
            Residence::Starting => true,
            Residence::Loaded(agent) => agent.is_busy(),
            Residence::Stored { .. } | Residence::Closed => false,
        };
        self.members.values().filter(is_busy).count()
    }

    /// Makes room for one more agent that works, by unloading the one that was idle longest.
    fn make_room(&mut self, settings: &TeamSettings) -> Result<(), TeamError> {
        if self.is_closed {
            return Err(TeamError::Closed);
        }
        if self.busy() >= settings.max_agents {
            return Err(TeamError::Limit);
        }
        self.forget_ended();
        let is_resident = |member: &&Member| {
            matches!(member.residence, Residence::Starting | Residence::Loaded(_))
        };
        if self.members.values().filter(is_resident).count() < settings.max_agents {
            return Ok(());
        }
        let idle = self.members.values_mut().filter_map(|member| {
            let use_ = member.idle_since()?;
            Some((use_, member))
        });
        let (_, longest) = idle.min_by_key(|(use_, _)| *use_).ok_or(TeamError::Limit)?;
        longest.unload();
        Ok(())
    }

    /// Agents whose session has ended by itself are in their files alone.
    fn forget_ended(&mut self) {
        for member in self.members.values_mut() {
            if matches!(&member.residence, Residence::Loaded(agent) if agent.thread.has_ended()) {
                member.unload();
            }
        }
    }

    fn close(&mut self) -> Vec<SessionEnd> {
        self.is_closed = true;
        let members = std::mem::take(&mut self.members);
        let loaded = members
            .into_values()
            .filter_map(|mut member| member.unload());
        loaded.collect()
    }
}

impl Member {
    fn is_closed(&self) -> bool {
        matches!(self.residence, Residence::Closed)
    }

    /// When the agent was used last, if it can be unloaded.
    fn idle_since(&self) -> Option<u64> {
        let Residence::Loaded(agent) = &self.residence else {
            return None;
        };
        let can_go = !agent.is_busy() && self.mailbox.is_empty() && agent.thread.is_stored();
        can_go.then_some(agent.last_use)
    }

    /// Ends the session, if the agent is loaded.
    fn unload(&mut self) -> Option<SessionEnd> {
        let Residence::Loaded(agent) = &self.residence else {
            return None;
        };
        let former = agent.thread.end();
        let status = self.residence.status();
        self.residence = Residence::Stored {
            status,
            former: Some(former.clone()),
        };
        Some(former)
    }
}

impl Residence {
    fn status(&self) -> AgentStatus {
        match self {
            Self::Starting => AgentStatus::PendingInit,
            Self::Loaded(agent) => agent.status.borrow().clone(),
            Self::Stored { status, .. } => status.clone(),
            Self::Closed => AgentStatus::Shutdown,
        }
    }
}

impl LoadedAgent {
    fn is_busy(&self) -> bool {
        let works = |status: &AgentStatus| *status == AgentStatus::Running;
        self.is_due || works(&self.status.borrow())
    }
}

impl Reservation {
    /// Places the started agent. Dropping `cancel` ends it. A turn is about to start if there is a task for it.
    pub fn fill(mut self, thread: AgentThread, cancel: DropGuard) -> TeamSeat {
        self.is_used = true;
        let mut state = self.seat.team.state.lock();
        let last_use = state.next_use();
        let is_closed = state.is_closed;
        if let Some(member) = state.members.get_mut(&self.seat.path)
            && !is_closed
            && !member.is_closed()
        {
            member.residence = Residence::Loaded(LoadedAgent {
                status: thread.status(),
                thread,
                is_due: true,
                last_use,
                _cancel: cancel,
            });
        }
        drop(state);
        self.seat.clone()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        let mut state = self.seat.team.state.lock();
        match self.otherwise.take() {
            None => state.forget_unstarted(&self.seat.path),
            Some(status) => {
                if let Some(member) = state.members.get_mut(&self.seat.path)
                    && !member.is_closed()
                {
                    let former = None;
                    member.residence = Residence::Stored { status, former };
                }
            }
        }
    }
}

fn member_closed(path: &AgentPath) -> TeamError {
    TeamError::MemberClosed(path.0.clone())
}

fn not_found(path: &str) -> TeamError {
    TeamError::NotFound(path.to_owned())
}
