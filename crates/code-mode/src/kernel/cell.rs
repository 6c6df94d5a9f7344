//! One cell: the child that runs one script.
//!
//! It sends what the script does as it happens, and waits for answers and timers when the script does. It ends with the
//! process: nothing is taken apart.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::engine::{Engine, OUT_OF_MEMORY, ScriptState};
use crate::message::{CellStart, ConsoleFolders, ConsoleScript, MAX_LINE};

const TOO_LONG: &str = "the script printed, stored or passed to a tool more than 16 MiB at once";

thread_local! {
    /// The functions of the engine are made before there is a cell, so they find it here.
    static CELL: RefCell<Option<CellState>> = const { RefCell::new(None) };
}

struct CellState {
    socket: OwnedFd,
    is_started: bool,
    /// How many calls have no answer yet.
    open_calls: usize,
    /// The next is first; ties are in the order in which they were set.
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
}

fn with_cell<T>(work: impl FnOnce(&mut CellState) -> T) -> Option<T> {
    CELL.with(|cell| cell.borrow_mut().as_mut().map(work))
}

/// Whether the script has started, so that imports are dynamic ones.
pub(super) fn is_started() -> bool {
    with_cell(|cell| cell.is_started).unwrap_or(false)
}

/// The script starts.
pub(super) fn started() {
    with_cell(|cell| cell.is_started = true);
}

/// The texts of these are JSON already.
pub(super) fn send_text(text: &str) {
    send(&["{\"type\":\"text\",\"text\":", text, "}\n"]);
}

pub(super) fn send_image(url: &str, detail: &str) {
    let detail = quoted(detail);
    send(&[
        "{\"type\":\"image\",\"image_url\":",
        url,
        ",\"detail\":",
        &detail,
        "}\n",
    ]);
}

pub(super) fn send_call(id: f64, name: &str, input: &str) {
    let (id, name) = (format!("{id}"), quoted(name));
    with_cell(|cell| cell.open_calls += 1);
    send(&[
        "{\"type\":\"call\",\"id\":",
        &id,
        ",\"name\":",
        &name,
        ",\"input\":",
        input,
        "}\n",
    ]);
}

pub(super) fn send_notice(text: &str) {
    send(&["{\"type\":\"notify\",\"text\":", text, "}\n"]);
}

pub(super) fn send_yield() {
    send(&["{\"type\":\"yield\"}\n"]);
}

pub(super) fn set_timer(id: f64, delay: Duration) {
    let due = Instant::now().checked_add(delay);
    with_cell(|cell| {
        if let Some(due) = due {
            cell.timers.push(Reverse((due, id as u64)));
        }
    });
}

/// Ends the cell. `stored` is a JSON object.
pub(super) fn done(error: Option<&str>, stored: &str) -> ! {
    let error = error.map_or_else(|| "null".to_owned(), quoted);
    send(&[
        "{\"type\":\"done\",\"error\":",
        &error,
        ",\"stored\":",
        stored,
        "}\n",
    ]);
    exit(0)
}

