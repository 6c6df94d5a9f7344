//! The simulated clients: each has a connection, does what the plan says, and answers questions as it likes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use codex_app_server::AppServer;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::connections::connect;
use crate::machine::{self, SeededRandom};
use crate::plan::{Action, ActionKind, Kill, PlannedClient};
use crate::record::{self, RecordKind};

/// What clients know together: each names threads that others have started.
#[derive(Default)]
pub(crate) struct SharedKnowledge {
    pub threads: Vec<String>,
    /// The running turn of each thread, as far as a client knows.
    turns: BTreeMap<String, String>,
    /// The last turn of each thread that has begun.
    last_turns: BTreeMap<String, String>,
    /// Ids of questions.
    questions: Vec<Value>,
    /// Which connection was asked which of them.
    asked: BTreeSet<(u64, String)>,
    /// Connections that answer the next question of others.
    strangers: Vec<(u64, ClientInput)>,
    connections: u64,
    /// How the process is killed.
    kill: Option<Kill>,
    /// The moments so far of the kind that it is killed at.
    moments: u64,
}

impl SharedKnowledge {
    /// Of processes before. The numbers of connections are above `connections`.
    pub(crate) fn new(threads: Vec<String>, connections: u64, kill: Option<Kill>) -> Self {
        Self {
            threads,
            connections,
            kill,
            ..Self::default()
        }
    }
}

/// What clients know together.
pub(crate) type Knowledge = Arc<Mutex<SharedKnowledge>>;

fn locked(knowledge: &Knowledge) -> MutexGuard<'_, SharedKnowledge> {
    knowledge.lock()
}

/// A client.
pub(crate) struct SimulatedClient {
    pub plan: PlannedClient,
    pub seed: u64,
    pub number: usize,
    pub knowledge: Knowledge,
    pub server: Arc<AppServer>,
    /// Whether threads ask before commands.
    pub asks: bool,
    /// Whether other clients use another process.
    pub has_two_engines: bool,
}

/// Where a connection writes.
type ClientInput = Arc<tokio::sync::Mutex<WriteHalf<DuplexStream>>>;

/// The open connection of a client.
struct OpenConnection {
    number: u64,
    input: ClientInput,
    reader: JoinHandle<()>,
    next_id: u64,
}

impl SimulatedClient {
    /// Does everything, then reads until the server ends.
    pub(crate) async fn run(self, actions: Vec<Action>, begin: Instant) {
        let mut connection = None;
        for action in actions {
            tokio::time::sleep_until(begin + Duration::from_millis(action.at)).await;
            if action.kind == ActionKind::Disconnect {
                if let Some(OpenConnection { number, reader, .. }) = connection.take() {
                    record::add(RecordKind::Disconnect, number, "");
                    reader.abort();
                    let _ = reader.await;
                }
                continue;
            }
            if connection.is_none() {
                connection = Some(self.open().await);
            }
            if let Some(connection) = &mut connection {
                self.act(connection, action).await;
            }
        }
        if let Some(connection) = connection {
            let _ = connection.reader.await;
        }
    }

    async fn open(&self) -> OpenConnection {
        let number = {
            let mut knowledge = locked(&self.knowledge);
            knowledge.connections += 1;
            knowledge.connections
        };
        let about = json!({ "client": self.number, "release": self.plan.release, "delay": self.plan.read_delay });
        record::add(RecordKind::Connect, number, &about.to_string());
        let capacity = if self.plan.read_delay > 0 {
            4096
        } else {
            262_144
        };
        let (output, input) = tokio::io::split(connect(&self.server, capacity));
        let input = Arc::new(tokio::sync::Mutex::new(input));
        let reading = Reading {
            number,
            input: Arc::clone(&input),
            knowledge: Arc::clone(&self.knowledge),
            seed: self.seed,
            delay: self.plan.read_delay,
        };
        let reader = tokio::spawn(reading.run(BufReader::new(output)));
        let mut connection = OpenConnection {
            number,
            input,
            reader,
            next_id: 0,
        };
        let mut capabilities = json!({ "experimentalApi": self.plan.is_experimental });
        if let Some(release) = &self.plan.release {
            capabilities["clientRelease"] = json!(release);
        }
        let info = json!({ "name": format!("client_{}", self.number), "version": "1.0" });
        let params = json!({ "clientInfo": info, "capabilities": capabilities });
        connection.request("initialize", &params).await;
        connection.send(&json!({ "method": "initialized" })).await;
        connection
    }

