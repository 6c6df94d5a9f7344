//! Writing a file while its text is being made.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

/// The text is handed over in pieces of about this size.
const PIECE: usize = 1 << 18;

/// So many pieces may wait.
const MAX_WAITING_PIECES: usize = 4;

/// Writes what `make` makes. It does not wait for the file unless that falls behind.
pub(super) fn write(
    mut file: File,
    make: impl FnOnce(&mut PieceWriter) -> io::Result<()>,
) -> io::Result<()> {
    let (full, pieces) = sync_channel::<Vec<u8>>(MAX_WAITING_PIECES);
    let (back, empty) = channel();
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for mut piece in pieces {
                file.write_all(&piece)?;
                piece.clear();
                // Whoever makes the text may be done.
                let _ = back.send(piece);
            }
            Ok(())
        });
        let mut out = PieceWriter {
            piece: Vec::with_capacity(PIECE),
            full,
            empty,
        };
        let made = make(&mut out).and_then(|()| out.flush());
        drop(out);
        let written = writer.join();
        let written = written.unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        // What is wrong with the file is why no more could be made.
        written.and(made)
    })
}

/// Text on its way to the writing thread.
pub(super) struct PieceWriter {
    piece: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
}

impl Write for PieceWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text)?;
        Ok(text.len())
    }

    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        if self.piece.len() + text.len() > PIECE {
            self.flush()?;
        }
        self.piece.extend_from_slice(text);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let next = self.empty.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(PIECE));
        let piece = std::mem::replace(&mut self.piece, next);
        let sent = self.full.send(piece);
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
