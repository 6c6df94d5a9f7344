//! A JSON-RPC client of an app-server process. The protocol observer checks every message.

use std::io;
use std::panic::Location;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use codex_protocol::Release;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::ProtocolObserver;

/// How long a test waits for a message before it fails.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The release of clients that the arguments of a server name.
fn release_argument(arguments: &[&str]) -> Option<Release> {
    if arguments.contains(&"--newer-clients") {
        return Release::parse("0.169");
    }
    let mut words = arguments.iter().flat_map(|word| word.split('='));
    words.find(|word| *word == "--client-release")?;
    Release::parse(words.next()?)
}

/// A server process with its client. Dropping it ends the process.
#[derive(Debug)]
pub struct AppServer {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    observer: ProtocolObserver,
    next_id: i64,
    /// Received notifications and requests that no test has waited for, in order.
    unread: Vec<Value>,
}

impl AppServer {
    /// Starts `program app-server` with this home folder.
    pub fn start(program: &str, home: &Path) -> io::Result<Self> {
        Self::start_with(program, home, &[])
    }

    /// Starts it with additional arguments.
    pub fn start_with(program: &str, home: &Path, arguments: &[&str]) -> io::Result<Self> {
        Self::spawn(program, home, arguments, &[])
    }

    /// Starts it with additional environment variables.
    pub fn start_in(program: &str, home: &Path, variables: &[(&str, &str)]) -> io::Result<Self> {
        Self::spawn(program, home, &[], variables)
    }

    /// Starts it as another user, which needs privileges.
    #[cfg(unix)]
    pub fn start_as(program: &str, home: &Path, user: u32) -> io::Result<Self> {
        Self::spawn_with(program, home, &[], &[], |command| {
            command.uid(user);
        })
    }

    fn spawn(
        program: &str,
        home: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> io::Result<Self> {
        Self::spawn_with(program, home, arguments, variables, |_| ())
    }

    fn spawn_with(
        program: &str,
        home: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
        adjust: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        adjust(&mut command);
        let mut child = command
            .arg("app-server")
            .args(arguments)
            // Keeps the profile and the shell of the user who runs the tests out.
            .env("HOME", home.join("person"))
            .env("SHELL", "/bin/bash")
            .env("CODEX_HOME", home)
            // Each payload in a file of its own, which tests read and change; variables may say otherwise.
            .env("CODEX_ROLLOUT_TRACE_SCHEMA", "1")
            .envs(variables.iter().copied())
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut observer = ProtocolObserver::default();
        if let Some(release) = release_argument(arguments) {
            observer.be_of(release);
        }
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            observer,
            next_id: 0,
            unread: Vec::new(),
        })
    }

    /// The id of the process until it has ended.
    pub fn process_id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends a line unchanged.
    pub async fn send_line(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(line.as_bytes()).await?;
        input.write_all(b"\n").await?;
        input.flush().await
    }

    pub async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.observer.sent(message);
        self.send_line(&message.to_string()).await
    }

    /// Sends an answer that no schema accepts.
    pub async fn send_wrong_answer(&mut self, message: &Value) -> io::Result<()> {
        self.observer.sent_wrong_answer(message);
        self.send_line(&message.to_string()).await
    }

    /// Receives the next message of any kind.
    pub async fn receive(&mut self) -> io::Result<Value> {
        let line = tokio::time::timeout(TIME_LIMIT, self.output.next_line()).await??;
        let line = line.ok_or(io::ErrorKind::UnexpectedEof)?;
        let message: Value = serde_json::from_str(&line)?;
        self.observer.received(&message);
        Ok(message)
    }

    /// Sends a request and waits for its reply.
    pub async fn call(&mut self, method: &str, params: Value) -> io::Result<Value> {
        let id = self.begin(method, params).await?;
        self.reply_to(id).await
    }

    /// Sends a request without waiting for its reply.
    pub async fn begin(&mut self, method: &str, params: Value) -> io::Result<i64> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "id": id, "method": method, "params": params });
        self.send(&request).await?;
        Ok(id)
    }

    /// Waits for the reply to a request.
    pub async fn reply_to(&mut self, id: i64) -> io::Result<Value> {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(position) = self.unread.iter().position(is_it) {
            return Ok(self.unread.remove(position));
        }
        loop {
            let message = self.receive().await?;
            if is_it(&message) {
                return Ok(message);
            }
            self.unread.push(message);
        }
    }

    /// Waits for a notification or a request of the server. Earlier ones are dropped; replies are kept.
    pub async fn wait_for(&mut self, method: &str) -> io::Result<Value> {
        let is_reply = |message: &Value| message.get("method").is_none();
        let is_it = |message: &Value| message["method"] == method;
        if let Some(position) = self.unread.iter().position(is_it) {
            let mut passed: Vec<_> = self.unread.drain(..=position).collect();
            let found = passed.pop().unwrap_or_default();
            passed.retain(is_reply);
            self.unread.splice(..0, passed);
            return Ok(found);
        }
        self.unread.retain(is_reply);
        loop {
            let message = self.receive().await?;
            if is_it(&message) {
                return Ok(message);
            }
            if is_reply(&message) {
                self.unread.push(message);
            }
        }
    }

    /// Disconnects abruptly: ends the input and reads nothing more.
    pub async fn abandon(mut self) -> io::Result<()> {
        drop(self.input.take());
        drop(self.output);
        tokio::time::timeout(TIME_LIMIT, self.child.wait()).await??;
        Ok(())
    }

    /// Kills the process.
    pub async fn kill(mut self) -> io::Result<()> {
        self.child.kill().await
    }

    /// Ends the input, waits for the process to end, and lets the observer check what is unfinished.
    pub async fn finish(mut self) -> io::Result<()> {
        drop(self.input.take());
        while let Ok(Some(line)) = self.output.next_line().await {
            self.observer.received(&serde_json::from_str(&line)?);
        }
        let status = tokio::time::timeout(TIME_LIMIT, self.child.wait()).await??;
        if !status.success() {
            return Err(io::Error::other(format!("the server ended with {status}")));
        }
        self.observer.finish();
        Ok(())
    }
}

