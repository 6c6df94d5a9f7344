//! A client that shows its release at any moment of a turn: each item begins once and ends once for it, and nothing that is
//! told of the turn changes its form before the turn has ended.
//!
//! A scene is a turn of a scripted model. It is played without a sign, then with a sign after each of its messages: what
//! is told must be the same every time. The turn after it is told as to a client that has shown its release before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use codex_test_support::{AppServer, HttpReply, ModelServer, WebSocket, sse};
use futures::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::git::git;
use crate::hooks::{home_with, hook};
use crate::listeners::Listening;
use crate::setup::{experimental_server, untrusted_home};

/// What a turn consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    /// A command that reads a file, one that is approved, one that is declined, each with hooks.
    Commands,
    /// Commands that go on in the background until they end: one that is approved, one that is declined.
    Terminals,
    /// A patch that is approved, and one that is declined.
    Patches,
    Review,
    /// A request that fails for a cause that 0.117 does not know.
    Failure,
    /// An agent whose command is approved.
    Agent,
    /// A command that is interrupted when it has said something.
    Interrupt,
}

/// What shows the release of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Method,
    /// The client resumes the thread that it has.
    Resume,
    /// It leaves the thread and comes back.
    Rejoin,
    /// Every method that is newer than 0.117, about a thread that is none.
    AllMethods,
}

const APPROVALS: [&str; 2] = [
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
];

impl Scene {
    fn replies(self, turn: usize) -> Vec<HttpReply> {
        let number = std::cell::Cell::new(0);
        let id = || {
            number.set(number.get() + 1);
            format!("id-{turn}-{}", number.get())
        };
        let items = |item: Value| HttpReply::stream(&sse::items(&[item]));
        let command = |script: &str| {
            let arguments = json!({ "command": script });
            items(sse::function_call(&id(), "shell_command", &arguments))
        };
        let terminal = |script: &str| {
            let arguments = json!({ "cmd": script });
            items(sse::function_call(&id(), "exec_command", &arguments))
        };
        let message = || {
            let mut message = sse::message("done");
            message["id"] = json!(id());
            items(message)
        };
        let patch = |file: &str| {
            let text = format!(
                "*** Begin Patch
*** Add File: {file}
+text
*** End Patch"
            );
            command(&format!(
                "apply_patch <<'EOF'
{text}
EOF"
            ))
        };
        match self {
            Self::Commands => vec![
                command("cat notes.txt"),
                command(&format!("touch made-{turn}")),
                command("touch declined"),
                message(),
            ],
            Self::Terminals => vec![
                terminal(&format!("touch made-{turn}")),
                terminal("touch declined"),
                message(),
            ],
            Self::Patches => vec![
                patch(&format!("made-{turn}.txt")),
                patch("declined.txt"),
                message(),
            ],
            Self::Review => vec![message()],
            Self::Failure => {
                let cause = json!({ "error": { "message": "none", "code": "model_not_found" } });
                vec![HttpReply::status(404).body(cause.to_string())]
            }
            Self::Agent => {
                let task = json!({ "message": "make it", "agent_type": "worker" });
                vec![
                    items(sse::function_call(&id(), "spawn_agent", &task)),
                    message(),
                ]
            }
            Self::Interrupt => vec![command("echo running; sleep 600")],
        }
    }

    /// What its turn has, among others.
    fn items(self) -> &'static [&'static str] {
        match self {
            Self::Commands | Self::Terminals => &["commandExecution", "commandExecution"],
            Self::Patches => &["fileChange", "fileChange"],
            Self::Review => &["enteredReviewMode", "exitedReviewMode"],
            Self::Failure => &[],
            Self::Agent => &["collabAgentToolCall"],
            Self::Interrupt => &["commandExecution"],
        }
    }

    /// The turns that the scene ends.
    fn turns(self) -> usize {
        match self {
            Self::Agent => 2,
            _ => 1,
        }
    }
}

/// What was told of a turn, and of the turn of an agent in it.
#[derive(Debug, PartialEq)]
struct MessagesOfTurn {
    of_thread: Vec<Value>,
    of_agent: Vec<Value>,
}

struct Play {
    scene: Scene,
    server: AppServer,
    home: TempDir,
    thread: String,
    _model: ModelServer,
}