/// Ends the process without running what other code registered for its end.
#[expect(unsafe_code, reason = "calls of the system")]
pub(super) fn exit(status: i32) -> ! {
    // SAFETY: the call does not return and takes a number.
    unsafe { libc::_exit(status) }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a line. A cell that nobody listens to ends.
fn send(parts: &[&str]) {
    let line = parts.concat();
    if line.len() > MAX_LINE {
        done(Some(TOO_LONG), "{}");
    }
    let written = with_cell(|cell| {
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match rustix::io::write(&cell.socket, rest) {
                Ok(written) => rest = &rest[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    });
    if written != Some(true) {
        exit(1);
    }
}

/// Runs a script to its end, and ends the process.
pub(super) fn run(engine: &Engine, socket: OwnedFd, start: &str) -> ! {
    CELL.with(|cell| {
        *cell.borrow_mut() = Some(CellState {
            socket,
            is_started: false,
            open_calls: 0,
            timers: BinaryHeap::new(),
        });
    });
    let start = serde_json::from_str(start);
    let Ok(CellStart {
        source,
        stored,
        console,
    }) = start
    else {
        exit(1)
    };
    if let Some(folders) = console {
        run_console(engine, &folders);
    }
    let stored = serde_json::to_string(&stored).unwrap_or_else(|_| "{}".to_owned());
    let script = match engine.start(&source, &stored) {
        Ok(script) => script,
        Err(error) => done(Some(&error), &engine.results()),
    };
    let mut received = Received::default();
    loop {
        match engine.proceed(&script) {
            ScriptState::Running if waits_for_nothing() && engine.is_exhausted() => {
                done(Some(OUT_OF_MEMORY), &engine.results())
            }
            ScriptState::Running => {}
            ScriptState::Completed => done(None, &engine.results()),
            ScriptState::Failed(error) => done(Some(&error), &engine.results()),
        }
        let happened = match wait(&mut received) {
            Happened::Due(timer) => engine.due(timer as f64),
            Happened::Answer(line) => {
                with_cell(|cell| cell.open_calls = cell.open_calls.saturating_sub(1));
                engine.answer(&line)
            }
        };
        if let Err(error) = happened {
            done(Some(&error), &engine.results());
        }
    }
}

/// Runs one script after the other, until the process is killed.
fn run_console(engine: &Engine, folders: &ConsoleFolders) -> ! {
    let folders = serde_json::to_string(folders).unwrap_or_default();
    if engine.start_console(&folders).is_err() {
        exit(1);
    }
    let mut received = Received::default();
    let mut running = None;
    loop {
        if let Some(script) = &running {
            let ended = match engine.proceed(script) {
                ScriptState::Running if waits_for_nothing() && engine.is_exhausted() => {
                    Some(Some("out of memory".to_owned()))
                }
                ScriptState::Running => None,
                ScriptState::Completed => Some(None),
                ScriptState::Failed(error) => Some(Some(error)),
            };
            if let Some(error) = ended {
                ran(error.as_deref());
                running = None;
            }
        }
        match wait(&mut received) {
            Happened::Due(timer) => {
                let _ = engine.due(timer as f64);
            }
            Happened::Answer(line) => match serde_json::from_str(&line) {
                Ok(ConsoleScript { run }) => match engine.begin(&run) {
                    Ok(script) => running = Some(script),
                    Err(error) => ran(Some(&error)),
                },
                Err(_) => {
                    with_cell(|cell| cell.open_calls = cell.open_calls.saturating_sub(1));
                    let _ = engine.answer(&line);
                }
            },
        }
    }
}

fn ran(error: Option<&str>) {
    let error = error.map_or_else(|| "null".to_owned(), quoted);
    send(&["{\"type\":\"ran\",\"error\":", &error, "}\n"]);
}

fn waits_for_nothing() -> bool {
    with_cell(|cell| cell.open_calls == 0 && cell.timers.is_empty()).unwrap_or(false)
}

enum Happened {
    Due(u64),
    Answer(String),
}

/// What was read from the kernel.
#[derive(Default)]
struct Received {
    bytes: Vec<u8>,
    /// How many of them are known to have no end of a line.
    searched: usize,
}

impl Received {
    /// Takes the first line.
    fn line(&mut self) -> Option<Vec<u8>> {
        let unread = &self.bytes[self.searched..];
        let Some(end) = unread.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return None;
        };
        let end = self.searched + end;
        self.searched = 0;
        Some(self.bytes.drain(..=end).collect())
    }
}

/// Waits for the next answer or timer.
fn wait(received: &mut Received) -> Happened {
    loop {
        if let Some(line) = received.line() {
            return match String::from_utf8(line) {
                Ok(line) => Happened::Answer(line),
                Err(_) => exit(1),
            };
        }
        let due = with_cell(|cell| cell.timers.peek().map(|Reverse((due, _))| *due)).flatten();
        let now = Instant::now();
        if due.is_some_and(|due| due <= now)
            && let Some(Some(Reverse((_, timer)))) = with_cell(|cell| cell.timers.pop())
        {
            return Happened::Due(timer);
        }
        let patience = due.map(|due| due.saturating_duration_since(now));
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        with_cell(|cell| receive(cell, patience.as_ref(), &mut received.bytes));
    }
}

/// Reads what there is, after waiting for it.
fn receive(cell: &CellState, patience: Option<&Timespec>, received: &mut Vec<u8>) {
    let mut ready = [PollFd::new(&cell.socket, PollFlags::IN)];
    match rustix::event::poll(&mut ready, patience) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return,
        Ok(_) => {}
        Err(_) => exit(1),
    }
    let mut buffer = [0; 16 * 1024];
    match rustix::io::read(&cell.socket, &mut buffer) {
        Ok(0) => exit(1),
        Ok(length) => received.extend_from_slice(&buffer[..length]),
        Err(rustix::io::Errno::INTR) => {}
        Err(_) => exit(1),
    }
}
