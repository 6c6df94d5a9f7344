//! From the supervisor's child to the command.
//!
//! The child shares the supervisor's memory until it is the command ([`sys::start_sharing`]), so that
//! nothing is copied for it. All that needs memory of its own is prepared before.

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use codex_sandbox::{ConfineError, Confinement};
use rustix::process::{Pid, Signal, set_parent_process_death_signal};

use super::sys;
use crate::message::Request;

/// The standard streams of the command.
pub(super) struct CommandStreams {
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) error: OwnedFd,
}

impl CommandStreams {
    pub(super) fn new([input, output, error]: [OwnedFd; 3]) -> Self {
        Self {
            input,
            output,
            error,
        }
    }
}

/// Why there is no command.
pub(super) enum NotStarted {
    System(io::Error),
    Confinement(ConfineError),
}

impl<E: Into<io::Error>> From<E> for NotStarted {
    fn from(error: E) -> Self {
        Self::System(error.into())
    }
}

/// Starts the command.
pub(super) fn start(request: &Request, streams: &CommandStreams) -> Result<Pid, NotStarted> {
    let arguments = request.command.iter().map(|text| c_string(text));
    let arguments = sys::Strings::new(arguments.collect::<Result<_, _>>()?);
    let environment = sys::Strings::new(environment(&request.environment)?);
    sys::start_sharing(|| {
        let prepared = prepare(request, streams);
        match prepared {
            Ok(()) => NotStarted::System(sys::execute(&arguments, &environment)),
            Err(problem) => problem,
        }
    })
}

/// What has to be done in the child before it becomes the command, in this order.
fn prepare(request: &Request, streams: &CommandStreams) -> Result<(), NotStarted> {
    rustix::stdio::dup2_stdin(&streams.input)?;
    rustix::stdio::dup2_stdout(&streams.output)?;
    rustix::stdio::dup2_stderr(&streams.error)?;
    rustix::process::chdir(&request.cwd)?;
    sys::default_signals()?;
    // Should the supervisor be killed, at least the command itself dies too.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::process::setsid()?;
    if request.terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    let confined = request.confinement.as_deref().map(Confinement::restrict);
    confined.unwrap_or(Ok(())).map_err(NotStarted::Confinement)
}

/// As the system takes them: each once, the last one that there is.
fn environment(given: &[(OsString, OsString)]) -> Result<Vec<CString>, NulError> {
    let variables: BTreeMap<_, _> = given.iter().map(|(name, value)| (name, value)).collect();
    let line = |(name, value): (&OsString, &OsString)| {
        c_string(&[name.as_os_str(), value.as_os_str()].join(OsStr::new("=")))
    };
    variables.into_iter().map(line).collect()
}

fn c_string(text: &OsStr) -> Result<CString, NulError> {
    CString::new(text.as_bytes())
}