impl Play {
    async fn start(scene: Scene) -> Self {
        let mut replies = scene.replies(1);
        replies.extend(scene.replies(2));
        let model = ModelServer::start(replies).await.unwrap();
        if scene == Scene::Agent {
            for turn in 3..5 {
                let command = Scene::Commands.replies(turn);
                let mut command = command.into_iter().skip(1);
                model.push_for_agent(command.next().unwrap());
                model.push_for_agent(command.nth(1).unwrap());
            }
        }
        let home = match scene {
            Scene::Commands => {
                let quiet = hook("cat > /dev/null");
                home_with(
                    &model,
                    &json!({ "PreToolUse": quiet, "PostToolUse": quiet }),
                )
            }
            _ => untrusted_home(&model),
        };
        fs::write(home.path().join("notes.txt"), "text\n").unwrap();
        git(home.path(), &["init", "-q", "-b", "main"]);
        let mut server = experimental_server(&home).await;
        let has_terminals = scene == Scene::Terminals;
        let params = json!({ "config": { "features.unified_exec": has_terminals } });
        let thread = server.start_thread_with(params).await;
        Self {
            scene,
            server,
            home,
            thread,
            _model: model,
        }
    }

    async fn begin(&mut self) {
        let thread = &self.thread;
        let (method, params) = match self.scene {
            Scene::Review => {
                let target = json!({ "type": "custom", "instructions": "look" });
                (
                    "review/start",
                    json!({ "threadId": thread, "target": target }),
                )
            }
            _ => {
                let input = json!([{ "type": "text", "text": "go" }]);
                ("turn/start", json!({ "threadId": thread, "input": input }))
            }
        };
        self.server.begin(method, params).await.unwrap();
    }

    async fn show(&mut self, sign: Sign) {
        let thread = json!({ "threadId": self.thread });
        let resume = json!({ "threadId": self.thread, "excludeTurns": true });
        let requests = match sign {
            Sign::Method => vec![("thread/goal/get".to_owned(), thread)],
            Sign::Resume => vec![("thread/resume".to_owned(), resume)],
            Sign::Rejoin => vec![
                ("thread/goal/get".to_owned(), thread.clone()),
                ("thread/unsubscribe".to_owned(), thread),
                ("thread/resume".to_owned(), resume),
            ],
            Sign::AllMethods => {
                let absent = json!({ "threadId": "0195f0a0-7b1c-7000-8000-0000000000ab" });
                let methods = newer_methods().into_iter();
                methods.map(|method| (method, absent.clone())).collect()
            }
        };
        for (method, params) in requests {
            self.server.begin(&method, params).await.unwrap();
        }
    }

    /// Plays a turn, with a sign after this many messages of it. Returns what was told of the turn.
    async fn turn(&mut self, sign: Option<(usize, Sign)>) -> MessagesOfTurn {
        self.begin().await;
        let mut of_agent = Vec::new();
        let mut told = Vec::new();
        let (mut ended, mut asked) = (0, 0);
        let mut questions = BTreeSet::new();
        let mut shapes = [Normal::new(self.home.path()), Normal::new(self.home.path())];
        while ended < self.scene.turns() {
            let count = told.len() + of_agent.len();
            match sign {
                Some((_, Sign::Rejoin)) => {}
                Some((after, sign)) if after == count => self.show(sign).await,
                _ => {}
            }
            let message = self.server.receive().await.unwrap();
            let Some(method) = message["method"].as_str() else {
                continue;
            };
            if APPROVALS.contains(&method) && !questions.insert(message["id"].to_string()) {
                // It is asked again, as the client has resumed the thread.
                continue;
            }
            if APPROVALS.contains(&method) {
                if sign == Some((asked, Sign::Rejoin)) {
                    self.rejoin(&message).await;
                }
                asked += 1;
                let is_declined = self.scene != Scene::Agent && asked == 2;
                let decision = if is_declined { "decline" } else { "accept" };
                let answer = json!({ "id": message["id"], "result": { "decision": decision } });
                self.server.send(&answer).await.unwrap();
            }
            if self.scene == Scene::Interrupt && method == "item/commandExecution/outputDelta" {
                let turn = &message["params"]["turnId"];
                let params = json!({ "threadId": self.thread, "turnId": turn });
                self.server.begin("turn/interrupt", params).await.unwrap();
            }
            ended += usize::from(method == "turn/completed");
            // A command that is stopped may have changed files by then.
            let is_chance = self.scene == Scene::Interrupt && method == "thread/checkpoint/created";
            if is_of_turn(method) && !is_chance {
                if message["params"]["threadId"] == self.thread.as_str() {
                    told.push(shapes[0].shape(&message));
                } else {
                    of_agent.push(shapes[1].shape(&message));
                }
            }
        }
        MessagesOfTurn {
            of_thread: told,
            of_agent,
        }
    }

