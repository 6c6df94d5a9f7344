//! `codex app-server` and the commands below it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use clap::Subcommand;
use codex_app_server::Server;
use codex_scenario::Scenario;

use crate::generate;
use crate::host::EngineHost;
use crate::log::LogWriter;
use crate::scripted_model::ScriptedModel;
use crate::settings_flags::SettingsFlags;
use crate::wiring::Tracing;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Where to listen.
    #[arg(long, value_name = "URL", default_value = "stdio://", value_parser = listen_url)]
    listen: Listen,
    /// Serve standard input and output, which is the default.
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
    /// Play the model's part from a scenario file: no key, no network, no cost.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingsFlags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::enum_variant_names)] // The names of the commands.
enum Command {
    /// Write the protocol's types as TypeScript, a file per type.
    GenerateTs(generate::Arguments),
    /// Write the protocol's types as JSON Schema, a file per type and two bundles.
    GenerateJsonSchema(generate::Arguments),
    /// Write an OpenRPC document of every method.
    #[command(name = "generate-openrpc")]
    GenerateOpenRpc(generate::Arguments),
}

#[derive(Clone, Copy, Debug)]
enum Listen {
    Stdio,
}

fn listen_url(url: &str) -> Result<Listen, String> {
    match url {
        "stdio://" => Ok(Listen::Stdio),
        _ => Err(format!(
            "unsupported --listen URL `{url}`; expected `stdio://`"
        )),
    }
}

/// `before` are the settings that stand in front of the command.
pub(crate) fn run(arguments: Arguments, before: SettingsFlags) -> anyhow::Result<()> {
    match arguments.command {
        Some(Command::GenerateTs(arguments)) => {
            generate::run(&arguments, codex_app_server_protocol::export::typescript)
        }
        Some(Command::GenerateJsonSchema(arguments)) => {
            generate::run(&arguments, codex_app_server_protocol::export::json_schema)
        }
        Some(Command::GenerateOpenRpc(arguments)) => {
            generate::run(&arguments, codex_app_server_protocol::export::openrpc)
        }
        None => match arguments.listen {
            Listen::Stdio => {
                let settings = before.followed_by(arguments.settings);
                serve_stdio(&settings, arguments.scenario.as_deref())
            }
        },
    }
}

fn serve_stdio(settings: &SettingsFlags, scenario: Option<&Path>) -> anyhow::Result<()> {
    start_log();
    let scenario = scenario.map(Scenario::load).transpose()?;
    let tracing = Tracing::from_environment();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let served = runtime.block_on(async {
        let server = server(settings, scenario, tracing.clone()).await?;
        Ok(codex_app_server::serve_stdio(server).await?)
    });
    // A read of standard input that nobody will answer must not keep the process.
    runtime.shutdown_background();
    tracing.finish();
    served
}

/// The server with the engine of this machine, or with a scripted model.
pub(crate) async fn server(
    settings: &SettingsFlags,
    scenario: Option<Scenario>,
    tracing: Tracing,
) -> anyhow::Result<Arc<Server>> {
    let host = match scenario {
        None => EngineHost::new(settings.overrides()?, None, tracing)?,
        Some(scenario) => {
            let (below, model) = ScriptedModel::start(scenario).await?;
            EngineHost::new(settings.over(below)?, Some(model), tracing)?
        }
    };
    Ok(Server::new(Arc::new(host)))
}

/// The log goes to standard error, and its end is kept: `RUST_LOG` says how much, `LOG_FORMAT=json` in which form.
pub(crate) fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| LogWriter);
    if std::env::var("LOG_FORMAT").is_ok_and(|format| format == "json") {
        log.json().init();
    } else {
        log.init();
    }
}
