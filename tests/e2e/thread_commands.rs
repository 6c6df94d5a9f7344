//! Commands for stored threads: resume, fork, archive, unarchive, delete, queue, and running servers as their source.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use codex_test_support::{HttpReply, ModelServer, sse};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::exec::ExecFolders;
use crate::listeners::Listening;
use crate::{repository, stdout_of};

/// The command line itself, in place of `codex exec`.
fn command(place: &ExecFolders, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_codex"));
    command
        .args(arguments)
        .env("HOME", place.home.path())
        .env("CODEX_HOME", place.home.path())
        .current_dir(place.work.path())
        .stdin(Stdio::null());
    command
}

async fn run(place: &ExecFolders, arguments: &[&str]) -> Output {
    let mut command = command(place, arguments);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    output.await.unwrap()
}

/// Runs a command on a terminal on which this is typed.
async fn on_terminal(place: &ExecFolders, arguments: &[&str], typed: &'static str) -> Output {
    let words = arguments.iter().map(|word| format!("'{word}'"));
    let words = words.collect::<Vec<_>>().join(" ");
    let line = format!("'{}' {words}", env!("CARGO_BIN_EXE_codex"));
    let mut command = Command::new("script");
    command
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .env("HOME", place.home.path())
        .env("CODEX_HOME", place.home.path())
        .env("TERM", "dumb")
        .current_dir(place.work.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let run = move || {
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(typed.as_bytes()).unwrap();
        drop(input);
        child.wait_with_output().unwrap()
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

async fn model(replies: &[&str]) -> ModelServer {
    let replies = replies
        .iter()
        .map(|text| HttpReply::stream(&sse::text(text)));
    ModelServer::start(replies.collect::<Vec<_>>())
        .await
        .unwrap()
}

/// The ids of the stored threads, the oldest first.
fn ids(place: &ExecFolders) -> Vec<String> {
    let mut paths = place.rollouts();
    paths.sort();
    let id = |path: std::path::PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        line["payload"]["id"].as_str().unwrap().to_owned()
    };
    paths.into_iter().map(id).collect()
}

fn error_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test]
async fn threads_go_on_and_copies_of_them() {
    let model = model(&["one", "two", "three"]).await;
    let place = ExecFolders::with_model(&model);
    run(&place, &["exec", "first"]).await;
    let id = ids(&place).remove(0);
    let resumed = run(&place, &["resume", "--last", "second"]).await;
    assert_eq!(stdout_of(&resumed), "two\n");
    assert_eq!(ids(&place).len(), 1);
    let forked = run(&place, &["fork", &id, "third"]).await;
    assert_eq!(stdout_of(&forked), "three\n");
    assert_eq!(ids(&place).len(), 2);
    let last = model.requests()[2].json().to_string();
    for said in ["first", "one", "second", "two", "third"] {
        assert!(last.contains(said), "{said} is not in {last}");
    }
}

#[tokio::test]
async fn resume_and_fork_accept_terminal_ui_flags() {
    let model = model(&["one", "two", "three"]).await;
    let place = ExecFolders::with_model(&model);
    run(&place, &["exec", "first"]).await;
    let flags = ["-a", "never", "--search", "--no-alt-screen", "--no-daemon"];
    for (command, answer) in [("resume", "two\n"), ("fork", "three\n")] {
        let arguments = [&[command][..], &flags, &["--last", "go on"]].concat();
        assert_eq!(stdout_of(&run(&place, &arguments).await), answer);
        let sent = model.requests().pop().unwrap().json();
        let tools = sent["tools"].as_array().unwrap();
        let search = tools.iter().find(|tool| tool["type"] == "web_search");
        assert_eq!(search.unwrap()["external_web_access"], true);
    }
}

#[tokio::test]
async fn resume_picker_continues_the_chosen_thread() {
    let model = model(&["one", "two", "three", "four"]).await;
    let place = ExecFolders::with_model(&model);
    run(&place, &["exec", "first question"]).await;
    run(&place, &["exec", "second question"]).await;
    let id = ids(&place).remove(0);
    // The older one is the second of the list; what is no number of it is asked for again.
    let resumed = on_terminal(&place, &["resume"], "7\n2\nand then?\n").await;
    let seen = shown(&resumed);
    assert_eq!(resumed.status.code(), Some(0), "{seen}");
    assert!(seen.contains("A number from 1 to 2, please."), "{seen}");
    assert!(seen.contains(&id) && seen.contains("three"), "{seen}");
    let asked = model.requests()[2].json()["input"].to_string();
    assert!(asked.contains("first question") && asked.contains("and then?"));
    assert!(!asked.contains("second question"), "{asked}");
    assert_eq!(ids(&place).len(), 2);
    let forked = on_terminal(&place, &["fork", &id], "another way?\n").await;
    assert!(shown(&forked).contains("four"), "{}", shown(&forked));
    assert_eq!(ids(&place).len(), 3);
}

#[tokio::test]
async fn a_person_who_chooses_no_thread_changes_none() {
    let model = model(&["one"]).await;
    let place = ExecFolders::with_model(&model);
    run(&place, &["exec", "first question"]).await;
    let resumed = on_terminal(&place, &["resume"], "").await;
    assert_eq!(resumed.status.code(), Some(1), "{}", shown(&resumed));
    assert!(shown(&resumed).contains("no thread was chosen"));
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_person_is_asked_before_a_thread_is_deleted() {
    let model = model(&["one"]).await;
    let place = ExecFolders::with_model(&model);
    run(&place, &["exec", "first question"]).await;
    let id = ids(&place).remove(0);
    for (typed, is_there) in [("\n", true), ("n\n", true), ("", true), ("y\n", false)] {
        let output = on_terminal(&place, &["delete", &id], typed).await;
        let seen = shown(&output);
        assert!(
            seen.contains(&format!("Delete the thread {id} (first question)")),
            "{seen}"
        );
        assert_eq!(output.status.code(), Some(i32::from(is_there)), "{seen}");
        assert_eq!(place.rollouts().len(), usize::from(is_there), "{typed}");
    }
}

#[tokio::test]
async fn thread_argument_is_required_without_a_terminal() {
    let place = ExecFolders::new();
    for command in ["resume", "fork"] {
        let error = error_of(&run(&place, &[command]).await);
        assert!(error.contains("--last"), "{error}");
    }
    let error = error_of(&run(&place, &["resume", "--last", "more"]).await);
    assert!(error.contains("no thread was started in"), "{error}");
}

#[tokio::test]
async fn threads_are_archived_restored_and_deleted() {
    let model = model(&["one"]).await;
    let place = ExecFolders::with_model(&model);
    run(&place, &["exec", "first"]).await;
    let id = ids(&place).remove(0);
    assert!(stdout_of(&run(&place, &["archive", &id]).await).contains("Archived"));
    assert!(place.rollouts().is_empty());
    assert!(stdout_of(&run(&place, &["unarchive", &id]).await).contains("active again"));
    assert_eq!(place.rollouts().len(), 1);
    let error = error_of(&run(&place, &["delete", &id]).await);
    assert!(error.contains("--force"), "{error}");
    for flags in [
        ["-p", "none"],
        ["-C", "none"],
        ["-i", "a.png"],
        ["--remote", "unix:///none"],
    ] {
        let [flag, value] = flags;
        let error = error_of(&run(&place, &["archive", &id, flag, value]).await);
        assert!(!error.is_empty(), "{flags:?}");
    }
    let flags = [
        "archive",
        &id,
        "-m",
        "model",
        "-s",
        "read-only",
        "-C",
        ".",
        "--oss",
    ];
    assert!(stdout_of(&run(&place, &flags).await).contains("Archived"));
    let flags = ["-m", "model", "unarchive", &id, "--add-dir", "."];
    assert!(stdout_of(&run(&place, &flags).await).contains("active again"));
    let error = error_of(&run(&place, &["delete", "--force", "a name"]).await);
    assert!(error.contains("needs the id"), "{error}");
    assert_eq!(place.rollouts().len(), 1);
    assert!(stdout_of(&run(&place, &["delete", "--force", &id]).await).contains("Deleted"));
    assert!(place.rollouts().is_empty());
    for command in ["archive", "unarchive"] {
        let error = error_of(&run(&place, &[command, "nobody"]).await);
        assert!(error.contains("`nobody`"), "{error}");
    }
}

#[tokio::test]
async fn queued_messages_are_sent_when_the_thread_is_opened() {
    let model = model(&["one", "two", "three"]).await;
    let place = ExecFolders::with_model(&model);
    run(&place, &["exec", "first"]).await;
    let id = ids(&place).remove(0);
    let queued = run(
        &place,
        &["queue", "--thread", &id, "--message", "the queued one"],
    )
    .await;
    assert!(stdout_of(&queued).contains(&id));
    assert_eq!(model.requests().len(), 1);
    let server = Listening::start(place.home.path(), &["--listen", "unix://"]).await;
    let arguments = [
        "queue",
        "--thread",
        &id,
        "--message",
        "another",
        "--resume",
        "--remote",
        "unix://",
    ];
    let resumed = run(&place, &arguments).await;
    assert!(resumed.status.success(), "{resumed:?}");
    let sent = tokio::time::timeout(std::time::Duration::from_secs(30), async {
        while model.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
    });
    sent.await.unwrap();
    assert!(
        model.requests()[1]
            .json()
            .to_string()
            .contains("the queued one")
    );
    drop(server);
}

#[tokio::test]
async fn unopened_thread_can_queue_messages() {
    let model = model(&["one"]).await;
    let place = ExecFolders::with_model(&model);
    run(&place, &["exec", "first"]).await;
    let id = ids(&place).remove(0);
    let queued = run(
        &place,
        &["queue", "--thread", &id, "--message", "x", "--resume"],
    )
    .await;
    assert!(queued.status.success(), "{queued:?}");
    let told = String::from_utf8(queued.stderr).unwrap();
    assert!(told.contains("daemon start"), "{told}");
}

#[tokio::test]
async fn exec_uses_a_running_server() {
    let model = model(&["from afar", "again"]).await;
    let place = ExecFolders::with_model(&model);
    let token = place.home.path().join("token");
    fs::write(&token, "open sesame").unwrap();
    let path = token.to_str().unwrap();
    let arguments = [
        "--listen",
        "ws://127.0.0.1:0",
        "--ws-auth",
        "capability-token",
        "--ws-token-file",
        path,
    ];
    let server = Listening::start(place.home.path(), &arguments).await;
    let refused = run(&place, &["exec", "--remote", &server.address, "hi"]).await;
    assert!(error_of(&refused).contains("401"), "{refused:?}");
    let mut with_token = command(
        &place,
        &[
            "--remote",
            &server.address,
            "exec",
            "--remote-auth-token-env",
            "TOKEN",
            "-c",
            "model=\"another\"",
            "hi",
        ],
    );
    with_token.env("TOKEN", "open sesame");
    let output = tokio::task::spawn_blocking(move || with_token.output().unwrap());
    assert_eq!(stdout_of(&output.await.unwrap()), "from afar\n");
    let request = model.requests()[0].json();
    assert_eq!(request["model"], "another");
    let work = fs::canonicalize(place.work.path()).unwrap();
    assert!(request.to_string().contains(&*work.to_string_lossy()));
}

/// Ends the encryption of connections before a server on this machine, and answers the port.
async fn encrypted(address: &str) -> u16 {
    let folder = repository().join("tests/e2e/certificates");
    let certificate = CertificateDer::from_pem_file(folder.join("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(settings));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = address.trim_start_matches("ws://").to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut client) = acceptor.accept(stream).await else {
                continue;
            };
            let mut server = TcpStream::connect(&server).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        }
    });
    port
}