    /// While it is asked this, the client shows its release, leaves and comes back. It is asked the same again.
    async fn rejoin(&mut self, question: &Value) {
        self.show(Sign::Rejoin).await;
        loop {
            let message = self.server.receive().await.unwrap();
            let method = message["method"].as_str().unwrap_or_default();
            if APPROVALS.contains(&method) {
                return assert_eq!(message, *question);
            }
            assert!(!method.starts_with("item/"), "{message}");
        }
    }

    async fn finish(self) {
        self.server.finish().await.unwrap();
    }
}

fn is_of_turn(method: &str) -> bool {
    let of_turn = ["item/", "turn/", "hook/"];
    of_turn.iter().any(|start| method.starts_with(start))
        || [
            "error",
            "thread/tokenUsage/updated",
            "thread/checkpoint/created",
            "guardianWarning",
        ]
        .contains(&method)
}

/// Makes messages of different runs comparable: ids by the order in which they come, no times, no place of the home.
struct Normal {
    home: String,
    ids: BTreeMap<String, usize>,
}

impl Normal {
    fn new(home: &std::path::Path) -> Self {
        Self {
            home: home.display().to_string(),
            ids: BTreeMap::new(),
        }
    }

    fn shape(&mut self, message: &Value) -> Value {
        json!([message["method"], self.value("params", &message["params"])])
    }

    fn value(&mut self, key: &str, value: &Value) -> Value {
        let is_time = key.ends_with("At") || key.ends_with("Ms") || key == "processId";
        match value {
            Value::Null => Value::Null,
            // What agents have used by the end of a turn is a matter of time.
            _ if is_time || ["aggregatedOutput", "usage"].contains(&key) => json!("…"),
            Value::Object(members) => {
                let shape =
                    |(key, value): (&String, &Value)| (self.text(key), self.value(key, value));
                // Whether there is a checkpoint is a matter of time where a command is stopped.
                let members = members.iter().filter(|(key, _)| *key != "checkpointId");
                Value::Object(members.map(shape).collect())
            }
            Value::Array(values) => values.iter().map(|value| self.value(key, value)).collect(),
            Value::String(text) => json!(self.text(&text.replace(&self.home, "HOME"))),
            other => other.clone(),
        }
    }

    /// The text with ids of this run replaced.
    fn text(&mut self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
        let mut made = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(is_part) {
            let (before, from) = rest.split_at(at);
            let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            made.push_str(before);
            match word.split_at_checked(36) {
                Some((id, end)) if id.matches('-').count() == 4 => {
                    let next = self.ids.len();
                    let number = *self.ids.entry(id.to_owned()).or_insert(next);
                    made.push_str(&format!("uuid{number}{end}"));
                }
                _ => made.push_str(word),
            }
            rest = after;
        }
        made.push_str(rest);
        made
    }
}

fn newer_methods() -> BTreeSet<String> {
    let path = crate::repository().join("docs/methods.md");
    let text = fs::read_to_string(path).unwrap();
    let newer = text.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (name, since) = (cells.next()?, cells.next()?);
        let name = name.split('`').nth(1)?;
        since.starts_with("0.").then(|| name.to_owned())
    });
    newer.collect()
}

/// Both turns of a scene, with a sign in the first one.
async fn played(scene: Scene, sign: Option<(usize, Sign)>) -> [MessagesOfTurn; 2] {
    let mut play = Play::start(scene).await;
    let first = play.turn(sign).await;
    let second = play.turn(None).await;
    play.finish().await;
    [first, second]
}

/// Both turns of a client that has shown its release before the first one.
async fn played_by_newer(scene: Scene) -> [MessagesOfTurn; 2] {
    let mut play = Play::start(scene).await;
    play.show(Sign::Method).await;
    // The reply says that the sign has been seen.
    play.server
        .call("thread/loaded/list", json!({}))
        .await
        .unwrap();
    let first = play.turn(None).await;
    let second = play.turn(None).await;
    play.finish().await;
    [first, second]
}

