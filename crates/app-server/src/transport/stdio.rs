//! The default transport: one client on standard input and output, a message a line.
//!
//! One thread reads and one writes, each waiting for its client and for nothing else. The end of the
//! input, a client that does not read, SIGTERM and SIGINT end the server in good order; a second signal
//! ends it at once.

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use super::lines::Lines;
use super::signals::Signals;
use super::{LAST_WORDS, end_threads};
use crate::connection::Connection;
use crate::outbox::Limits;
use crate::router::Router;
use crate::server::Server;

/// Serves standard input and output until the client goes away or a signal comes. It needs the
/// thread that it is called on, which must not belong to the runtime.
///
/// # Errors
/// The input cannot be read, or signals cannot be heard.
pub fn serve_stdio(server: &Arc<Server>, runtime: &Runtime, limit: usize) -> io::Result<()> {
    let signals = {
        let _context = runtime.enter();
        Signals::new()?
    };
    let connection = server.connect(Limits::ONLY_CLIENT);
    let router = Router::new(Arc::clone(server), Arc::clone(&connection));
    let (read, input_ended) = oneshot::channel();
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || read.send(read_input(io::stdin(), router, limit, &handle)))?;
    let (written, output_ended) = oneshot::channel();
    let life = runtime.spawn(live(
        Arc::clone(server),
        Arc::clone(&connection),
        input_ended,
        output_ended,
        signals,
    ));
    runtime.block_on(write_output(io::stdout(), &connection));
    let _ = written.send(());
    runtime.block_on(life).unwrap_or(Ok(()))
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

async fn write_output(mut output: impl Write, connection: &Connection) {
    while let Some(messages) = connection.outbox().next().await {
        // On a thread of its own: whoever waits here is the client.
        let mut pieces = messages.into_pieces();
        let written = pieces.try_for_each(|piece| output.write_all(&piece));
        if written.and_then(|()| output.flush()).is_err() {
            connection.outbox().cut_off();
        }
    }
}

/// From the first message to the end of the process.
async fn live(
    server: Arc<Server>,
    connection: Arc<Connection>,
    input_ended: oneshot::Receiver<io::Result<()>>,
    output_ended: oneshot::Receiver<()>,
    signals: Signals,
) -> io::Result<()> {
    let outcome = tokio::select! {
        read = input_ended => read.unwrap_or(Ok(())),
        () = connection.outbox().until_cut_off() => Ok(()),
        () = signals.first() => Ok(()),
    };
    end_threads(&server).await;
    server.disconnect(&connection).await;
    if tokio::time::timeout(LAST_WORDS, output_ended)
        .await
        .is_err()
    {
        // The thread that writes waits for a client that does not read; nothing else is left to do.
        std::process::exit(0);
    }
    outcome
}