/// Requests that fail the test unless they are answered as expected.
impl AppServer {
    /// The result of a request that must succeed.
    #[track_caller]
    pub fn result<'a>(
        &'a mut self,
        method: &'a str,
        params: Value,
    ) -> impl Future<Output = Value> + 'a {
        let caller = Location::caller();
        async move {
            let mut reply = self.expect_reply(method, params, caller).await;
            let is_result = reply.get("result").is_some();
            assert!(is_result, "{caller}: {method}: {reply}");
            reply["result"].take()
        }
    }

    /// The code and the message of a request that must be refused.
    #[track_caller]
    pub fn refusal<'a>(
        &'a mut self,
        method: &'a str,
        params: Value,
    ) -> impl Future<Output = (i64, String)> + 'a {
        let caller = Location::caller();
        async move {
            let reply = self.expect_reply(method, params, caller).await;
            let error = &reply["error"];
            match (error["code"].as_i64(), error["message"].as_str()) {
                (Some(code), Some(message)) => (code, message.to_owned()),
                _ => panic!("{caller}: {method}: {reply}"),
            }
        }
    }

    async fn expect_reply(&mut self, method: &str, params: Value, caller: &Location<'_>) -> Value {
        let reply = self.call(method, params).await;
        reply.unwrap_or_else(|error| panic!("{caller}: {method}: {error}"))
    }

    /// Shakes hands as a client that knows the stable methods only.
    pub async fn initialize(&mut self) {
        let client = json!({ "name": "tests", "version": "1" });
        let result = self.result("initialize", json!({ "clientInfo": client }));
        assert!(result.await["userAgent"].is_string());
    }

    /// Shakes hands as a client that also uses experimental methods.
    pub async fn initialize_experimental(&mut self) {
        let client = json!({ "name": "tests", "version": "1" });
        let capabilities = json!({ "experimentalApi": true });
        let params = json!({ "clientInfo": client, "capabilities": capabilities });
        self.result("initialize", params).await;
    }

    /// Starts a thread with the settings of the home, and returns its id.
    pub async fn start_thread(&mut self) -> String {
        self.start_thread_with(json!({})).await
    }

    /// Starts a thread with these params, and returns its id.
    pub async fn start_thread_with(&mut self, params: Value) -> String {
        let started = self.result("thread/start", params).await;
        let id = started["thread"]["id"].as_str();
        id.unwrap_or_else(|| panic!("{started}")).to_owned()
    }

    /// Starts a turn with this text, and returns the turn.
    #[track_caller]
    pub fn start_turn<'a>(
        &'a mut self,
        thread: &'a str,
        text: &'a str,
    ) -> impl Future<Output = Value> + 'a {
        let input = json!([{ "type": "text", "text": text }]);
        let started = self.result("turn/start", json!({ "threadId": thread, "input": input }));
        async move { started.await["turn"].take() }
    }

    /// Waits for the end of a turn, and returns the turn.
    pub async fn completed_turn(&mut self) -> Value {
        let completed = self.wait_for("turn/completed").await;
        let mut completed = completed.unwrap_or_else(|error| panic!("no turn ends: {error}"));
        completed["params"]["turn"].take()
    }

    /// Runs a turn with this text, and returns the turn as it ended.
    pub async fn run_turn(&mut self, thread: &str, text: &str) -> Value {
        self.start_turn(thread, text).await;
        self.completed_turn().await
    }
}
