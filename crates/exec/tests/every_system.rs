//! Commands on every system: output, input, and who ends with whom. `processes.rs` has more, for Linux.
#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

use std::ffi::OsString;
use std::future::pending;
use std::time::Duration;

use codex_exec::{
    CaptureLimits, Launch, Launcher, RunEnd, RunLimits, RunOutcome, SpawnError, StreamSetup,
    TerminalSize, run,
};
use codex_sandbox::LaunchPlan;

/// Far more than anything here takes.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

#[cfg(unix)]
const SHELL: [&str; 2] = ["/bin/sh", "-c"];
#[cfg(windows)]
const SHELL: [&str; 2] = ["cmd.exe", "/C"];

#[cfg(unix)]
const READ_LINE: &str = "read line; echo got $line";
#[cfg(windows)]
const READ_LINE: &str = "set /p LINE=& call echo got %LINE%";

/// Says 42, which is not what is typed.
#[cfg(unix)]
const ADD_COMMAND: &str = "echo $((40+2))";
#[cfg(windows)]
const ADD_COMMAND: &str = "set /a 40+2";

fn launcher() -> Launcher {
    Launcher::with_helper(env!("CARGO_BIN_EXE_codex-supervisor"))
}

fn launch(command: &[&str]) -> Launch {
    Launch {
        command: command.iter().map(OsString::from).collect(),
        cwd: std::env::temp_dir(),
        inherited: std::sync::Arc::new(std::env::vars_os().collect()),
        environment: Vec::new(),
        streams: StreamSetup::OutputOnly,
        plan: LaunchPlan::Unconfined,
        network: codex_exec::CommandNetwork::default(),
    }
}

fn shell(script: &str) -> Launch {
    launch(&[SHELL[0], SHELL[1], script])
}

fn limits(timeout: Duration) -> RunLimits {
    RunLimits {
        timeout: Some(timeout),
        keep: CaptureLimits::first(1024 * 1024),
        linger: Duration::from_secs(2),
    }
}

async fn finish(launch: Launch) -> RunOutcome {
    let launcher = launcher();
    let spawned = launcher.spawn(launch).await.unwrap();
    let outcome = run(spawned, limits(TEST_TIMEOUT), pending(), ()).await;
    launcher.close().await;
    outcome
}

fn exit_code(outcome: &RunOutcome) -> i32 {
    match outcome.ending {
        RunEnd::Exited(status) => status.code(),
        ending => panic!("{ending:?}"),
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}

#[tokio::test]
async fn output_and_exit_code_are_captured() {
    let outcome = finish(shell("echo out&& echo err>&2&& exit 3")).await;
    assert_eq!(exit_code(&outcome), 3);
    assert_eq!(text(outcome.stdout.into_bytes()), "out\n");
    assert_eq!(text(outcome.stderr.into_bytes()), "err\n");
}

#[tokio::test]
async fn input_reaches_a_command() {
    let outcome = type_into(READ_LINE, StreamSetup::InputAndOutput, "word\n").await;
    assert_eq!(exit_code(&outcome), 0);
    assert_eq!(text(outcome.stdout.into_bytes()).trim(), "got word");
}

#[tokio::test]
async fn a_command_has_a_terminal() {
    let size = TerminalSize::new(30, 100).unwrap();
    // Wine does not connect a program to the terminal that it is started in.
    let script = if is_wine() {
        "cmd <CONIN$ >CONOUT$"
    } else {
        SHELL[0]
    };
    let typed = format!("{ADD_COMMAND}\nexit\n");
    let outcome = type_into(script, StreamSetup::Terminal(size), &typed).await;
    assert_eq!(exit_code(&outcome), 0);
    let shown = text(outcome.stdout.into_bytes());
    assert!(shown.contains("42"), "{shown:?}");
}

fn is_wine() -> bool {
    std::env::var_os("WINEPREFIX").is_some()
}

/// Runs a script and writes its input.
async fn type_into(script: &str, streams: StreamSetup, input: &str) -> RunOutcome {
    let mut reading = shell(script);
    reading.streams = streams;
    let launcher = launcher();
    let mut spawned = launcher.spawn(reading).await.unwrap();
    if let Some(terminal) = spawned.process.terminal() {
        let larger = TerminalSize::new(40, 120).unwrap();
        let resized = terminal.resize(larger);
        // Wine cannot change it.
        assert!(resized.is_ok() || is_wine(), "{resized:?}");
    }
    let mut sink = spawned.input.take().unwrap();
    sink.write(input.as_bytes()).await.unwrap();
    let outcome = run(spawned, limits(TEST_TIMEOUT), pending(), ()).await;
    sink.close().await.ok();
    launcher.close().await;
    outcome
}

#[tokio::test]
async fn a_missing_program_is_an_error_of_the_command() {
    let error = launcher().spawn(launch(&["no-such-program-here"])).await;
    let error = error.unwrap_err();
    assert!(
        matches!(&error, SpawnError::Command(error) if error.kind() == std::io::ErrorKind::NotFound)
    );
}

#[tokio::test]
async fn a_time_limit_ends_the_whole_tree() {
    // The inner shell holds the output open. If it lived on, the reader would wait for it.
    let script = format!(
        "{} {} \"{}\"",
        SHELL[0], SHELL[1], "sleep 1000 || ping -n 1000 127.0.0.1"
    );
    let launcher = launcher();
    let spawned = launcher.spawn(shell(&script)).await.unwrap();
    let outcome = run(spawned, limits(Duration::from_millis(500)), pending(), ()).await;
    assert_eq!(outcome.ending, RunEnd::TimedOut);
    tokio::time::timeout(TEST_TIMEOUT, launcher.close())
        .await
        .unwrap();
}
