//! The transport inside one process: a client that is a part of this program.

use std::future::pending;
use std::io;
use std::sync::Arc;

use tokio::io::{BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use crate::server::Server;
use crate::stdio::serve;

/// Bytes on the way in each direction.
const CAPACITY: usize = 256 * 1024;

/// The client's end. The server ends in good order when `input` is shut down.
#[derive(Debug)]
pub struct InMemory {
    /// What the client says goes here, a message a line.
    pub input: WriteHalf<DuplexStream>,
    /// What the server says comes from here.
    pub output: ReadHalf<DuplexStream>,
    /// The server at work.
    pub served: JoinHandle<io::Result<()>>,
}

/// Serves one client in this process.
#[must_use]
pub fn serve_in_memory(server: Arc<Server>) -> InMemory {
    let (ours, theirs) = tokio::io::duplex(CAPACITY);
    let (output, input) = tokio::io::split(theirs);
    let (reader, writer) = tokio::io::split(ours);
    let served = tokio::spawn(serve(server, BufReader::new(reader), writer, pending()));
    InMemory {
        input,
        output,
        served,
    }
}
