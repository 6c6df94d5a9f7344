//! The other machines of the settings: lists them, tests them, and installs this program there.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use codex_config::{Config, EnvironmentSettings, Overrides, RequestParams};
use codex_engine_host::carriers::{carrier_variables, configured, install_folder, script_command};
use codex_engine_host::console::Console;
use codex_engine_host::{resources, runtime, wiring};
use codex_environments::wire::{
    AccessEntry, AccessMode, PlaceKind, Sandbox, SandboxNetwork, VariablePolicy,
};
use codex_environments::{Environments, RemoteCommand, RemoteExit, RemoteMachine, RemotePath};
use codex_exec::Launcher;
use codex_program_files::sha256_digits;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

/// How often the way there and back is measured.
const MEASUREMENTS: u32 = 5;

/// How long a command of a test may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// How long an installation may take.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, Subcommand)]
pub enum EnvironmentCommand {
    /// List the machines of the settings.
    List,
    /// Say what works on a machine.
    Test(NameArguments),
    /// Copy this program to a machine, through the same connection.
    Install(InstallArguments),
}

#[derive(Debug, Args)]
pub struct NameArguments {
    /// The name of the environment, as it is listed.
    name: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The program becomes ~/.local/share/codex/VERSION/codex there; nothing else is changed. Its checksum is compared there \
before it takes its place.")]
pub struct InstallArguments {
    /// The name of the environment, as it is listed.
    name: String,
    /// The program for the system and processor there. Default: this program, if they are the same.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Carries out a command with the settings of flags.
///
/// # Errors
/// The settings name no such machine, or it cannot be reached.
pub fn run_environment_command(
    command: &EnvironmentCommand,
    settings: &Overrides,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let config = wiring::load_config(None, settings, &RequestParams::default())?;
    let out = console.output();
    let runtime = runtime::here()?;
    let done = match command {
        EnvironmentCommand::List => list(&config, out),
        EnvironmentCommand::Test(arguments) => {
            runtime.block_on(test(&config, &arguments.name, out))
        }
        EnvironmentCommand::Install(arguments) => {
            runtime.block_on(install(&config, arguments, out))
        }
    };
    runtime.shutdown_background();
    done
}

fn find<'a>(config: &'a Config, name: &str) -> anyhow::Result<&'a EnvironmentSettings> {
    let found = config.environments.get(name);
    found.with_context(|| {
        format!("the settings name no environment `{name}`; `codex environment list` lists them")
    })
}

fn list(config: &Config, out: &mut dyn Write) -> anyhow::Result<()> {
    if config.environments.is_empty() {
        writeln!(out, "The settings name no other machine.")?;
    }
    let width = config
        .environments
        .keys()
        .map(String::len)
        .max()
        .unwrap_or(0);
    for (name, settings) in &config.environments {
        let cwd = settings.cwd.as_deref().unwrap_or("-");
        writeln!(out, "{name:width$}  {:10}  {cwd}", settings.reach.kind())?;
    }
    Ok(())
}

/// Connects to a machine of the settings.
fn connect(config: &Config, name: &str) -> anyhow::Result<(Environments, RemoteMachine)> {
    let settings = find(config, name)?;
    let variables = Arc::new(carrier_variables(config));
    let environment = configured(settings, &variables, &config.home);
    let http = Arc::new(resources::http_pool());
    let environments = Environments::new(http, Launcher::of_this_program());
    let machine = environments.register(name, environment)?;
    Ok((environments, machine))
}

async fn test(config: &Config, name: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let settings = find(config, name)?;
    let (_environments, machine) = connect(config, name)?;
    let began = Instant::now();
    let facts = machine.facts().await?;
    let connected = began.elapsed();
    writeln!(out, "connection   {} ms", connected.as_millis())?;
    let nothing = serde_json::json!({});
    let began = Instant::now();
    for _ in 0..MEASUREMENTS {
        let _: Value = machine.request("environment/status", &nothing).await?;
    }
    let once = began.elapsed() / MEASUREMENTS;
    writeln!(out, "there, back  {:.1} ms", once.as_secs_f64() * 1000.0)?;
    let version = facts.version.as_deref().unwrap_or("unknown");
    let own = env!("CARGO_PKG_VERSION");
    let differs = if version == own {
        ""
    } else {
        "  (another one than this program)"
    };
    writeln!(out, "version      {version}{differs}")?;
    writeln!(
        out,
        "system       {}",
        facts.system.as_deref().unwrap_or("unknown")
    )?;
    writeln!(out, "shell        {}", facts.shell.path)?;
    let configured = settings.cwd.as_deref().and_then(RemotePath::new);
    let folder = configured
        .or_else(|| facts.cwd.clone())
        .context("the machine names no folder; set `cwd`")?;
    let found = machine.metadata(&folder).await?;
    let is_folder = found.is_some_and(|found| found.is_directory);
    writeln!(
        out,
        "folder       {folder}{}",
        if is_folder { "" } else { "  MISSING" }
    )?;
    let git = command(&machine, &folder, &["git", "--version"], None).await;
    writeln!(out, "git          {}", shown(&git))?;
    let disk = command(&machine, &folder, &["df", "-h", "."], None).await;
    writeln!(
        out,
        "disk         {}",
        shown(&disk.map(|text| last_line(&text)))
    )?;
    for (what, network) in [
        ("sandbox      ", SandboxNetwork::Restricted),
        ("with network ", SandboxNetwork::Enabled),
    ] {
        let confined = command(
            &machine,
            &folder,
            &["true"],
            Some(sandbox(&folder, network)),
        )
        .await;
        let state = confined.map(|_| "commands are confined".to_owned());
        writeln!(out, "{what}{}", shown(&state))?;
    }
    Ok(())
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().to_owned()
}

