//! A server that needs no model, for the methods without a thread.

use std::path::Path;
use std::process::Stdio;

use codex_test_support::AppServer;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::setup::{experimental_server, home_with};

/// A server with this home whose lines the test itself reads and writes.
pub(crate) fn bare(home: &Path) -> Child {
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
