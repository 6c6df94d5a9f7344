//! The loop of the kernel: lines of the engine to cells, lines of cells to the engine.
//!
//! What a cell has not read is kept for it up to a limit, so a cell that does not read delays no other.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, WaitOptions};

use super::cell;
use super::confine::{self, CellFilter};
use super::engine::Engine;
use crate::message::MAX_LINE;

/// What waits for a cell in bytes before it is killed.
const MOST_WAITING: usize = 4 * MAX_LINE;

pub(super) struct Relay {
    engine: Engine,
    filter: CellFilter,
    cells: BTreeMap<u64, Cell>,
    received: Vec<u8>,
    /// The number of the last cell; they rise.
    last: u64,
    /// Cells that were ended before they started.
    never_started: BTreeSet<u64>,
}

/// A cell as the kernel sees it.
struct Cell {
    process: Pid,
    socket: OwnedFd,
    received: Vec<u8>,
    waiting: Vec<u8>,
}

impl Relay {
    pub(super) fn new(engine: Engine, filter: CellFilter) -> Self {
        Self {
            engine,
            filter,
            cells: BTreeMap::new(),
            received: Vec::new(),
            last: 0,
            never_started: BTreeSet::new(),
        }
    }

    /// Runs until the input is closed.
    pub(super) fn run(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let (engine_ready, ready) = self.poll()?;
            for (number, flags) in ready {
                self.serve(number, flags, &mut buffer)?;
            }
            if engine_ready {
                let lines = match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                    Ok(0) => return Ok(()),
                    Ok(length) => take_lines(&mut self.received, &buffer[..length]),
                    Err(Errno::INTR | Errno::AGAIN) => continue,
                    Err(error) => return Err(error.into()),
                };
                for line in lines {
                    self.engine_line(&line)?;
                }
            }
        }
    }

    /// Waits until something can be read or written.
    fn poll(&self) -> io::Result<(bool, Vec<(u64, PollFlags)>)> {
        let input = rustix::stdio::stdin();
        let mut polled = vec![PollFd::new(&input, PollFlags::IN)];
        for cell in self.cells.values() {
            let mut flags = PollFlags::IN;
            if !cell.waiting.is_empty() {
                flags |= PollFlags::OUT;
            }
            polled.push(PollFd::new(&cell.socket, flags));
        }
        match rustix::event::poll(&mut polled, None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok((false, Vec::new())),
            Err(error) => return Err(error.into()),
        }
        let cells = self.cells.keys().zip(&polled[1..]);
        let ready = cells.map(|(number, polled)| (*number, polled.revents()));
        let ready = ready.filter(|(_, flags)| !flags.is_empty()).collect();
        Ok((!polled[0].revents().is_empty(), ready))
    }

    /// Passes on what a cell wrote, and to it what waits.
    fn serve(&mut self, number: u64, flags: PollFlags, buffer: &mut [u8]) -> io::Result<()> {
        let Some(cell) = self.cells.get_mut(&number) else {
            return Ok(());
        };
        if flags.contains(PollFlags::OUT) {
            cell.write();
        }
        if !flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            return Ok(());
        }
        let length = match rustix::io::read(&cell.socket, &mut *buffer) {
            Ok(length) => length,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            Err(_) => 0,
        };
        let lines = take_lines(&mut cell.received, &buffer[..length]);
        if length == 0 || cell.received.len() > MAX_LINE {
            return self.end(number);
        }
        for line in lines {
            write_all(&[number.to_string().as_bytes(), b" ", &line, b"\n"].concat())?;
        }
        Ok(())
    }

    fn engine_line(&mut self, line: &[u8]) -> io::Result<()> {
        let Ok(line) = std::str::from_utf8(line) else {
            return Ok(());
        };
        if let Some(tools) = line.strip_prefix('=') {
            self.engine.set_tools(tools).map_err(io::Error::other)?;
        } else if let Some(started) = line.strip_prefix('+') {
            if let Some((number, start)) = started.split_once(' ')
                && let Ok(number) = number.parse()
            {
                self.start(number, start)?;
            }
        } else if let Some(number) = line.strip_prefix('-') {
            match number.parse() {
                // The order to end a cell may overtake the one to start it.
                Ok(number) if number > self.last => {
                    self.never_started.insert(number);
                }
                Ok(number) => self.end(number)?,
                Err(_) => {}
            }
        } else if let Some((number, answer)) = line.split_once(' ')
            && let Ok(number) = number.parse()
            && let Some(cell) = self.cells.get_mut(&number)
        {
            cell.waiting.extend_from_slice(answer.as_bytes());
            cell.waiting.push(b'\n');
            cell.write();
            if cell.waiting.len() > MOST_WAITING {
                self.end(number)?;
            }
        }
        Ok(())
    }

    /// Starts a cell. If that fails, the engine is told that it has ended.
    fn start(&mut self, number: u64, start: &str) -> io::Result<()> {
        self.last = self.last.max(number);
        if self.never_started.remove(&number) {
            return write_all(format!("-{number}\n").as_bytes());
        }
        let pair = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::empty(),
            None,
        );
        let Ok((socket, other)) = pair else {
            return write_all(format!("-{number}\n").as_bytes());
        };
        match fork() {
            Some(Forked::Cell) => {
                drop(socket);
                self.cells.clear();
                confine::close_all_but(&other);
                if !self.filter.enter() {
                    cell::exit(1);
                }
                cell::run(&self.engine, other, start)
            }
            Some(Forked::Kernel(process)) => {
                drop(other);
                let _ = rustix::io::ioctl_fionbio(&socket, true);
                let cell = Cell {
                    process,
                    socket,
                    received: Vec::new(),
                    waiting: Vec::new(),
                };
                self.cells.insert(number, cell);
                Ok(())
            }
            None => write_all(format!("-{number}\n").as_bytes()),
        }
    }

    /// Kills a cell, if it runs, and tells the engine.
    fn end(&mut self, number: u64) -> io::Result<()> {
        let Some(cell) = self.cells.remove(&number) else {
            return Ok(());
        };
        let _ = rustix::process::kill_process(cell.process, Signal::KILL);
        let _ = rustix::process::waitpid(Some(cell.process), WaitOptions::empty());
        write_all(format!("-{number}\n").as_bytes())
    }
}