fn shown(result: &Result<String, String>) -> String {
    let text = match result {
        Ok(text) => text.trim().to_owned(),
        Err(problem) => format!("NO: {problem}"),
    };
    codex_visible_text::visible_line(&text)
}

/// A sandbox that lets commands write in a folder.
fn sandbox(folder: &RemotePath, network: SandboxNetwork) -> Sandbox<RemotePath> {
    let entries = vec![
        AccessEntry::special(PlaceKind::Root, None, AccessMode::Read),
        AccessEntry::special(PlaceKind::ProjectRoots, None, AccessMode::Write),
    ];
    Sandbox::of_entries(entries, network, folder.clone(), vec![folder.clone()])
}

/// Runs a command to its end there. Returns what it printed.
async fn command(
    machine: &RemoteMachine,
    folder: &RemotePath,
    argv: &[&str],
    sandbox: Option<Sandbox<RemotePath>>,
) -> Result<String, String> {
    let command = RemoteCommand {
        id: format!("test-{}-{}", std::process::id(), next_number()),
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: folder.clone(),
        env: BTreeMap::new(),
        env_policy: VariablePolicy {
            ignore_default_excludes: true,
            ..VariablePolicy::default()
        },
        has_terminal: false,
        takes_input: false,
        sandbox,
    };
    let running = async {
        let started = machine.start(command).await;
        let mut process = started.map_err(|error| error.to_string())?;
        let mut text = Vec::new();
        while let Some(piece) = process.output.next().await {
            text.extend_from_slice(&piece.bytes);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        match process.control.exited().await {
            RemoteExit::Code(0) => Ok(text),
            RemoteExit::Code(code) => Err(format!("it ended with {code}: {}", text.trim())),
            RemoteExit::Lost(reason) => Err(reason),
        }
    };
    let ran = tokio::time::timeout(COMMAND_LIMIT, running).await;
    ran.unwrap_or_else(|_| Err("it takes too long".to_owned()))
}

/// Numbers the commands of a test.
fn next_number() -> u64 {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

async fn install(
    config: &Config,
    arguments: &InstallArguments,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let settings = find(config, &arguments.name)?;
    let kind = "uname -sm";
    let Some(asking) = script_command(&settings.reach, kind) else {
        bail!(
            "an environment with `{}` has no shell to install with; install the program there by hand",
            settings.reach.kind()
        );
    };
    let variables = carrier_variables(config);
    let system = run_carrier(asking, &variables, &[]).await?;
    let system = system.trim();
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None if system == own_system() => {
            std::env::current_exe().context("the path of this program is not known")?
        }
        None => bail!(
            "the machine is `{}`, and this program is for `{}`: give one for it with --program",
            codex_visible_text::visible_line(system),
            own_system()
        ),
    };
    let bytes =
        std::fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    let script = install_script(&sha256_digits(&bytes));
    let installing = script_command(&settings.reach, &script).unwrap_or_default();
    let version = run_carrier(installing, &variables, &bytes).await?;
    writeln!(
        out,
        "Installed ~/{}/codex on `{}`: {}",
        install_folder(),
        arguments.name,
        codex_visible_text::visible_line(version.trim())
    )?;
    Ok(())
}

/// The system and processor of this program, as `uname -sm` names them.
fn own_system() -> String {
    let system = match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "Darwin",
        other => other,
    };
    let processor = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("macos", "aarch64") => "arm64",
        (_, other) => other,
    };
    format!("{system} {processor}")
}

/// Reads the program from its standard input, compares it, tries it, and puts it in its place.
fn install_script(checksum: &str) -> String {
    let folder = install_folder();
    format!(
        "set -e; umask 077; d=\"$HOME/{folder}\"; mkdir -p \"$d\"; t=\"$d/.codex.$$\"; \
         trap 'rm -f \"$t\"' EXIT; cat > \"$t\"; \
         if command -v sha256sum >/dev/null 2>&1; then s=$(sha256sum < \"$t\"); else s=$(shasum -a 256 < \"$t\"); fi; \
         if [ \"${{s%% *}}\" != \"{checksum}\" ]; then echo 'the copy is damaged' >&2; exit 1; fi; \
         chmod 700 \"$t\"; \"$t\" --version; mv -f \"$t\" \"$d/codex\""
    )
}

/// Runs the command of a carrier to its end. Returns what it printed.
async fn run_carrier(
    argv: Vec<String>,
    variables: &BTreeMap<std::ffi::OsString, std::ffi::OsString>,
    input: &[u8],
) -> anyhow::Result<String> {
    let (program, arguments) = argv.split_first().context("there is no command")?;
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start `{program}`"))?;
    let mut stdin = child.stdin.take().context("the command has no input")?;
    let running = async {
        let writing = async {
            // If it does not read all, its exit code says why.
            let _ = stdin.write_all(input).await;
            drop(stdin);
        };
        let ((), output) = tokio::join!(writing, child.wait_with_output());
        output
    };
    let ended = tokio::time::timeout(INSTALL_LIMIT, running).await;
    let output = ended.context("the command takes too long")??;
    if !output.status.success() {
        bail!("`{program}` ended with {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_compared_before_installation() {
        let script = install_script("0123");
        let place = |part: &str| script.find(part).unwrap();
        assert!(place("!= \"0123\"") < place("chmod 700"));
        assert!(place("--version") < place("mv -f"));
    }

    #[test]
    fn text_of_a_machine_is_shown_on_one_line() {
        let shown_error = shown(&Err("no\nshell".to_owned()));
        assert!(shown_error.starts_with("NO: no"));
        assert!(!shown_error.contains('\n'));
        assert_eq!(shown(&Ok(" git 2 \n".to_owned())), "git 2");
    }
}
