//! The messages of one connection: the handshake, then requests, each answered once.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use codex_transport::{InputLine, MessageHandler, Outbox};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::facts::environment_info;
use crate::file_operation::perform_confined;
use crate::files::{FileOperation, OPEN_TO_WRITE, READ_BLOCK_OF_PATH, sandbox_of, typed};
use crate::handles::{Handles, blocking};
use crate::refusal::Refusal;
use crate::requests::{
    CloseFile, Initialize, ProcessRead, ProcessSignal, ProcessTerminate, ProcessWrite, WatchMissing,
};
use crate::server::MachineServer;
use crate::session::{ProcessSession, line};
use crate::watches::Watches;

/// How many reads of a connection may wait for output.
const MOST_WAITING: usize = 256;

/// How long requests may go on after the last message.
const LAST_REQUESTS: Duration = Duration::from_millis(250);

/// The messages of one client.
#[derive(Debug)]
pub struct ClientConnection {
    server: Arc<MachineServer>,
    client: u64,
    outbox: Arc<Outbox>,
    session: Option<Arc<ProcessSession>>,
    is_initialized: bool,
    slots: Arc<Semaphore>,
    state: Arc<RequestState>,
    running: JoinSet<()>,
}

/// What the requests of a connection share.
#[derive(Debug, Default)]
struct RequestState {
    handles: Mutex<Handles>,
    watches: Mutex<Watches>,
}

/// A message as it comes. Requests have an id and a method.
#[derive(Debug, Deserialize)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
}

impl ClientConnection {
    pub(crate) fn new(server: Arc<MachineServer>, client: u64, outbox: Arc<Outbox>) -> Self {
        let slots = Arc::new(Semaphore::new(server.concurrent_requests));
        Self {
            server,
            client,
            outbox,
            session: None,
            is_initialized: false,
            slots,
            state: Arc::default(),
            running: JoinSet::new(),
        }
    }

    async fn take_message(&mut self, message: Message) {
        let Some(method) = message.method else {
            // An answer to nothing that was asked.
            return;
        };
        let Some(id) = message.id else {
            if method == "initialized" && self.session.is_some() {
                self.is_initialized = true;
            }
            return;
        };
        if method == "initialize" {
            let reply = self.initialize(&message.params);
            return answer(&self.outbox, &id, reply);
        }
        let session = self.session.as_ref().filter(|_| self.is_initialized);
        let Some(session) = session.map(Arc::clone) else {
            let refusal = Refusal::invalid("`initialize` and `initialized` come first");
            return answer(&self.outbox, &id, Err(refusal));
        };
        // Requests are taken in order; no more is read than can be worked on.
        let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else {
            return;
        };
        while self.running.try_join_next().is_some() {}
        let work = RunningRequest {
            server: Arc::clone(&self.server),
            session,
            state: Arc::clone(&self.state),
            outbox: Arc::clone(&self.outbox),
        };
        let may_wait = self.running.len() < MOST_WAITING;
        self.running.spawn(async move {
            let reply = work.perform(&method, message.params, slot, may_wait).await;
            answer(&work.outbox, &id, reply);
        });
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, Refusal> {
        let params: Initialize = typed(params)?;
        if self.session.is_some() {
            return Err(Refusal::invalid("this connection has a session already"));
        }
        let (sessions, outbox) = (&self.server.sessions, Arc::clone(&self.outbox));
        let session = match params.resume_session_id {
            Some(id) => sessions.resume(&id, self.client, outbox)?,
            None => sessions.open(self.client, outbox)?,
        };
        let reply = json!({ "sessionId": session.id(), "environmentInfo": environment_info() });
        self.session = Some(session);
        Ok(reply)
    }
}

#[async_trait]
impl MessageHandler for ClientConnection {
    async fn take(&mut self, message: InputLine) {
        let parsed = match message {
            InputLine::Whole(text) => {
                serde_json::from_slice(&text).map_err(|error| error.to_string())
            }
            InputLine::TooLong => Err("the message is too long".to_owned()),
        };
        match parsed {
            Ok(message) => self.take_message(message).await,
            Err(error) => answer(&self.outbox, &json!(-1), Err(Refusal::invalid(error))),
        }
    }

