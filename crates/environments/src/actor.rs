//! The task behind a machine: keeps its connection, matches answers with questions, and asks again after a lost connection.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::carrier::{
    Carrier, CarrierResources, Link, OpenError, OpenedLink, OutgoingMessage, ReceivedMessage,
    SentRefusal, sentence,
};
use crate::facts::MachineFacts;
use crate::routes::{Numbered, ProcessRoute, Routes};
use crate::state::{CONFIRMED_TEXT, ConnectionChange, MachineError, MachineState};
use crate::wire::{
    ClosedNotification, ExitedNotification, OutputNotification, ProcessRead, ProcessTerminate,
    ReadOutput, StartedProcess, WrittenInput, code,
};

/// How long a lost connection is opened again.
const GIVE_UP_AFTER: Duration = Duration::from_secs(45);
/// How long it is opened again if the server says that the lost connection still has the session. A server that cannot see that
/// the other side is gone finds out within this time.
const IN_USE_LIMIT: Duration = Duration::from_secs(150);
/// The pauses between attempts grow from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(3);
/// How often the connection is looked after.
const TICK: Duration = Duration::from_millis(500);
/// A server that is silent for so long is asked whether it is there, and given up after the other time.
const ASK_AFTER: Duration = Duration::from_secs(15);
const SILENCE_LIMIT: Duration = Duration::from_secs(75);
/// Requests without an answer.
const MAX_OPEN_REQUESTS: usize = 4096;
/// How often it is asked whether a command has started whose answer was lost, and how long in between.
const CONFIRMATIONS: u32 = 20;
const CONFIRMATION_PAUSE: Duration = Duration::from_millis(250);

pub(crate) type RequestAnswer = Result<Box<RawValue>, MachineError>;

/// What the handle asks of the task.
#[derive(Debug)]
pub(crate) enum ActorRequest {
    /// Open the connection, if there is none.
    Connect(Option<oneshot::Sender<Result<(), MachineError>>>),
    Call(Call),
    /// A command with this id is about to be started.
    Expect(String, Box<ProcessRoute>),
    /// Nobody wants to know of this command any more.
    Abandon(String),
}

/// A request to the server.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) params: Box<RawValue>,
    pub(crate) reply: Option<oneshot::Sender<RequestAnswer>>,
    pub(crate) kind: CallKind,
}

/// What a lost connection means for a request.
#[derive(Debug)]
pub(crate) enum CallKind {
    /// It is sent again: it carries an id, or changes nothing if it was done.
    Repeatable,
    /// It starts this command.
    StartOf(String),
    /// It ends this command, now or when there is a connection again.
    EndOf(String),
    /// It is input for this command, which cannot go on without it.
    InputOf(String),
    /// It is about something that the connection with this number has, and nothing on another one.
    OnConnection(u64),
}

/// What an answer is for.
#[derive(Debug)]
enum Purpose {
    Caller {
        reply: Option<oneshot::Sender<RequestAnswer>>,
        kind: CallKind,
    },
    /// Output of a command that was missed.
    MissedOutput {
        process: String,
        /// Why input of it was not taken. That is how it is if the command has ended, and the end of it otherwise.
        refused_input: Option<String>,
    },
    /// Whether this command has started, whose answer was lost.
    Confirmation {
        process: String,
        reply: Option<oneshot::Sender<RequestAnswer>>,
        /// What the repeated request was refused with, which is the reason if it has not started.
        refusal: MachineError,
        left: u32,
    },
}

