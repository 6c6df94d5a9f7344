//! Serves sessions of the queue protocol to several clients, each over a connection of its own.
//!
//! A connection is a session: it begins with `session_configured` and ends with the client. Only programs of this user
//! are served ([`OwnerListener`]). A web page can make a browser of this user connect to a port, but only with HTTP, so
//! over a port the first line has to be a submission.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use codex_app_server::{Listen, OwnerListener, UncheckedClient};
use codex_engine_host::console::Console;
use codex_engine_host::host::EngineHost;
use codex_system::signals;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::session::{FirstLine, QueueSession, load_account_limits};

/// How many clients are served at once. Each has a session, with its MCP servers.
const CLIENTS: usize = 16;

/// The longest line of a client.
const LINE_LIMIT: usize = 16 * 1024 * 1024;

/// The pause after a failed accept, for example without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The time limit for sessions to end after a signal.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Serves clients until a signal arrives.
///
/// # Errors
/// Nothing can listen there.
pub async fn serve_listener(
    host: Arc<EngineHost>,
    listen: &Listen,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let listener = OwnerListener::bind(listen).await;
    let listener = listener.with_context(|| format!("cannot listen at {}", url(listen)))?;
    announce(&listener, listen, console);
    let first_line = match listen {
        Listen::Tcp(_) => FirstLine::MustBeSubmission,
        Listen::Unix(_) => FirstLine::Any,
    };
    let (ends, stop) = watch::channel(false);
    let mut clients = JoinSet::new();
    let mut signal = std::pin::pin!(signals::first());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(_) if clients.len() >= CLIENTS => tracing::warn!("too many clients"),
                Ok(client) => {
                    clients.spawn(serve_client(Arc::clone(&host), client, first_line, stop.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = clients.join_next() => {}
            () = &mut signal => break,
        }
    }
    drop(listener);
    let _ = ends.send(true);
    let gone = async { while clients.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(END_LIMIT, gone).await;
    Ok(())
}

async fn serve_client(
    host: Arc<EngineHost>,
    client: UncheckedClient,
    first_line: FirstLine,
    mut stop: watch::Receiver<bool>,
) {
    let stream = match client.check().await {
        Ok(stream) => stream,
        Err(reason) => return tracing::warn!(reason, "a client is refused"),
    };
    let (input, output) = tokio::io::split(stream);
    let stopped = async move {
        // The sender outlives the clients.
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let served = async {
        load_account_limits(&host).await?;
        let started = tokio::task::spawn_blocking(move || QueueSession::start(host, output));
        started
            .await??
            .serve(input, LINE_LIMIT, first_line, stopped)
            .await
    };
    if let Err(error) = served.await {
        tracing::warn!(
            error = format!("{error:#}"),
            "a client was not served to the end"
        );
    }
}

fn url(listen: &Listen) -> String {
    match listen {
        Listen::Tcp(address) => format!("tcp://{address}"),
        Listen::Unix(path) => format!("unix://{}", path.display()),
    }
}

/// Notes the address, where a caller that asked for any port can read it.
fn announce(listener: &OwnerListener, listen: &Listen, console: &mut Console<'_>) {
    let bound = listener.tcp_address().map(Listen::Tcp);
    console.note("codex proto");
    let address = url(bound.as_ref().unwrap_or(listen));
    console.note(format_args!("  listening on: {address}"));
}
