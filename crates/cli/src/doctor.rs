//! `codex doctor`: checks the home folder and the machine, and says how to fix problems.
//!
//! It changes nothing. The exit code is 1 if any check fails, else 0.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use codex_config::{Config, RequestParams};
use codex_rollout::ThreadLocks;
use codex_sandbox::{EnforcementLevels, Namespaces, NetworkMode};
use codex_thread_store::{IndexState, Inspection, inspect};
use serde_json::{Value, json};

use crate::print::answer_text;
use crate::settings_flags::SettingsFlags;
use codex_engine_host::carriers::script_command;
use codex_engine_host::{mcp_servers, wiring};

/// How many examples are listed per finding.
const EXAMPLES: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 nothing is broken, 1 something is.")]
pub(crate) struct DoctorArguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Only a line for each check, and how many there are of each result.
    #[arg(long, conflicts_with = "json")]
    summary: bool,
    /// List all that was found, not only the first of many.
    #[arg(long)]
    all: bool,
    /// Accepted for compatibility; the output has neither colours nor other signs than those of ASCII.
    #[arg(long, hide = true)]
    no_color: bool,
    /// Accepted for compatibility, as `--no-color`.
    #[arg(long, hide = true)]
    ascii: bool,
}

pub(crate) fn run(arguments: &DoctorArguments, settings: &SettingsFlags) -> ExitCode {
    let findings = examine(settings);
    let text = if arguments.json {
        as_json(&findings)
    } else if arguments.summary {
        as_summary(&findings)
    } else {
        as_text(&findings, if arguments.all { usize::MAX } else { EXAMPLES })
    };
    answer_text(&text);
    if findings
        .iter()
        .any(|finding| finding.state == FindingState::Error)
    {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FindingState {
    Ok,
    Warning,
    Error,
}

impl FindingState {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The result of one check.
#[derive(Debug)]
struct Finding {
    check: &'static str,
    state: FindingState,
    message: String,
    /// What the user should do.
    advice: Option<&'static str>,
    details: Vec<String>,
}

impl Finding {
    fn new(check: &'static str, state: FindingState, message: impl Into<String>) -> Self {
        Self {
            check,
            state,
            message: message.into(),
            advice: None,
            details: Vec::new(),
        }
    }

    fn advise(mut self, advice: &'static str) -> Self {
        self.advice = Some(advice);
        self
    }

    fn with(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details = details.into_iter().collect();
        self
    }
}

fn examine(settings: &SettingsFlags) -> Vec<Finding> {
    let sandbox = sandbox(codex_sandbox::probe());
    let home = match codex_engine_host::environment::home() {
        Ok(home) => home,
        Err(error) => {
            let finding = Finding::new("home", FindingState::Error, format!("{error:#}"));
            let advice = "Set CODEX_HOME to a folder that exists, or unset it.";
            return vec![finding.advise(advice), sandbox];
        }
    };
    let config = configuration(settings);
    let folder = config.as_ref().ok();
    let folder = folder.map_or_else(|| home.clone(), |config| config.storage.sqlite_home.clone());
    let found = inspect(&home, &folder);
    let environments = config.as_ref().ok().and_then(environments);
    let mut findings = vec![
        writable(&home),
        read(&config),
        mcp(config.as_ref().ok()),
        sandbox,
        rollouts(&found),
        torn(&found),
        index(&folder, &found.index),
        locks(&home, &found),
    ];
    findings.extend(environments);
    findings
}

/// The other machines of the settings, and whether the programs are there that reach them. None if there are no such machines.
fn environments(config: &Config) -> Option<Finding> {
    let machines = &config.environments;
    if machines.is_empty() {
        return None;
    }
    let names: Vec<String> = (machines.iter())
        .map(|(name, settings)| format!("{name} ({})", settings.reach.kind()))
        .collect();
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let missing: BTreeSet<String> = (machines.values())
        .filter_map(|settings| script_command(&settings.reach, "true")?.into_iter().next())
        .filter(|program| !codex_exec::has_program(program, &search_path))
        .map(|program| format!("`{program}` is not on the search path"))
        .collect();
    let message = format!("other machines: {}", names.join(", "));
    Some(if missing.is_empty() {
        Finding::new("environments", FindingState::Ok, message)
    } else {
        Finding::new("environments", FindingState::Warning, message)
            .advise("Install the program, or correct `environments` in config.toml.")
            .with(missing)
    })
}

fn writable(home: &Path) -> Finding {
    let shown = home.display();
    match tempfile::tempfile_in(home) {
        Ok(_) => Finding::new(
            "home",
            FindingState::Ok,
            format!("{shown} can be written to"),
        ),
        Err(error) => {
            let message = format!("{shown} cannot be written to: {error}");
            let advice = "Make the folder writable and see that its disk has room: until then \
                          conversations are lost when the program ends.";
            Finding::new("home", FindingState::Error, message).advise(advice)
        }
    }
}

fn configuration(settings: &SettingsFlags) -> anyhow::Result<Config> {
    let cwd = std::env::current_dir()?;
    let (flags, params) = (settings.overrides()?, RequestParams::default());
    wiring::load_config(Some(&cwd), &flags, &params)
}

/// Whether the MCP servers can be started, as far as this can be checked without starting them.
fn mcp(config: Option<&Config>) -> Finding {
    let servers = config.map(mcp_servers::enabled).unwrap_or_default();
    let problems: Vec<_> = servers.iter().filter_map(mcp_servers::problem).collect();
    let message = match (servers.len(), problems.len()) {
        (0, _) => "no server is configured".to_owned(),
        (all, 0) => format!("{all} servers are configured"),
        (all, some) => format!("{some} of {all} configured servers cannot start"),
    };
    if problems.is_empty() {
        Finding::new("mcp", FindingState::Ok, message)
    } else {
        Finding::new("mcp", FindingState::Warning, message)
            .advise("Correct `mcp_servers` in config.toml, or turn the servers off there.")
            .with(problems)
    }
}

fn read(config: &anyhow::Result<Config>) -> Finding {
    match config {
        Ok(config) => {
            let provider = &config.model.provider_id;
            let message = format!("it can be read; the model provider is `{provider}`");
            Finding::new("configuration", FindingState::Ok, message)
        }
        Err(error) => Finding::new("configuration", FindingState::Error, format!("{error:#}"))
            .advise("Correct the file and the line that are named."),
    }
}

fn sandbox(levels: EnforcementLevels) -> Finding {
    let message = means(levels);
    if levels.can_confine(NetworkMode::Restricted) {
        Finding::new("sandbox", FindingState::Ok, message)
    } else {
        Finding::new("sandbox", FindingState::Warning, message).advise(
            "Commands cannot be confined here: you are asked to let them run without a sandbox, or \
             they are refused. On Linux, use a kernel with Landlock, or allow user namespaces. On Windows, a \
             policy that allows the network can be enforced if `windows.sandbox` is `unelevated`.",
        )
    }
}

/// What a sandbox can be made of here, in words.
fn means(levels: EnforcementLevels) -> String {
    let landlock = match levels.landlock {
        0 => None,
        version => Some(format!("Landlock version {version}")),
    };
    let namespaces = match levels.namespaces {
        Namespaces::Unavailable => None,
        Namespaces::Mounts => Some("mount namespaces"),
        Namespaces::MountsAndProcesses => Some("mount and process namespaces"),
    };
    let others = [
        levels.seccomp.then_some("system call filters"),
        namespaces,
        levels.limits_hosts().then_some("networks limited to hosts"),
        levels.seatbelt.then_some("Seatbelt"),
        levels.restricted_token.then_some("restricted tokens"),
    ];
    let others = others.into_iter().flatten().map(str::to_owned);
    let available: Vec<String> = landlock.into_iter().chain(others).collect();
    if available.is_empty() {
        "no means of confining commands is available".to_owned()
    } else {
        format!("available: {}", available.join(", "))
    }
}

fn rollouts(found: &Inspection) -> Finding {
    let total = found.rollouts.len();
    match found.unreadable.len() {
        0 => Finding::new("rollouts", FindingState::Ok, format!("{total} can be read")),
        count => {
            let message = format!("{count} of {total} cannot be read and are left out of lists");
            let details = found.unreadable.iter();
            let details = details.map(|(path, why)| format!("{}: {why}", path.display()));
            Finding::new("rollouts", FindingState::Warning, message)
                .advise("Look at these files: give them back to yourself, or move them away.")
                .with(details)
        }
    }
}

fn torn(found: &Inspection) -> Finding {
    match found.torn.len() {
        0 => Finding::new("last lines", FindingState::Ok, "all are whole"),
        count => Finding::new(
            "last lines",
            FindingState::Warning,
            format!("{count} rollouts end in the middle of a line"),
        )
        .advise("Nothing needs to be done: that line is passed over, and the next one begins anew.")
        .with(shown(&found.torn)),
    }
}

fn index(folder: &Path, state: &IndexState) -> Finding {
    let damaged = folder.join(format!("{}.damaged", codex_thread_store::FILE_NAME));
    let finding = match state {
        IndexState::Missing => Finding::new("index", FindingState::Ok, "there is none yet"),
        IndexState::Unusable(why) => Finding::new(
            "index",
            FindingState::Warning,
            format!("it cannot be read: {why}"),
        )
        .advise("Nothing needs to be done: it is made anew by the next server. It can be deleted."),
        IndexState::Read {
            threads,
            behind,
            gone,
        } if behind.is_empty() && gone.is_empty() => Finding::new(
            "index",
            FindingState::Ok,
            format!("it has {threads} threads, as the files do"),
        ),
        IndexState::Read {
            threads,
            behind,
            gone,
        } => {
            let message = format!(
                "it has {threads} threads; {} files are new or changed, {} are gone",
                behind.len(),
                gone.len()
            );
            Finding::new("index", FindingState::Warning, message)
                .advise("Nothing needs to be done: the next list catches up in the background.")
                .with(shown(behind).chain(shown(gone)))
        }
    };
    if damaged.exists() && finding.state == FindingState::Ok {
        Finding::new("index", FindingState::Warning, finding.message)
            .advise("A damaged index was set aside. If that happens again, check the disk.")
            .with(shown(&[damaged]))
    } else {
        finding
    }
}

/// Locks that other processes hold. The system releases those of processes that have ended.
fn locks(home: &Path, found: &Inspection) -> Finding {
    let held = ThreadLocks::held_by_others(home);
    let details = held.iter().map(|lock| {
        let of = found.rollouts.iter().find(|(id, _)| lock.is_of(id));
        let thread = of.map_or("a thread without a file", |(id, _)| id.as_str());
        format!("{thread}: {}", lock.holder)
    });
    let message = match held.len() {
        0 => "no thread is in use by another process".to_owned(),
        1 => "1 thread is in use by another process".to_owned(),
        count => format!("{count} threads are in use by other processes"),
    };
    Finding::new("locks", FindingState::Ok, message).with(details)
}

fn shown(paths: &[PathBuf]) -> impl Iterator<Item = String> + '_ {
    paths.iter().map(|path| path.display().to_string())
}

fn as_json(findings: &[Finding]) -> String {
    let checks = findings.iter().map(|finding| {
        json!({
            "check": finding.check,
            "state": finding.state.name(),
            "message": finding.message,
            "advice": finding.advice,
            "details": finding.details,
        })
    });
    let report = json!({ "checks": checks.collect::<Vec<Value>>() });
    format!("{report:#}\n")
}

/// A line for each finding, and how many have each state.
fn as_summary(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", first_line(finding));
    }
    let states = [FindingState::Ok, FindingState::Warning, FindingState::Error];
    let counts = states.map(|state| {
        let count = findings.iter().filter(|finding| finding.state == state);
        format!("{} {}", count.count(), state.name())
    });
    let _ = writeln!(text, "\n{}", counts.join(", "));
    text
}

fn first_line(finding: &Finding) -> String {
    let (state, check, message) = (finding.state.name(), finding.check, &finding.message);
    format!("{state:<8} {check:<14} {message}")
}

fn as_text(findings: &[Finding], most_details: usize) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{}", first_line(finding));
        for detail in finding.details.iter().take(most_details) {
            let _ = writeln!(text, "{:24}- {detail}", "");
        }
        if finding.details.len() > most_details {
            let more = finding.details.len() - most_details;
            let _ = writeln!(text, "{:24}- and {more} more (--all lists them)", "");
        }
        if let Some(advice) = finding.advice {
            let _ = writeln!(text, "{:24}{advice}", "");
        }
    }
    text
}
