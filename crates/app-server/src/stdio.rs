//! The default transport: one client on standard input and output, a message a line.
//!
//! The end of the input, SIGTERM and SIGINT end the server in good order; a second signal ends it at
//! once.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncWrite, BufReader};

use crate::lines::{LINE_LIMIT, Lines};
use crate::router::Router;
use crate::server::Server;

/// How long threads may take to end.
const GRACE: Duration = Duration::from_millis(1500);

/// How long a client may take to read the last of it. Both together stay below two seconds.
const LAST_WORDS: Duration = Duration::from_millis(400);

/// Serves standard input and output until the client goes away or a signal comes.
///
/// # Errors
/// The input cannot be read, or signals cannot be heard.
pub async fn serve_stdio(server: Arc<Server>) -> io::Result<()> {
    let input = BufReader::with_capacity(64 * 1024, tokio::io::stdin());
    let mut signals = Signals::new()?;
    serve(server, input, tokio::io::stdout(), signals.first()).await
}

/// Serves one client over any pair of streams, until it goes away or `stop` is done.
pub(crate) async fn serve(
    server: Arc<Server>,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let connection = server.connect();
    let writer = tokio::spawn({
        let connection = Arc::clone(&connection);
        async move { connection.outbox().write_to(&mut output).await }
    });
    let mut lines = Lines::new(input, LINE_LIMIT);
    let mut router = Router::new(Arc::clone(&server), Arc::clone(&connection));
    tokio::pin!(stop);
    let outcome = loop {
        tokio::select! {
            line = lines.next() => match line {
                Ok(Some(line)) => router.take(line).await,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            },
            () = &mut stop => break Ok(()),
        }
    };
    if tokio::time::timeout(GRACE, server.shut_down())
        .await
        .is_err()
    {
        tracing::warn!("some threads did not end in time");
    }
    server.disconnect(&connection).await;
    let _ = tokio::time::timeout(LAST_WORDS, writer).await;
    outcome
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for a signal; from then on the next one ends the process.
    async fn first(&mut self) {
        self.next().await;
        if let Ok(mut again) = Self::new() {
            tokio::spawn(async move {
                again.next().await;
                std::process::exit(130);
            });
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn first(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