#[tokio::test]
async fn exec_uses_a_running_server_over_an_encrypted_connection() {
    let model = model(&["from afar"]).await;
    let place = ExecFolders::with_model(&model);
    let server = Listening::start(place.home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
    let port = encrypted(&server.address).await;
    let address = format!("wss://127.0.0.1:{port}");
    let arguments = ["exec", "--remote", &address, "hi"];
    // Who signed the certificate is not known.
    let refused = error_of(&run(&place, &arguments).await);
    assert!(refused.contains("ertificate"), "{refused}");
    assert!(model.requests().is_empty());
    let mut trusting = command(&place, &arguments);
    let authority = repository().join("tests/e2e/certificates/authority.pem");
    trusting.env("CODEX_CA_CERTIFICATE", authority);
    let output = tokio::task::spawn_blocking(move || trusting.output().unwrap());
    assert_eq!(stdout_of(&output.await.unwrap()), "from afar\n");
}

#[tokio::test]
async fn addresses_and_flags_that_cannot_hold_are_refused() {
    let place = ExecFolders::new();
    let cases: [(&[&str], &str); 5] = [
        (
            &["exec", "--remote", "http://a", "hi"],
            "no address of a server",
        ),
        (&["exec", "--remote", "wss://a:b@c", "hi"], "password"),
        (
            &["exec", "--remote-auth-token-env", "X", "hi"],
            "needs --remote",
        ),
        (
            &[
                "exec",
                "--remote",
                "ws://192.0.2.1:1",
                "--remote-auth-token-env",
                "HOME",
                "hi",
            ],
            "use wss://",
        ),
        (
            &["--remote", "unix://", "doctor"],
            "does not use a running server",
        ),
    ];
    for (arguments, expected) in cases {
        let error = error_of(&run(&place, arguments).await);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    let error = error_of(&run(&place, &["exec", "--remote", "unix://", "hi"]).await);
    assert!(error.contains("daemon start"), "{error}");
}
