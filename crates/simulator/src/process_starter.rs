//! Starts simulated processes. It is a process of its own that does nothing else, so that each of them begins with the same memory.
#![expect(
    unsafe_code,
    clippy::cast_possible_truncation,
    reason = "calls of the system"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::engine::{self, ProcessRequest};
use crate::machine::{self, DiskJournal, Ending, MachineSetup, PeerProcess, SharedTurn};
use crate::plan::FullDisk;
use crate::record::{self, RecordKind};

/// Seconds after which a simulated process is given up.
const LIMIT: u32 = 60;

/// Stands for no planned kill.
const NO_KILL: u64 = u64::MAX;

/// More effects than a process has.
const UNTIL_MOMENT: u64 = u64::MAX / 2;

/// The numbers before a request.
const HEADER: usize = 9;

/// The process that starts simulated ones. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ProcessStarter {
    requests: File,
    endings: File,
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the place is valid.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors are new and nobody else has them.
    let [read, write] = ends.map(|end| unsafe { File::from(OwnedFd::from_raw_fd(end)) });
    Ok((read, write))
}

impl ProcessStarter {
    /// Starts it. This process must have one thread.
    pub(crate) fn start(record: &Path, errors: &Path) -> io::Result<Self> {
        let (mut taken, requests) = pipe()?;
        let (endings, mut sent) = pipe()?;
        // SAFETY: this process has one thread.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((requests, endings));
                while start_next(&mut taken, &mut sent, record, errors).is_ok() {}
                machine::end(Ending::Done)
            }
            _ => Ok(Self { requests, endings }),
        }
    }

    /// Runs the processes of a phase until they end.
    pub(crate) fn run(
        &mut self,
        request: &ProcessRequest,
    ) -> io::Result<Vec<Result<Ending, String>>> {
        let text = serde_json::to_vec(request)?;
        let seed = request.plan.seed.wrapping_mul(16) + request.phase as u64;
        let engines = request.plan.engines(request.phase);
        let killed =
            (0..engines).find(|engine| request.plan.kill(request.phase, *engine).is_some());
        let kill = request.plan.kills.get(request.phase);
        // One that is killed since a moment counts from there.
        let kill = kill.map(|kill| kill.since.map_or(kill.after, |_| UNTIL_MOMENT));
        let is_last = request.phase + 1 == request.plan.phases();
        let full = request.plan.full_disk.filter(|_| is_last);
        let full = full.unwrap_or(FullDisk { after: 0, count: 0 });
        let header = [
            seed,
            request.now,
            kill.unwrap_or(NO_KILL),
            text.len() as u64,
            full.after,
            full.count,
            u64::from(request.plan.cuts_power && kill.is_some()),
            engines as u64,
            killed.unwrap_or_default() as u64,
        ];
        let mut message: Vec<u8> = header
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        message.extend(text);
        self.requests.write_all(&message)?;
        let mut endings = Vec::new();
        for _ in 0..engines {
            let mut status = [0; 4];
            self.endings.read_exact(&mut status)?;
            endings.push(ending(i32::from_le_bytes(status)));
        }
        Ok(endings)
    }
}

/// How a process ended.
fn ending(status: i32) -> Result<Ending, String> {
    if libc::WIFEXITED(status) {
        let code = libc::WEXITSTATUS(status);
        Ending::of_code(code).ok_or_else(|| format!("exit code {code}"))
    } else {
        Err(format!("signal {}", libc::WTERMSIG(status)))
    }
}

fn start_next(taken: &mut File, sent: &mut File, record: &Path, errors: &Path) -> io::Result<()> {
    let mut header = [0; HEADER * 8];
    taken.read_exact(&mut header)?;
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&header[at * 8..(at + 1) * 8]);
        u64::from_le_bytes(bytes)
    };
    let mut text = vec![0; number(3) as usize];
    taken.read_exact(&mut text)?;
    let journal = (number(6) > 0).then(DiskJournal::new).transpose()?;
    if let Some(journal) = &journal {
        begin_journal(journal)?;
    }
    let setup = MachineSetup {
        seed: number(0),
        now: number(1),
        kill_after: Some(number(2)).filter(|kill| *kill != NO_KILL),
        full_disk: Some((number(4), number(5))).filter(|(_, count)| *count > 0),
        journal: journal.as_ref().map(DiskJournal::descriptor),
        peer: None,
        at_kill: |process| record::add(RecordKind::Kill, process as u64, ""),
    };
    let start = |setup: MachineSetup| {
        // SAFETY: this process has one thread.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => be_process(setup, &text, record, errors),
            child => Ok(child),
        }
    };
    if number(7) == 1 {
        let child = start(setup)?;
        let (_, status) = wait_for_one(child);
        return sent.write_all(&status.to_le_bytes());
    }
    let Some(shared) = SharedTurn::new(setup.now) else {
        return Err(io::Error::last_os_error());
    };
    let is_killed = |process: usize| number(8) == process as u64;
    let process = |process: usize| MachineSetup {
        // They have nothing random in common.
        seed: setup.seed ^ ((process as u64) << 63),
        kill_after: match setup.kill_after {
            Some(_) if is_killed(process) => setup.kill_after,
            // The power goes for both.
            Some(_) if journal.is_some() => Some(UNTIL_MOMENT),
            _ => None,
        },
        peer: Some(PeerProcess {
            shared,
            number: process,
        }),
        ..setup
    };
    let children = [start(process(0))?, start(process(1))?];
    let mut statuses = [0; 2];
    for _ in children {
        let (child, status) = wait_for_one(-1);
        let process = usize::from(child == children[1]);
        statuses[process] = status;
        shared.end(process);
    }
    shared.remove();
    let statuses = statuses.map(i32::to_le_bytes);
    sent.write_all(statuses.as_flattened())
}

/// Notes what is on the disk. Another process reads it, so that this one keeps its memory as it is.
fn begin_journal(journal: &DiskJournal) -> io::Result<()> {
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => machine::end(match journal.write_all(engine::folder()) {
            Ok(()) => Ending::Done,
            Err(_) => Ending::Deadlock,
        }),
        child => match wait_for_one(child) {
            (_, 0) => Ok(()),
            _ => Err(io::Error::other("the disk cannot be read")),
        },
    }
}

/// Waits for a child, any if it is -1. Returns it with its status.
fn wait_for_one(child: libc::pid_t) -> (libc::pid_t, i32) {
    let mut status = 0;
    loop {
        // SAFETY: the place is valid.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if ended >= 0 {
            return (ended, status);
        }
    }
}

fn be_process(setup: MachineSetup, text: &[u8], record: &Path, errors: &Path) -> ! {
    let opened = OpenOptions::new().append(true).open(record);
    let errors = OpenOptions::new().append(true).open(errors);
    let (Ok(record), Ok(errors)) = (opened, errors) else {
        machine::end(Ending::Deadlock);
    };
    // SAFETY: plain calls on open descriptors.
    unsafe {
        libc::alarm(LIMIT);
        libc::dup2(errors.as_raw_fd(), 2);
    }
    record::set_file(record.as_raw_fd());
    std::mem::forget(record);
    // What is read from here on may use random numbers.
    machine::begin(setup, engine::folder());
    match serde_json::from_slice::<ProcessRequest>(text) {
        Ok(mut request) => {
            request.engine = setup.process();
            engine::run(request)
        }
        Err(_) => machine::end(Ending::Deadlock),
    }
}
