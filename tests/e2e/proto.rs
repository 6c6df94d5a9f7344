//! A driver of `codex proto`: the built binary, with a scripted model behind HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything here takes; a test that waits this long has failed.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// An event is one of the protocol, and reads as one. Nothing else of this protocol has a schema.
pub(crate) fn check(event: &Value) {
    if let Err(error) = serde_json::from_value::<codex_protocol::Event>(event.clone()) {
        panic!("no event: {error}: {event}");
    }
}

/// The binary, its home, its working folder, and the model that it talks to.
pub(crate) struct Proto {
    child: Child,
    events: Receiver<Value>,
    folder: TempDir,
    model: ModelServer,
    /// The model lives in it.
    runtime: tokio::runtime::Runtime,
}

impl Proto {
    /// Starts the binary in an empty folder that `prepare` may fill. Each reply of the model is a list
    /// of stream events; after the last one it says that it is done, as often as it is asked.
    pub(crate) fn start(
        settings: &str,
        replies: &[Vec<Value>],
        prepare: impl FnOnce(&Path),
    ) -> Self {
        let replies = replies.iter().map(HttpReply::stream);
        Self::start_with(settings, replies, prepare)
    }

    /// The same with any replies.
    pub(crate) fn start_with(
        settings: &str,
        replies: impl IntoIterator<Item = HttpReply>,
        prepare: impl FnOnce(&Path),
    ) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let model = runtime.block_on(ModelServer::start(replies)).unwrap();
        model.always(HttpReply::stream(&sse::text("done")));
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
            .env("HOME", &home)
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
                let event: Value = serde_json::from_str(&line).unwrap();
                check(&event);
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            events,
            folder,
            model,
            runtime,
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

    /// The address of the model's API.
    pub(crate) fn model_url(&self) -> String {
        self.model.base_url()
    }

    /// Adds a reply to the requests of agents.
    pub(crate) fn answer_agent(&self, events: &[Value]) {
        self.model.push_for_agent(HttpReply::stream(events));
    }

    /// The body of the model's request number `index`, from 0.
    pub(crate) fn model_request(&self, index: usize) -> String {
        let request = self.runtime.block_on(self.model.request(index));
        String::from_utf8(request.body).unwrap()
    }

    pub(crate) fn line(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn submit(&mut self, id: &str, op: &Value) {
        self.line(&json!({ "id": id, "op": op }).to_string());
    }

    pub(crate) fn submit_text(&mut self, id: &str, text: &str) {
        let items = json!([{ "type": "text", "text": text }]);
        self.submit(id, &json!({ "type": "user_input", "items": items }));
    }

    /// The next event of this type; others before it are passed over.
    pub(crate) fn wait_for(&self, kind: &str) -> Value {
        self.wait_past(kind).0
    }

    /// The next event of this type, and the types of those before it.
    pub(crate) fn wait_past(&self, kind: &str) -> (Value, Vec<String>) {
        let mut passed = Vec::new();
        loop {
            let event = self.events.recv_timeout(TEST_TIMEOUT);
            let event = event.unwrap_or_else(|error| panic!("no {kind} came: {error}"));
            match event["msg"]["type"].as_str() {
                Some(found) if found == kind => return (event, passed),
                found => passed.push(found.unwrap_or_default().to_owned()),
            }
        }
    }

    /// Ends the process as nothing can be prepared for.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends the process by ending its input, as a client does.
    #[track_caller]
    pub(crate) fn close(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Proto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
