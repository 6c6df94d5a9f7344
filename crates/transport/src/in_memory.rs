//! The transport for clients in the same process: for the only one of a server, which ends with it, and for one beside
//! others.

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

/// Serves the only client of a server, in this process.
#[must_use]
pub fn serve_in_memory(service: Arc<impl Service>) -> InMemory {
    serve_stream(|stream| serve(service, stream))
}

/// Serves a client in this process, beside others. The server goes on without it.
#[must_use]
pub fn serve_in_memory_beside_others(service: Arc<impl Service>) -> InMemory {
    serve_stream(|stream| serve_beside_others(service, stream))
}

fn serve_stream<F>(serve: impl FnOnce(DuplexStream) -> F) -> InMemory
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let (ours, theirs) = tokio::io::duplex(CAPACITY);
    let (output, input) = tokio::io::split(theirs);
    let served = tokio::spawn(serve(ours));
    InMemory {
        input,
        output,
        served,
    }
}

async fn serve_beside_others(service: Arc<impl Service>, stream: DuplexStream) -> io::Result<()> {
    let (input, mut output) = tokio::io::split(stream);
    let ConnectedClient {
        id,
        session,
        outbox,
    } = Arc::clone(&service).connect(Limits::ONE_OF_MANY);
    let reading = read(session, input);
    let writing = async {
        tokio::select! {
            written = outbox.write_to(&mut output) => written,
            () = outbox.until_cut_off() => Ok(()),
        }
    };
    tokio::pin!(writing);
    let ended = tokio::select! {
        ended = reading => Ok(ended),
        ended = &mut writing => Err(ended),
    };
    service.disconnect(id).await;
    match ended {
        Ok(read) => {
            let _ = tokio::time::timeout(LAST_WORDS, writing).await;
            read
        }
        Err(written) => written,
    }
}

/// Handles the messages of a client until its input ends.
async fn read(mut session: impl MessageHandler, input: ReadHalf<DuplexStream>) -> io::Result<()> {
    let mut lines = Lines::new(BufReader::new(input), MESSAGE_LIMIT);
    while let Some(line) = lines.next_of_stream().await? {
        session.take(line).await;
    }
    Ok(())
}

async fn serve(service: Arc<impl Service>, stream: DuplexStream) -> io::Result<()> {
    let (input, mut output) = tokio::io::split(stream);
    let ConnectedClient {
        id,
        session,
        outbox,
    } = Arc::clone(&service).connect(Limits::ONLY_CLIENT);
    let writer = tokio::spawn(async move { outbox.write_to(&mut output).await });
    let outcome = read(session, input).await;
    end_work(&*service).await;
    service.disconnect(id).await;
    let _ = tokio::time::timeout(LAST_WORDS, writer).await;
    outcome
}