    async fn act(&self, connection: &mut OpenConnection, action: Action) {
        let number = action.number;
        if action.kind == ActionKind::AnswerStrangers {
            if self.plan.read_delay > 0 {
                // It may have been asked, and not know yet.
                return;
            }
            if let Some(id) = self.question_of_others(connection, number) {
                connection.send(&accepted(&id)).await;
            }
            return;
        }
        let Some((method, params)) = self.request(action) else {
            return;
        };
        connection.request(method, &params).await;
    }

    /// The id of a question that has been asked, or none if the connection will answer the next one.
    fn question_of_others(&self, connection: &OpenConnection, number: u64) -> Option<Value> {
        let mut knowledge = locked(&self.knowledge);
        if !number.is_multiple_of(4) {
            let input = Arc::clone(&connection.input);
            knowledge.strangers.push((connection.number, input));
            return None;
        }
        let id = pick(&knowledge.questions, number).cloned();
        // Without any, one that there never is.
        Some(id.unwrap_or(json!(1_000_000)))
    }

    /// The request of an action, or none if there is nothing to do it with.
    fn request(&self, action: Action) -> Option<(&'static str, Value)> {
        let number = action.number;
        let mut knowledge = locked(&self.knowledge);
        if self.has_two_engines {
            // In the order in which clients of all processes saw them.
            knowledge.threads = record::threads(&record::read_so_far());
        }
        let policy = if self.asks { "untrusted" } else { "never" };
        if action.kind == ActionKind::StartThread {
            let params = json!({ "approvalPolicy": policy, "sandbox": "danger-full-access" });
            return Some(("thread/start", params));
        }
        match action.kind {
            ActionKind::List => {
                return Some((
                    "thread/list",
                    json!({ "archived": number.is_multiple_of(2) }),
                ));
            }
            ActionKind::WriteConfig => {
                let value = format!("value-{number:x}");
                let params = json!({ "keyPath": "profiles.simulated.model", "value": value, "mergeStrategy": "replace" });
                return Some(("config/value/write", params));
            }
            ActionKind::ReloadServers => return Some(("config/mcpServer/reload", Value::Null)),
            ActionKind::ListServers => return Some(("mcpServerStatus/list", json!({}))),
            ActionKind::Nonsense => {
                let params = json!({ "threadId": number, "input": "nothing" });
                return Some((
                    ["turn/start", "no/such", "thread/read"][number as usize % 3],
                    params,
                ));
            }
            _ => {}
        }
        let thread = pick(&knowledge.threads, number >> 8)?;
        let turn = knowledge.turns.get(thread);
        let mut text = format!("message {}-{number:x}", action.phase);
        if number.is_multiple_of(8) {
            // It does not fit into a page of a file.
            text.push_str(&" long".repeat(2000));
        }
        let input = json!([{ "type": "text", "text": text }]);
        let of_thread = json!({ "threadId": thread });
        Some(match action.kind {
            ActionKind::ResumeThread => ("thread/resume", of_thread),
            ActionKind::ForkThread => ("thread/fork", of_thread),
            ActionKind::StartTurn => ("turn/start", json!({ "threadId": thread, "input": input })),
            ActionKind::Steer => {
                let params = json!({ "threadId": thread, "input": input, "expectedTurnId": turn? });
                ("turn/steer", params)
            }
            ActionKind::Interrupt => (
                "turn/interrupt",
                json!({ "threadId": thread, "turnId": turn? }),
            ),
            ActionKind::AddToQueue => {
                let params =
                    json!({ "threadId": thread, "input": input, "clientUserMessageId": text });
                ("thread/queue/add", params)
            }
            ActionKind::ListQueue => ("thread/queue/list", of_thread),
            ActionKind::StartQueue => ("thread/queue/start", of_thread),
            ActionKind::SetGoal => {
                let params = json!({ "threadId": thread, "objective": format!("goal-{number:x}"), "status": "paused" });
                ("thread/goal/set", params)
            }
            ActionKind::GetGoal => ("thread/goal/get", of_thread),
            ActionKind::SetName => (
                "thread/name/set",
                json!({ "threadId": thread, "name": format!("name-{number:x}") }),
            ),
            ActionKind::Archive => ("thread/archive", of_thread),
            ActionKind::Unarchive => ("thread/unarchive", of_thread),
            ActionKind::ChangeSettings => {
                let effort = ["low", "medium", "high"][number as usize % 3];
                (
                    "thread/settings/update",
                    json!({ "threadId": thread, "effort": effort }),
                )
            }
            ActionKind::Read => (
                "thread/read",
                json!({ "threadId": thread, "includeTurns": true }),
            ),
            ActionKind::Unsubscribe => ("thread/unsubscribe", of_thread),
            ActionKind::Compact => ("thread/compact/start", of_thread),
            ActionKind::Rollback => (
                "thread/rollback",
                json!({ "threadId": thread, "numTurns": 1 + number % 2 }),
            ),
            ActionKind::Revert => {
                let turn = knowledge.last_turns.get(thread)?;
                (
                    "thread/revert",
                    json!({ "threadId": thread, "beforeTurnId": turn }),
                )
            }
            ActionKind::InjectItem => {
                let content = json!([{ "type": "input_text", "text": text }]);
                let item = json!({ "type": "message", "role": "user", "content": content });
                (
                    "thread/inject_items",
                    json!({ "threadId": thread, "items": [item] }),
                )
            }
            ActionKind::Delete => ("thread/delete", of_thread),
            ActionKind::ShellCommand => {
                let params = json!({ "threadId": thread, "command": format!("typed {number:x}") });
                ("thread/shellCommand", params)
            }
            ActionKind::StartThread
            | ActionKind::List
            | ActionKind::WriteConfig
            | ActionKind::ReloadServers
            | ActionKind::ListServers
            | ActionKind::Nonsense
            | ActionKind::AnswerStrangers
            | ActionKind::Disconnect => return None,
        })
    }
}

