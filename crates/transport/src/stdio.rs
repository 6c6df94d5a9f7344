//! The default transport: one client on standard input and output, one message per line.
//!
//! A separate thread reads the input. The end of the input, a client that does not read, SIGTERM and SIGINT shut the
//! server down cleanly; a second signal ends it at once.

use std::io::{self, BufReader, Read, Write as _};
use std::sync::Arc;

use codex_system::signals::Signals;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::lines::Lines;
use super::stdout::Stdout;
use super::{ConnectedClient, LAST_REQUESTS, LAST_WORDS, MessageHandler, Service, end_work};
use crate::outbox::{Limits, Outbox};

/// Serves standard input and output until the client disconnects or a signal arrives.
///
/// # Errors
/// The input cannot be read, or signals cannot be handled.
pub async fn serve_stdio(service: Arc<impl Service>, limit: usize) -> io::Result<()> {
    let signals = Signals::new()?;
    let stdout = Stdout::open()?;
    let ConnectedClient {
        id,
        session,
        outbox,
    } = Arc::clone(&service).connect(Limits::ONLY_CLIENT);
    let (read, input_ended) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || read.send(read_input(io::stdin(), session, limit, &runtime)))?;
    let from = Arc::clone(&outbox);
    let output = tokio::spawn(async move { stdout.write_from(&from).await });
    let outcome = until_end(&outbox, input_ended, signals).await;
    end_work(&*service).await;
    service.disconnect(id).await;
    let written = tokio::time::timeout(LAST_WORDS, output).await;
    let Ok(written) = written else {
        // The writing thread is blocked by a client that does not read, so the process must exit.
        if let Err(error) = &outcome {
            let _ = writeln!(io::stderr(), "Error: {error}");
        }
        std::process::exit(i32::from(outcome.is_err()));
    };
    let written = written.unwrap_or_else(|_| Err(io::Error::other("the output has failed")));
    outcome.and(written)
}

fn read_input(
    input: impl Read,
    mut session: impl MessageHandler,
    limit: usize,
    runtime: &Handle,
) -> io::Result<()> {
    let mut lines = Lines::new(BufReader::with_capacity(64 * 1024, input), limit);
    while let Some(line) = lines.next_line()? {
        runtime.block_on(session.take(line));
    }
    // A request that came just before the end finds its thread.
    let finish = async { tokio::time::timeout(LAST_REQUESTS, session.finish()).await };
    let _ = runtime.block_on(finish);
    Ok(())
}

/// Waits until the client disconnects or a signal arrives.
async fn until_end(
    outbox: &Outbox,
    input_ended: oneshot::Receiver<io::Result<()>>,
    signals: Signals,
) -> io::Result<()> {
    tokio::select! {
        read = input_ended => read.unwrap_or_else(|_| Err(io::Error::other("the reading of the input has failed"))),
        () = outbox.until_cut_off() => cut_off(outbox),
        () = signals.first() => Ok(()),
    }
}

/// A closed connection is a normal end; a client that does not read is an error.
fn cut_off(outbox: &Outbox) -> io::Result<()> {
    match outbox.overflow() {
        None => Ok(()),
        Some(bytes) => Err(io::Error::other(format!(
            "the client does not read: {bytes} bytes wait to be written"
        ))),
    }
}
