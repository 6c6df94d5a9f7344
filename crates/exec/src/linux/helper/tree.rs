//! The descendants of this process, and killing all of them.
//!
//! Used where no namespace does it. This process adopts orphans, so a process that leaves its group or session remains a
//! descendant.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// How long to wait for a process that cannot be killed, because it hangs in the kernel or has more privileges.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

const ROUND_DELAY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 5_000_000,
};

/// All descendants of this process. Dropping it kills them.
pub(super) struct ProcessTree {
    child_signals: OwnedFd,
}

impl ProcessTree {
    /// `child_signals` becomes readable when a child changes state.
    pub(super) fn new(child_signals: OwnedFd) -> Self {
        Self { child_signals }
    }

    pub(super) fn signals(&self) -> &OwnedFd {
        &self.child_signals
    }
}

impl Drop for ProcessTree {
    /// Kills in rounds until no descendant is left: a process started meanwhile is adopted and killed in the next round.
    fn drop(&mut self) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        while !reap_all() && Instant::now() < deadline {
            for process in descendants(getpid()) {
                // The process may have ended by itself.
                kill_process(process, Signal::KILL).ok();
            }
            let mut wanted = [PollFd::new(&self.child_signals, PollFlags::IN)];
            poll(&mut wanted, Some(&ROUND_DELAY)).ok();
        }
    }
}

/// Reaps ended children. Returns whether no child is left.
fn reap_all() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

fn descendants(ancestor: Pid) -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (process, parent) in processes() {
        children.entry(parent).or_default().push(process);
    }
    let mut found = children.remove(&ancestor.as_raw_pid()).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(process).unwrap_or_default());
        next += 1;
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// All processes with their parents.
fn processes() -> Vec<(i32, i32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(|process: i32| Some((process, parent(process)?)))
        .collect()
}

fn parent(process: i32) -> Option<i32> {
    let line = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    parent_in_stat(&line)
}

/// Parses `/proc/PID/stat`. The name is in parentheses and may contain any byte; the parent is the second field after it.
fn parent_in_stat(line: &[u8]) -> Option<i32> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&line[end + 1..]).ok()?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_confuse() {
        assert_eq!(parent_in_stat(b"7 (sh) S 3 7 7 0"), Some(3));
        assert_eq!(parent_in_stat(b"7 (a) R 1 (\xff b) S 42 7"), Some(42));
        assert_eq!(parent_in_stat(b"7"), None);
    }

    #[test]
    fn this_process_descends_from_its_parent() {
        let parent = rustix::process::getppid().unwrap();
        assert!(descendants(parent).contains(&getpid()));
    }
}
