//! Drives `codex proto` with a scripted model: what a turn of the real binary does to the machine.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::channel;
use std::time::Duration;

use codex_test_support::HttpReply;
use codex_test_support::ModelServer;
use codex_test_support::sse;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

/// Longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The binary, its home, its working folder, and the model that it talks to.
pub(crate) struct Proto {
    child: Child,
    events: Receiver<Value>,
    folder: TempDir,
    _model: ModelServer,
    _runtime: tokio::runtime::Runtime,
}

impl Proto {
    /// Starts the binary in an empty folder that `prepare` may fill. Each reply of the model is a list
    /// of output items.
    pub(crate) fn start(
        settings: &str,
        replies: &[Vec<Value>],
        prepare: impl FnOnce(&Path),
    ) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let replies = replies
            .iter()
            .map(|items| HttpReply::stream(&sse::items(items)))
            .collect::<Vec<_>>();
        let model = runtime.block_on(ModelServer::start(replies)).unwrap();
        model_says_done(&model);
        let folder = tempfile::tempdir().unwrap();
        let [home, cwd] = ["home", "work"].map(|name| folder.path().join(name));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&cwd).unwrap();
        prepare(&cwd);
        let config = format!(
            "{settings}\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}\"\n",
            model.base_url()
        );
        fs::write(home.join("config.toml"), config).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_codex"))
            .arg("proto")
            .current_dir(&cwd)
            .env("CODEX_HOME", &home)
            .env("SHELL", "/bin/bash")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap();
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            events,
            folder,
            _model: model,
            _runtime: runtime,
        }
    }

    /// The working folder.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The stored threads.
    pub(crate) fn rollouts(&self) -> Vec<PathBuf> {
        let mut open = vec![self.folder.path().join("home/sessions")];
        let mut found = Vec::new();
        while let Some(next) = open.pop() {
            for entry in fs::read_dir(next).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path)
                } else {
                    found.push(path)
                }
            }
        }
        found
    }

    pub(crate) fn submit(&mut self, op: Value) {
        let line = json!({ "id": "1", "op": op }).to_string() + "\n";
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.submit(json!({ "type": "user_input", "items": [{ "type": "text", "text": text }] }));
    }

    /// The next event of this type; others before it are passed over.
    pub(crate) fn wait_for(&self, kind: &str) -> Value {
        loop {
            let event = self.events.recv_timeout(PATIENCE);
            let event = event.unwrap_or_else(|error| panic!("no {kind} came: {error}"));
            if event["msg"]["type"] == kind {
                return event["msg"].clone();
            }
        }
    }

    /// Ends the process as nothing can be prepared for.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends the process by ending its input.
    pub(crate) fn close(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Drop for Proto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// After its script the model says that it is done, as often as it is asked.
fn model_says_done(model: &ModelServer) {
    model.always(HttpReply::stream(&sse::text("done")));
}
