//! The state that all connections share: clients, loaded threads, open questions.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::SkillsChangedNotification;
use codex_file_watch::Watcher;
use codex_plugins::FolderReads;
use codex_projection::{Turns, queued_by_others};
use codex_protocol::Release;
use codex_thread_state::ThreadState;
use codex_transport::Limits;
use parking_lot::Mutex;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, OwnedMutexGuard};

use crate::client_hooks::ClientHookRegistry;
use crate::client_tokens::ClientTokens;
use crate::clients::Clients;
use crate::connection::{Connection, ConnectionId, encode_notification};
use crate::first_turns::FirstTurns;
use crate::host::Host;
use crate::open_requests::OpenRequests;
use crate::thread::{Outlines, ThreadHandle};

/// The server, apart from its transports.
#[derive(Debug)]
pub struct AppServer {
    host: Arc<dyn Host>,
    clients: Arc<Clients>,
    threads: Mutex<HashMap<String, ThreadHandle>>,
    /// Threads that are being loaded.
    loading: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    questions: Mutex<HashMap<i64, ThreadHandle>>,
    own_requests: Arc<OpenRequests>,
    client_hooks: Arc<ClientHookRegistry>,
    watcher: Mutex<Option<Arc<Watcher>>>,
    /// Notified after each broadcast: the status of a thread may have changed.
    broadcasts: Notify,
    outlines: Outlines,
    folder_reads: Arc<FolderReads>,
    updates_marketplaces: AtomicBool,
    is_ending: AtomicBool,
    /// Held by each running request, and by each that waits for one before it.
    running_requests: Arc<()>,
    waiting_requests: Arc<()>,
    state: Arc<ThreadState>,
    /// The release of clients that do not say theirs, if it is given.
    client_release: Mutex<Option<Release>>,
    first_turns: FirstTurns,
}

impl AppServer {
    /// A server without clients and threads.
    #[must_use]
    pub fn new(host: Arc<dyn Host>) -> Arc<Self> {
        let state = Arc::new(ThreadState::of_home(host.store().home(), queued_by_others));
        let own_requests = Arc::<OpenRequests>::default();
        let server = Arc::new(Self {
            client_hooks: Arc::new(ClientHookRegistry::new(Arc::clone(&own_requests))),
            outlines: Outlines::of_home(host.store().home()),
            client_release: Mutex::new(host.client_release()),
            host,
            state,
            own_requests,
            clients: Arc::default(),
            threads: Mutex::default(),
            loading: Mutex::default(),
            folder_reads: Arc::default(),
            updates_marketplaces: AtomicBool::new(false),
            questions: Mutex::default(),
            first_turns: FirstTurns::default(),
            watcher: Mutex::default(),
            broadcasts: Notify::new(),
            is_ending: AtomicBool::new(false),
            running_requests: Arc::default(),
            waiting_requests: Arc::default(),
        });
        let weak = Arc::downgrade(&server);
        server.host.skills().on_change(move || {
            if let Some(server) = weak.upgrade() {
                let changed = SkillsChangedNotification {};
                server.broadcast(&ServerNotification::SkillsChanged(changed));
            }
        });
        let client_tokens = ClientTokens {
            clients: Arc::clone(&server.clients),
            requests: Arc::clone(&server.own_requests),
        };
        server
            .host
            .accounts()
            .set_token_refresher(Arc::new(client_tokens));
        server
    }

    /// Sets the release of clients that do not say theirs, in place of that of the settings. What they show does not
    /// count then.
    pub fn set_client_release(&self, release: Release) {
        *self.client_release.lock() = Some(release);
    }

    /// Threads whose first message is not stored yet.
    pub(crate) fn first_turns(&self) -> &FirstTurns {
        &self.first_turns
    }

    /// Counts a request for as long as the value is kept.
    pub(crate) fn count_request(&self) -> Arc<()> {
        Arc::clone(&self.running_requests)
    }

    /// The number of running requests.
    pub(crate) fn running_requests(&self) -> usize {
        Arc::strong_count(&self.running_requests) - 1
    }

    /// Counts a request that waits for one before it, for as long as the value is kept.
    pub(crate) fn count_waiting_request(&self) -> Arc<()> {
        Arc::clone(&self.waiting_requests)
    }

    /// The number of requests that wait for one before them. They count as running too.
    pub(crate) fn waiting_requests(&self) -> usize {
        Arc::strong_count(&self.waiting_requests) - 1
    }

