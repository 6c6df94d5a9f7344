//! `codex acp`: the agent of an editor, or of the editors that connect to a listener. It is a client of the app-server, in
//! this process.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use codex_acp::{AcpService, Program};
use codex_client_commands::ServerChoice;
use codex_engine_host::host::HostPurpose;
use codex_engine_host::wiring::non_blank;
use codex_setup_commands::{LoginArguments, log_in};

use crate::app_server::ServedListener;
use crate::listen_flags::{ListenFlags, ListenTransport};
use crate::settings_flags::SettingsFlags;
use crate::{app_server, print};

/// Variables with a key to log in with; the first that is set counts.
const KEY_VARIABLES: [&str; 2] = ["CODEX_API_KEY", "OPENAI_API_KEY"];

/// Set where no browser is to be opened.
const NO_BROWSER: &str = "NO_BROWSER";

#[derive(Debug, Args)]
#[command(after_help = "\
Editors start it and speak the Agent Client Protocol (https://agentclientprotocol.com), version 1, on its \
standard input and output. docs/editors.md says how to set each of them up. With `--listen` it serves any number of \
them, each over a websocket, until SIGTERM comes and running turns are over.\n\n\
Examples:\n  codex acp                                    what an editor starts\n  \
codex acp --login                            log in, as an editor offers it\n  \
codex acp --scenario scenarios/chat.toml     to test an editor against\n  \
codex acp --listen ws://127.0.0.1:7000       many editors, one agent\n\n\
Exit status: 0 the editor closed the input or the agent was stopped, 1 it could not be served, 2 wrong usage.")]
pub(crate) struct AcpArguments {
    #[command(flatten)]
    listen: ListenFlags,
    /// Play the model's part from a scenario file: no key, no network, no cost.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Log in on this terminal in place of serving.
    #[arg(long)]
    login: bool,
}

pub(crate) fn run(arguments: AcpArguments, settings: SettingsFlags) -> anyhow::Result<ExitCode> {
    if arguments.login {
        let (arguments, settings) = (LoginArguments::default(), settings.overrides()?);
        let is_done = print::with_console(|console| log_in(&arguments, &settings, console))?;
        return Ok(crate::success_if(is_done));
    }
    let limit = arguments.listen.max_message_bytes();
    let transport = arguments
        .listen
        .transport_at(|| anyhow::bail!("`--listen unix://` needs a path for this command"))?;
    let (transport, auth) = transport;
    let is_shared = matches!(transport, ListenTransport::Listener(_));
    // The browser of this machine is not that of a client that comes from elsewhere.
    let opens_pages = non_blank(NO_BROWSER).is_none() && !is_shared;
    let program = Program {
        name: "codex",
        version: env!("CARGO_PKG_VERSION"),
        api_key: KEY_VARIABLES.into_iter().find_map(non_blank),
        open_page: opens_pages.then_some(codex_engine_host::browser::open_browser as fn(&str)),
        is_shared,
    };
    let purpose = HostPurpose::Editor {
        environment_key: program.api_key.clone(),
    };
    let (settings, scenario) = (settings.overrides()?, arguments.scenario);
    match transport {
        ListenTransport::Stdio => {
            ServerChoice::here_for(purpose, settings, scenario).run(async |client| {
                let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
                let stop = codex_system::signals::first();
                Ok(codex_acp::serve(client, program, input, output, stop).await?)
            })?;
        }
        ListenTransport::Listener(listen) => {
            let service = |server| AcpService::new(server, program);
            let served = ServedListener {
                name: "codex acp (WebSockets)",
                listen,
                auth,
                limit,
            };
            app_server::serve_as(served, settings, scenario.as_deref(), purpose, service)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
