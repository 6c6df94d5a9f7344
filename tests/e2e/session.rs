//! Sessions with a scripted model: the built server plays a scenario, and the transcript goes into a snapshot.

use std::fs;
use std::path::{Path, PathBuf};

use codex_scenario::{Scenario, ScriptedApproval};
use codex_test_support::AppServer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::repository;
use crate::setup::PROGRAM;
use crate::transcript::Transcript;

/// A server whose model follows a scenario, with a thread in the folder of the scenario.
pub(crate) struct Session {
    pub(crate) server: AppServer,
    pub(crate) thread: String,
    transcript: Transcript,
    /// The id of a request of the server that stays open.
    held: Option<Value>,
    scenario: Scenario,
    folder: TempDir,
    _home: TempDir,
}

/// The file of a ready scenario.
pub(crate) fn ready_scenario(name: &str) -> PathBuf {
    repository()
        .join("scenarios")
        .join(name)
        .with_extension("toml")
}

impl Session {
    /// Plays a ready scenario to its end and returns the transcript.
    pub(crate) async fn play(name: &str) -> String {
        Self::start(&ready_scenario(name))
            .await
            .into_transcript()
            .await
    }

    /// Plays the scenario of this text.
    pub(crate) async fn play_text(scenario: &str) -> String {
        Self::start_text(scenario).await.into_transcript().await
    }

    /// Starts the server and a thread with the scenario of this text.
    pub(crate) async fn start_text(scenario: &str) -> Self {
        Self::start_with(scenario, json!({})).await
    }

    /// The same with params of `thread/start`.
    pub(crate) async fn start_with(scenario: &str, params: Value) -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("scenario.toml");
        fs::write(&path, scenario).unwrap();
        Self::start_in(home, &path, params).await
    }

    /// Starts the server and a thread.
    pub(crate) async fn start(path: &Path) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), path, json!({})).await
    }

    async fn start_in(home: TempDir, path: &Path, mut params: Value) -> Self {
        let scenario = Scenario::load(path).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in &scenario.session.files {
            fs::write(folder.path().join(path), text).unwrap();
        }
        let arguments = ["--scenario", path.to_str().unwrap()];
        let mut server = AppServer::start_with(PROGRAM, home.path(), &arguments).unwrap();
        server.initialize_experimental().await;
        params["cwd"] = json!(folder.path());
        let thread = server.start_thread_with(params).await;
        Self {
            transcript: Transcript::new(folder.path(), &thread),
            thread,
            held: None,
            scenario,
            server,
            folder,
            _home: home,
        }
    }

    async fn into_transcript(mut self) -> String {
        let mut answers = std::mem::take(&mut self.scenario.session.answers).into_iter();
        let has_prompts = !self.scenario.session.prompts.is_empty();
        assert!(has_prompts, "a scenario without prompts plays nothing");
        for prompt in std::mem::take(&mut self.scenario.session.prompts) {
            self.begin(&prompt).await;
            let answer = |method: &str| answer(method, &mut answers);
            self.transcript.record_turn(&mut self.server, answer).await;
        }
        self.end().await
    }

    /// Starts a turn, which is recorded from here on. Returns its id.
    pub(crate) async fn begin(&mut self, prompt: &str) -> Value {
        self.transcript.push(format!("> {prompt}"));
        let turn = self.server.start_turn(&self.thread, prompt).await;
        turn["id"].clone()
    }

    /// Records until a message with this method. Requests of the server are answered with `answer`.
    pub(crate) async fn record_until(&mut self, last: &str, answer: Value) {
        let answer = |_: &str| answer.clone();
        self.transcript
            .record_until(last, &mut self.server, answer)
            .await;
    }

    /// Records until a request of the server with this method, which stays open.
    pub(crate) async fn hold_until(&mut self, method: &str) {
        let server = &mut self.server;
        self.held = Some(self.transcript.record_request(method, server).await);
    }

    /// Answers the request that stays open.
    pub(crate) async fn answer_held(&mut self, answer: Value) {
        let id = self.held.take().unwrap();
        self.transcript.answer(&mut self.server, &id, &answer).await;
    }

    /// Records to the end of the turn without what was said so far, which is a matter of chance.
    pub(crate) async fn record_end_without_text(&mut self) {
        self.transcript.leaves_out_text = true;
        self.record_until("turn/completed", json!({})).await;
    }

    /// Sends a request about the thread, and records its reply.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        params["threadId"] = json!(self.thread);
        let result = self.server.result(method, params).await;
        self.transcript.reply(method, &result);
        result
    }

    /// Ends the server, and returns the transcript with the files of the folder.
    pub(crate) async fn end(mut self) -> String {
        self.server.finish().await.unwrap();
        let files = fs::read_dir(self.folder.path()).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        files.sort();
        for file in files {
            self.transcript.push(format!("file: {}", file.display()));
        }
        self.transcript.to_string()
    }
}

fn answer(method: &str, answers: &mut impl Iterator<Item = ScriptedApproval>) -> Value {
    if method == "item/tool/requestUserInput" {
        return json!({ "answers": { "licence": { "answers": ["MIT"] } } });
    }
    let decision = match answers.next().unwrap_or(ScriptedApproval::Accept) {
        ScriptedApproval::Accept => "accept",
        ScriptedApproval::AcceptForSession => "acceptForSession",
        ScriptedApproval::Decline => "decline",
        ScriptedApproval::Cancel => "cancel",
    };
    json!({ "decision": decision })
}
