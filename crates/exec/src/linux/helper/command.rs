//! Starts the command from the supervisor.
//!
//! The child shares the supervisor's memory until it executes the command ([`sys::start_sharing`]), so nothing is copied.
//! Everything that needs memory is prepared before.

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use codex_sandbox::{ConfineError, Confinement};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, set_parent_process_death_signal};

use super::sys;
use crate::linux::network::control::send_notifications;
use crate::unix::control::{ControlError, ControlSocket};
use crate::unix::message::{CommandRequest, SupervisorReport};
use crate::unix::signals;

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

/// Why the command could not be started.
pub(super) enum StartError {
    System(io::Error),
    Confinement(ConfineError),
}

impl<E: Into<io::Error>> From<E> for StartError {
    fn from(error: E) -> Self {
        Self::System(error.into())
    }
}

/// `network` leads to the relay of the command's network, if it has its own.
pub(super) fn start(
    request: &CommandRequest,
    streams: &CommandStreams,
    network: Option<&OwnedFd>,
) -> Result<Pid, StartError> {
    let arguments = request.command.iter().map(|text| c_string(text));
    let arguments = sys::CStringArray::new(arguments.collect::<Result<_, _>>()?);
    let environment = sys::CStringArray::new(environment(&request.environment)?);
    sys::start_sharing(|| {
        let prepared = prepare(request, streams, network);
        match prepared {
            Ok(()) => StartError::System(sys::execute(&arguments, &environment)),
            Err(problem) => problem,
        }
    })
}

/// Reports that the sandbox could not be applied.
pub(super) fn report_not_confined(
    control: &ControlSocket,
    error: &ConfineError,
) -> Result<(), ControlError> {
    control.report(&SupervisorReport::NotConfined {
        reason: error.to_string(),
    })
}

/// Prepares the child before it executes the command, in this order.
fn prepare(
    request: &CommandRequest,
    streams: &CommandStreams,
    network: Option<&OwnedFd>,
) -> Result<(), StartError> {
    rustix::stdio::dup2_stdin(&streams.input)?;
    rustix::stdio::dup2_stdout(&streams.output)?;
    rustix::stdio::dup2_stderr(&streams.error)?;
    rustix::process::chdir(&request.cwd)?;
    signals::default_signals()?;
    // If the supervisor is killed, at least the command itself is killed too.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::process::setsid()?;
    if request.terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    let confined = request.confinement.as_deref().map(Confinement::restrict);
    let calls = confined
        .transpose()
        .map_err(StartError::Confinement)?
        .flatten();
    match (calls, network) {
        (Some(calls), Some(network)) => Ok(send_notifications(network, &calls)?),
        (None, None) => Ok(()),
        // Nobody would answer the calls of the command, or it would not have the network that was planned.
        (Some(_), None) | (None, Some(_)) => Err(Errno::PROTO.into()),
    }
}

/// The variables as C strings. Of duplicate names the last one is used.
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
