//! The team that a thread is in: agents with paths are started and loaded for its tools, messages start turns, and the
//! end of a turn of an agent is reported.

use codex_protocol::{
    AgentStatus, RolloutItem, SessionSource, SubAgentActivityEvent, SubAgentActivityKind,
    SubAgentSource, ThreadId, UserMessageEvent,
};
use codex_session_base::agents::{
    AgentMail, AgentSource, AgentStartError, AgentTree, Delivery, MailTurn, NewMember, Reservation,
    StartedMember, StoredAgent, parent_path,
};
use codex_session_base::history::developer_message;
use codex_session_base::input::TurnInput;
use codex_session_base::ports::AgentResult;
use codex_session_base::stored_thread::StoredLines;
use codex_session_base::thread::TaskKind;

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::state::{RunningTask, TurnOverrides};
use crate::thread_origin::{LaunchError, ThreadOrigin};

/// A message that asks for a turn is in the mailbox of the thread.
#[derive(Debug)]
pub(crate) struct TakeMail;

impl ThreadCall for TakeMail {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        session.start_for_mail().await;
    }
}

impl SessionActor {
    /// Starts an agent. It waits for its first task.
    pub(super) fn spawn_member(
        &mut self,
        agent: NewMember,
    ) -> Result<StartedMember, AgentStartError> {
        let seat = self.agent_tree.seat.clone();
        let seat = seat.ok_or(AgentStartError::NoTeam)?;
        let id = self.context.ids.thread();
        let reservation = seat.team.reserve(agent.path, id.clone())?;
        let random = self.context.clock.jitter();
        let nickname = self.children.name(&agent.nicknames, random);
        let mut origin = ThreadOrigin::new(id.clone(), agent.config);
        let inherits_context = has_context(&agent.lines);
        if !agent.lines.is_empty() {
            origin.lines = StoredLines::Read(agent.lines);
            origin.forked_from = Some(self.context.emitter.thread().clone());
        }
        origin.config.identity.source = self.member_source(
            &reservation,
            self.context.emitter.thread().clone(),
            Some(nickname.clone()),
            agent.role,
        );
        origin.agent_tree = self.member_tree(&reservation);
        if inherits_context {
            let hint = origin.agent_tree.hint();
            origin.note = hint.map(|hint| developer_message([hint.to_string()]));
        }
        self.start_member(origin, agent.first, reservation)?;
        Ok(StartedMember { id, nickname })
    }

    /// Loads an agent that is in its file alone.
    pub(super) fn load_member(&mut self, agent: StoredAgent) -> Result<(), AgentStartError> {
        let AgentSource { thread, first } = agent.source;
        let (id, meta) = (&thread.meta.id, &thread.meta);
        if self.launcher.is_loaded(id) {
            return Err(AgentStartError::InUse(id.clone()));
        }
        let parent = match &meta.source {
            SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
                parent_thread_id, ..
            }) => parent_thread_id.clone(),
            _ => return Err(AgentStartError::NoAgent(id.clone())),
        };
        let mut config = agent.config;
        config.options.base_instructions = thread
            .instructions
            .clone()
            .or(config.options.base_instructions);
        let (nickname, role) = (meta.agent_nickname.clone(), meta.agent_role.clone());
        config.identity.source = self.member_source(&agent.reservation, parent, nickname, role);
        let mut origin = ThreadOrigin::resumed(thread, config);
        origin.agent_tree = self.member_tree(&agent.reservation);
        Ok(self.start_member(origin, first, agent.reservation)?)
    }

    fn member_source(
        &self,
        reservation: &Reservation,
        parent_thread_id: ThreadId,
        agent_nickname: Option<String>,
        agent_role: Option<String>,
    ) -> SessionSource {
        let path = reservation.seat.path.clone();
        SessionSource::SubAgent(SubAgentSource::ThreadSpawn {
            parent_thread_id,
            depth: depth_of(&path.0),
            agent_path: Some(path),
            agent_nickname,
            agent_role,
        })
    }

    /// The position of an agent of this thread.
    pub(super) fn tree_of_agent(&self) -> AgentTree {
        let context = &self.context;
        (self.agent_tree).of_agent(context.emitter.thread(), &context.budget)
    }

    fn member_tree(&self, reservation: &Reservation) -> AgentTree {
        AgentTree {
            depth: depth_of(&reservation.seat.path.0),
            seat: Some(reservation.seat.clone()),
            ..self.tree_of_agent()
        }
    }

    fn start_member(
        &mut self,
        mut origin: ThreadOrigin,
        first: Option<UserMessageEvent>,
        reservation: Reservation,
    ) -> Result<(), LaunchError> {
        origin.config.identity.cache_root = Some(self.context.cache_root().clone());
        let (thread, cancel) = self.launch_agent(origin, first)?;
        reservation.fill(thread, cancel);
        Ok(())
    }

    /// Starts a turn if a message asks for one and nothing runs.
    pub(super) async fn start_for_mail(&mut self) {
        let is_free = self.idle().is_some() && self.queued_turns.is_empty();
        let seat = self.agent_tree.seat.as_ref().filter(|_| is_free);
        let Some(MailTurn { root_turn_id }) = seat.and_then(|seat| seat.mailbox.take_turn()) else {
            return;
        };
        let id = self.context.ids.submission();
        let overrides = TurnOverrides {
            root_turn_id,
            ..TurnOverrides::default()
        };
        self.begin(&id, TurnInput::default(), overrides).await;
    }

    /// Reports the end of a turn to the agent above, unless the turn was interrupted.
    pub(super) fn member_turn_ended(&self, ended: &RunningTask) {
        let Some(seat) = &self.agent_tree.seat else {
            return;
        };
        let Some(parent) = parent_path(&seat.path) else {
            return;
        };
        seat.team.turn_ended(&seat.path);
        let status = self.context.emitter.status().borrow().clone();
        let is_result = matches!(status, AgentStatus::Completed(_) | AgentStatus::Errored(_));
        if ended.kind != TaskKind::Regular || !is_result {
            return;
        }
        let turn = &ended.scope.settings.id;
        let activity = SubAgentActivityEvent {
            event_id: format!("subagent-completed-{turn}"),
            occurred_at_ms: self.context.clock.now().as_millisecond(),
            agent_thread_id: self.context.emitter.thread().clone(),
            agent_path: seat.path.clone(),
            kind: SubAgentActivityKind::Completed,
            closed: false,
            model: None,
            reasoning_effort: None,
        };
        let (mail, text) = AgentMail::result(activity, parent, &status);
        match seat.team.deliver(mail) {
            Ok(Delivery::Done(parent) | Delivery::NeedsLoading(parent)) => {
                if let Some(observer) = self.context.emitter.observer() {
                    observer.agent_result(&AgentResult {
                        turn,
                        parent: &parent,
                        path: &seat.path.0,
                        message: &text,
                        status: &status,
                    });
                }
            }
            Err(error) => tracing::warn!(%error, "the result of an agent was not delivered"),
        }
    }
}

/// Whether the last of these lines about it says that the model has the context.
fn has_context(lines: &[RolloutItem]) -> bool {
    let about = lines.iter().rev().find_map(|line| match line {
        RolloutItem::TurnContext(_) => Some(true),
        RolloutItem::Compacted(_) => Some(false),
        _ => None,
    });
    about.unwrap_or(false)
}

/// The number of agents above the one with this path.
fn depth_of(path: &str) -> i32 {
    let slashes = path.matches('/').count().saturating_sub(1);
    i32::try_from(slashes).unwrap_or(i32::MAX)
}
