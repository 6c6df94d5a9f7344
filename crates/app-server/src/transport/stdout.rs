//! Standard output, for one who must not wait.
//!
//! A client that reads has room for what is said next: that is written at once, because to wake a
//! thread for it would take several times as long. What is large, or more than there is room for, is
//! written by a thread, which waits for the client.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::outbox::{Batch, Outbox};

/// A batch of more than this is written by the thread: meanwhile the next one is made.
const SMALL: usize = 256 * 1024;

/// Writes until the outbox is closed and empty, or the client cannot be reached any more.
pub(super) async fn write_from(outbox: &Outbox) {
    make_room();
    let mut patient = WriterThread::default();
    while let Some(batch) = outbox.next().await {
        if write(batch, &mut patient).await.is_err() {
            outbox.cut_off();
        }
    }
}

async fn write(batch: Batch, patient: &mut WriterThread) -> io::Result<()> {
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

/// What the thread is to write, and where it reports its end.
type Job = (Pieces, oneshot::Sender<io::Result<()>>);

/// The thread that waits for the client, once there is one.
#[derive(Default)]
struct WriterThread(Option<Sender<Job>>);

impl WriterThread {
    async fn write(&mut self, pieces: Pieces) -> io::Result<()> {
        let jobs = match self.0.take() {
            Some(jobs) => jobs,
            None => start()?,
        };
        let (done, written) = oneshot::channel();
        // A thread that has ended reports nothing.
        let _ = self.0.insert(jobs).send((pieces, done));
        written
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

fn start() -> io::Result<Sender<Job>> {
    let (jobs, given) = channel();
    // Not as `Stdout`, which would look for the last line break in everything.
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    std::thread::Builder::new()
        .name("stdout".to_owned())
        .spawn(move || work(given, output))?;
    Ok(jobs)
}

fn work(jobs: Receiver<Job>, mut output: File) {
    for (mut pieces, done) in jobs {
        let written = pieces.try_for_each(|piece| output.write_all(&piece));
        // Nobody listens any more when the process is about to end.
        let _ = done.send(written);
    }
}

/// Lets a pipe hold more than it does at first, so that neither side waits for the other with every few
/// kilobytes of what is large. Without it everything works, only slower.
#[cfg(target_os = "linux")]
fn make_room() {
    /// As much as anybody may have.
    const ROOM: usize = 1024 * 1024;
    let _ = rustix::pipe::fcntl_setpipe_size(io::stdout(), ROOM);
}

#[cfg(not(target_os = "linux"))]
fn make_room() {}

/// Writes as much as there is room for. Nothing where that cannot be known.
#[cfg(target_os = "linux")]
fn write_now(bytes: &[u8]) -> io::Result<usize> {
    use rustix::io::{Errno, ReadWriteFlags, pwritev2};
    /// What a stream wants for an offset.
    const HERE: u64 = u64::MAX;
    let bytes = [io::IoSlice::new(bytes)];
    match pwritev2(io::stdout(), &bytes, HERE, ReadWriteFlags::NOWAIT) {
        Ok(written) => Ok(written),
        // There is no room; or the file or the kernel does not report it.
        Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn write_now(_bytes: &[u8]) -> io::Result<usize> {
    Ok(0)
}