    async fn finish(&mut self) {
        // A client that is gone waits for nothing more; a start that is given up leaves nothing behind.
        let ended = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_REQUESTS, ended).await.is_err() {
            self.running.abort_all();
        }
    }
}

/// Answers a request.
fn answer(outbox: &Outbox, id: &Value, reply: Result<Value, Refusal>) {
    let message = match reply {
        Ok(result) => json!({ "id": id, "result": result }),
        Err(refusal) => json!({ "id": id, "error": refusal.to_json() }),
    };
    if outbox.push_reply(line(&message)).is_err() {
        let refusal = Refusal::failed("too many messages wait for this client");
        outbox.push(line(&json!({ "id": id, "error": refusal.to_json() })));
    }
}

/// One request that is worked on.
struct RunningRequest {
    server: Arc<MachineServer>,
    session: Arc<ProcessSession>,
    state: Arc<RequestState>,
    outbox: Arc<Outbox>,
}

impl RunningRequest {
    async fn perform(
        &self,
        method: &str,
        params: Value,
        slot: OwnedSemaphorePermit,
        may_wait: bool,
    ) -> Result<Value, Refusal> {
        match method {
            "environment/info" => Ok(environment_info()),
            "environment/status" => Ok(json!({ "status": "ready" })),
            "process/start" => {
                let params = typed(&params)?;
                self.session.start(&self.server.machine, params).await
            }
            "process/read" => self.read(typed(&params)?, slot, may_wait).await,
            "process/write" => self.write(typed(&params)?),
            "process/signal" => {
                let params: ProcessSignal = typed(&params)?;
                if let Some(process) = self.session.process(&params.process_id) {
                    process.interrupt();
                }
                Ok(json!({}))
            }
            "process/terminate" => {
                let params: ProcessTerminate = typed(&params)?;
                let process = self.session.process(&params.process_id);
                let running = process.is_some_and(|process| process.terminate());
                Ok(json!({ "running": running }))
            }
            "fs/watchMissing" => {
                let params: WatchMissing = typed(&params)?;
                let outbox = Arc::clone(&self.outbox);
                self.state.watches.lock().await.watch(params, outbox)
            }
            "fs/open" | "fs/readBlock" | "fs/writeBlock" | "fs/close" => {
                self.use_handle(method, &params).await
            }
            READ_BLOCK_OF_PATH | OPEN_TO_WRITE => Err(Refusal::unknown_method(method)),
            _ => self.use_files(method, params).await,
        }
    }

    async fn read(
        &self,
        params: ProcessRead,
        slot: OwnedSemaphorePermit,
        may_wait: bool,
    ) -> Result<Value, Refusal> {
        let process = self.session.process(&params.process_id);
        let process = process.ok_or_else(|| unknown_process(&params.process_id))?;
        if may_wait {
            // What waits for output keeps nobody else waiting.
            drop(slot);
            process.wait_for_news(&params).await;
        }
        Ok(process.read(&params))
    }

    fn write(&self, params: ProcessWrite) -> Result<Value, Refusal> {
        match self.session.process(&params.process_id) {
            Some(process) => process.write(params),
            None if self.session.is_starting(&params.process_id) => {
                Ok(json!({ "status": "starting" }))
            }
            None => Ok(json!({ "status": "unknownProcess" })),
        }
    }

    async fn use_handle(&self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let machine = &self.server.machine;
        let mut handles = self.state.handles.lock().await;
        match method {
            "fs/open" => handles.open(machine, typed(params)?).await,
            "fs/readBlock" => handles.read(machine, &typed(params)?).await,
            "fs/writeBlock" => handles.write(typed(params)?).await,
            _ => {
                let params: CloseFile = typed(params)?;
                handles.close(machine, &params.handle_id).await
            }
        }
    }

    async fn use_files(&self, method: &str, params: Value) -> Result<Value, Refusal> {
        let Some(operation) = FileOperation::parse(method, &params)? else {
            return Err(Refusal::unknown_method(method));
        };
        match sandbox_of(&params)? {
            Some(sandbox) => {
                perform_confined(&self.server.machine, &sandbox, method, &params).await
            }
            None => blocking(move || operation.perform()).await,
        }
    }
}

fn unknown_process(id: &str) -> Refusal {
    Refusal::invalid(format!("there is no process `{id}`"))
}
