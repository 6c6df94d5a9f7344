//! The task behind a machine: keeps its connection, matches answers with questions, and asks again after a lost connection.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::carrier::{
    Carrier, CarrierResources, Link, OpenError, OpenedLink, OutgoingMessage, ReceivedMessage,
    SentRefusal, sentence,
};
use crate::facts::MachineFacts;
use crate::routes::{Numbered, ProcessRoute, Routes};
use crate::state::{CONFIRMED, ConnectionChange, MachineError, MachineState};
use crate::wire::{
    ClosedNotification, ExitedNotification, OutputNotification, ProcessRead, ProcessTerminate,
    StartedProcess, code,
};

/// How long a lost connection is opened again.
const GIVE_UP_AFTER: Duration = Duration::from_secs(45);
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
    /// The command that it starts.
    pub(crate) start_of: Option<String>,
}

/// What an answer is for.
#[derive(Debug)]
enum Purpose {
    Caller {
        reply: Option<oneshot::Sender<RequestAnswer>>,
        start_of: Option<String>,
    },
    /// Output of this command that was missed.
    MissedOutput(String),
    /// Whether this command has started, whose answer was lost.
    Confirmation {
        process: String,
        reply: Option<oneshot::Sender<RequestAnswer>>,
        left: u32,
    },
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
            self.facts.send_replace(Some(Arc::new(facts)));
            self.state.send_replace(MachineState::Ready);
            for waiting in self.waiting_for_link.drain(..) {
                let _ = waiting.send(Ok(()));
            }
            if self.lost_since.take().is_some() || self.was_given_up {
                self.tell_change(true);
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

    fn tell_change(&self, is_connected: bool) {
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
        let deadline = self.lost_since.map(|since| since + GIVE_UP_AFTER);
        loop {
            let carrier = Arc::clone(&self.carrier);
            let resources = self.resources.clone();
            let session = self.session.clone();
            let attempt = async move { carrier.open(&resources, session).await };
            let Some(attempt) = self.during(attempt, deadline, requests).await? else {
                let lost = &self.lost_reason;
                return Some(Err(format!("the connection was lost ({lost})")));
            };
            let reason = match attempt {
                Ok(opened) => return Some(Ok(opened)),
                Err(OpenError::UnknownSession(_)) => {
                    self.lose_session(
                        "the exec server was started anew, and what ran there has ended",
                    );
                    continue;
                }
                Err(OpenError::Failed(reason)) => reason,
            };
            let Some(deadline) = deadline else {
                return Some(Err(reason));
            };
            let pause = self.pause;
            self.pause = (pause * 2).min(LAST_PAUSE);
            if Instant::now() + pause >= deadline {
                let lost = &self.lost_reason;
                return Some(Err(format!("the connection was lost ({lost}): {reason}")));
            }
            let waiting = tokio::time::sleep(pause);
            self.during(waiting, Some(deadline), requests).await?;
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
        let reason = format!("the machine `{}` cannot be reached: {reason}", self.id);
        let was_connected = self.lost_since.take().is_some();
        self.wants_link = false;
        self.pause = FIRST_PAUSE;
        self.state
            .send_replace(MachineState::Disconnected(reason.clone()));
        for waiting in self.waiting_for_link.drain(..) {
            let _ = waiting.send(Err(MachineError::Unreachable(reason.clone())));
        }
        for (_, request) in std::mem::take(&mut self.open) {
            self.fail(request, &reason);
        }
        // They may go on there. If the session is there again, they are ended.
        self.abandoned.extend(self.routes.lose_all(&reason));
        if was_connected {
            self.was_given_up = true;
            self.tell_change(false);
        }
    }

    /// Ends all that was begun in the session, which is gone.
    fn lose_session(&mut self, reason: &str) {
        self.session = None;
        self.abandoned.clear();
        let reason = format!("the machine `{}`: {reason}", self.id);
        let begun: Vec<u64> = (self.open.iter())
            .filter(|(_, request)| request.sent > 0)
            .map(|(id, _)| *id)
            .collect();
        for id in begun {
            if let Some(request) = self.open.remove(&id) {
                self.fail(request, &reason);
            }
        }
        // Commands that wait for their start are not lost.
        let waiting: HashSet<String> = (self.open.values())
            .filter_map(|request| match &request.purpose {
                Purpose::Caller { start_of, .. } => start_of.clone(),
                _ => None,
            })
            .collect();
        self.routes.lose_all_but(&waiting, &reason);
    }

    fn fail(&mut self, request: OpenRequest, reason: &str) {
        match request.purpose {
            Purpose::Caller { reply, start_of } => {
                if let Some(process) = start_of.filter(|_| request.sent > 0) {
                    self.abandoned.insert(process);
                }
                if let Some(reply) = reply {
                    let _ = reply.send(Err(MachineError::Unreachable(reason.to_owned())));
                }
            }
            Purpose::Confirmation { process, reply, .. } => {
                self.abandoned.insert(process);
                if let Some(reply) = reply {
                    let _ = reply.send(Err(MachineError::Unreachable(reason.to_owned())));
                }
            }
            Purpose::MissedOutput(_) => {}
        }
    }

    /// Takes a request of the handle.
    fn accept(&mut self, request: ActorRequest) {
        match request {
            ActorRequest::Connect(reply) => {
                self.wants_link = true;
                if let Some(reply) = reply {
                    if *self.state.borrow() == MachineState::Ready {
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
                if self.open.len() >= MAX_OPEN_REQUESTS {
                    if let Some(reply) = call.reply {
                        let reason =
                            format!("too many requests wait for the machine `{}`", self.id);
                        let _ = reply.send(Err(MachineError::Unreachable(reason)));
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
                        start_of: call.start_of,
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

    fn push_read(&mut self, process: String, after: u64) {
        let params = read_params(&process, after);
        self.push("process/read", params, Purpose::MissedOutput(process));
    }

    fn abandon(&mut self, id: String) {
        let was_known = self.routes.remove(&id);
        let start = self.open.iter().find(|(_, request)| {
            matches!(&request.purpose, Purpose::Caller { start_of: Some(process), .. } if *process == id)
        });
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
        let params = serde_json::value::to_raw_value(&ProcessTerminate { process_id });
        if let Ok(params) = params {
            let nobody = Purpose::Caller {
                reply: None,
                start_of: None,
            };
            self.push("process/terminate", params, nobody);
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
        self.open
            .retain(|_, request| !matches!(request.purpose, Purpose::MissedOutput(_)));
        for process in std::mem::take(&mut self.abandoned) {
            self.push_terminate(process);
        }
        let mut to_send: Vec<u64> = self.open.keys().copied().collect();
        for (process, after) in self.routes.read_all() {
            if !self.is_unstarted(&process) {
                self.last_id += 1;
                let id = self.last_id;
                let params = read_params(&process, after);
                let request = OpenRequest {
                    method: "process/read",
                    params,
                    purpose: Purpose::MissedOutput(process),
                    sent: 0,
                    not_before: None,
                };
                self.open.insert(id, request);
                to_send.push(id);
            }
        }
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
                            let nobody = Purpose::Caller { reply: None, start_of: None };
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

    /// Whether the start of a command was not sent.
    fn is_unstarted(&self, process: &str) -> bool {
        self.open.values().any(|request| {
            matches!(&request.purpose, Purpose::Caller { start_of: Some(id), .. } if id == process)
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
            Purpose::MissedOutput(process) => {
                let read = answer.and_then(|answer| {
                    serde_json::from_str(answer.get())
                        .map_err(|error| MachineError::Unreadable(error.to_string()))
                });
                match read {
                    Ok(read) => self.routes.take_read(&process, read).await,
                    Err(error) => {
                        let reason = format!("the machine `{}`: {error}", self.id);
                        self.routes.fail_read(&process, &reason);
                    }
                }
            }
            Purpose::Confirmation {
                process,
                reply,
                left,
            } => self.take_confirmation(process, reply, left, answer),
            Purpose::Caller { reply, start_of } => {
                let is_repeated = request.sent > 1;
                let says_known = matches!(
                    &answer,
                    Err(MachineError::Refused { code, .. }) if *code == code::REFUSED
                );
                match start_of {
                    // It was started by the message before, whose answer was lost.
                    Some(process) if is_repeated && says_known => {
                        self.push_confirmation(process, reply, CONFIRMATIONS, false);
                    }
                    start_of => self.answer_caller(reply, start_of, answer),
                }
            }
        }
    }

    fn answer_caller(
        &mut self,
        reply: Option<oneshot::Sender<RequestAnswer>>,
        start_of: Option<String>,
        answer: RequestAnswer,
    ) {
        let has_failed = answer.is_err();
        let taken = match reply {
            Some(reply) => reply.send(answer).is_ok(),
            None => true,
        };
        let Some(process) = start_of else {
            return;
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
        left: u32,
        later: bool,
    ) {
        let params = read_params(&process, 0);
        let purpose = Purpose::Confirmation {
            process,
            reply,
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
        left: u32,
        answer: RequestAnswer,
    ) {
        match answer {
            Ok(_) => {
                let started = StartedProcess {
                    process_id: process.clone(),
                    sandbox_type: Some(CONFIRMED.to_owned()),
                };
                let answer = serde_json::value::to_raw_value(&started)
                    .map_err(|error| MachineError::Unreadable(error.to_string()));
                self.answer_caller(reply, Some(process.clone()), answer);
                if self.routes.has(&process) {
                    self.push_read(process, 0);
                }
            }
            Err(_) if left > 0 => self.push_confirmation(process, reply, left - 1, true),
            Err(error) => self.answer_caller(reply, Some(process), Err(error)),
        }
    }
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
