//! The program: `codex-simulator --seeds N [--seed S] [--seconds T] [--jobs J] [--full-disk] [--power-cut]
//! [--two-engines]`.
#![expect(
    unsafe_code,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "calls of the system"
)]

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::checks::check;
use crate::plan::Plan;
use crate::shrink::shrink;
use crate::worker::{SimulationOutcome, SimulationWorker};

/// Set once addresses are the same in every run and the environment is empty.
const PREPARED_VARIABLE: &str = "CODEX_SIMULATOR_PREPARED";

const PROFILE_VARIABLE: &str = "LLVM_PROFILE_FILE";

/// What is asked for.
struct Arguments {
    first: u64,
    count: u64,
    /// These seeds in place of a range.
    list: Option<Vec<u64>>,
    seconds: Option<u64>,
    jobs: u64,
    plan: Option<String>,
    prints: bool,
    logs: bool,
    shrinks: bool,
    hashes: bool,
    /// Whether the disk of each simulation is full for a while.
    fills_disk: bool,
    /// Whether kills are power cuts.
    cuts_power: bool,
    /// Whether two processes serve the home folder.
    has_two_engines: bool,
}

/// Runs what the arguments say.
#[must_use]
pub fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut arguments = Arguments {
        first: 0,
        count: 1,
        list: None,
        seconds: None,
        jobs: 1,
        plan: None,
        prints: false,
        logs: false,
        shrinks: true,
        hashes: false,
        fills_disk: false,
        cuts_power: false,
        has_two_engines: false,
    };
    let mut rest = std::env::args().skip(1);
    while let Some(name) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{name} has no value"));
        match name.as_str() {
            "--seed" => arguments.first = value()?.parse()?,
            "--seeds" => arguments.count = value()?.parse()?,
            "--list" => {
                let seeds = value()?;
                let seeds = seeds.split(',').map(str::parse).collect::<Result<_, _>>()?;
                arguments.list = Some(seeds);
            }
            "--seconds" => arguments.seconds = Some(value()?.parse()?),
            "--jobs" => arguments.jobs = value()?.parse::<u64>()?.max(1),
            "--plan" => arguments.plan = Some(value()?),
            "--logs" => arguments.logs = true,
            "--print" => arguments.prints = true,
            "--no-shrink" => arguments.shrinks = false,
            "--full-disk" => arguments.fills_disk = true,
            "--power-cut" => arguments.cuts_power = true,
            "--two-engines" => arguments.has_two_engines = true,
            "--hashes" => arguments.hashes = true,
            _ => bail!("unknown argument {name}"),
        }
    }
    Ok(arguments)
}

fn run() -> anyhow::Result<bool> {
    let arguments = arguments()?;
    if std::env::var_os(PREPARED_VARIABLE).is_none() {
        return Err(prepare().into());
    }
    if let Some(plan) = &arguments.plan {
        let plan: Plan = serde_json::from_str(plan).context("this is no plan")?;
        let mut worker = SimulationWorker::start().context("cannot enter a namespace")?;
        let outcome = worker.run(&plan)?;
        if arguments.prints {
            print!("{}", worker.record()?);
        }
        if arguments.logs {
            print_logs(&outcome)?;
        }
        return Ok(show(&plan, &outcome));
    }
    let mut children = Vec::new();
    for job in 0..arguments.jobs {
        // SAFETY: this process has one thread.
        match unsafe { libc::fork() } {
            -1 => bail!("cannot start a job"),
            0 => {
                let passed = run_seeds(&arguments, job).unwrap_or_else(|error| {
                    eprintln!("{error:#}");
                    false
                });
                std::process::exit(i32::from(!passed));
            }
            child => children.push(child),
        }
    }
    let mut passed = true;
    for child in children {
        let mut status = 0;
        // SAFETY: the place is valid.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        passed &= status == 0;
    }
    Ok(passed)
}

/// Runs this program again, with the same addresses each time and without variables.
fn prepare() -> std::io::Error {
    // SAFETY: a plain call.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    Command::new(program)
        .args(std::env::args_os().skip(1))
        .env_clear()
        .env(PREPARED_VARIABLE, "1")
        .env("HOME", "/tmp/codex-simulator")
        .env("CODEX_HOME", "/tmp/codex-simulator/home")
        .env("PATH", "/tmp/codex-simulator/no-programs")
        .env("TZ", "UTC")
        .env("SHELL", "/bin/bash")
        // Where the counters of a build with counters are.
        .envs(std::env::var_os(PROFILE_VARIABLE).map(|file| (PROFILE_VARIABLE, file)))
        .exec()
}

fn run_seeds(arguments: &Arguments, job: u64) -> anyhow::Result<bool> {
    let mut worker = SimulationWorker::start().context("cannot enter a namespace")?;
    let until = arguments
        .seconds
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut passed = true;
    let range = || (arguments.first..).take(arguments.count as usize).collect();
    let seeds: Vec<u64> = arguments.list.clone().unwrap_or_else(range);
    for seed in seeds {
        if seed % arguments.jobs != job {
            continue;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        let mut plan = Plan::of_seed(seed);
        if arguments.fills_disk {
            plan = plan.with_full_disk();
        }
        if arguments.cuts_power {
            plan = plan.with_power_cuts();
        }
        if arguments.has_two_engines {
            plan = plan.with_two_engines();
        }
        let outcome = worker.run(&plan)?;
        if arguments.prints {
            print!("{}", worker.record()?);
        }
        if arguments.hashes {
            println!("{seed} {:016x}", outcome.hash);
            for (path, hash) in outcome.files.iter().filter(|_| arguments.prints) {
                println!("{hash:016x} {}", path.display());
            }
        }
        if show(&plan, &outcome) {
            continue;
        }
        passed = false;
        if arguments.shrinks {
            let kind = kind(&plan, &outcome);
            let smaller = shrink(&plan, |plan| {
                let outcome = worker.run(plan);
                outcome.is_ok_and(|outcome| self::kind(plan, &outcome) == kind)
            });
            println!(
                "the smallest plan that fails like this:\n{}",
                serde_json::to_string(&smaller)?
            );
            let outcome = worker.run(&smaller)?;
            show(&smaller, &outcome);
        }
    }
    Ok(passed)
}

/// Prints the logs of all threads.
fn print_logs(outcome: &SimulationOutcome) -> anyhow::Result<()> {
    let is_log = |path: &&std::path::PathBuf| path.extension().is_some_and(|kind| kind == "jsonl");
    for path in outcome.files.iter().map(|(path, _)| path).filter(is_log) {
        println!("{}:\n{}", path.display(), std::fs::read_to_string(path)?);
    }
    Ok(())
}

/// What distinguishes one failure from others.
fn kind(plan: &Plan, outcome: &SimulationOutcome) -> Option<String> {
    let problems = check(plan, outcome);
    problems.first().map(|problem| problem.rule.to_owned())
}

/// Prints what is wrong. Returns whether nothing is.
fn show(plan: &Plan, outcome: &SimulationOutcome) -> bool {
    let problems = check(plan, outcome);
    for problem in &problems {
        println!("seed {}: {}: {}", plan.seed, problem.rule, problem.details);
    }
    if !problems.is_empty() && !outcome.errors.is_empty() {
        println!("{}", outcome.errors);
    }
    problems.is_empty()
}