fn accepted(question: &Value) -> Value {
    json!({ "id": question, "result": { "decision": "accept" } })
}

fn pick<T>(values: &[T], number: u64) -> Option<&T> {
    let length = values.len() as u64;
    (length > 0).then(|| &values[(number % length) as usize])
}

impl OpenConnection {
    async fn request(&mut self, method: &str, params: &Value) {
        self.next_id += 1;
        let message = json!({ "id": self.next_id, "method": method, "params": params });
        self.send(&message).await;
    }

    async fn send(&self, message: &Value) {
        send(self.number, &self.input, message).await;
    }
}

async fn send(
    connection: u64,
    input: &tokio::sync::Mutex<WriteHalf<DuplexStream>>,
    message: &Value,
) {
    let line = format!("{message}\n");
    let mut input = input.lock().await;
    record::add(RecordKind::Sent, connection, line.trim_end());
    // A server that has ended takes nothing more.
    let _ = input.write_all(line.as_bytes()).await;
}

/// Answers a question of others, unless the connection turns out to be asked too.
async fn answer_as_stranger(knowledge: Knowledge, connection: u64, input: ClientInput, id: Value) {
    tokio::time::sleep(Duration::from_millis(20)).await;
    let is_asked = locked(&knowledge)
        .asked
        .contains(&(connection, id.to_string()));
    if !is_asked {
        send(connection, &input, &accepted(&id)).await;
    }
}

