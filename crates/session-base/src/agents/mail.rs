//! Messages between agents, and where they wait for their receiver.

use std::collections::VecDeque;

use codex_protocol::{
    AgentMessagePart, AgentPath, AgentStatus, ResponseItem, SubAgentActivityEvent,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

/// How many messages may wait for an agent.
const LIMIT: usize = 512;

/// A message to an agent.
#[derive(Clone, Debug)]
pub struct AgentMail {
    pub author: AgentPath,
    pub recipient: AgentPath,
    content: AgentMessagePart,
    /// If the receiver should start a turn for it: the turn whose work that is part of.
    pub turn: Option<MailTurn>,
    /// If it is the result of a turn: what clients of the receiver are told.
    ended: Option<Box<SubAgentActivityEvent>>,
}

/// The turn that a message asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MailTurn {
    /// The turn whose work it is part of.
    pub root_turn_id: Option<String>,
}

/// Too many messages wait for the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many messages wait for the agent")]
pub struct MailboxFull;

impl AgentMail {
    /// What a model wrote. Its server may have encrypted the text.
    pub fn written(
        author: AgentPath,
        recipient: AgentPath,
        text: String,
        turn: Option<MailTurn>,
    ) -> Self {
        Self {
            author,
            recipient,
            content: AgentMessagePart::EncryptedContent {
                encrypted_content: text,
            },
            turn,
            ended: None,
        }
    }

    /// The message that a turn of an agent has ended, and its text.
    pub fn result(
        ended: SubAgentActivityEvent,
        recipient: AgentPath,
        status: &AgentStatus,
    ) -> (Self, String) {
        let text = result_text(&ended.agent_path.0, status);
        let mail = Self {
            author: ended.agent_path.clone(),
            recipient,
            content: AgentMessagePart::InputText { text: text.clone() },
            turn: None,
            ended: Some(Box::new(ended)),
        };
        (mail, text)
    }

    /// The item for the model of the receiver, and what its clients are told.
    pub fn into_parts(self) -> (ResponseItem, Option<SubAgentActivityEvent>) {
        let item = ResponseItem::AgentMessage {
            author: self.author.0,
            recipient: self.recipient.0,
            content: vec![self.content],
            id: None,
        };
        (item, self.ended.map(|ended| *ended))
    }
}

/// The text that an agent, known by its path or id, is done.
pub fn result_text(agent: &str, status: &AgentStatus) -> String {
    let notification = json!({ "agent_path": agent, "status": status });
    format!("<subagent_notification>\n{notification}\n</subagent_notification>")
}

/// The messages that wait for an agent, in the order in which they arrived. It outlives the session of the agent.
#[derive(Debug, Default)]
pub struct Mailbox {
    waiting: Mutex<VecDeque<AgentMail>>,
    count: watch::Sender<usize>,
}

impl Mailbox {
    pub fn put(&self, mail: AgentMail) -> Result<(), MailboxFull> {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= LIMIT {
            return Err(MailboxFull);
        }
        waiting.push_back(mail);
        self.count.send_replace(waiting.len());
        Ok(())
    }

    /// Takes all messages.
    pub fn take(&self) -> VecDeque<AgentMail> {
        let mut waiting = self.waiting.lock();
        self.count.send_replace(0);
        std::mem::take(&mut waiting)
    }

    /// What clients are told about agents whose turns have ended. They are told once.
    pub fn take_ended(&self) -> Vec<SubAgentActivityEvent> {
        let mut waiting = self.waiting.lock();
        let ended = waiting.iter_mut().filter_map(|mail| mail.ended.take());
        ended.map(|ended| *ended).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// The turn that a message asks for, if one does. It is asked for once.
    pub fn take_turn(&self) -> Option<MailTurn> {
        let mut waiting = self.waiting.lock();
        let mut asked = waiting.iter_mut().filter_map(|mail| mail.turn.take());
        let first = asked.next();
        asked.for_each(drop);
        first
    }

    /// Waits until a message is there.
    pub async fn arrived(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count > 0).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::paths::root_path;

    #[test]
    fn a_turn_is_asked_for_once() {
        let mailbox = Mailbox::default();
        let mail = |turn| AgentMail::written(root_path(), root_path(), "x".to_owned(), turn);
        mailbox.put(mail(None)).unwrap();
        assert_eq!(mailbox.take_turn(), None);
        for id in ["1", "2"] {
            let root_turn_id = Some(id.to_owned());
            mailbox.put(mail(Some(MailTurn { root_turn_id }))).unwrap();
        }
        let turn = mailbox.take_turn().unwrap();
        assert_eq!(turn.root_turn_id.as_deref(), Some("1"));
        assert_eq!(mailbox.take_turn(), None);
        assert_eq!(mailbox.take().len(), 3);
        assert!(mailbox.is_empty());
    }

    #[test]
    fn a_mailbox_is_bounded() {
        let mailbox = Mailbox::default();
        let mail = || AgentMail::written(root_path(), root_path(), String::new(), None);
        (0..LIMIT).for_each(|_| mailbox.put(mail()).unwrap());
        assert_eq!(mailbox.put(mail()), Err(MailboxFull));
    }
}
