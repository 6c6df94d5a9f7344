//! What all connections share: the clients, the loaded threads, the questions that are open.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{SkillsChangedNotification, ThreadStatus};
use codex_file_watch::Watcher;
use tokio::sync::Notify;

use crate::connection::{Connection, ConnectionId, encode};
use crate::host::Host;
use crate::message::Message;
use crate::outbox::Limits;
use crate::projection::Turns;
use crate::questions::{ClientTokens, OpenQuestions};
use crate::thread::{Outlines, ThreadHandle};

/// The server, apart from its transports.
#[derive(Debug)]
pub struct Server {
    host: Arc<dyn Host>,
    clients: Mutex<BTreeMap<ConnectionId, Arc<Connection>>>,
    threads: Mutex<HashMap<String, ThreadHandle>>,
    questions: Mutex<HashMap<i64, ThreadHandle>>,
    own_questions: OpenQuestions,
    next_question: AtomicI64,
    next_connection: AtomicU64,
    watcher: Mutex<Option<Arc<Watcher>>>,
    /// Somebody was told something of all threads, their status for instance.
    told: Notify,
    outlines: Outlines,
    is_ending: AtomicBool,
}

impl Server {
    /// A server without clients and threads.
    #[must_use]
    pub fn new(host: Arc<dyn Host>) -> Arc<Self> {
        let server = Arc::new(Self {
            host,
            own_questions: OpenQuestions::default(),
            clients: Mutex::default(),
            threads: Mutex::default(),
            questions: Mutex::default(),
            next_question: AtomicI64::new(0),
            next_connection: AtomicU64::new(0),
            watcher: Mutex::default(),
            told: Notify::new(),
            outlines: Outlines::default(),
            is_ending: AtomicBool::new(false),
        });
        let told = Arc::downgrade(&server);
        server.host.skills().on_change(move || {
            if let Some(server) = told.upgrade() {
                let changed = SkillsChangedNotification {};
                server.broadcast(&ServerNotification::SkillsChanged(changed));
            }
        });
        let keeper = ClientTokens(Arc::downgrade(&server));
        server.host.accounts().set_keeper(Arc::new(keeper));
        server
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// The outlines of stored threads.
    pub(crate) fn outlines(&self) -> &Outlines {
        &self.outlines
    }

    /// Tells what changes in files. Made when it is first wanted.
    pub(crate) fn watcher(&self) -> io::Result<Arc<Watcher>> {
        let mut watcher = lock(&self.watcher);
        if let Some(watcher) = &*watcher {
            return Ok(Arc::clone(watcher));
        }
        let made = Arc::new(Watcher::new()?);
        *watcher = Some(Arc::clone(&made));
        Ok(made)
    }

    pub(crate) fn connect(&self, limits: Limits) -> Arc<Connection> {
        let id = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let connection = Connection::new(id, limits);
        lock(&self.clients).insert(id, Arc::clone(&connection));
        connection
    }

    /// A client is gone: its threads go on without it, and unload when nobody else is there.
    pub(crate) async fn disconnect(&self, connection: &Connection) {
        connection.close();
        lock(&self.clients).remove(&connection.id());
        for thread in self.threads() {
            thread.leave(connection.id()).await;
        }
    }

    /// Tells every client that is past its handshake.
    pub(crate) fn broadcast(&self, notification: &ServerNotification) {
        self.broadcast_line(notification.method(), || encode(notification).into());
    }

    /// The same, of a thread that has no turns yet: these are put into it.
    pub(crate) fn broadcast_with(&self, notification: &ServerNotification, turns: &Turns) {
        let line = || turns.put_into(encode(notification));
        self.broadcast_line(notification.method(), line);
    }

    fn broadcast_line(&self, method: &str, line: impl FnOnce() -> Message) {
        let clients = lock(&self.clients);
        let wants = |client: &&Arc<Connection>| client.wants(method);
        let clients: Vec<_> = clients.values().filter(wants).cloned().collect();
        if !clients.is_empty() {
            let line = line();
            clients.iter().for_each(|client| client.tell(line.clone()));
        }
        self.told.notify_waiters();
    }

    pub(crate) fn thread(&self, id: &str) -> Option<ThreadHandle> {
        lock(&self.threads).get(id).cloned()
    }

    pub(crate) fn threads(&self) -> Vec<ThreadHandle> {
        lock(&self.threads).values().cloned().collect()
    }

    pub(crate) fn thread_ids(&self) -> Vec<String> {
        let mut ids: Vec<_> = lock(&self.threads).keys().cloned().collect();
        ids.sort();
        ids
    }

    pub(crate) fn add_thread(&self, id: String, thread: ThreadHandle) {
        lock(&self.threads).insert(id, thread);
    }

    pub(crate) fn remove_thread(&self, id: &str) {
        lock(&self.threads).remove(id);
    }

    /// The clients that are past their handshake.
    pub(crate) fn ready_clients(&self) -> Vec<Arc<Connection>> {
        let clients = lock(&self.clients);
        let ready = clients.values().filter(|client| client.client().is_some());
        ready.cloned().collect()
    }

    /// The questions of the server itself, which belong to no thread.
    pub(crate) fn own_questions(&self) -> &OpenQuestions {
        &self.own_questions
    }

    /// A number for a question.
    pub(crate) fn next_question(&self) -> i64 {
        self.next_question.fetch_add(1, Ordering::Relaxed)
    }

    /// A number for a question, the same for all who are asked.
    pub(crate) fn open_question(&self, thread: ThreadHandle) -> i64 {
        let id = self.next_question();
        lock(&self.questions).insert(id, thread);
        id
    }

    /// Who waits for the answer; only the first who asks is told.
    pub(crate) fn close_question(&self, id: i64) -> Option<ThreadHandle> {
        lock(&self.questions).remove(&id)
    }

    /// Waits until no turn runs. What was said of the last one is then on its way to the clients.
    pub(crate) async fn until_idle(&self) {
        loop {
            let told = self.told.notified();
            tokio::pin!(told);
            // From here on nothing that is told is missed.
            told.as_mut().enable();
            if !self.is_busy().await {
                return;
            }
            told.await;
        }
    }

    async fn is_busy(&self) -> bool {
        for thread in self.threads() {
            let snapshot = thread.describe().await;
            let status = snapshot.map(|snapshot| snapshot.thread.status);
            if matches!(status, Some(ThreadStatus::Active { .. })) {
                return true;
            }
        }
        false
    }

    /// Nothing more is said to any client.
    pub(crate) fn close_connections(&self) {
        for client in lock(&self.clients).values() {
            client.outbox().close();
        }
    }

    /// Whether all threads end because the server does, which is no news of any of them.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Ends every thread: turns are interrupted, logs written, processes stopped.
    pub(crate) async fn shut_down(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
        let closing: Vec<_> = self
            .threads()
            .into_iter()
            .map(|thread| tokio::spawn(async move { thread.close().await }))
            .collect();
        for thread in closing {
            let _ = thread.await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single insertion or removal: a panic leaves nothing half-done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
