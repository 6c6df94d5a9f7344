//! Commands in the sandbox of macOS, and in terminals there.
#![cfg(target_os = "macos")]
#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

use std::ffi::OsString;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_exec::{
    CaptureLimits, Launch, Launcher, RunEnd, RunLimits, StreamSetup, TerminalSize, run,
};
use codex_sandbox::{ConfinementPolicy, LaunchPlan, PolicyContext, WorkspaceWrite, plan, probe};

struct SandboxedProject {
    _guard: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

fn project() -> SandboxedProject {
    let guard = tempfile::tempdir().unwrap();
    let base = guard.path().canonicalize().unwrap();
    let (root, outside) = (base.join("project"), base.join("outside"));
    std::fs::create_dir_all(root.join("inner/.git")).unwrap();
    std::fs::create_dir_all(root.join(".git")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    SandboxedProject {
        _guard: guard,
        root,
        outside,
    }
}

fn confined(root: &Path) -> LaunchPlan {
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        slash_tmp: false,
        tmpdir: false,
        ..WorkspaceWrite::default()
    });
    plan(&policy, &PolicyContext::in_folder(root), probe()).unwrap()
}

async fn run_script(
    script: &str,
    cwd: &Path,
    plan: LaunchPlan,
    streams: StreamSetup,
) -> (i32, String) {
    let launcher = Launcher::with_helper(env!("CARGO_BIN_EXE_codex-supervisor"));
    let command = ["/bin/sh", "-c", script];
    let launch = Launch {
        command: command.iter().map(OsString::from).collect(),
        cwd: cwd.to_path_buf(),
        inherited: std::sync::Arc::new(std::env::vars_os().collect()),
        environment: Vec::new(),
        streams,
        plan,
    };
    let limits = RunLimits {
        timeout: Some(Duration::from_secs(60)),
        keep: CaptureLimits::first(1024 * 1024),
        linger: Duration::from_secs(2),
    };
    let spawned = launcher.spawn(launch).await.unwrap();
    let outcome = run(spawned, limits, pending(), ()).await;
    let RunEnd::Exited(status) = outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    let output = String::from_utf8_lossy(&outcome.stdout.into_bytes()).into_owned();
    (status.code(), output)
}

async fn code(script: &str, project: &SandboxedProject) -> i32 {
    let plan = confined(&project.root);
    run_script(script, &project.root, plan, StreamSetup::OutputOnly)
        .await
        .0
}

#[tokio::test]
async fn writing_is_limited_to_the_project_without_its_repository() {
    let project = project();
    assert_eq!(code("echo x > file", &project).await, 0);
    assert_ne!(code("echo x > .git/config", &project).await, 0);
    for created in [".codex", ".CODEX", ".Agents", ".agent\u{17f}"] {
        assert_ne!(
            code(&format!("mkdir {created}"), &project).await,
            0,
            "{created}"
        );
    }
    assert_eq!(code("mkdir agents", &project).await, 0);
    let outside = project.outside.join("file");
    assert_ne!(
        code(&format!("echo x > '{}'", outside.display()), &project).await,
        0
    );
    assert!(!outside.exists());
}

#[tokio::test]
async fn the_project_cannot_be_moved() {
    let project = project();
    assert_ne!(code("mv ../project ../outside/project", &project).await, 0);
    assert_eq!(code("mkdir a && mv a b", &project).await, 0);
}

#[tokio::test]
async fn the_network_is_closed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("/usr/bin/nc -z 127.0.0.1 {port}");
    let project = project();
    assert_ne!(code(&script, &project).await, 0);
    let free = LaunchPlan::Unconfined;
    let (code, _) = run_script(&script, &project.root, free, StreamSetup::OutputOnly).await;
    assert_eq!(code, 0);
}

#[tokio::test]
async fn a_terminal_has_a_size() {
    let project = project();
    let size = StreamSetup::Terminal(TerminalSize::new(30, 90).unwrap());
    let (code, output) = run_script("stty size", &project.root, LaunchPlan::Unconfined, size).await;
    assert_eq!((code, output.trim()), (0, "30 90"));
}
