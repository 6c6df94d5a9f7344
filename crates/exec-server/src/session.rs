//! What outlives a connection: a session with its processes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use codex_transport::Outbox;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::machine::LocalMachine;
use crate::process::SessionProcess;
use crate::refusal::Refusal;
use crate::requests::ProcessStart;

/// How long a session is kept without a connection. A client gives its machine up after 45 seconds.
const RETENTION_TIME: Duration = Duration::from_secs(120);

/// How many sessions there may be.
const MOST_SESSIONS: usize = 256;

/// How many commands of a session may run.
const MOST_RUNNING: usize = 512;

/// How many commands a session remembers by their ids.
const MOST_PROCESSES: usize = 100_000;

/// Of how many ended commands the output is kept.
const ENDED_WITH_OUTPUT: usize = 64;

/// Where the messages of a session go: to the client that is connected, if one is.
#[derive(Debug)]
pub(crate) struct Link {
    client: Mutex<Option<(u64, Arc<Outbox>)>>,
    changed: Notify,
    is_ended: watch::Sender<bool>,
}

impl Link {
    fn new() -> Self {
        Self {
            client: Mutex::new(None),
            changed: Notify::new(),
            is_ended: watch::Sender::new(false),
        }
    }

    /// Sends a notification, if a client is connected.
    pub(crate) fn notify(&self, method: &str, params: Value) {
        if let Some((_, outbox)) = &*self.client.lock() {
            outbox.push_notification(line(&json!({ "method": method, "params": params })));
        }
    }

    /// Waits while the client that is connected does not read.
    pub(crate) async fn until_room(&self) {
        let outbox = self
            .client
            .lock()
            .as_ref()
            .map(|(_, outbox)| Arc::clone(outbox));
        if let Some(outbox) = outbox {
            tokio::select! {
                _ = outbox.room() => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// Waits until the session has ended.
    pub(crate) async fn until_ended(&self) {
        // The sender is in this value, so there is an answer.
        self.is_ended
            .subscribe()
            .wait_for(|ended| *ended)
            .await
            .ok();
    }
}

/// A message as a line.
pub(crate) fn line(message: &Value) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// A session: its processes, and the client that is connected.
#[derive(Debug)]
pub(crate) struct ProcessSession {
    id: String,
    pub(crate) link: Arc<Link>,
    processes: Mutex<HashMap<String, ProcessEntry>>,
    /// How often a client has left it.
    departures: AtomicU64,
}

#[derive(Debug, Clone)]
enum ProcessEntry {
    Starting,
    Started(Arc<SessionProcess>),
}

impl Drop for ProcessSession {
    fn drop(&mut self) {
        self.link.is_ended.send_replace(true);
    }
}

impl ProcessSession {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Starts a command under an id that was never used.
    pub(crate) async fn start(
        &self,
        machine: &LocalMachine,
        params: ProcessStart,
    ) -> Result<Value, Refusal> {
        let id = params.process_id.clone();
        self.reserve(&id)?;
        // Given back if the request is dropped or fails.
        let mut reservation = ProcessReservation {
            session: self,
            id: Some(id.clone()),
        };
        let process = SessionProcess::start(machine, params, Arc::clone(&self.link)).await?;
        let reply = json!({ "processId": id, "sandboxType": process.sandbox_name() });
        reservation.id = None;
        self.processes
            .lock()
            .insert(id, ProcessEntry::Started(process));
        Ok(reply)
    }

    fn reserve(&self, id: &str) -> Result<(), Refusal> {
        let mut processes = self.processes.lock();
        if processes.contains_key(id) {
            return Err(Refusal::invalid(format!(
                "there is a process `{id}` already"
            )));
        }
        if processes.len() >= MOST_PROCESSES {
            return Err(Refusal::invalid("this session has had too many processes"));
        }
        let (ended, running): (Vec<_>, Vec<_>) =
            (processes.values()).partition(|entry| match entry {
                ProcessEntry::Starting => false,
                ProcessEntry::Started(process) => process.is_closed(),
            });
        if running.len() >= MOST_RUNNING {
            return Err(Refusal::invalid(format!(
                "{MOST_RUNNING} processes run already"
            )));
        }
        if ended.len() > ENDED_WITH_OUTPUT {
            for entry in ended {
                if let ProcessEntry::Started(process) = entry {
                    process.forget_output();
                }
            }
        }
        processes.insert(id.to_owned(), ProcessEntry::Starting);
        Ok(())
    }

    /// A command; none if there is none with this id, or if it has not started yet.
    pub(crate) fn process(&self, id: &str) -> Option<Arc<SessionProcess>> {
        match self.processes.lock().get(id)? {
            ProcessEntry::Starting => None,
            ProcessEntry::Started(process) => Some(Arc::clone(process)),
        }
    }

    pub(crate) fn is_starting(&self, id: &str) -> bool {
        matches!(self.processes.lock().get(id), Some(ProcessEntry::Starting))
    }
}

struct ProcessReservation<'a> {
    session: &'a ProcessSession,
    id: Option<String>,
}

impl Drop for ProcessReservation<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.session.processes.lock().remove(id);
        }
    }
}

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    all: Mutex<HashMap<String, Arc<ProcessSession>>>,
}

