//! Another machine for tests: an exec server of this program in a folder of its own, behind a connection that can be cut.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::setup::PROGRAM;

/// A machine with the folders `work` (a repository), `home` and `outside`.
pub(crate) struct OtherMachine {
    root: TempDir,
    server: Child,
    address: String,
}

impl OtherMachine {
    pub(crate) async fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["work/.git", "outside", "home"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let (server, address) = serve(root.path(), "127.0.0.1:0").await;
        Self {
            root,
            server,
            address,
        }
    }

    /// A path of the machine.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        dunce::canonicalize(self.root.path()).unwrap().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Kills the exec server, and starts another one in its place.
    pub(crate) async fn restart(&mut self) {
        self.server.kill().await.unwrap();
        let (server, address) = serve(self.root.path(), &self.address).await;
        assert_eq!(address, self.address);
        self.server = server;
    }

    pub(crate) async fn kill(&mut self) {
        self.server.kill().await.unwrap();
    }
}

async fn serve(root: &Path, address: &str) -> (Child, String) {
    let mut server = Command::new(PROGRAM)
        .args(["exec-server", "--listen", &format!("ws://{address}")])
        .env("HOME", root.join("home"))
        .env("SHELL", "/bin/bash")
        .current_dir(root.join("work"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let address = line.strip_prefix("ws://").unwrap().to_owned();
    (server, address)
}

/// What lies between the two: passes everything on, and can be cut.
#[derive(Clone)]
pub(crate) struct Wire {
    url: String,
    state: Arc<WireState>,
}

struct WireState {
    is_up: watch::Sender<bool>,
    cuts: watch::Sender<u64>,
    accepted: watch::Sender<usize>,
}

impl Wire {
    pub(crate) async fn connect(machine: &OtherMachine) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let state = Arc::new(WireState {
            is_up: watch::Sender::new(true),
            cuts: watch::Sender::new(0),
            accepted: watch::Sender::new(0),
        });
        let (shared, address) = (Arc::clone(&state), machine.address.clone());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                shared.accepted.send_modify(|accepted| *accepted += 1);
                tokio::spawn(pass(near, address.clone(), Arc::clone(&shared)));
            }
        });
        Self { url, state }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until so many connections were made.
    pub(crate) async fn accepted(&self, count: usize) {
        let mut accepted = self.state.accepted.subscribe();
        accepted
            .wait_for(|accepted| *accepted >= count)
            .await
            .unwrap();
    }

    /// Cuts all connections. New ones are possible.
    pub(crate) fn cut(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts all connections, and lets none be made.
    pub(crate) fn down(&self) {
        self.state.is_up.send_replace(false);
        self.cut();
    }

    pub(crate) fn up(&self) {
        self.state.is_up.send_replace(true);
    }
}

async fn pass(near: TcpStream, address: String, state: Arc<WireState>) {
    let mut cuts = state.cuts.subscribe();
    if !*state.is_up.borrow() {
        return;
    }
    let Ok(far) = TcpStream::connect(address).await else {
        return;
    };
    let (mut near_read, mut near_write) = near.into_split();
    let (mut far_read, mut far_write) = far.into_split();
    let there = tokio::io::copy(&mut near_read, &mut far_write);
    let back = tokio::io::copy(&mut far_read, &mut near_write);
    tokio::select! {
        _ = there => {}
        _ = back => {}
        _ = cuts.changed() => {}
    }
}