/// What is told, in short.
fn methods(told: &[Value]) -> Vec<String> {
    let kind = |one: &Value| {
        let used = &one[1]["tokenUsage"]["total"]["totalTokens"];
        format!("{} {} {used}", one[0], one[1]["item"]["type"])
    };
    told.iter().map(kind).collect()
}

/// The first difference.
fn assert_same(told: &[Value], expected: &[Value], what: &str) {
    assert_eq!(methods(told), methods(expected), "{what}");
    for (at, (told, expected)) in told.iter().zip(expected).enumerate() {
        assert_eq!(told, expected, "{what}: message {at}");
    }
}

/// Plays a scene with a sign at each position.
async fn flip_everywhere(scene: Scene, sign: Sign) {
    let older = played(scene, None).await;
    let newer = played_by_newer(scene).await;
    assert_ne!(older, newer, "{scene:?} differs by release");
    let begun = |item: &&str| {
        let is_it = |told: &&Value| told[0] == "item/started" && told[1]["item"]["type"] == **item;
        older[0].of_thread.iter().filter(is_it).count()
    };
    for item in scene.items() {
        let count = scene.items().iter().filter(|one| *one == item).count();
        assert!(begun(item) >= count, "{scene:?} has {item}");
    }
    let (older, newer) = (&older, &newer);
    let count = older[0].of_thread.len() + older[0].of_agent.len();
    let flips = (0..count).map(|position| async move {
        let what = format!("{scene:?} with {sign:?} after {position} messages");
        let [first, second] = played(scene, Some((position, sign))).await;
        // What is sent right behind the request for the turn may come before its begin.
        let is_before = position == 0 && first.of_thread != older[0].of_thread;
        let expected = if is_before { &newer[0] } else { &older[0] };
        assert_same(&first.of_thread, &expected.of_thread, &what);
        // The turn of an agent begins later.
        if first.of_agent != newer[0].of_agent {
            assert_same(&first.of_agent, &older[0].of_agent, &what);
        }
        let after = format!("{what}, the turn after it");
        assert_same(&second.of_thread, &newer[1].of_thread, &after);
        assert_same(&second.of_agent, &newer[1].of_agent, &after);
    });
    let mut flips = futures::stream::iter(flips).buffer_unordered(3);
    while let Some(()) = flips.next().await {}
}

#[tokio::test]
async fn release_shown_later_keeps_the_form_of_commands() {
    flip_everywhere(Scene::Commands, Sign::Method).await;
}

#[tokio::test]
async fn release_shown_later_keeps_the_form_of_terminals() {
    flip_everywhere(Scene::Terminals, Sign::Method).await;
}

#[tokio::test]
async fn release_shown_later_keeps_the_form_of_patches() {
    flip_everywhere(Scene::Patches, Sign::Method).await;
}

#[tokio::test]
async fn release_shown_later_keeps_the_form_of_reviews() {
    flip_everywhere(Scene::Review, Sign::Method).await;
}

#[tokio::test]
async fn release_shown_later_keeps_the_form_of_errors() {
    flip_everywhere(Scene::Failure, Sign::Method).await;
}

#[tokio::test]
async fn release_shown_later_keeps_the_form_of_interrupted_commands() {
    flip_everywhere(Scene::Interrupt, Sign::Method).await;
}

#[tokio::test]
async fn resuming_client_keeps_its_release_within_a_turn() {
    flip_everywhere(Scene::Patches, Sign::Resume).await;
}

#[tokio::test]
async fn newer_methods_keep_form_of_turn() {
    let older = played(Scene::Commands, None).await;
    let newer = played_by_newer(Scene::Commands).await;
    for position in [0, older[0].of_thread.len() / 2] {
        let sign = Some((position, Sign::AllMethods));
        let [first, second] = played(Scene::Commands, sign).await;
        if position > 0 {
            assert_same(&first.of_thread, &older[0].of_thread, "all methods");
        }
        let after = "the turn after all methods";
        assert_same(&second.of_thread, &newer[1].of_thread, after);
    }
}