impl Purpose {
    /// The command that it starts.
    fn start_of(&self) -> Option<&str> {
        match self {
            Self::Caller {
                kind: CallKind::StartOf(process),
                ..
            } => Some(process),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct OpenRequest {
    method: &'static str,
    params: Box<RawValue>,
    purpose: Purpose,
    /// How often it was sent.
    sent: u32,
    /// Not before this time.
    not_before: Option<Instant>,
}

impl OpenRequest {
    /// Whether somebody waits for the answer, or it has an effect that is wanted all the same. A command that nobody waits for any more
    /// is not asked for again; if it was started, it is ended by its own request.
    fn is_wanted(&self) -> bool {
        match &self.purpose {
            Purpose::Caller {
                reply: Some(reply), ..
            } => !reply.is_closed(),
            _ => true,
        }
    }
}

/// Why an exchange has ended.
enum ExchangeEnd {
    Lost(String),
    /// Nobody has the handle any more.
    Unwanted,
}

#[derive(Debug)]
pub(crate) struct ConnectionActor {
    id: String,
    carrier: Arc<Carrier>,
    resources: CarrierResources,
    state: watch::Sender<MachineState>,
    facts: watch::Sender<Option<Arc<MachineFacts>>>,
    changes: broadcast::Sender<ConnectionChange>,
    session: Option<String>,
    /// Since when the connection is lost.
    lost_since: Option<Instant>,
    /// Why the last connection was lost.
    lost_reason: String,
    /// Whether somebody was told that it was given up.
    was_given_up: bool,
    wants_link: bool,
    pause: Duration,
    /// The number of the last connection.
    links: Arc<AtomicU64>,
    /// Whether the server has said in this session that it confines a command.
    has_confined: bool,
    last_id: u64,
    open: BTreeMap<u64, OpenRequest>,
    waiting_for_link: Vec<oneshot::Sender<Result<(), MachineError>>>,
    routes: Routes,
    /// Commands that nobody wants, which may have been started.
    abandoned: HashSet<String>,
}

impl ConnectionActor {
    pub(crate) fn new(
        id: String,
        carrier: Carrier,
        resources: CarrierResources,
        state: watch::Sender<MachineState>,
        facts: watch::Sender<Option<Arc<MachineFacts>>>,
        changes: broadcast::Sender<ConnectionChange>,
        links: Arc<AtomicU64>,
    ) -> Self {
        Self {
            id,
            carrier: Arc::new(carrier),
            resources,
            state,
            facts,
            changes,
            session: None,
            lost_since: None,
            lost_reason: String::new(),
            was_given_up: false,
            wants_link: false,
            pause: FIRST_PAUSE,
            links,
            has_confined: false,
            // The first is that of `initialize`.
            last_id: 1,
            open: BTreeMap::new(),
            waiting_for_link: Vec::new(),
            routes: Routes::new(),
            abandoned: HashSet::new(),
        }
    }

    pub(crate) async fn run(mut self, mut requests: mpsc::UnboundedReceiver<ActorRequest>) {
        loop {
            while !self.wants_link {
                match requests.recv().await {
                    Some(request) => self.accept(request),
                    None => return,
                }
            }
            let Some(opened) = self.open_link(&mut requests).await else {
                return;
            };
            let OpenedLink {
                mut link,
                session,
                facts,
            } = match opened {
                Ok(opened) => opened,
                Err(reason) => {
                    self.give_up(&reason);
                    continue;
                }
            };
            self.session = Some(session);
            self.links.fetch_add(1, Ordering::Relaxed);
            self.facts.send_replace(Some(Arc::new(facts)));
            self.state.send_replace(MachineState::Ready);
            for waiting in self.waiting_for_link.drain(..) {
                let _ = waiting.send(Ok(()));
            }
            if self.lost_since.take().is_some() || self.was_given_up {
                self.notify_change(true);
            }
            self.was_given_up = false;
            let end = self.exchange(&mut link, &mut requests).await;
            match end {
                ExchangeEnd::Unwanted => return,
                ExchangeEnd::Lost(reason) => {
                    self.lost_reason = reason;
                    self.lost_since = Some(Instant::now());
                    self.state.send_replace(MachineState::Pending);
                }
            }
        }
    }

    fn notify_change(&self, is_connected: bool) {
        let _ = self.changes.send(ConnectionChange {
            environment: self.id.clone(),
            is_connected,
        });
    }

    /// Opens the connection: once, or for a while if there was one. Meanwhile requests are taken, which wait. None if nobody has
    /// the handle any more.
    async fn open_link(
        &mut self,
        requests: &mut mpsc::UnboundedReceiver<ActorRequest>,
    ) -> Option<Result<OpenedLink, String>> {
        let lost_since = self.lost_since;
        let deadline = lost_since.map(|since| since + GIVE_UP_AFTER);
        let mut limit = deadline;
        loop {
            let carrier = Arc::clone(&self.carrier);
            let resources = self.resources.clone();
            let session = self.session.clone();
            let attempt = async move { carrier.open(&resources, session).await };
            let until = deadline
                .filter(|deadline| Instant::now() < *deadline)
                .or(limit);
            let Some(attempt) = self.during(attempt, until, requests).await? else {
                let reason = format!("the connection was lost ({})", self.lost_reason);
                if limit.is_none_or(|limit| Instant::now() >= limit) {
                    return Some(Err(reason));
                }
                self.stop_waiting(&reason);
                continue;
            };
            let reason = match attempt {
                Ok(opened) => return Some(Ok(opened)),
                Err(OpenError::UnknownSession(_)) => {
                    self.lose_session(
                        "the exec server was started anew, and what ran there has ended",
                    );
                    continue;
                }
                Err(OpenError::InUse(reason)) => {
                    limit = lost_since.map(|since| since + IN_USE_LIMIT);
                    reason
                }
                Err(OpenError::Failed(reason)) => {
                    limit = deadline;
                    reason
                }
            };
            let (Some(deadline), Some(limit)) = (deadline, limit) else {
                return Some(Err(reason));
            };
            let pause = self.pause;
            self.pause = (pause * 2).min(LAST_PAUSE);
            let lost = &self.lost_reason;
            let reason = format!("the connection was lost ({lost}): {reason}");
            let next = Instant::now() + pause;
            if next >= limit {
                return Some(Err(reason));
            }
            if next >= deadline {
                self.stop_waiting(&reason);
            }
            let waiting = tokio::time::sleep(pause);
            self.during(waiting, Some(limit), requests).await?;
        }
    }

    /// Takes requests while something goes on. The inner value is none after the deadline, the outer one if nobody has the handle
    /// any more.
    async fn during<T>(
        &mut self,
        work: impl Future<Output = T>,
        deadline: Option<Instant>,
        requests: &mut mpsc::UnboundedReceiver<ActorRequest>,
    ) -> Option<Option<T>> {
        let mut work = std::pin::pin!(work);
        let until = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let mut until = std::pin::pin!(until);
        loop {
            tokio::select! {
                done = &mut work => return Some(Some(done)),
                () = &mut until => return Some(None),
                request = requests.recv() => self.accept(request?),
            }
        }
    }

    /// Ends all that waits. Later requests try again.
    fn give_up(&mut self, reason: &str) {
        let reason = self.unreachable(reason);
        self.wants_link = false;
        self.pause = FIRST_PAUSE;
        // Told before its effects.
        if self.lost_since.take().is_some() {
            self.notify_given_up();
        }
        self.fail_calls(&reason);
        // They may go on there. If the session is there again, they are ended.
        self.abandoned.extend(self.routes.lose_all(&reason));
    }

    /// Ends all that waits for an answer, though commands are not lost yet.
    fn stop_waiting(&mut self, reason: &str) {
        self.notify_given_up();
        self.fail_calls(&self.unreachable(reason));
    }

    fn unreachable(&self, reason: &str) -> String {
        format!("the machine `{}` cannot be reached: {reason}", self.id)
    }

    /// Ends all requests that wait.
    fn fail_calls(&mut self, reason: &str) {
        self.state
            .send_replace(MachineState::Disconnected(reason.to_owned()));
        for waiting in self.waiting_for_link.drain(..) {
            let _ = waiting.send(Err(MachineError::Unreachable(reason.to_owned())));
        }
        for (_, request) in std::mem::take(&mut self.open) {
            self.fail(request, MachineError::Unreachable(reason.to_owned()));
        }
    }

    fn notify_given_up(&mut self) {
        if !self.was_given_up {
            self.was_given_up = true;
            self.notify_change(false);
        }
    }

    /// Ends all that was begun in the session, which is gone.
    fn lose_session(&mut self, reason: &str) {
        self.session = None;
        self.has_confined = false;
        self.abandoned.clear();
        let reason = format!("the machine `{}`: {reason}", self.id);
        let begun: Vec<u64> = (self.open.iter())
            .filter(|(_, request)| {
                request.sent > 0 || matches!(request.purpose, Purpose::Confirmation { .. })
            })
            .map(|(id, _)| *id)
            .collect();
        for id in begun {
            if let Some(request) = self.open.remove(&id) {
                self.fail(request, MachineError::Unreachable(reason.clone()));
            }
        }
        // Commands that wait for their start are not lost.
        let waiting: HashSet<String> = (self.open.values())
            .filter_map(|request| request.purpose.start_of().map(str::to_owned))
            .collect();
        self.routes.lose_all_but(&waiting, &reason);
    }

    fn fail(&mut self, request: OpenRequest, reason: MachineError) {
        let reply = match request.purpose {
            Purpose::Caller { reply, kind } => {
                match kind {
                    CallKind::StartOf(process) if request.sent > 0 => {
                        self.abandoned.insert(process);
                    }
                    CallKind::EndOf(process) => {
                        self.abandoned.insert(process);
                    }
                    CallKind::InputOf(process) => self.lose_process(process, &reason.to_string()),
                    CallKind::StartOf(_) | CallKind::Repeatable | CallKind::OnConnection(_) => {}
                }
                reply
            }
            Purpose::Confirmation { process, reply, .. } => {
                self.abandoned.insert(process);
                reply
            }
            Purpose::MissedOutput { .. } => None,
        };
        if let Some(reply) = reply {
            let _ = reply.send(Err(reason));
        }
    }

    /// Ends a command that cannot go on, for this reason, here and there.
    fn lose_process(&mut self, process: String, reason: &str) {
        if !self.routes.lose(&process, reason) {
            return;
        }
        if self.state_is_ready() {
            self.push_terminate(process);
        } else {
            self.abandoned.insert(process);
        }
    }

    fn state_is_ready(&self) -> bool {
        *self.state.borrow() == MachineState::Ready
    }

    /// Takes a request of the handle.
    fn accept(&mut self, request: ActorRequest) {
        match request {
            ActorRequest::Connect(reply) => {
                self.wants_link = true;
                if let Some(reply) = reply {
                    if self.state_is_ready() {
                        let _ = reply.send(Ok(()));
                    } else {
                        self.waiting_for_link.push(reply);
                    }
                }
            }
            ActorRequest::Expect(id, route) => self.routes.add(id, *route),
            ActorRequest::Abandon(id) => self.abandon(id),
            ActorRequest::Call(call) => {
                let is_for_somebody = call.reply.is_some();
                let ends_command = matches!(call.kind, CallKind::EndOf(_));
                if self.open.len() >= MAX_OPEN_REQUESTS && !ends_command {
                    let reason = format!("too many requests wait for the machine `{}`", self.id);
                    let reason = MachineError::Unreachable(reason);
                    match (call.reply, call.kind) {
                        (Some(reply), _) => {
                            let _ = reply.send(Err(reason));
                        }
                        (None, CallKind::InputOf(process)) => {
                            self.lose_process(process, &reason.to_string());
                        }
                        (None, _) => {}
                    }
                    return;
                }
                // What nobody waits for opens no connection.
                if !is_for_somebody && !self.wants_link {
                    return;
                }
                self.wants_link = true;
                self.push(
                    call.method,
                    call.params,
                    Purpose::Caller {
                        reply: call.reply,
                        kind: call.kind,
                    },
                );
            }
        }
    }

    fn push(&mut self, method: &'static str, params: Box<RawValue>, purpose: Purpose) -> u64 {
        self.last_id += 1;
        let request = OpenRequest {
            method,
            params,
            purpose,
            sent: 0,
            not_before: None,
        };
        self.open.insert(self.last_id, request);
        self.last_id
    }

    fn push_read(&mut self, process: String, after: u64) -> u64 {
        let params = read_params(&process, after);
        let purpose = Purpose::MissedOutput {
            process,
            refused_input: None,
        };
        self.push("process/read", params, purpose)
    }

    fn abandon(&mut self, id: String) {
        let was_known = self.routes.remove(&id);
        let start =
            (self.open.iter()).find(|(_, request)| request.purpose.start_of() == Some(&*id));
        match start.map(|(number, request)| (*number, request.sent)) {
            // It was never asked for.
            Some((number, 0)) => {
                self.open.remove(&number);
            }
            Some(_) => {
                self.abandoned.insert(id);
            }
            None if was_known && self.session.is_some() => self.push_terminate(id),
            None => {}
        }
    }

    fn push_terminate(&mut self, process_id: String) {
        let kind = CallKind::EndOf(process_id.clone());
        let params = serde_json::value::to_raw_value(&ProcessTerminate { process_id });
        if let Ok(params) = params {
            self.push(
                "process/terminate",
                params,
                Purpose::Caller { reply: None, kind },
            );
        }
    }

    /// Sends requests and takes messages until the connection is lost.
    async fn exchange(
        &mut self,
        link: &mut Link,
        requests: &mut mpsc::UnboundedReceiver<ActorRequest>,
    ) -> ExchangeEnd {
        // What was sent over the lost connection is asked again.
        for request in self.open.values_mut() {
            request.not_before = None;
        }
        let is_read = |request: &OpenRequest| {
            matches!(
                request.purpose,
                Purpose::MissedOutput {
                    refused_input: None,
                    ..
                }
            )
        };
        self.open.retain(|_, request| !is_read(request));
        for process in std::mem::take(&mut self.abandoned) {
            self.push_terminate(process);
        }
        let waiting: Vec<u64> = self.open.keys().copied().collect();
        // Reads come first: the server forgets output of commands that have ended when others are started.
        let mut to_send = Vec::new();
        for (process, after) in self.routes.read_all() {
            if !self.is_unstarted(&process) {
                to_send.push(self.push_read(process, after));
            }
        }
        to_send.extend(waiting);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        let mut sent_up_to = self.last_id;
        let mut asked_for_life = false;
        loop {
            // New requests have numbers above all that were seen here.
            to_send.extend(self.open.range(sent_up_to + 1..).map(|(id, _)| *id));
            sent_up_to = self.last_id;
            for id in to_send.drain(..) {
                if let Err(reason) = self.send(id, link).await {
                    return ExchangeEnd::Lost(reason);
                }
            }
            tokio::select! {
                request = requests.recv() => match request {
                    Some(request) => self.accept(request),
                    None => return ExchangeEnd::Unwanted,
                },
                message = link.next() => match message {
                    Ok(message) => {
                        // The next loss is another one.
                        self.pause = FIRST_PAUSE;
                        heard = Instant::now();
                        asked_for_life = false;
                        self.take_message(&message).await;
                    }
                    Err(reason) => return ExchangeEnd::Lost(reason),
                },
                _ = ticks.tick() => {
                    for (process, after) in self.routes.gaps() {
                        self.push_read(process, after);
                    }
                    let now = Instant::now();
                    let due = self.open.iter_mut().filter(|(_, request)| {
                        request.not_before.is_some_and(|time| time <= now)
                    });
                    for (id, request) in due {
                        request.not_before = None;
                        to_send.push(*id);
                    }
                    let is_in_use = !self.open.is_empty() || !self.routes.is_empty();
                    let silence = heard.elapsed();
                    if is_in_use && silence >= ASK_AFTER && !asked_for_life {
                        asked_for_life = true;
                        if let Ok(params) = serde_json::value::to_raw_value(&serde_json::json!({})) {
                            let nobody = Purpose::Caller {
                                reply: None,
                                kind: CallKind::Repeatable,
                            };
                            self.push("environment/status", params, nobody);
                        }
                    }
                    if asked_for_life && silence >= SILENCE_LIMIT {
                        return ExchangeEnd::Lost("the exec server is silent".to_owned());
                    }
                }
            }
        }
    }

    /// Whether it is not known yet that a command has started.
    fn is_unstarted(&self, process: &str) -> bool {
        (self.open.values()).any(|request| match &request.purpose {
            Purpose::Confirmation { process: id, .. } => id == process,
            purpose => purpose.start_of() == Some(process),
        })
    }

    async fn send(&mut self, id: u64, link: &mut Link) -> Result<(), String> {
        let Some(request) = self.open.get_mut(&id) else {
            return Ok(());
        };
        if !request.is_wanted() {
            self.open.remove(&id);
            return Ok(());
        }
        if request.not_before.is_some() {
            return Ok(());
        }
        let is_of_another = matches!(
            &request.purpose,
            Purpose::Caller { kind: CallKind::OnConnection(number), .. }
                if *number != self.links.load(Ordering::Relaxed)
        );
        if is_of_another {
            if let Some(request) = self.open.remove(&id) {
                self.fail(request, MachineError::Interrupted);
            }
            return Ok(());
        }
        request.sent += 1;
        let message = OutgoingMessage {
            id: Some(id),
            method: request.method,
            params: &*request.params,
        };
        link.send(message.encode()).await
    }

    /// Messages that cannot be read, and answers to nothing that was asked, are ignored.
    async fn take_message(&mut self, message: &[u8]) {
        let Ok(message) = serde_json::from_slice::<ReceivedMessage<'_>>(message) else {
            return;
        };
        match (message.method.as_deref(), message.id) {
            (Some(method), None) => {
                let params = message.params.map_or("null", |params| params.get());
                self.take_notification(method, params).await;
            }
            (None, Some(id)) => {
                let request = u64::try_from(id).ok().and_then(|id| self.open.remove(&id));
                let Some(request) = request.filter(|request| request.sent > 0) else {
                    return;
                };
                let answer = match (message.result, message.error) {
                    (_, Some(refusal)) => Err(refused(refusal)),
                    (Some(result), None) => Ok(result.to_owned()),
                    (None, None) => Err(MachineError::Unreadable("it has no result".to_owned())),
                };
                self.take_answer(request, answer).await;
            }
            // Questions of the server would be about the network of commands, which is never asked to be limited by host.
            _ => {}
        }
    }

    async fn take_notification(&mut self, method: &str, params: &str) {
        let (process, seq, said) = match method {
            "process/output" => {
                let Ok(said) = serde_json::from_str::<OutputNotification>(params) else {
                    return;
                };
                let output = Numbered::Output(said.stream, said.chunk.0.into());
                (said.process_id, said.seq, output)
            }
            "process/exited" => {
                let Ok(said) = serde_json::from_str::<ExitedNotification>(params) else {
                    return;
                };
                (said.process_id, said.seq, Numbered::Exited(said.exit_code))
            }
            "process/closed" => {
                let Ok(said) = serde_json::from_str::<ClosedNotification>(params) else {
                    return;
                };
                (said.process_id, said.seq, Numbered::Closed)
            }
            _ => return,
        };
        if let Some(after) = self.routes.take(&process, seq, said).await {
            self.push_read(process, after);
        }
    }

    async fn take_answer(&mut self, request: OpenRequest, answer: RequestAnswer) {
        match request.purpose {
            Purpose::MissedOutput {
                process,
                refused_input,
            } => {
                let read = answer.and_then(|answer| parsed::<ReadOutput>(&answer));
                let problem = match read {
                    Ok(read) => {
                        let is_over = read.exited;
                        self.routes.take_read(&process, read).await;
                        refused_input.filter(|_| !is_over)
                    }
                    Err(error) => Some(format!("the machine `{}`: {error}", self.id)),
                };
                if let Some(reason) = problem {
                    self.lose_process(process, &reason);
                }
            }
            Purpose::Confirmation {
                process,
                reply,
                refusal,
                left,
            } => self.take_confirmation(process, reply, refusal, left, answer),
            Purpose::Caller { reply, kind } => match kind {
                CallKind::StartOf(process) => {
                    let is_repeated = request.sent > 1;
                    match answer {
                        // It was started by the message before, whose answer was lost.
                        Err(refusal) if is_repeated && refusal.has_code(code::REFUSED) => {
                            self.push_confirmation(process, reply, refusal, CONFIRMATIONS, false);
                        }
                        answer => self.answer_start(reply, process, answer),
                    }
                }
                CallKind::InputOf(process) => self.take_input_answer(process, answer),
                CallKind::Repeatable | CallKind::EndOf(_) | CallKind::OnConnection(_) => {
                    if let Some(reply) = reply {
                        let _ = reply.send(answer);
                    }
                }
            },
        }
    }

    /// Input that is not taken leaves a hole in what the command reads.
    fn take_input_answer(&mut self, process: String, answer: RequestAnswer) {
        let written = answer.and_then(|answer| parsed::<WrittenInput>(&answer));
        let problem = match written {
            Ok(written) if written.status == WrittenInput::ACCEPTED => return,
            Ok(written) => sentence(&written.status),
            Err(error) => error.to_string(),
        };
        if !self.routes.runs(&process) {
            return;
        }
        // Perhaps it has ended.
        let reason = format!(
            "the machine `{}` did not take input of the command: {problem}",
            self.id
        );
        let params = read_params(&process, 0);
        let purpose = Purpose::MissedOutput {
            process,
            refused_input: Some(reason),
        };
        self.push("process/read", params, purpose);
    }

    fn answer_start(
        &mut self,
        reply: Option<oneshot::Sender<RequestAnswer>>,
        process: String,
        answer: RequestAnswer,
    ) {
        let has_failed = answer.is_err();
        let started = (answer.as_ref().ok()).and_then(|answer| parsed(answer).ok());
        self.has_confined |= started.is_some_and(|started: StartedProcess| started.is_confined());
        let taken = match reply {
            Some(reply) => reply.send(answer).is_ok(),
            None => true,
        };
        let is_abandoned = self.abandoned.remove(&process);
        if has_failed {
            self.routes.remove(&process);
        } else if is_abandoned || !taken {
            self.routes.remove(&process);
            self.push_terminate(process);
        }
    }

    fn push_confirmation(
        &mut self,
        process: String,
        reply: Option<oneshot::Sender<RequestAnswer>>,
        refusal: MachineError,
        left: u32,
        later: bool,
    ) {
        let params = read_params(&process, 0);
        let purpose = Purpose::Confirmation {
            process,
            reply,
            refusal,
            left,
        };
        let id = self.push("process/read", params, purpose);
        if later && let Some(request) = self.open.get_mut(&id) {
            request.not_before = Some(Instant::now() + CONFIRMATION_PAUSE);
        }
    }

    fn take_confirmation(
        &mut self,
        process: String,
        reply: Option<oneshot::Sender<RequestAnswer>>,
        refusal: MachineError,
        left: u32,
        answer: RequestAnswer,
    ) {
        match answer {
            Ok(_) => {
                // How it is confined was in the answer that is lost. A server that has confined a command before confines this one.
                let started = StartedProcess {
                    process_id: process.clone(),
                    sandbox_type: self.has_confined.then(|| CONFIRMED_TEXT.to_owned()),
                };
                let answer = serde_json::value::to_raw_value(&started)
                    .map_err(|error| MachineError::Unreadable(error.to_string()));
                self.answer_start(reply, process.clone(), answer);
                if self.routes.has(&process) {
                    self.push_read(process, 0);
                }
            }
            Err(_) if left > 0 => {
                self.push_confirmation(process, reply, refusal, left - 1, true);
            }
            Err(_) => self.answer_start(reply, process, Err(refusal)),
        }
    }
}

fn parsed<T: DeserializeOwned>(answer: &RawValue) -> Result<T, MachineError> {
    serde_json::from_str(answer.get()).map_err(|error| MachineError::Unreadable(error.to_string()))
}

fn read_params(process: &str, after: u64) -> Box<RawValue> {
    let params = ProcessRead {
        process_id: process.to_owned(),
        after_seq: Some(after),
        max_bytes: None,
        wait_ms: Some(0),
    };
    serde_json::value::to_raw_value(&params).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn refused(refusal: SentRefusal) -> MachineError {
    MachineError::Refused {
        code: refusal.code,
        message: sentence(&refusal.message),
        kind: refusal.data.and_then(|data| data.kind),
    }
}
