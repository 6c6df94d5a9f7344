//! `codex proto`: the queue protocol, one submission or event per line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use codex_app_server::Listen;
use codex_engine_host::host::{EngineHost, HostPurpose};
use codex_engine_host::wiring::TraceRecorder;
use codex_queue_server::{serve_listener, serve_streams};

use crate::print;
use crate::settings_flags::SettingsFlags;

#[derive(Debug, Args)]
#[command(after_help = "\
A line in is a submission, a line out an event, both as JSON. The session is there from the start and \
ends with the input. A listener has a session for each connection of this user, and ends with SIGTERM.\n\n\
Examples:\n  \
echo '{\"id\":\"1\",\"op\":{\"type\":\"user_input\",\"items\":[{\"type\":\"text\",\"text\":\"hi\"}]}}' | codex proto\n  \
codex proto --listen unix:///tmp/codex.sock")]
pub(crate) struct ProtoArguments {
    /// Where to listen: `stdio://`, `tcp://IP:PORT` of this machine, or `unix://PATH`.
    #[arg(long, value_name = "URL", default_value = "stdio://", value_parser = listen_url)]
    listen: ListenUrl,
}

/// A parsed listen URL.
#[derive(Clone, Debug)]
enum ListenUrl {
    Stdio,
    Listener(Listen),
}

fn listen_url(url: &str) -> Result<ListenUrl, String> {
    if url == "stdio://" {
        return Ok(ListenUrl::Stdio);
    }
    if let Some(address) = url.strip_prefix("tcp://") {
        let invalid = |_| format!("invalid --listen URL `{url}`; expected `tcp://IP:PORT`");
        let address: SocketAddr = address.parse().map_err(invalid)?;
        return Ok(ListenUrl::Listener(Listen::Tcp(address)));
    }
    match url.strip_prefix("unix://") {
        Some(path) if !path.is_empty() => {
            Ok(ListenUrl::Listener(Listen::Unix(PathBuf::from(path))))
        }
        _ => Err(format!(
            "unsupported --listen URL `{url}`; expected `stdio://`, `tcp://IP:PORT` or `unix://PATH`"
        )),
    }
}

pub(crate) fn run(arguments: ProtoArguments, settings: &SettingsFlags) -> anyhow::Result<()> {
    let overrides = settings.overrides()?;
    codex_engine_host::log::start();
    let runtime = codex_engine_host::runtime::beside_output()?;
    let tracing = TraceRecorder::for_clients_of(None);
    let served = print::with_console(|console| {
        runtime.block_on(async {
            let host = EngineHost::new(overrides, None, tracing.clone(), HostPurpose::Clients)?;
            let host = Arc::new(host);
            match arguments.listen {
                ListenUrl::Stdio => {
                    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
                    serve_streams(host, input, output).await
                }
                ListenUrl::Listener(listen) => serve_listener(host, &listen, console).await,
            }
        })
    });
    // A pending read of standard input must not keep the process alive.
    runtime.shutdown_background();
    tracing.finish();
    served
}
