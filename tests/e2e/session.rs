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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scenario.toml");
        fs::write(&path, scenario).unwrap();
        Self::start(&path).await.into_transcript().await
    }

    /// Starts the server and a thread.
    pub(crate) async fn start(path: &Path) -> Self {
        let scenario = Scenario::load(path).unwrap();
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (path, text) in &scenario.session.files {
            fs::write(folder.path().join(path), text).unwrap();
        }
        let arguments = ["--scenario", path.to_str().unwrap()];
        let mut server = AppServer::start_with(PROGRAM, home.path(), &arguments).unwrap();
        server.initialize_experimental().await;
        let params = json!({ "cwd": folder.path() });
        Self {
            thread: server.start_thread_with(params).await,
            transcript: Transcript::of(folder.path()),
            scenario,
            server,
            folder,
            _home: home,
        }
    }

    async fn into_transcript(mut self) -> String {
        let mut answers = std::mem::take(&mut self.scenario.session.answers).into_iter();
        for prompt in &self.scenario.session.prompts {
            self.transcript.push(format!("> {prompt}"));
            self.server.start_turn(&self.thread, prompt).await;
            let answer = |method: &str| answer(method, &mut answers);
            self.transcript.record_turn(&mut self.server, answer).await;
        }
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