impl Cell {
    fn write(&mut self) {
        while !self.waiting.is_empty() {
            match rustix::io::write(&self.socket, &self.waiting) {
                Ok(written) => {
                    self.waiting.drain(..written);
                }
                Err(Errno::INTR) => {}
                // It is full, or the cell has ended, which reading will show.
                Err(_) => return,
            }
        }
    }
}

enum Forked {
    Cell,
    Kernel(Pid),
}

#[expect(unsafe_code, reason = "calls of the system")]
fn fork() -> Option<Forked> {
    // SAFETY: this process has one thread, so the child may do everything that it may.
    match unsafe { libc::fork() } {
        0 => Some(Forked::Cell),
        process => Pid::from_raw(process)
            .filter(|_| process > 0)
            .map(Forked::Kernel),
    }
}

/// Adds what was read, and takes the complete lines without their ends. Looks at what was read only, because a line can have
/// come in many parts.
fn take_lines(received: &mut Vec<u8>, read: &[u8]) -> Vec<Vec<u8>> {
    let Some(end) = read.iter().rposition(|byte| *byte == b'\n') else {
        received.extend_from_slice(read);
        return Vec::new();
    };
    let mut complete = std::mem::replace(received, read[end + 1..].to_vec());
    complete.extend_from_slice(&read[..end]);
    complete
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    let output = rustix::stdio::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(output.as_fd(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_parts() {
        let mut received = Vec::new();
        let mut taken = Vec::new();
        for part in ["a", "b\n", "c\nd\ne", "", "\n\n", "f"] {
            for line in take_lines(&mut received, part.as_bytes()) {
                taken.push(String::from_utf8(line).unwrap_or_default());
            }
        }
        assert_eq!(taken, ["ab", "c", "d", "e", ""]);
        assert_eq!(received, b"f");
    }
}
