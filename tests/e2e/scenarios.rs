//! `codex app-server --scenario`: every ready scenario, played through the built server to its end.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use codex_scenario::{Answer, Scenario};
use codex_test_support::AppServer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::PROGRAM;
use crate::{codex, repository};

fn path_of(name: &str) -> PathBuf {
    repository()
        .join("scenarios")
        .join(name)
        .with_extension("toml")
}

/// A session of a scenario.
struct Played {
    server: AppServer,
    thread: String,
    answers: std::vec::IntoIter<Answer>,
    prompts: Vec<String>,
    folder: TempDir,
    _home: TempDir,
}

impl Played {
    async fn start(name: &str) -> Self {
        let scenario = Scenario::load(&path_of(name)).unwrap();
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (path, text) in &scenario.session.files {
            fs::write(folder.path().join(path), text).unwrap();
        }
        let path = path_of(name).to_str().unwrap().to_owned();
        let mut server =
            AppServer::start_with(PROGRAM, home.path(), &["--scenario", &path]).unwrap();
        server.initialize_experimental().await;
        let params = json!({ "cwd": folder.path() });
        Self {
            thread: server.start_thread_with(params).await,
            answers: scenario.session.answers.into_iter(),
            prompts: scenario.session.prompts,
            server,
            folder,
            _home: home,
        }
    }

    async fn say(&mut self, text: &str) -> Value {
        self.server.start_turn(&self.thread, text).await
    }

    /// Answers what is asked until the turn is over. The turn, and the methods that were seen.
    async fn turn(&mut self, text: &str) -> (Value, Vec<String>) {
        self.say(text).await;
        let mut seen = Vec::new();
        loop {
            let message = self.server.receive().await.unwrap();
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            if message.get("id").is_some() && !method.is_empty() {
                let result = self.answer(&method);
                let answer = json!({ "id": message["id"], "result": result });
                self.server.send(&answer).await.unwrap();
            }
            let over = method == "turn/completed";
            seen.push(method);
            if over {
                return (message["params"]["turn"].clone(), seen);
            }
        }
    }

    fn answer(&mut self, method: &str) -> Value {
        if method == "item/tool/requestUserInput" {
            return json!({ "answers": { "licence": { "answers": ["MIT"] } } });
        }
        let decision = match self.answers.next().unwrap_or(Answer::Accept) {
            Answer::Accept => "accept",
            Answer::AcceptForSession => "acceptForSession",
            Answer::Decline => "decline",
            Answer::Cancel => "cancel",
        };
        json!({ "decision": decision })
    }
}

/// Plays a scenario to its end: the last turn has this status and these items, and the methods came.
async fn check(name: &str, status: &str, items: &[&str], methods: &[&str]) -> Played {
    let mut played = Played::start(name).await;
    let mut last = Value::Null;
    let mut seen = Vec::new();
    for prompt in played.prompts.clone() {
        let (turn, methods) = played.turn(&prompt).await;
        last = turn;
        seen.extend(methods);
    }
    assert_eq!(last["status"], status, "{name}: {last}");
    let kinds = last["items"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, items, "{name}: {last}");
    for method in methods {
        assert!(
            seen.iter().any(|one| one == method),
            "{name}: {method} is not in {seen:?}"
        );
    }
    played
}

const COMMAND_APPROVAL: &str = "item/commandExecution/requestApproval";
const PATCH_APPROVAL: &str = "item/fileChange/requestApproval";

#[tokio::test]
async fn words() {
    let message = ["userMessage", "agentMessage"];
    let delta = "item/agentMessage/delta";
    check("hello", "completed", &message, &[delta]).await;
    let thought = ["userMessage", "reasoning", "agentMessage"];
    let delta = "item/reasoning/summaryTextDelta";
    check("reasoning", "completed", &thought, &[delta]).await;
    check("chat", "completed", &message, &[COMMAND_APPROVAL]).await;
}

#[tokio::test]
async fn commands() {
    let one = ["userMessage", "commandExecution", "agentMessage"];
    check("failing-command", "completed", &one, &[]).await;
    let delta = "item/commandExecution/outputDelta";
    check("long-output", "completed", &one, &[delta]).await;
    check("decline-command", "completed", &one, &[COMMAND_APPROVAL]).await;
    let two = [
        "userMessage",
        "commandExecution",
        "commandExecution",
        "agentMessage",
    ];
    check("parallel-commands", "completed", &two, &[]).await;
    check("plan", "completed", &one, &["turn/plan/updated"]).await;
}

#[tokio::test]
async fn approvals() {
    let items = [
        "userMessage",
        "agentMessage",
        "commandExecution",
        "agentMessage",
    ];
    let played = check("approve-command", "completed", &items, &[COMMAND_APPROVAL]).await;
    assert!(played.folder.path().join("release-notes").is_dir());
    let items = ["userMessage", "fileChange", "agentMessage"];
    let played = check("approve-patch", "completed", &items, &[PATCH_APPROVAL]).await;
    assert!(played.folder.path().join("USAGE").exists());
    let items = ["userMessage", "commandExecution", "agentMessage"];
    let played = check("ask-for-more", "completed", &items, &[COMMAND_APPROVAL]).await;
    assert!(played.folder.path().join("today.txt").exists());
    let items = ["userMessage", "agentMessage"];
    let question = "item/tool/requestUserInput";
    check("ask-the-person", "completed", &items, &[question]).await;
}

#[tokio::test]
async fn faults() {
    let message = ["userMessage", "agentMessage"];
    check("server-error", "completed", &message, &[]).await;
    let again = ["userMessage", "agentMessage", "agentMessage"];
    check("cut-stream", "completed", &again, &["error"]).await;
    check("stall", "completed", &again, &["error"]).await;
    for name in ["context-full", "rate-limited", "usage-limit"] {
        check(name, "failed", &["userMessage"], &["error"]).await;
    }
}

#[tokio::test]
async fn the_tour_ends_with_a_check_that_passes() {
    let mut played = Played::start("tour").await;
    let prompt = played.prompts[0].clone();
    let (turn, _) = played.turn(&prompt).await;
    assert_eq!(turn["status"], "completed");
    let items = turn["items"].as_array().unwrap();
    let last = items.last().unwrap()["text"].as_str().unwrap();
    assert!(last.starts_with("Fixed"), "{turn:#}");
}

#[tokio::test]
async fn a_slow_answer_leaves_time_to_interrupt() {
    let mut played = Played::start("slow-answer").await;
    let started = played.say("a story").await;
    let server = &mut played.server;
    server.wait_for("item/agentMessage/delta").await.unwrap();
    let turn = &started["id"];
    let params = json!({ "threadId": played.thread, "turnId": turn });
    server.call("turn/interrupt", params).await.unwrap();
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "interrupted");
}

#[test]
fn every_ready_scenario_is_played_here() {
    let source = include_str!("scenarios.rs");
    let files = fs::read_dir(repository().join("scenarios")).unwrap();
    let names: BTreeSet<_> = files
        .map(|file| file.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    for name in names {
        let quoted = format!("\"{name}\"");
        assert!(
            name == "README" || source.contains(&quoted),
            "{name} is not played"
        );
    }
}

#[test]
fn a_mistake_in_a_scenario_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.toml");
    fs::write(
        &path,
        "description = \"d\"\n[[replies]]\nsteps = [{ mesage = \"a\" }]\n",
    )
    .unwrap();
    let output = codex(&["app-server", "--scenario", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    for part in ["wrong.toml", "line 3", "mesage"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
}
