//! `codex app-server daemon` and `proxy`: the server in the background of the home folder.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use codex_client_commands::own_server;
use codex_daemon::{DaemonChange, DaemonFolder, DaemonState};
use codex_engine_host::environment;
use codex_system::background::RunningMark;
use serde_json::json;

use crate::other_commands::AnyArguments;
use crate::print;
use crate::settings_flags::SettingsFlags;

const AFTER_HELP: &str = "\
It prints a line of JSON: the status, the process, the socket, and the versions of this program and of the \
server. The socket is app-server-control/app-server-control.sock in the home folder; clients reach it with \
`--remote unix://`, or over `codex app-server proxy`.\n\n\
Exit status: 0 done, also if nothing had to be done, 1 not.";

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Start the server in the background, unless it runs already.
    #[command(after_help = AFTER_HELP)]
    Start,
    /// End the server: it may finish its turns for ten seconds, and is killed if it does not end.
    #[command(after_help = AFTER_HELP)]
    Stop,
    /// End the server if it runs, and start it.
    #[command(after_help = AFTER_HELP)]
    Restart,
    /// Print the versions of this program and of the running server.
    #[command(after_help = AFTER_HELP)]
    Version,
    #[command(flatten)]
    Other(OtherDaemonCommand),
}

/// What other releases have here, and this program does not.
#[derive(Debug, Subcommand)]
pub(crate) enum OtherDaemonCommand {
    #[command(hide = true)]
    Bootstrap(AnyArguments),
    #[command(hide = true)]
    Update(AnyArguments),
    #[command(hide = true)]
    EnableRemoteControl(AnyArguments),
    #[command(hide = true)]
    DisableRemoteControl(AnyArguments),
}

/// Says what to use instead.
fn refuse(command: &OtherDaemonCommand) -> anyhow::Result<()> {
    match command {
        OtherDaemonCommand::Bootstrap(_) => bail!(
            "nothing is installed for the server in the background; `codex app-server daemon start` starts it, and a service manager can run that at each start of the machine"
        ),
        OtherDaemonCommand::Update(_) => bail!(
            "this program does not update itself; install it again in the way it was installed, then `codex app-server daemon restart`"
        ),
        OtherDaemonCommand::EnableRemoteControl(_)
        | OtherDaemonCommand::DisableRemoteControl(_) => {
            bail!(
                "remote control over a service is not supported; `ssh HOST codex app-server proxy` reaches the server of another machine"
            )
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
What is on the socket are websockets. Programs on another machine reach the server of this one with \
`ssh HOST codex app-server proxy`.\n\n\
Exit status: 0 the server closed the connection, 1 there is none.")]
pub(crate) struct ProxyArguments {
    /// The socket; by default that of the server in the background.
    #[arg(long = "sock", value_name = "SOCKET_PATH")]
    socket: Option<PathBuf>,
}

fn folder() -> anyhow::Result<DaemonFolder> {
    Ok(DaemonFolder::of_home(&environment::home()?))
}

/// Makes this process the server in the background.
pub(crate) fn become_daemon() -> anyhow::Result<RunningMark> {
    Ok(codex_daemon::become_daemon(&folder()?)?)
}

/// `settings` are those of a server that is started.
pub(crate) fn run(command: DaemonCommand, settings: &SettingsFlags) -> anyhow::Result<()> {
    if let DaemonCommand::Other(command) = &command {
        return refuse(command);
    }
    let folder = folder()?;
    let server = || -> anyhow::Result<_> {
        let mut command = own_server()?;
        command.args(["--listen", "unix://", "--managed-daemon"]);
        settings.pass_on(&mut command);
        Ok(command)
    };
    let runtime = codex_engine_host::runtime::here()?;
    let state = runtime.block_on(async {
        anyhow::Ok(match command {
            DaemonCommand::Start => folder.start(server()?).await?,
            DaemonCommand::Stop => folder.stop().await?,
            DaemonCommand::Restart => folder.restart(server()?).await?,
            DaemonCommand::Version | DaemonCommand::Other(_) => folder.state().await?,
        })
    })?;
    print(&folder, &state)
}

fn print(folder: &DaemonFolder, state: &DaemonState) -> anyhow::Result<()> {
    let status = match state.change {
        DaemonChange::Started => "started",
        DaemonChange::AlreadyRunning => "alreadyRunning",
        DaemonChange::Restarted => "restarted",
        DaemonChange::Stopped => "stopped",
        DaemonChange::NotRunning => "notRunning",
        DaemonChange::Running => "running",
    };
    let program = std::env::current_exe().context("cannot find this program")?;
    let version = env!("CARGO_PKG_VERSION");
    let mut line = json!({
        "status": status,
        "managedCodexPath": program,
        "managedCodexVersion": version,
        "socketPath": folder.socket(),
        "cliVersion": version,
    });
    if let Some(process) = state.process {
        line["backend"] = json!("pid");
        line["pid"] = json!(process);
    }
    if let Some(version) = &state.server_version {
        line["appServerVersion"] = json!(version);
    }
    writeln!(print::output(), "{line}")?;
    Ok(())
}

pub(crate) fn proxy(arguments: ProxyArguments) -> anyhow::Result<()> {
    let socket = match arguments.socket {
        Some(socket) => socket,
        None => folder()?.socket(),
    };
    let runtime = codex_engine_host::runtime::here()?;
    let relayed = runtime.block_on(codex_client::relay(
        &socket,
        tokio::io::stdin(),
        tokio::io::stdout(),
    ));
    // A pending read of standard input must not keep the process alive.
    runtime.shutdown_background();
    relayed.with_context(|| format!("cannot reach a server at {}", socket.display()))
}