impl Sessions {
    /// A new session for a client.
    pub(crate) fn open(
        &self,
        client: u64,
        outbox: Arc<Outbox>,
    ) -> Result<Arc<ProcessSession>, Refusal> {
        let mut all = self.all.lock();
        if all.len() >= MOST_SESSIONS {
            return Err(Refusal::invalid(format!(
                "there are {MOST_SESSIONS} sessions already"
            )));
        }
        let session = Arc::new(ProcessSession {
            id: uuid::Uuid::new_v4().to_string(),
            link: Arc::new(Link::new()),
            processes: Mutex::default(),
            departures: AtomicU64::new(0),
        });
        *session.link.client.lock() = Some((client, outbox));
        all.insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    /// A session that a lost connection has left.
    pub(crate) fn resume(
        &self,
        id: &str,
        client: u64,
        outbox: Arc<Outbox>,
    ) -> Result<Arc<ProcessSession>, Refusal> {
        let all = self.all.lock();
        let session = all.get(id);
        let session =
            session.ok_or_else(|| Refusal::invalid(format!("there is no session `{id}`")))?;
        let mut connected = session.link.client.lock();
        if connected.is_some() {
            return Err(Refusal::in_use("another connection has this session"));
        }
        *connected = Some((client, outbox));
        Ok(Arc::clone(session))
    }

    /// Leaves the session of a client that is gone. It ends if nobody comes back to it.
    pub(crate) fn leave(self: &Arc<Self>, client: u64) {
        let all = self.all.lock();
        for session in all.values() {
            let mut connected = session.link.client.lock();
            if connected.as_ref().is_some_and(|(id, _)| *id == client) {
                *connected = None;
                session.link.changed.notify_waiters();
                let departure = session.departures.fetch_add(1, Ordering::Relaxed) + 1;
                tokio::spawn(Arc::clone(self).end_if_nobody_comes(session.id.clone(), departure));
            }
        }
    }

    async fn end_if_nobody_comes(self: Arc<Self>, id: String, departure: u64) {
        tokio::time::sleep(RETENTION_TIME).await;
        let mut all = self.all.lock();
        let is_left = all.get(&id).is_some_and(|session| {
            // Who came back and left again is waited for anew.
            session.departures.load(Ordering::Relaxed) == departure
                && session.link.client.lock().is_none()
        });
        if is_left {
            all.remove(&id);
        }
    }

    /// Ends all sessions.
    pub(crate) fn end_all(&self) {
        let all = std::mem::take(&mut *self.all.lock());
        for session in all.into_values() {
            session.link.is_ended.send_replace(true);
        }
    }
}
