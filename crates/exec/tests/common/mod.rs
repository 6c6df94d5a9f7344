//! What the tests of whole processes share.

// Every test program uses a part of this, and all of it only in tests.
#![expect(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "each test program uses its part"
)]

pub mod confined;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use codex_exec::{
    CaptureLimits, Launch, Launcher, RunEnd, RunLimits, RunOutcome, SpawnError, SpawnedProcess,
    StreamSetup, run,
};
use codex_sandbox::LaunchPlan;

/// Far more than anything here takes; a test that hangs fails instead.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(30);

pub fn launcher() -> Launcher {
    Launcher::with_helper(env!("CARGO_BIN_EXE_codex-supervisor"))
}

pub fn words(command: &[&str]) -> Vec<OsString> {
    command.iter().map(Into::into).collect()
}

pub fn launch(command: &[&str]) -> Launch {
    Launch {
        command: words(command),
        cwd: "/".into(),
        inherited: std::sync::Arc::default(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        streams: StreamSetup::OutputOnly,
        plan: LaunchPlan::Unconfined,
        network: codex_exec::CommandNetwork::default(),
    }
}

pub fn shell(script: &str) -> Launch {
    launch(&["/bin/sh", "-c", script])
}

pub async fn spawn(launch: Launch) -> SpawnedProcess {
    launcher().spawn(launch).await.unwrap()
}

pub fn limits() -> RunLimits {
    RunLimits {
        timeout: Some(TEST_TIMEOUT),
        keep: CaptureLimits::both_ends(1024 * 1024),
        linger: Duration::from_secs(2),
    }
}

pub async fn try_finish(launch: Launch) -> Result<RunOutcome, SpawnError> {
    let launcher = launcher();
    let spawned = launcher.spawn(launch).await;
    let finished = match spawned {
        Ok(spawned) => Ok(run(spawned, limits(), std::future::pending(), ()).await),
        Err(error) => Err(error),
    };
    launcher.close().await;
    finished
}

pub async fn finish(launch: Launch) -> RunOutcome {
    try_finish(launch).await.unwrap()
}

/// Exit code, standard output, standard error.
pub fn texts(finished: RunOutcome) -> (i32, String, String) {
    let RunEnd::Exited(status) = finished.ending else {
        panic!("the command did not end by itself: {finished:?}");
    };
    let text = |captured: codex_exec::CapturedOutput| {
        String::from_utf8_lossy(&captured.into_bytes()).into_owned()
    };
    (status.code(), text(finished.stdout), text(finished.stderr))
}

/// Whether a process lives (a zombie does not).
pub fn lives(process: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|line| {
        let state = line.rsplit(')').next().unwrap().trim_start();
        !state.starts_with('Z') && !state.starts_with('X')
    })
}

/// Returns when the process is gone.
pub async fn gone(process: i32) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let pid = rustix::process::Pid::from_raw(process).unwrap();
    let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else {
        return;
    };
    let waiting = tokio::task::spawn_blocking(move || {
        let patience = Timespec {
            tv_sec: TEST_TIMEOUT.as_secs().cast_signed(),
            tv_nsec: 0,
        };
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience)).unwrap()
    });
    assert_eq!(waiting.await.unwrap(), 1, "process {process} survived");
}

/// Marks a command and all its descendants for [`marked`].
pub fn mark(launch: &mut Launch, mark: &str) {
    launch.environment.push(("MARK".into(), mark.into()));
}

/// The processes that descend, however distantly, from a marked command.
pub fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("MARK={mark}\0");
    let entries = std::fs::read_dir("/proc").unwrap();
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes
        .filter(|process: &i32| lives(*process))
        .filter(|process| {
            let variables = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            let mut windows = variables.windows(wanted.len());
            windows.any(|window| window == wanted.as_bytes())
        })
        .collect()
}

/// The process that has started another: the spawner of a supervisor.
pub fn parent_of(process: u32) -> i32 {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = line.rsplit(')').next().unwrap();
    fields.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A folder that is gone after the test, links resolved.
pub fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let guard = tempfile::tempdir().unwrap();
    let path = guard.path().canonicalize().unwrap();
    (guard, path)
}

pub fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
