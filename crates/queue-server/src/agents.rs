//! The agents of a session. A client of the queue protocol sees one thread, so of an agent it gets only the questions
//! that wait for an answer.
//!
//! A model chooses the ids of its calls, so those of two threads may be the same. The ids of questions of an agent
//! begin with the id of its thread: no answer reaches another thread than the one that asked.

use std::collections::HashMap;

use codex_core::{SpawnedAgent, StartedThread, Thread};
use codex_protocol::{Event, EventMsg, Op};
use futures::future::BoxFuture;
use tokio::sync::mpsc;

/// Between the id of a thread and that of its question.
const SEPARATOR: char = ':';

/// How many questions may wait for the client to read.
const MAX_WAITING_QUESTIONS: usize = 16;

/// The agents of a session that have asked something and run.
pub(crate) struct AgentQuestions {
    asked: HashMap<String, Thread>,
    sender: mpsc::Sender<AgentNews>,
    news: mpsc::Receiver<AgentNews>,
}

/// What an agent has for the client.
enum AgentNews {
    Question(Box<Event>, Thread),
    /// The agent with this id has ended.
    Ended(String),
}

impl AgentQuestions {
    pub(crate) fn new() -> Self {
        let (sender, news) = mpsc::channel(MAX_WAITING_QUESTIONS);
        Self {
            asked: HashMap::new(),
            sender,
            news,
        }
    }

    /// Listens to the questions of an agent, and of the agents that it starts.
    pub(crate) fn add(&self, agent: SpawnedAgent) {
        tokio::spawn(listen(agent.started, self.sender.clone()));
    }

    /// The next question. Cancel safe.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            match self.news.recv().await {
                Some(AgentNews::Question(event, agent)) => {
                    self.asked.insert(agent.id().to_string(), agent);
                    return *event;
                }
                Some(AgentNews::Ended(id)) => drop(self.asked.remove(&id)),
                // There is a sender as long as this is.
                None => std::future::pending().await,
            }
        }
    }

    /// The agent that an operation answers; the operation then has the id that the agent knows.
    pub(crate) fn answered(&self, op: &mut Op) -> Option<&Thread> {
        let id = match op {
            Op::ExecApproval { id, .. }
            | Op::PatchApproval { id, .. }
            | Op::UserInputAnswer { id, .. }
            | Op::RequestPermissionsResponse { id, .. }
            | Op::DynamicToolResponse { id, .. } => id,
            Op::ResolveElicitation(resolved) => &mut resolved.server_name,
            _ => return None,
        };
        let (thread, own) = id.split_once(SEPARATOR)?;
        let agent = self.asked.get(thread)?;
        *id = own.to_owned();
        Some(agent)
    }
}

/// Passes on the questions of an agent until it ends.
async fn listen(started: StartedThread, sender: mpsc::Sender<AgentNews>) {
    let StartedThread {
        thread,
        mut events,
        mut agents,
        ..
    } = started;
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            open = events.next_batch(&mut batch) => {
                for mut event in batch.drain(..) {
                    if mark_question(&mut event.msg, thread.id().as_str()) {
                        let asked = AgentNews::Question(Box::new(event), thread.clone());
                        // Without a session there is nobody to ask.
                        let _ = sender.send(asked).await;
                    }
                }
                if !open {
                    break;
                }
            }
            Some(agent) = agents.recv() => {
                tokio::spawn(boxed(agent.started, sender.clone()));
            }
        }
    }
    let _ = sender.send(AgentNews::Ended(thread.id().to_string())).await;
}

/// Breaks the recursion of types.
fn boxed(started: StartedThread, sender: mpsc::Sender<AgentNews>) -> BoxFuture<'static, ()> {
    Box::pin(listen(started, sender))
}

/// Whether an event asks for an answer, or needs none any more. If so, its ids begin with that of the thread.
fn mark_question(msg: &mut EventMsg, thread: &str) -> bool {
    let mark = |id: &mut String| id.insert_str(0, &format!("{thread}{SEPARATOR}"));
    match msg {
        EventMsg::ExecApprovalRequest(asked) => {
            mark(&mut asked.call_id);
            asked.approval_id.as_mut().map(mark);
        }
        EventMsg::ExecApprovalWithdrawn(withdrawn) => mark(&mut withdrawn.call_id),
        EventMsg::ApplyPatchApprovalRequest(asked) => mark(&mut asked.call_id),
        EventMsg::RequestPermissions(asked) => mark(&mut asked.call_id),
        EventMsg::RequestUserInput(asked) => {
            mark(&mut asked.call_id);
            mark(&mut asked.turn_id);
        }
        EventMsg::ElicitationRequest(asked) => mark(&mut asked.server_name),
        EventMsg::DynamicToolCallRequest(asked) => mark(&mut asked.call_id),
        _ => return false,
    }
    true
}
