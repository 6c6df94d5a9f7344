//! The handle of a machine: its state, requests to it, its commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{mpsc, oneshot, watch};

use crate::actor::{ActorRequest, Call, CallKind, ConnectionActor, RequestAnswer};
use crate::carrier::{Carrier, CarrierResources};
use crate::control::{ProcessControl, RemoteProcess};
use crate::facts::MachineFacts;
use crate::path::RemotePath;
use crate::process::{RemoteCommand, RemoteOutput};
use crate::routes::ProcessRoute;
use crate::state::{ConnectionChange, MachineError, MachineState};
use crate::wire::{Base64, ProcessStart, ProcessTerminate, ProcessWrite, Sandbox, StartedProcess};

/// A machine. The connection is opened for the first request.
#[derive(Clone, Debug)]
pub struct RemoteMachine(Arc<MachineHandle>);

/// The task of a connection that nobody has used.
#[derive(Debug)]
struct IdleActor {
    actor: ConnectionActor,
    incoming: mpsc::UnboundedReceiver<ActorRequest>,
}

#[derive(Debug)]
struct MachineHandle {
    id: String,
    requests: mpsc::UnboundedSender<ActorRequest>,
    /// The task of the connection, until something is asked of it.
    idle: Mutex<Option<IdleActor>>,
    state: watch::Receiver<MachineState>,
    facts: watch::Receiver<Option<Arc<MachineFacts>>>,
    /// The number of the last connection.
    links: Arc<AtomicU64>,
}

impl RemoteMachine {
    pub(crate) fn new(
        id: &str,
        carrier: Carrier,
        resources: CarrierResources,
        changes: tokio::sync::broadcast::Sender<ConnectionChange>,
    ) -> Self {
        let (requests, incoming) = mpsc::unbounded_channel();
        let (state_sender, state) = watch::channel(MachineState::Pending);
        let (facts_sender, facts) = watch::channel(None);
        let links = Arc::<AtomicU64>::default();
        let actor = ConnectionActor::new(
            id.to_owned(),
            carrier,
            resources,
            state_sender,
            facts_sender,
            changes,
            Arc::clone(&links),
        );
        Self(Arc::new(MachineHandle {
            id: id.to_owned(),
            requests,
            idle: Mutex::new(Some(IdleActor { actor, incoming })),
            state,
            facts,
            links,
        }))
    }

    /// Asks the task of the connection, which begins with the first request.
    fn send(&self, request: ActorRequest) -> Result<(), MachineError> {
        if let Some(IdleActor { actor, incoming }) = self.0.idle.lock().take() {
            tokio::spawn(actor.run(incoming));
        }
        self.0.requests.send(request).map_err(|_| closed())
    }

    /// The name of the environment.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    #[must_use]
    pub fn state(&self) -> MachineState {
        self.0.state.borrow().clone()
    }

    /// Opens the connection in the background.
    pub fn connect(&self) {
        let _ = self.send(ActorRequest::Connect(None));
    }

    /// What is known about the machine without asking it.
    #[must_use]
    pub fn known_facts(&self) -> Option<Arc<MachineFacts>> {
        self.0.facts.borrow().clone()
    }

    /// The facts about the machine. Opens the connection if there is none.
    ///
    /// # Errors
    /// The machine cannot be reached.
    pub async fn facts(&self) -> Result<Arc<MachineFacts>, MachineError> {
        let (reply, answer) = oneshot::channel();
        self.send(ActorRequest::Connect(Some(reply)))?;
        answer.await.map_err(|_| closed())??;
        self.known_facts().ok_or_else(closed)
    }

