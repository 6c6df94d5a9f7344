//! `codex sandbox`: runs a command in the sandbox of the settings.
//!
//! The command gets pipes in place of the terminal, because a program that has the terminal can type into it.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Args, Parser};
use codex_config::{Config, RequestParams};
use codex_core::StandaloneCommand;
use codex_engine_host::environment;
use codex_engine_host::host::standalone_commands;
use codex_engine_host::wiring;
use codex_exec::{ExitStatus, Launcher, NetworkLog, OutputStream, StandardInput, StreamSetup};
use codex_exec_policy::{NetworkDecision, NetworkProtocol, NetworkRule, network_rule_line};
use codex_host_policy::{HostDecision, HostEntry, HostList, HostPattern, ListOwner, UsualProtocol};
use codex_protocol::SandboxPolicy;
use codex_sandbox::{HostLimit, LimitedCommands};
use codex_system::signals::Signals;
use tokio::io::AsyncReadExt;

use crate::settings_flags::SettingsFlags;
use crate::{print, profile};

/// The exit status after an interrupt.
const INTERRUPTED_EXIT_CODE: u8 = 130;

/// Names of sandboxes that older releases want before the command.
const KINDS: [&str; 5] = ["linux", "landlock", "macos", "seatbelt", "windows"];

#[derive(Debug, Args)]
#[command(after_help = "\
Without -P, the setting `sandbox_mode` or `default_permissions` applies; by default, files can only be read. Where the \
sandbox cannot be enforced, the command does not run.\n\n\
Examples:\n  codex sandbox -- ls -l\n  codex sandbox -P :workspace -- make test\n  \
codex -s workspace-write sandbox -- make test\n\n\
Exit status: that of the command, 128 and the signal that ended it, 1 if it did not run.")]
pub(crate) struct SandboxArguments {
    /// The permission profile: `:read-only`, `:workspace`, `:danger-full-access`, or one of the settings.
    #[arg(short = 'P', long, alias = "permissions-profile", value_name = "NAME")]
    permission_profile: Option<String>,
    /// The same as `-s workspace-write` before the command.
    #[arg(long, conflicts_with = "permission_profile")]
    full_auto: bool,
    /// The profile to use: a table of config.toml, or the file NAME.config.toml beside it.
    #[arg(short = 'p', long, value_name = "NAME")]
    profile: Option<String>,
    /// The working folder.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// At the end, print the hosts that the command could not reach, as rules to paste into a rules file.
    #[arg(long)]
    network_log: bool,
    /// Accepted for compatibility; what an administrator requires always holds.
    #[arg(long, hide = true)]
    include_managed_config: bool,
    /// The program and its arguments.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// What older releases want between the kind of a sandbox and the command.
#[derive(Debug, Parser)]
#[command(name = "codex sandbox", no_binary_name = true)]
struct OptionsBehindKind {
    #[command(flatten)]
    settings: SettingsFlags,
    #[arg(long)]
    full_auto: bool,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

pub(crate) fn run(
    mut arguments: SandboxArguments,
    mut settings: SettingsFlags,
) -> anyhow::Result<ExitCode> {
    if let [kind, rest @ ..] = &arguments.command[..]
        && !rest.is_empty()
        && KINDS.contains(&kind.as_str())
    {
        let behind = OptionsBehindKind::parse_from(rest);
        settings = settings.followed_by(behind.settings);
        arguments.full_auto |= behind.full_auto;
        arguments.command = behind.command;
    }
    if let Some(option) = (arguments.command.first()).filter(|word| word.starts_with('-')) {
        bail!("`codex sandbox` has no option `{option}`");
    }
    if let Some(name) = &arguments.profile {
        settings = profile::settings(&environment::home()?, name, &settings)?.followed_by(settings);
    }
    if let Some(cwd) = &arguments.cwd {
        codex_mounts::check(cwd)
            .map_err(io::Error::from)
            .and_then(|()| std::env::set_current_dir(cwd))
            .with_context(|| format!("cannot work in {}", cwd.display()))?;
    }
    if let Some(name) = &arguments.permission_profile {
        settings.set("default_permissions", &serde_json::to_string(name)?);
    } else if arguments.full_auto {
        settings.set("sandbox_mode", "\"workspace-write\"");
    }
    let cwd = std::env::current_dir().context("cannot determine the working folder")?;
    let (flags, params) = (settings.overrides()?, RequestParams::default());
    let config = wiring::load_config(Some(&cwd), &flags, &params)?;
    if config.policy.sandbox_policy == SandboxPolicy::DangerFullAccess && !arguments.network_log {
        note("the settings allow everything, so the command runs without a sandbox");
    }
    let runtime = codex_engine_host::runtime::beside_output()?;
    let ended = runtime.block_on(run_confined(
        arguments.command,
        &config,
        cwd,
        arguments.network_log,
    ));
    // A pending read of standard input must not keep the process alive.
    runtime.shutdown_background();
    ended
}

async fn run_confined(
    command: Vec<String>,
    config: &Config,
    cwd: PathBuf,
    prints_rules: bool,
) -> anyhow::Result<ExitCode> {
    let launcher = Launcher::of_this_program();
    let mut commands = standalone_commands(config, launcher.clone(), cwd);
    if prints_rules {
        Arc::make_mut(&mut commands.network_limits).add(every_host_refused()?);
    }
    let has_input = !io::stdin().is_terminal() || io::stdout().is_terminal();
    let network_log = NetworkLog::default();
    let command = StandaloneCommand {
        command,
        cwd: None,
        environment: Default::default(),
        sandbox_policy: None,
        host_limits: Vec::new(),
        streams: if has_input {
            StreamSetup::InputAndOutput
        } else {
            StreamSetup::OutputOnly
        },
        network_log: network_log.clone(),
    };
    if let Some(problem) = commands.network_problem(&command) {
        note(&problem);
    }
    let mut interrupts = Signals::interrupts()?;
    let started = commands.start(command).await;
    let started = started.context("the command does not run")?;
    let (mut process, mut output) = (started.process, started.output);
    if let Some(input) = started.input {
        tokio::spawn(pass_input_on(input));
    }
    let passing = async {
        while let Some(chunk) = output.next().await {
            match chunk.stream {
                OutputStream::Stdout => write_all(io::stdout().lock(), &chunk.bytes)?,
                OutputStream::Stderr => write_all(io::stderr().lock(), &chunk.bytes)?,
            }
        }
        io::Result::Ok(())
    };
    let code = tokio::select! {
        passed = passing => {
            // A reader that has gone away ends the command, as it does without a sandbox.
            let status = match passed {
                Ok(()) => process.wait().await,
                Err(_) => process.kill().await,
            };
            exit_code(status)
        }
        _ = interrupts.next() => {
            process.kill().await;
            INTERRUPTED_EXIT_CODE
        }
    };
    // What the command left running ends with it.
    process.kill().await;
    launcher.close().await;
    if prints_rules {
        print_rules(&network_log)?;
    } else if let Some(refusals) = network_log.take_refusals() {
        for refusal in refusals.lines() {
            note(refusal);
        }
    }
    Ok(ExitCode::from(code))
}

/// A network that leads to no host, whatever rules and permissions allow, so that what a command wants is noted. Other limits
/// still hold.
fn every_host_refused() -> anyhow::Result<HostLimit> {
    let every_host = HostEntry {
        pattern: HostPattern::parse("*")?,
        decision: HostDecision::Deny,
    };
    Ok(HostLimit {
        hosts: Some(HostList::new(ListOwner::Permissions, vec![every_host])),
        opens: true,
        ..HostLimit::closing("`--network-log`", LimitedCommands::All)
    })
}

/// Prints a rule for each host that was refused.
fn print_rules(network_log: &NetworkLog) -> io::Result<()> {
    let mut out = print::output();
    for refused in network_log.refused() {
        let protocol = match UsualProtocol::of_port(refused.port) {
            UsualProtocol::Http => NetworkProtocol::Http,
            UsualProtocol::Https => NetworkProtocol::Https,
            UsualProtocol::Tcp => NetworkProtocol::Socks5Tcp,
        };
        let port = protocol.usual_port().is_none().then_some(refused.port);
        let host = HostPattern::host(refused.host.clone(), port).to_string();
        let rule = NetworkRule::new(&host, protocol, NetworkDecision::Allow, None);
        let line = rule.map(|rule| network_rule_line(&rule));
        writeln!(out, "{}", line.map_err(io::Error::other)?)?;
    }
    out.flush()
}

fn write_all(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

async fn pass_input_on(mut input: StandardInput) {
    let mut stdin = tokio::io::stdin();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = stdin.read(&mut buffer).await {
        if count == 0 || input.write(&buffer[..count]).await.is_err() {
            break;
        }
    }
    let _ = input.close().await;
}

fn exit_code(status: ExitStatus) -> u8 {
    u8::try_from(status.code()).unwrap_or(u8::MAX)
}

/// For people, beside the output of the command.
fn note(text: &str) {
    crate::print::note(format_args!("note: {text}."));
}
