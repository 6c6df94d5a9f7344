//! Standard output, for one who must not wait.
//!
//! A client that reads has room for what is said next: that is written at once, because to wake a
//! thread for it would take several times as long. What there is no room for is written by a thread,
//! which waits for the client.

use std::io::{self, Write};

use bytes::Bytes;
use tokio::task::spawn_blocking;

use crate::outbox::{Batch, Outbox};

/// Writes until the outbox is closed and empty, or the client cannot be reached any more.
pub(super) async fn write_from(outbox: &Outbox) {
    while let Some(batch) = outbox.next().await {
        if write(batch).await.is_err() {
            outbox.cut_off();
        }
    }
}

async fn write(batch: Batch) -> io::Result<()> {
    let mut pieces = batch.into_pieces();
    while let Some(mut piece) = pieces.next() {
        let written = write_now(&piece)?;
        if written < piece.len() {
            let rest = piece.split_off(written);
            return spawn_blocking(|| wait_and_write(rest, pieces)).await?;
        }
    }
    Ok(())
}

fn wait_and_write(first: Bytes, mut rest: impl Iterator<Item = Bytes>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(&first)?;
    rest.try_for_each(|piece| output.write_all(&piece))?;
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
