//! `codex app-server` and its subcommands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use codex_app_server::{AppServer, Auth, Listen, Listener};
use codex_app_server_protocol::export;
use codex_config::Overrides;
use codex_engine_host::host::HostPurpose;
use codex_engine_host::wiring::TraceRecorder;
use codex_engine_host::{log, server};
use codex_projection::dialect;
use codex_protocol::Release;
use codex_scenario::Scenario;
use codex_transport::Service;

use crate::listen_flags::{ListenFlags, ListenTransport};
use crate::other_commands::AnyArguments;
use crate::print::note;
use crate::settings_flags::SettingsFlags;
use crate::{daemon, generate};

#[derive(Debug, Args)]
#[command(after_help = "\
A message is a line of JSON. On standard input and output the server ends with its input; a listener \
ends with SIGTERM, once running turns are over. With CODEX_ROLLOUT_TRACE_ROOT=DIR every session leaves \
a trace in that folder.\n\n\
Examples:\n  codex app-server                                        what an editor starts\n  \
codex app-server --scenario scenarios/chat.toml         to test a client against\n  \
codex app-server --listen unix:///tmp/codex.sock        many clients, one server\n\n\
Exit status: 0 it served to the end, 1 it could not, 2 wrong usage.")]
pub(crate) struct AppServerArguments {
    #[command(flatten)]
    listen: ListenFlags,
    /// Use a scripted model from a scenario file: no key, no network, no cost.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Treat clients that do not state their release as clients of this one, for example 0.171. By default, the setting
    /// `client_release` applies; without it, the release is recognized by the requests of a client.
    #[arg(long, value_name = "RELEASE", value_parser = Release::parse_client)]
    client_release: Option<Release>,
    /// The same as `--client-release 0.169`.
    #[arg(long, conflicts_with = "client_release")]
    newer_clients: bool,
    /// Check the settings and print what an administrator requires, as JSON, without serving.
    #[arg(long, conflicts_with_all = ["scenario", "managed_daemon"])]
    print_startup_config: bool,
    /// Accepted for compatibility; has no effect.
    #[arg(long, hide = true)]
    analytics_default_enabled: bool,
    /// Accepted for compatibility; nothing is asked in the name of a client before it is there.
    #[arg(long, hide = true, value_name = "JSON")]
    startup_client_info: Option<String>,
    /// Be the server in the background of the home folder. What `daemon start` starts.
    #[arg(long, hide = true)]
    managed_daemon: bool,
    #[command(subcommand)]
    command: Option<AppServerCommand>,
}

#[derive(Debug, Subcommand)]
enum AppServerCommand {
    /// Start, stop and find the background server.
    #[command(subcommand)]
    Daemon(daemon::DaemonCommand),
    /// Connect standard input and output to the socket of a running server.
    Proxy(daemon::ProxyArguments),
    /// Write the protocol's types as TypeScript, a file per type.
    GenerateTs(generate::TypeScriptArguments),
    /// Write the protocol's types as JSON Schema, a file per type and two bundles.
    #[command(after_help = "\
codex_app_server_protocol.v2.schemas.json is the bundle for generators of code: every type at one level, and no \
intersections, which quicktype before 26 and others do not know. codex_app_server_protocol.schemas.json has the types \
as releases describe them, those of v2 in a namespace.")]
    GenerateJsonSchema(generate::GenerateArguments),
    /// Write an OpenRPC document of every method.
    #[command(name = "generate-openrpc")]
    GenerateOpenRpc(generate::GenerateArguments),
    /// Where people look for `codex debug app-server check`.
    #[command(hide = true)]
    Check(AnyArguments),
}

impl AppServerArguments {
    /// Whether the settings are checked and nothing is served.
    pub(crate) fn asks_for_startup_config(&self) -> bool {
        self.print_startup_config && self.command.is_none()
    }
}