/// The side of a client that reads.
struct Reading {
    number: u64,
    input: ClientInput,
    knowledge: Knowledge,
    seed: u64,
    delay: u64,
}

impl Reading {
    async fn run(self, output: BufReader<tokio::io::ReadHalf<DuplexStream>>) {
        let mut lines = output.lines();
        while let Ok(Some(line)) = lines.next_line().await {
            record::add(RecordKind::Received, self.number, &line);
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            self.learn(&message);
            self.note_moment(&message);
            if message["method"].is_string() && !message["id"].is_null() {
                self.answer(message);
            }
            if self.delay > 0 {
                tokio::time::sleep(Duration::from_millis(self.delay)).await;
            }
        }
    }

    fn learn(&self, message: &Value) {
        let mut knowledge = locked(&self.knowledge);
        let (params, result) = (&message["params"], &message["result"]);
        if let Some(thread) = result["thread"]["id"].as_str()
            && !knowledge.threads.iter().any(|known| known == thread)
        {
            knowledge.threads.push(thread.to_owned());
        }
        let thread = params["threadId"].as_str().unwrap_or_default().to_owned();
        match message["method"].as_str() {
            Some("turn/started") => {
                let turn = params["turn"]["id"].as_str().unwrap_or_default();
                knowledge.last_turns.insert(thread.clone(), turn.to_owned());
                knowledge.turns.insert(thread, turn.to_owned());
            }
            Some("turn/completed") => drop(knowledge.turns.remove(&thread)),
            Some(method) if !message["id"].is_null() => {
                let id = &message["id"];
                knowledge.asked.insert((self.number, id.to_string()));
                if !method.ends_with("requestApproval") {
                    return;
                }
                knowledge.questions.push(id.clone());
                for (stranger, input) in std::mem::take(&mut knowledge.strangers) {
                    let asked = Arc::clone(&self.knowledge);
                    tokio::spawn(answer_as_stranger(asked, stranger, input, id.clone()));
                }
            }
            _ => {}
        }
    }

    /// The kill of the process may be counted from here.
    fn note_moment(&self, message: &Value) {
        let mut knowledge = locked(&self.knowledge);
        let Some(kill) = knowledge.kill else {
            return;
        };
        if let Some(moment) = kill.since
            && moment.kind.is_shown_by(message)
        {
            if moment.number == knowledge.moments {
                machine::kill_after(kill.after);
            }
            knowledge.moments += 1;
        }
    }

    /// Answers a question: at once, late, twice, with an error, or never.
    fn answer(&self, message: Value) {
        let text = format!("{} {}", self.number, message);
        let purpose = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
        let mut random = SeededRandom::for_purpose(self.seed, purpose);
        let decision = match random.below(8) {
            0 => json!("decline"),
            1 => json!("cancel"),
            2 => json!("acceptForSession"),
            _ => json!("accept"),
        };
        let method = message["method"].as_str().unwrap_or_default();
        let answer = if method.ends_with("requestApproval") && !random.chance(1, 10) {
            json!({ "id": message["id"], "result": { "decision": decision } })
        } else if method == "item/tool/requestUserInput" && !random.chance(1, 10) {
            let answers = json!({ "one": { "answers": ["this"] } });
            json!({ "id": message["id"], "result": { "answers": answers } })
        } else if method == "mcpServer/elicitation/request" && !random.chance(1, 10) {
            json!({ "id": message["id"], "result": { "action": "accept", "content": {} } })
        } else {
            let error = json!({ "code": -32601, "message": "not shown" });
            json!({ "id": message["id"], "error": error })
        };
        let (wait, count) = match random.below(10) {
            0 => return,
            1 => (60_000 + random.below(600_000), 1),
            2 => (random.below(50), 2),
            3 | 4 => (0, 1),
            _ => (random.below(2000), 1),
        };
        let (number, input) = (self.number, Arc::clone(&self.input));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            for _ in 0..count {
                send(number, &input, &answer).await;
            }
        });
    }
}