#[tokio::test]
async fn reconnected_client_keeps_its_release_within_a_turn() {
    for scene in [Scene::Commands, Scene::Terminals, Scene::Patches] {
        let older = played(scene, None).await;
        let newer = played_by_newer(scene).await;
        for question in 0..2 {
            let [first, second] = played(scene, Some((question, Sign::Rejoin))).await;
            let what = format!("{scene:?}: back at question {question}");
            assert_same(&first.of_thread, &older[0].of_thread, &what);
            let after = format!("{what}, the turn after it");
            assert_same(&second.of_thread, &newer[1].of_thread, &after);
        }
    }
}

#[tokio::test]
async fn release_shown_later_keeps_the_form_of_agent_items() {
    flip_everywhere(Scene::Agent, Sign::Method).await;
}

type Client = WebSocket<TcpStream>;

async fn client_of(server: &Listening, release: &str) -> Client {
    let mut client = server.connect_raw().await;
    let params = json!({
        "clientInfo": { "name": "tests", "version": "1" },
        "capabilities": { "clientRelease": release, "experimentalApi": true },
    });
    client.call("initialize", params).await.unwrap();
    client
}

/// What a client is told of the command until the turn ends.
async fn end_of_command(client: &mut Client) -> Vec<(String, String)> {
    let mut told = Vec::new();
    loop {
        let message = client.receive().await.unwrap().unwrap();
        let method = message["method"].as_str().unwrap_or_default();
        let item = &message["params"]["item"];
        if item["type"] == "commandExecution" {
            let status = item["status"].as_str().unwrap();
            told.push((method.to_owned(), status.to_owned()));
        }
        if method == "turn/completed" {
            return told;
        }
    }
}

/// A client that joins while others are asked is shown the command as far as its release has heard of it by then, and then
/// each of them is told in its own form.
#[tokio::test]
async fn clients_joining_at_a_question_see_each_item_once() {
    for (decision, older, newer) in [
        (
            "accept",
            vec![
                ("item/started", "inProgress"),
                ("item/completed", "completed"),
            ],
            vec![("item/completed", "completed")],
        ),
        (
            "decline",
            vec![
                ("item/started", "inProgress"),
                ("item/completed", "declined"),
                ("item/completed", "declined"),
            ],
            vec![("item/completed", "declined")],
        ),
    ] {
        let command = json!({ "cmd": "touch made" });
        let call = sse::function_call("call", "exec_command", &command);
        let replies = [sse::items(&[call]), sse::text("done")];
        let model = ModelServer::start(replies.map(|events| HttpReply::stream(&events)));
        let model = model.await.unwrap();
        let home = untrusted_home(&model);
        let server = Listening::start(home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
        let mut first = client_of(&server, "0.117").await;
        let params = json!({ "config": { "features.unified_exec": true } });
        let reply = first.call("thread/start", params).await.unwrap();
        let thread = reply["result"]["thread"]["id"].clone();
        let input = json!([{ "type": "text", "text": "make it" }]);
        let params = json!({ "threadId": thread, "input": input });
        first.call("turn/start", params).await.unwrap();
        let question = first.wait_for(APPROVALS[0]).await.unwrap();
        let mut joined = Vec::new();
        for release in ["0.117", "0.140", "0.171"] {
            let mut client = client_of(&server, release).await;
            let params = json!({ "threadId": thread });
            let resumed = client.call("thread/resume", params).await.unwrap();
            let turns = resumed["result"]["thread"]["turns"].as_array().unwrap();
            let items = turns.last().unwrap()["items"].as_array().unwrap().iter();
            let commands = items
                .filter(|item| item["type"] == "commandExecution")
                .count();
            assert_eq!(commands, usize::from(release != "0.117"), "{resumed}");
            client.wait_for(APPROVALS[0]).await.unwrap();
            joined.push((client, release));
        }
        let answer = json!({ "id": question["id"], "result": { "decision": decision } });
        first.send(&answer).await.unwrap();
        let told = end_of_command(&mut first).await;
        let strings = |told: &[(&str, &str)]| -> Vec<(String, String)> {
            let both = told.iter();
            both.map(|(method, status)| (method.to_string(), status.to_string()))
                .collect()
        };
        assert_eq!(told, strings(&older), "{decision}: the one who was first");
        for (mut client, release) in joined {
            let expected = match (release, decision) {
                ("0.117", _) => strings(&older),
                // The release that ends a declined command twice, as 0.117 does.
                ("0.140", "decline") => strings(&older[1..]),
                _ => strings(&newer),
            };
            let told = end_of_command(&mut client).await;
            assert_eq!(told, expected, "{decision}: {release}");
        }
    }
}
