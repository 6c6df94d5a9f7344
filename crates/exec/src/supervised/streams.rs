//! The standard streams of a command.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe;

use crate::input::StandardInput;
use crate::launch::StreamSetup;
use crate::output::{OutputStream, ProcessOutput};
use crate::unix::Terminal;

/// This process's ends of a command's standard streams.
pub(crate) struct OurEnds {
    pub(super) output: ProcessOutput,
    pub(super) input: Option<StandardInput>,
    pub(super) terminal: Option<Terminal>,
}

impl OurEnds {
    /// Opens the streams. Returns the ends of the command too: input, output, errors.
    pub(crate) fn open(streams: StreamSetup) -> io::Result<(Self, [OwnedFd; 3])> {
        match streams {
            StreamSetup::OutputOnly => {
                let nothing = std::fs::File::open("/dev/null")?;
                Self::pipes(None, nothing.into())
            }
            StreamSetup::InputAndOutput => {
                let (theirs, ours) = std::io::pipe()?;
                let ours = pipe::Sender::from_owned_fd(ours.into())?;
                Self::pipes(Some(StandardInput::piped(ours)), theirs.into())
            }
            StreamSetup::Terminal(size) => {
                let (ours, theirs) = Terminal::open(size)?;
                let ends = Self {
                    output: ProcessOutput::new(vec![(OutputStream::Stdout, ours.output()?)]),
                    input: Some(StandardInput::typed(ours.input()?)),
                    terminal: Some(ours),
                };
                Ok((ends, [theirs.try_clone()?, theirs.try_clone()?, theirs]))
            }
        }
    }

    fn pipes(
        input: Option<StandardInput>,
        their_input: OwnedFd,
    ) -> io::Result<(Self, [OwnedFd; 3])> {
        let (our_output, their_output) = std::io::pipe()?;
        let (our_error, their_error) = std::io::pipe()?;
        let output = pipe::Receiver::from_owned_fd(our_output.into())?;
        let error = pipe::Receiver::from_owned_fd(our_error.into())?;
        let ends = Self {
            output: ProcessOutput::new(vec![
                (OutputStream::Stdout, output),
                (OutputStream::Stderr, error),
            ]),
            input,
            terminal: None,
        };
        Ok((ends, [their_input, their_output.into(), their_error.into()]))
    }
}
