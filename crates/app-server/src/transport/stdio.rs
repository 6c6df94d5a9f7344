//! The default transport: one client on standard input and output, a message a line.
//!
//! A thread reads, waiting for its client and for nothing else. The end of the input, a client that
//! does not read, SIGTERM and SIGINT end the server in good order; a second signal ends it at once.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::lines::Lines;
use super::signals::Signals;
use super::{LAST_WORDS, end_threads, stdout};
use crate::connection::Connection;
use crate::outbox::Limits;
use crate::router::Router;
use crate::server::Server;

/// Serves standard input and output until the client goes away or a signal comes.
///
/// # Errors
/// The input cannot be read, or signals cannot be heard.
pub async fn serve_stdio(server: Arc<Server>, limit: usize) -> io::Result<()> {
    let signals = Signals::new()?;
    let connection = server.connect(Limits::ONLY_CLIENT);
    let router = Router::new(Arc::clone(&server), Arc::clone(&connection));
    let (read, input_ended) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || read.send(read_input(io::stdin(), router, limit, &runtime)))?;
    let from = Arc::clone(&connection);
    let output = tokio::spawn(async move { stdout::write_from(from.outbox()).await });
    live(&server, &connection, input_ended, output, signals).await
}

fn read_input(
    input: impl Read,
    mut router: Router,
    limit: usize,
    runtime: &Handle,
) -> io::Result<()> {
    let mut lines = Lines::new(BufReader::with_capacity(64 * 1024, input), limit);
    while let Some(line) = lines.next()? {
        runtime.block_on(router.take(line));
    }
    Ok(())
}

/// From the first message to the end of the process.
async fn live(
    server: &Server,
    connection: &Arc<Connection>,
    input_ended: oneshot::Receiver<io::Result<()>>,
    output: JoinHandle<()>,
    signals: Signals,
) -> io::Result<()> {
    let outcome = tokio::select! {
        read = input_ended => read.unwrap_or(Ok(())),
        () = connection.outbox().until_cut_off() => Ok(()),
        () = signals.first() => Ok(()),
    };
    end_threads(server).await;
    server.disconnect(connection).await;
    if tokio::time::timeout(LAST_WORDS, output).await.is_err() {
        // The thread that writes waits for a client that does not read; nothing else is left to do.
        std::process::exit(0);
    }
    outcome
}
