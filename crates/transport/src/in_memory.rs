//! The transport for a client in the same process.

use std::io;
use std::sync::Arc;

use tokio::io::{BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use super::lines::Lines;
use super::{ConnectedClient, LAST_WORDS, MESSAGE_LIMIT, MessageHandler, Service, end_work};
use crate::outbox::Limits;

/// The capacity of each direction in bytes.
const CAPACITY: usize = 256 * 1024;

/// The client's end. The server shuts down cleanly when `input` is closed.
#[derive(Debug)]
pub struct InMemory {
    /// The input of the server: messages of the client, one per line.
    pub input: WriteHalf<DuplexStream>,
    /// The output of the server.
    pub output: ReadHalf<DuplexStream>,
    /// The task of the server.
    pub served: JoinHandle<io::Result<()>>,
}

/// Serves one client in this process.
#[must_use]
pub fn serve_in_memory(service: Arc<impl Service>) -> InMemory {
    let (ours, theirs) = tokio::io::duplex(CAPACITY);
    let (output, input) = tokio::io::split(theirs);
    let served = tokio::spawn(serve(service, ours));
    InMemory {
        input,
        output,
        served,
    }
}

async fn serve(service: Arc<impl Service>, stream: DuplexStream) -> io::Result<()> {
    let (input, mut output) = tokio::io::split(stream);
    let ConnectedClient {
        id,
        mut session,
        outbox,
    } = Arc::clone(&service).connect(Limits::ONLY_CLIENT);
    let writer = tokio::spawn(async move { outbox.write_to(&mut output).await });
    let mut lines = Lines::new(BufReader::new(input), MESSAGE_LIMIT);
    let outcome = loop {
        match lines.next_of_stream().await {
            Ok(Some(line)) => session.take(line).await,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    end_work(&*service).await;
    service.disconnect(id).await;
    let _ = tokio::time::timeout(LAST_WORDS, writer).await;
    outcome
}
