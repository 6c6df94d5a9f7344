//! Writes standard output without blocking the runtime.
//!
//! Usually the pipe has room, and a message is written at once, because waking a thread takes several times longer.
//! Large messages, and messages without room, are written by a thread that may block.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use codex_system::output::{make_room, unbuffered, write_now};
use tokio::sync::oneshot;

use crate::outbox::{Batch, Outbox};

/// Larger batches are written by the thread, while the next batch is prepared.
const MAX_BUFFERED_BYTES: usize = 256 * 1024;

/// Standard output, with the thread that may block. The thread is started first: later the system may have none left.
pub(super) struct Stdout(WriterThread);

impl Stdout {
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn open() -> io::Result<Self> {
        make_room();
        Ok(Self(WriterThread(start()?)))
    }

    /// Writes until the outbox is closed and empty, or the client has closed the pipe.
    ///
    /// # Errors
    /// The output cannot be written although it is open. Then the outbox is cut off.
    pub(super) async fn write_from(mut self, outbox: &Outbox) -> io::Result<()> {
        let mut outcome = Ok(());
        while let Some(batch) = outbox.next().await {
            if let Err(error) = write(batch, &mut self.0).await {
                if error.kind() != io::ErrorKind::BrokenPipe && outcome.is_ok() {
                    outcome = Err(error);
                }
                outbox.cut_off();
            }
        }
        outcome
    }
}

async fn write(batch: Batch, patient: &mut WriterThread) -> io::Result<()> {
    if batch.byte_count() > MAX_BUFFERED_BYTES {
        return patient.write(Box::new(batch.into_pieces())).await;
    }
    let mut pieces = batch.into_pieces();
    while let Some(mut piece) = pieces.next() {
        let written = write_now(&piece)?;
        if written < piece.len() {
            let rest = std::iter::once(piece.split_off(written)).chain(pieces);
            return patient.write(Box::new(rest)).await;
        }
    }
    Ok(())
}

type Pieces = Box<dyn Iterator<Item = Bytes> + Send>;

/// Data for the thread, and the channel for the result.
type Job = (Pieces, oneshot::Sender<io::Result<()>>);

/// The writing thread.
struct WriterThread(Sender<Job>);

impl WriterThread {
    async fn write(&mut self, pieces: Pieces) -> io::Result<()> {
        let (done, written) = oneshot::channel();
        // A thread that has ended sends no result.
        let _ = self.0.send((pieces, done));
        written
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

fn start() -> io::Result<Sender<Job>> {
    let (jobs, given) = channel();
    let output = unbuffered()?;
    std::thread::Builder::new()
        .name("stdout".to_owned())
        .spawn(move || work(given, output))?;
    Ok(jobs)
}

fn work(jobs: Receiver<Job>, mut output: File) {
    for (mut pieces, done) in jobs {
        let written = pieces.try_for_each(|piece| output.write_all(&piece));
        // The receiver is gone if the process is about to end.
        let _ = done.send(written);
    }
}
