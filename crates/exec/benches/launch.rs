//! What a command costs beside itself: `/bin/true` started directly, through a supervisor, and in
//! the sandbox. Prints the median time and the mean processor time of one run, ours and that of
//! all processes started for it, the command included; then how fast output comes through.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures and prints"
)]

use std::time::{Duration, Instant};

use codex_exec::{
    CaptureLimits, Launch, Launcher, RunLimits, RunOutcome, StreamSetup, run, run_helper_if_asked,
};
use codex_sandbox::{ConfinementPolicy, LaunchPlan, PolicyContext, WorkspaceWrite, plan, probe};

const RUNS: u32 = 1000;
const BYTES: u64 = 2_000_000_000;

fn main() {
    run_helper_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(all());
}

async fn all() {
    println!(
        "{:16} {:>9} {:>9} {:>9}  (us)",
        "", "time", "own cpu", "children"
    );
    measure("directly", directly).await;
    let folder = tempfile::tempdir().unwrap();
    let policy_context = PolicyContext::in_folder(folder.path());
    let launcher = Launcher::of_this_program();
    let policies = [
        ("supervised", ConfinementPolicy::DangerFullAccess),
        ("read-only", ConfinementPolicy::read_only()),
        (
            "workspace-write",
            ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default()),
        ),
    ];
    for (name, policy) in policies {
        match plan(&policy, &policy_context, probe()) {
            Ok(plan) => {
                let once = async || drop(launch(&launcher, &["/bin/true"], &plan).await);
                measure(name, once).await;
            }
            Err(refusal) => println!("{name}: skipped, {refusal}"),
        }
    }
    throughput(&launcher).await;
}

async fn measure(name: &str, once: impl AsyncFn()) {
    for _ in 0..20 {
        once().await;
    }
    let before = processor_time();
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        once().await;
        times.push(started.elapsed());
    }
    let after = processor_time();
    times.sort();
    let median = times[times.len() / 2].as_micros();
    let [own, children] = [0, 1].map(|part| ((after[part] - before[part]) / RUNS).as_micros());
    println!("{name:16} {median:>9} {own:>9} {children:>9}");
}

async fn directly() {
    let status = tokio::process::Command::new("/bin/true").status().await;
    assert!(status.unwrap().success());
}

async fn launch(launcher: &Launcher, command: &[&str], plan: &LaunchPlan) -> RunOutcome {
    let launch = Launch {
        command: command.iter().map(Into::into).collect(),
        cwd: "/".into(),
        inherited: std::sync::Arc::default(),
        environment: std::env::vars_os().collect(),
        streams: StreamSetup::OutputOnly,
        plan: plan.clone(),
        network: codex_exec::CommandNetwork::default(),
    };
    let limits = RunLimits {
        timeout: None,
        keep: CaptureLimits::both_ends(1024 * 1024),
        linger: Duration::from_secs(2),
    };
    let spawned = launcher.spawn(launch).await.unwrap();
    run(spawned, limits, std::future::pending(), ()).await
}

async fn throughput(launcher: &Launcher) {
    let started = Instant::now();
    let count = BYTES.to_string();
    let command = ["/usr/bin/head", "-c", &count, "/dev/zero"];
    let finished = launch(launcher, &command, &LaunchPlan::Unconfined).await;
    assert_eq!(finished.stdout.total, BYTES);
    let rate = BYTES as f64 / started.elapsed().as_secs_f64() / 1024.0 / 1024.0;
    println!("output: {rate:.0} MiB/s");
}

/// Our own, and that of everything started for us that has ended.
fn processor_time() -> [Duration; 2] {
    let [own, ended] = times_of("self");
    let spawners = children_of_this().into_iter();
    let spawners: Duration = spawners.flat_map(|spawner| times_of(&spawner)).sum();
    [own, ended + spawners]
}

/// Of a process itself, and of its children that have ended.
fn times_of(process: &str) -> [Duration; 2] {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<_> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks = |field: usize| fields[field].parse::<u32>().unwrap();
    [
        TICK * (ticks(11) + ticks(12)),
        TICK * (ticks(13) + ticks(14)),
    ]
}

fn children_of_this() -> Vec<String> {
    let path = format!("/proc/self/task/{}/children", std::process::id());
    let line = std::fs::read_to_string(path).unwrap();
    line.split_whitespace().map(str::to_owned).collect()
}