    /// Data that users and clients attach to threads.
    pub(crate) fn state(&self) -> &Arc<ThreadState> {
        &self.state
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// The outlines of stored threads.
    pub(crate) fn outlines(&self) -> &Outlines {
        &self.outlines
    }

    /// The file watcher, created on first use.
    pub(crate) fn watcher(&self) -> io::Result<Arc<Watcher>> {
        let mut watcher = self.watcher.lock();
        if let Some(watcher) = &*watcher {
            return Ok(Arc::clone(watcher));
        }
        let made = Arc::new(Watcher::new()?);
        *watcher = Some(Arc::clone(&made));
        Ok(made)
    }

    pub(crate) fn connect(&self, limits: Limits) -> Arc<Connection> {
        let release = *self.client_release.lock();
        self.clients.connect(limits, release)
    }

    /// Forgets a client that has disconnected.
    pub(crate) fn remove_client(&self, id: ConnectionId) {
        if let Some(connection) = self.clients.remove(id) {
            connection.close();
        }
        self.client_hooks.disconnect(id);
    }

    /// Notifies every client that has completed its handshake.
    pub(crate) fn broadcast(&self, notification: &ServerNotification) {
        self.clients.broadcast_change(&notification.clone().into());
        self.broadcasts.notify_waiters();
    }

    /// Broadcasts to those clients alone.
    pub(crate) fn broadcast_to(
        &self,
        notification: &ServerNotification,
        is_wanted: impl Fn(&Connection) -> bool,
    ) {
        let line = || encode_notification(notification).into();
        self.clients
            .broadcast(notification.method(), is_wanted, line);
        self.broadcasts.notify_waiters();
    }

    /// Broadcasts that a fork was started, with its turns where clients expect them.
    pub(crate) fn broadcast_with(&self, notification: &ServerNotification, turns: &Turns) {
        let method = notification.method();
        let line = || encode_notification(notification).into();
        let has_turns = |client: &Connection| client.dialect().started_forks_have_turns();
        self.clients
            .broadcast(method, |client| !has_turns(client), line);
        let line = || turns.put_into(encode_notification(notification));
        self.clients.broadcast(method, has_turns, line);
        self.broadcasts.notify_waiters();
    }

    pub(crate) fn thread(&self, id: &str) -> Option<ThreadHandle> {
        self.threads.lock().get(id).cloned()
    }

    pub(crate) fn threads(&self) -> Vec<ThreadHandle> {
        self.threads.lock().values().cloned().collect()
    }

    pub(crate) fn thread_ids(&self) -> Vec<String> {
        let mut ids: Vec<_> = self.threads.lock().keys().cloned().collect();
        ids.sort();
        ids
    }

    pub(crate) fn add_thread(&self, id: String, thread: ThreadHandle) {
        self.threads.lock().insert(id, thread);
    }

    /// Waits until no other client loads a thread. It is loaded before the result is dropped.
    pub(crate) async fn begin_loading(&self, id: &str) -> OwnedMutexGuard<()> {
        let loading = {
            let mut all = self.loading.lock();
            all.retain(|_, loading| loading.strong_count() > 0);
            let known = all.get(id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let loading = Arc::default();
                all.insert(id.to_owned(), Arc::downgrade(&loading));
                loading
            })
        };
        loading.lock_owned().await
    }

    pub(crate) fn remove_thread(&self, id: &str) {
        self.threads.lock().remove(id);
    }

    /// Whether marketplaces are to be brought up to date now, which happens once.
    pub(crate) fn begin_marketplace_updates(&self) -> bool {
        !self.updates_marketplaces.swap(true, Ordering::Relaxed)
    }

    /// Reads folders of marketplaces.
    pub(crate) fn folder_reads(&self) -> &Arc<FolderReads> {
        &self.folder_reads
    }

    /// The hooks that clients have registered.
    pub(crate) fn client_hooks(&self) -> &Arc<ClientHookRegistry> {
        &self.client_hooks
    }

    /// Requests of the server that belong to no thread.
    pub(crate) fn own_requests(&self) -> &OpenRequests {
        &self.own_requests
    }

    /// Registers a question of a thread. All clients get it with the same id.
    pub(crate) fn open_question(&self, thread: ThreadHandle) -> i64 {
        let id = self.own_requests.next_id();
        self.questions.lock().insert(id, thread);
        id
    }

    /// The thread of an open question.
    pub(crate) fn question(&self, id: i64) -> Option<ThreadHandle> {
        self.questions.lock().get(&id).cloned()
    }

    /// Removes a question that is settled.
    pub(crate) fn close_question(&self, id: i64) {
        self.questions.lock().remove(&id);
    }

    /// Sends nothing more to any client.
    pub(crate) fn close_connections(&self) {
        self.clients.close();
    }

    /// Whether the server shuts down: threads that end then are not reported.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Threads that end from now on are not reported.
    pub(crate) fn begin_end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// The next broadcast.
    pub(crate) fn next_broadcast(&self) -> Notified<'_> {
        self.broadcasts.notified()
    }
}
