//! The helpers of this process, and which file systems are dead.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::helper::{self, Report};
use super::table::Device;
use crate::no_answer::LIMIT;

/// The running program, even if its file was replaced.
pub(super) const THIS_PROGRAM: &str = "/proc/self/exe";

/// The limit of helpers: of dead file systems, and of those that are tried at the same time.
const HELPER_LIMIT: usize = 64;

/// Why a file system counts as dead.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("an earlier access to it is still waiting")]
    Waits,
    #[error("it takes too long")]
    TooLong,
    #[error("too many file systems do not answer")]
    TooMany,
    #[error("the access to it failed: {0}")]
    Helper(#[from] io::Error),
}

/// What happens to a file system that is in doubt.
enum Trial {
    /// A helper tries it.
    Runs,
    /// A helper waits for it longer than it may.
    IsDead(Helper),
}

#[derive(Default)]
struct State {
    trials: BTreeMap<Device, Trial>,
    idle: Vec<Helper>,
    /// The helpers that exist.
    helpers: usize,
}

static STATE: Mutex<State> = Mutex::new(State {
    trials: BTreeMap::new(),
    idle: Vec::new(),
    helpers: 0,
});
static TRIAL_ENDED: Condvar = Condvar::new();

/// Tries a path. `device` is the first file system on the way that is in doubt.
pub(super) fn ask(device: Device, path: &Path) -> Result<(), AskError> {
    let deadline = Instant::now() + LIMIT;
    let (helper, dead) = begin(device, deadline)?;
    let asked = helper.map_err(AskError::Helper).and_then(|mut helper| {
        let outcome = helper.ask(path, &dead, deadline);
        Ok((helper, outcome?))
    });
    end(device, asked)
}

/// Waits until the file system can be tried, and takes a helper.
fn begin(device: Device, deadline: Instant) -> Result<(io::Result<Helper>, Vec<Device>), AskError> {
    let mut state = STATE.lock();
    state.revive();
    loop {
        match state.trials.get(&device) {
            None => break,
            Some(Trial::IsDead(_)) => return Err(AskError::Waits),
            Some(Trial::Runs) => {}
        }
        if TRIAL_ENDED.wait_until(&mut state, deadline).timed_out() {
            return Err(AskError::TooLong);
        }
    }
    let dead = state.dead();
    if let Some(helper) = state.idle.pop() {
        state.trials.insert(device, Trial::Runs);
        return Ok((Ok(helper), dead));
    }
    if state.helpers >= HELPER_LIMIT {
        return Err(AskError::TooMany);
    }
    state.helpers += 1;
    state.trials.insert(device, Trial::Runs);
    drop(state);
    Ok((Helper::start(), dead))
}

fn end(device: Device, asked: Result<(Helper, HelperAnswer), AskError>) -> Result<(), AskError> {
    let mut state = STATE.lock();
    if let Some(Trial::Runs) = state.trials.get(&device) {
        state.trials.remove(&device);
    }
    let done = match asked {
        Ok((helper, HelperAnswer::Answers)) => {
            state.idle.push(helper);
            Ok(())
        }
        Ok((helper, HelperAnswer::IsDead)) => {
            state.idle.push(helper);
            Err(AskError::Waits)
        }
        Ok((helper, HelperAnswer::TooLong(at))) => {
            // Another trial may have found the same.
            if let Some(Trial::IsDead(_)) = state
                .trials
                .insert(at.unwrap_or(device), Trial::IsDead(helper))
            {
                state.helpers -= 1;
            }
            Err(AskError::TooLong)
        }
        Err(error) => {
            state.helpers -= 1;
            Err(error)
        }
    };
    drop(state);
    TRIAL_ENDED.notify_all();
    done
}

impl State {
    fn dead(&self) -> Vec<Device> {
        let dead = self.trials.iter();
        dead.filter(|(_, trial)| matches!(trial, Trial::IsDead(_)))
            .map(|(device, _)| *device)
            .collect()
    }

    /// Takes back the helpers that did get an answer.
    fn revive(&mut self) {
        for device in self.dead() {
            let Some(Trial::IsDead(helper)) = self.trials.get_mut(&device) else {
                continue;
            };
            match helper.has_ended() {
                Ok(false) => continue,
                Ok(true) => {
                    if let Some(Trial::IsDead(helper)) = self.trials.remove(&device) {
                        self.idle.push(helper);
                    }
                }
                Err(_) => {
                    self.trials.remove(&device);
                    self.helpers -= 1;
                }
            }
        }
    }
}

enum HelperAnswer {
    Answers,
    IsDead,
    /// With the file system that the helper has reached.
    TooLong(Option<Device>),
}

struct Helper {
    socket: UnixStream,
    process: Child,
}

impl Helper {
    fn start() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(THIS_PROGRAM);
        command
            .arg0(helper::NAME)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self {
            process: command.spawn()?,
            socket: ours,
        })
    }

    fn ask(&mut self, path: &Path, dead: &[Device], deadline: Instant) -> io::Result<HelperAnswer> {
        self.socket.set_nonblocking(false)?;
        self.socket
            .write_all(&helper::encode_question(path, dead))?;
        let mut reached = None;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // No time at all would mean no limit.
            let left = left.max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(left))?;
            match self.read() {
                Ok(Report::Enters(device)) => reached = Some(device),
                Ok(Report::IsDead(_)) => return Ok(HelperAnswer::IsDead),
                Ok(Report::Answers) => return Ok(HelperAnswer::Answers),
                Err(error) if is_timeout(&error) => return Ok(HelperAnswer::TooLong(reached)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a trial that took too long has ended.
    fn has_ended(&mut self) -> io::Result<bool> {
        self.socket.set_nonblocking(true)?;
        loop {
            match self.read() {
                Ok(Report::Enters(_)) => {}
                Ok(Report::IsDead(_) | Report::Answers) => return Ok(true),
                Err(error) if is_timeout(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reports are written whole, so none is read in part.
    fn read(&mut self) -> io::Result<Report> {
        let mut bytes = [0; Report::LENGTH];
        self.socket.read_exact(&mut bytes)?;
        Ok(Report::decode(bytes))
    }
}

impl Drop for Helper {
    /// Not waited for: it may not end.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.try_wait();
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
