//! Commands with a restricted token of Windows.
#![cfg(windows)]
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
use codex_sandbox::{
    ConfinementPolicy, EnforcementLevels, LaunchPlanError, NetworkMode, PolicyContext, ReadAccess,
    WorkspaceWrite, plan, probe,
};

const TOKEN: EnforcementLevels = EnforcementLevels {
    landlock: 0,
    seccomp: false,
    namespaces: codex_sandbox::Namespaces::Unavailable,
    seatbelt: false,
    restricted_token: true,
};

/// A project with a repository, and a folder beside it.
struct ConfinedFolder {
    _guard: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl ConfinedFolder {
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let base = dunce(guard.path());
        let (root, outside) = (base.join("project"), base.join("outside"));
        for folder in [root.join(".git"), root.join("sub"), outside.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for file in [root.join(".git/config"), outside.join("file")] {
            std::fs::write(file, "original").unwrap();
        }
        Self {
            _guard: guard,
            root,
            outside,
        }
    }

    /// Runs a script of `cmd` in the project. Returns the exit code and what it printed.
    async fn run(&self, script: &str, streams: StreamSetup) -> (i32, String) {
        let launcher = Launcher::of_this_program();
        let launch = Launch {
            command: ["cmd.exe", "/C", script].map(OsString::from).into(),
            cwd: self.root.clone(),
            inherited: std::sync::Arc::new(std::env::vars_os().collect()),
            environment: Vec::new(),
            streams,
            plan: plan(
                &open_network(),
                &PolicyContext::in_folder(&self.root),
                TOKEN,
            )
            .unwrap(),
            network: codex_exec::CommandNetwork::default(),
        };
        let limits = RunLimits {
            keep: CaptureLimits::first(1024 * 1024),
            linger: Duration::from_secs(2),
            timeout: Some(Duration::from_secs(60)),
        };
        let spawned = launcher.spawn(launch).await.unwrap();
        let outcome = run(spawned, limits, pending(), ()).await;
        launcher.close().await;
        let RunEnd::Exited(status) = outcome.ending else {
            panic!("{:?}", outcome.ending);
        };
        let output = outcome.stdout.into_bytes();
        (status.code(), String::from_utf8_lossy(&output).into_owned())
    }

    async fn code(&self, script: &str) -> i32 {
        self.run(script, StreamSetup::OutputOnly).await.0
    }
}

/// The path without the prefix that `cmd` does not take.
fn dunce(path: &Path) -> PathBuf {
    let path = path.canonicalize().unwrap();
    let text = path.to_str().unwrap();
    text.strip_prefix(r"\\?\").unwrap_or(text).into()
}

fn open_network() -> ConfinementPolicy {
    ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        slash_tmp: false,
        tmpdir: false,
        network: NetworkMode::Enabled,
        ..WorkspaceWrite::default()
    })
}

/// Wine makes tokens and enforces nothing, which the trial finds out.
fn is_enforced() -> bool {
    let is_wine = std::env::var_os("WINEPREFIX").is_some();
    assert_eq!(probe().restricted_token, !is_wine);
    !is_wine
}

#[tokio::test]
async fn commands_run_in_it() {
    let project = ConfinedFolder::new();
    let ran = project
        .run("echo in %CD%&& exit 3", StreamSetup::OutputOnly)
        .await;
    let expected = format!("in {}", project.root.display());
    assert_eq!((ran.0, ran.1.trim()), (3, expected.as_str()));
    assert_eq!(project.code("cmd /C echo x> file").await, 0);
    assert!(project.root.join("file").exists());
    assert!(!project.root.join(".codex").exists());
}

#[tokio::test]
async fn terminals_work_in_it() {
    let project = ConfinedFolder::new();
    let size = StreamSetup::Terminal(TerminalSize::new(30, 90).unwrap());
    // Wine does not connect a program to the terminal that it is started in.
    let (code, output) = project.run("echo out> CONOUT$& exit 4", size).await;
    assert_eq!(code, 4);
    assert!(output.contains("out"), "{output:?}");
}

#[tokio::test]
async fn missing_folders_are_kept_absent_while_a_command_runs() {
    let project = ConfinedFolder::new();
    assert_eq!(project.code("if exist .codex (exit 5)").await, 5);
    assert_ne!(project.code("mkdir .agents").await, 0);
    assert!(!project.root.join(".agents").exists());
}

#[tokio::test]
async fn writing_is_limited_to_the_project_without_its_repository() {
    if !is_enforced() {
        return;
    }
    let project = ConfinedFolder::new();
    let outside = project.outside.join("file");
    let outside = outside.display();
    for script in [
        "echo x> .git\\config".to_owned(),
        "del .git\\config".to_owned(),
        "rename .git moved".to_owned(),
        "rmdir /S /Q .git".to_owned(),
        format!("echo x> {outside}"),
        format!("del {outside}"),
    ] {
        project.code(&script).await;
        for file in [
            project.root.join(".git/config"),
            project.outside.join("file"),
        ] {
            let content = std::fs::read_to_string(file).unwrap_or_default();
            assert_eq!(content, "original", "{script}");
        }
    }
    assert_eq!(project.code("rename sub moved").await, 0);
    assert_eq!(project.code("rmdir moved").await, 0);
}

#[tokio::test]
async fn restricted_token_refuses_unenforceable_policies() {
    let project = ConfinedFolder::new();
    let outcome = |policy: &ConfinementPolicy, levels| {
        plan(policy, &PolicyContext::in_folder(&project.root), levels).map(|_| ())
    };
    let closed = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default());
    assert_eq!(outcome(&closed, TOKEN), Err(LaunchPlanError::Network));
    let read = ReadAccess::Restricted {
        platform_defaults: true,
        roots: Vec::new(),
        denied: Vec::new(),
    };
    let network = NetworkMode::Enabled;
    let reading = ConfinementPolicy::ReadOnly { read, network };
    assert_eq!(outcome(&reading, TOKEN), Err(LaunchPlanError::WritingOnly));
    let nothing = EnforcementLevels::default();
    let missing = LaunchPlanError::RestrictedToken;
    assert_eq!(outcome(&open_network(), nothing), Err(missing));
    let free = ConfinementPolicy::DangerFullAccess;
    assert_eq!(outcome(&free, nothing), Ok(()));
}