pub(crate) fn run(arguments: AppServerArguments, settings: SettingsFlags) -> anyhow::Result<()> {
    match arguments.command {
        Some(AppServerCommand::GenerateTs(arguments)) => generate::run_typescript(&arguments),
        Some(AppServerCommand::GenerateJsonSchema(arguments)) => {
            generate::run(&arguments, export::json_schema)
        }
        Some(AppServerCommand::GenerateOpenRpc(arguments)) => {
            generate::run(&arguments, export::openrpc)
        }
        Some(AppServerCommand::Daemon(command)) => daemon::run(command, &settings),
        Some(AppServerCommand::Check(_)) => {
            bail!("clients are checked by `codex debug app-server check -- COMMAND`")
        }
        Some(AppServerCommand::Proxy(arguments)) => daemon::proxy(arguments),
        None => {
            let _mark = arguments.managed_daemon.then(daemon::become_daemon);
            let _mark = _mark.transpose()?;
            let scenario = arguments.scenario.as_deref();
            let flag = arguments.newer_clients.then_some(dialect::RELEASE_OF_SIGNS);
            let client_release = flag.or(arguments.client_release);
            serve(arguments.listen, &settings, scenario, client_release)
        }
    }
}

fn serve(
    listen: ListenFlags,
    settings: &SettingsFlags,
    scenario: Option<&Path>,
    client_release: Option<Release>,
) -> anyhow::Result<()> {
    let limit = listen.max_message_bytes();
    let (transport, auth) = listen.transport()?;
    log::start();
    let scenario = scenario.map(Scenario::load).transpose()?;
    let tracing = TraceRecorder::for_clients_of(client_release);
    let runtime = codex_engine_host::runtime::here()?;
    let served = runtime.block_on(async {
        let server = server::start(
            settings.overrides()?,
            scenario,
            tracing.clone(),
            HostPurpose::Clients,
        )
        .await?;
        if let Some(release) = client_release {
            server.set_client_release(release);
        }
        let listen = match transport {
            ListenTransport::Stdio => {
                return Ok(codex_app_server::serve_stdio(server, limit).await?);
            }
            ListenTransport::Listener(listen) => listen,
        };
        let listener = Listener::bind(&listen, auth, limit).await;
        let listener = listener.with_context(|| format!("cannot listen at {listen}"))?;
        announce("codex app-server (WebSockets)", &listener, &listen);
        listener.serve(server).await;
        Ok(())
    });
    // Background tasks must not keep the process alive.
    runtime.shutdown_background();
    tracing.finish();
    served
}

/// A listener for another protocol on top of the server.
pub(crate) struct ServedListener {
    /// The first line that is printed.
    pub(crate) name: &'static str,
    pub(crate) listen: Listen,
    pub(crate) auth: Option<Auth>,
    /// The longest message.
    pub(crate) limit: usize,
}

/// Serves another protocol, which `service` makes of the server, to the clients of a listener.
pub(crate) fn serve_as<S: Service>(
    listener: ServedListener,
    settings: Overrides,
    scenario: Option<&Path>,
    purpose: HostPurpose,
    service: impl FnOnce(Arc<AppServer>) -> Arc<S>,
) -> anyhow::Result<()> {
    log::start();
    let ServedListener {
        name,
        listen,
        auth,
        limit,
    } = listener;
    let scenario = scenario.map(Scenario::load).transpose()?;
    let tracing = TraceRecorder::from_environment();
    let runtime = codex_engine_host::runtime::here()?;
    let served = runtime.block_on(async {
        let server = server::start(settings, scenario, tracing.clone(), purpose).await?;
        server.set_client_release(Release::OWN);
        let listener = Listener::bind(&listen, auth, limit).await;
        let listener = listener.with_context(|| format!("cannot listen at {listen}"))?;
        announce(name, &listener, &listen);
        listener.serve(service(server)).await;
        anyhow::Ok(())
    });
    // Background tasks must not keep the process alive.
    runtime.shutdown_background();
    tracing.finish();
    served
}

/// Prints the addresses to standard error, where a caller that asked for any port can read them.
fn announce(name: &str, listener: &Listener, listen: &Listen) {
    note(name);
    let Some(address) = listener.tcp_address() else {
        return note(format_args!("  listening on: {listen}"));
    };
    note(format_args!("  listening on: ws://{address}"));
    note(format_args!("  readyz: http://{address}/readyz"));
    note(format_args!("  healthz: http://{address}/healthz"));
    if address.ip().is_loopback() {
        note(format_args!(
            "  note: only this machine can connect; forward the port to connect from another"
        ));
    }
}
