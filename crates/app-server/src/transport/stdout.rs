//! Standard output, for one who must not wait.
//!
//! A client that reads has room for what is said next: that is written at once, because to wake a
//! thread for it would take several times as long. What is large, or more than there is room for, is
//! written by a thread, which waits for the client.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::outbox::{Batch, Outbox};

/// A batch of more than this is written by the thread: meanwhile the next one is made.
const SMALL: usize = 64 * 1024;

/// Writes until the outbox is closed and empty, or the client cannot be reached any more.
pub(super) async fn write_from(outbox: &Outbox) {
    let mut patient = Patient::default();
    while let Some(batch) = outbox.next().await {
        if write(batch, &mut patient).await.is_err() {
            outbox.cut_off();
        }
    }
}

async fn write(batch: Batch, patient: &mut Patient) -> io::Result<()> {
    if batch.len() > SMALL {
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

/// What the thread is to write, and whom to tell of the end.
type Job = (Pieces, oneshot::Sender<io::Result<()>>);

/// The thread that waits for the client, once there is one.
#[derive(Default)]
struct Patient(Option<Sender<Job>>);

impl Patient {
    async fn write(&mut self, pieces: Pieces) -> io::Result<()> {
        let jobs = match self.0.take() {
            Some(jobs) => jobs,
            None => start()?,
        };
        let (done, written) = oneshot::channel();
        // A thread that has ended tells nobody.
        let _ = self.0.insert(jobs).send((pieces, done));
        written
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

fn start() -> io::Result<Sender<Job>> {
    let (jobs, given) = channel();
    std::thread::Builder::new()
        .name("stdout".to_owned())
        .spawn(move || work(given))?;
    Ok(jobs)
}

fn work(jobs: Receiver<Job>) {
    for (pieces, done) in jobs {
        // Nobody listens any more when the process is about to end.
        let _ = done.send(write_all(pieces));
    }
}

fn write_all(mut pieces: Pieces) -> io::Result<()> {
    let mut output = io::stdout().lock();
    pieces.try_for_each(|piece| output.write_all(&piece))?;
    output.flush()
}

/// Writes as much as there is room for. Nothing where that cannot be known.
#[cfg(target_os = "linux")]
fn write_now(bytes: &[u8]) -> io::Result<usize> {
    use rustix::io::{Errno, ReadWriteFlags, pwritev2};
    /// What a stream wants for an offset.
    const HERE: u64 = u64::MAX;
    let bytes = [io::IoSlice::new(bytes)];
    match pwritev2(io::stdout(), &bytes, HERE, ReadWriteFlags::NOWAIT) {
        Ok(written) => Ok(written),
        // There is no room; or it is a file, or a kernel, that cannot tell.
        Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn write_now(_bytes: &[u8]) -> io::Result<usize> {
    Ok(0)
}