    /// Sends a request and waits for its answer. It waits for a lost connection, and is sent again when there is a new one.
    ///
    /// # Errors
    /// The machine cannot be reached, the server refuses, or its answer cannot be read.
    pub async fn request<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &P,
    ) -> Result<R, MachineError> {
        read(&self.ask(method, params, CallKind::Repeatable).await?)
    }

    /// The number of a connection, for requests about what only this connection has. Opens one if there is none.
    pub(crate) async fn connection(&self) -> Result<u64, MachineError> {
        self.facts().await?;
        Ok(self.0.links.load(Ordering::Relaxed))
    }

    /// As [`RemoteMachine::request`], but it is sent over this connection or not at all.
    pub(crate) async fn request_on<P: Serialize, R: DeserializeOwned>(
        &self,
        connection: u64,
        method: &'static str,
        params: &P,
    ) -> Result<R, MachineError> {
        let kind = CallKind::OnConnection(connection);
        read(&self.ask(method, params, kind).await?)
    }

    async fn ask<P: Serialize>(
        &self,
        method: &'static str,
        params: &P,
        kind: CallKind,
    ) -> RequestAnswer {
        let (reply, answer) = oneshot::channel();
        let call = Call {
            method,
            params: raw(params)?,
            reply: Some(reply),
            kind,
        };
        self.send(ActorRequest::Call(call))?;
        answer.await.map_err(|_| closed())?
    }

    /// Starts a command. If this is dropped, or if what confines the command is not what was asked for, the command is ended.
    ///
    /// # Errors
    /// The machine cannot be reached or refuses, or does not confine the command.
    pub async fn start(&self, command: RemoteCommand) -> Result<RemoteProcess, MachineError> {
        let (output, pieces) = mpsc::unbounded_channel();
        let (exit_sender, exit) = watch::channel(None);
        let id = command.id;
        let route = ProcessRoute::new(output, exit_sender);
        self.send(ActorRequest::Expect(id.clone(), Box::new(route)))?;
        // Ends the command if it is dropped before it is handed out.
        let control = ProcessControl {
            machine: self.clone(),
            id: id.clone(),
            exit,
        };
        let is_confined = command.sandbox.is_some();
        let params: ProcessStart<RemotePath, Sandbox<RemotePath>> = ProcessStart {
            process_id: id.clone(),
            argv: command.argv,
            cwd: command.cwd,
            env: command.env,
            tty: command.has_terminal,
            pipe_stdin: command.takes_input,
            arg0: None,
            env_policy: Some(command.env_policy),
            sandbox: command.sandbox,
            enforce_managed_network: false,
            managed_network: None,
            network_proxy: None,
        };
        let kind = CallKind::StartOf(id);
        let started: StartedProcess = read(&self.ask("process/start", &params, kind).await?)?;
        if is_confined && !started.is_confined() {
            return Err(MachineError::Unconfined);
        }
        Ok(RemoteProcess {
            control,
            output: RemoteOutput { pieces },
        })
    }

    pub(crate) fn write(&self, process: &str, bytes: &[u8]) {
        let params = ProcessWrite {
            process_id: process.to_owned(),
            chunk: Base64(bytes.to_vec()),
            write_id: uuid::Uuid::new_v4().to_string(),
        };
        let kind = CallKind::InputOf(process.to_owned());
        self.notify("process/write", &params, kind);
    }

    pub(crate) fn terminate(&self, process: &str) {
        let process_id = process.to_owned();
        let kind = CallKind::EndOf(process_id.clone());
        self.notify("process/terminate", &ProcessTerminate { process_id }, kind);
    }

    /// Nobody wants to know of the command any more: it is ended, if it runs.
    pub(crate) fn abandon(&self, process: &str) {
        let _ = self.send(ActorRequest::Abandon(process.to_owned()));
    }

    /// Sends a request whose answer nobody waits for.
    fn notify<P: Serialize>(&self, method: &'static str, params: &P, kind: CallKind) {
        if let Ok(params) = raw(params) {
            let call = Call {
                method,
                params,
                reply: None,
                kind,
            };
            let _ = self.send(ActorRequest::Call(call));
        }
    }
}

fn raw<P: Serialize>(params: &P) -> Result<Box<RawValue>, MachineError> {
    to_raw_value(params).map_err(|error| MachineError::Unreadable(error.to_string()))
}

fn read<R: DeserializeOwned>(answer: &RawValue) -> Result<R, MachineError> {
    serde_json::from_str(answer.get()).map_err(|error| MachineError::Unreadable(error.to_string()))
}

fn closed() -> MachineError {
    MachineError::Unreachable("the connection was given up".to_owned())
}
