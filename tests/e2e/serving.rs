//! A server that needs no model, for the methods without a thread.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use codex_test_support::{AppServer, ProtocolObserver};
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::setup::{experimental_server, home_with};

/// A server with this home. The test writes and reads when it wants to; every message is checked all the same.
pub(crate) struct Bare {
    pub(crate) child: Child,
    pub(crate) input: BareInput,
    pub(crate) output: BareOutput,
}

pub(crate) struct BareInput {
    stdin: ChildStdin,
    observer: Arc<Mutex<ProtocolObserver>>,
}

pub(crate) struct BareOutput {
    lines: Lines<BufReader<ChildStdout>>,
    observer: Arc<Mutex<ProtocolObserver>>,
}

pub(crate) fn bare(home: &Path) -> Bare {
    Bare::from_child(unread(home))
}

impl Bare {
    pub(crate) fn from_child(mut child: Child) -> Self {
        let observer = Arc::<Mutex<ProtocolObserver>>::default();
        let input = BareInput {
            stdin: child.stdin.take().unwrap(),
            observer: Arc::clone(&observer),
        };
        let output = BareOutput {
            lines: BufReader::new(child.stdout.take().unwrap()).lines(),
            observer,
        };
        Self {
            child,
            input,
            output,
        }
    }
}

impl BareInput {
    /// Writes messages at once, a line each.
    pub(crate) async fn write(&mut self, messages: &[Value]) -> std::io::Result<()> {
        for message in messages {
            self.observer.lock().sent(message);
        }
        let lines: String = messages.iter().map(|one| format!("{one}\n")).collect();
        self.stdin.write_all(lines.as_bytes()).await
    }

    /// Writes what need not be a message. Nobody knows what its replies are of, so their results are not checked.
    pub(crate) async fn write_noise(&mut self, line: &[u8]) {
        let line = [line, b"\n"].concat();
        self.stdin.write_all(&line).await.unwrap();
    }
}

impl BareOutput {
    /// The next message; none once the server has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        let message: Value = serde_json::from_str(&line).unwrap();
        let mut observer = self.observer.lock();
        let is_reply = message.get("method").is_none();
        if !is_reply || observer.expects_reply_to(&message["id"]) {
            observer.received(&message);
        }
        Some(message)
    }
}

/// A server with this home whose output no test reads as messages.
pub(crate) fn unread(home: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_codex"))
        .arg("app-server")
        .env("HOME", home)
        .env("CODEX_HOME", home)
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// A server with an empty home, past the handshake, for a client that wants experimental methods.
pub(crate) struct Serving {
    pub(crate) server: AppServer,
    pub(crate) home: TempDir,
}

impl Serving {
    pub(crate) async fn start() -> Self {
        Self::with_config("").await
    }

    pub(crate) async fn with_config(config: &str) -> Self {
        let home = home_with(config);
        let server = experimental_server(&home).await;
        Self { server, home }
    }

    /// Starts the server again.
    pub(crate) async fn restart(&mut self) {
        let next = experimental_server(&self.home).await;
        let before = std::mem::replace(&mut self.server, next);
        before.finish().await.unwrap();
    }

    /// A path below the home, as text.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = self.home.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    /// The result of a request that must succeed.
    #[track_caller]
    pub(crate) fn result<'a>(
        &'a mut self,
        method: &'a str,
        params: Value,
    ) -> impl Future<Output = Value> + 'a {
        self.server.result(method, params)
    }

    /// Checks that a request is refused with this code and message.
    #[track_caller]
    pub(crate) fn refused<'a>(
        &'a mut self,
        method: &'a str,
        params: Value,
        code: i64,
        message: &'a str,
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let reply = self.server.call(method, params).await.unwrap();
            let error = &reply["error"];
            assert_eq!(error["code"], code, "{caller}: {method}: {reply}");
            let text = error["message"].as_str().unwrap();
            assert!(text.contains(message), "{caller}: {method}: {text}");
        }
    }

    pub(crate) async fn finish(self) {
        self.server.finish().await.unwrap();
    }
}
