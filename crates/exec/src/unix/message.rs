//! The messages between this process, the spawner and the supervisors.
//!
//! On Linux the spawner, on macOS the supervisor receives one [`StartRequest`](super::start_request::StartRequest) per command, with four descriptors: a
//! socket for the supervisor and the three standard streams. Through that socket the supervisor receives one
//! [`CommandRequest`] and nothing else; when this side closes it, the supervisor kills the tree. The supervisor sends one
//! [`SupervisorReport`] when the command runs or could not be started, and one when it has ended. It closes its side when
//! no process of the tree is left. Requests and reports are prefixed with their length.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use codex_sandbox::{Decoder, Encoder, MalformedMessage};

use crate::platform::HelperConfinement;
use crate::status::ExitStatus;

/// The size of the length prefix.
pub(crate) const LENGTH: usize = 4;

/// The kernel limits a command line with its environment to a few megabytes.
pub(crate) const REQUEST_LIMIT: usize = 16 * 1024 * 1024;

/// A report is a number or a sentence.
pub(crate) const REPORT_LIMIT: usize = 64 * 1024;

/// The command to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandRequest {
    pub(crate) command: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    /// Used only for encoding; decoding puts all variables into `environment`.
    pub(crate) inherited: Arc<BTreeMap<OsString, OsString>>,
    /// Of duplicate names the last one is used.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether the standard streams are a terminal that becomes the controlling terminal.
    pub(crate) terminal: bool,
    pub(crate) confinement: Option<Box<HelperConfinement>>,
}

impl CommandRequest {
    /// Encodes the request with its length prefix.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.list(&self.command, |encoder, word| {
            encoder.string(word);
        });
        encoder.string(self.cwd.as_os_str());
        let own = self.environment.iter().map(|(name, value)| (name, value));
        let variables: Vec<_> = self.inherited.iter().chain(own).collect();
        encoder.list(&variables, |encoder, (name, value)| {
            encoder.string(name).string(value);
        });
        encoder.flag(self.terminal);
        encoder.flag(self.confinement.is_some());
        if let Some(confinement) = &self.confinement {
            confinement.encode(&mut encoder);
        }
        framed(&encoder.finish())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, MalformedMessage> {
        let mut decoder = Decoder::new(bytes);
        let request = Self {
            command: decoder.list(Decoder::string)?,
            cwd: decoder.string()?.into(),
            inherited: Arc::default(),
            environment: decoder.list(|decoder| Ok((decoder.string()?, decoder.string()?)))?,
            terminal: decoder.flag()?,
            confinement: if decoder.flag()? {
                Some(Box::new(HelperConfinement::decode(&mut decoder)?))
            } else {
                None
            },
        };
        decoder.finish()?;
        Ok(request)
    }
}

/// A report of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SupervisorReport {
    /// The command runs under the supervisor with this process id.
    Started { supervisor: u32 },
    /// The system could not start the command.
    NotStarted { errno: i32 },
    /// The sandbox could not be applied, so the command was not started.
    NotConfined { reason: String },
    /// The command ended.
    Ended(ExitStatus),
}

impl SupervisorReport {
    /// Encodes the report with its length prefix.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        match self {
            Self::Started { supervisor } => encoder.number(0).number(*supervisor),
            Self::NotStarted { errno } => encoder.number(1).number(errno.cast_unsigned()),
            Self::NotConfined { reason } => encoder.number(2).string(reason.as_ref()),
            Self::Ended(ExitStatus::Code(code)) => encoder.number(3).number(code.cast_unsigned()),
            Self::Ended(ExitStatus::Signal(signal)) => {
                encoder.number(4).number(signal.cast_unsigned())
            }
        };
        framed(&encoder.finish())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, MalformedMessage> {
        let mut decoder = Decoder::new(bytes);
        let report = match decoder.number()? {
            0 => Self::Started {
                supervisor: decoder.number()?,
            },
            1 => Self::NotStarted {
                errno: decoder.number()?.cast_signed(),
            },
            2 => Self::NotConfined {
                reason: decoder.string()?.to_string_lossy().into_owned(),
            },
            3 => Self::Ended(ExitStatus::Code(decoder.number()?.cast_signed())),
            4 => Self::Ended(ExitStatus::Signal(decoder.number()?.cast_signed())),
            _ => return Err(MalformedMessage),
        };
        decoder.finish()?;
        Ok(report)
    }
}

/// Adds the length prefix. Messages are far below 4 GiB; both ends check their limit.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(LENGTH + message.len());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(message);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back() {
        let request = CommandRequest {
            command: vec!["a".into(), "".into()],
            cwd: "/x".into(),
            inherited: Arc::default(),
            environment: vec![("N".into(), "v".into())],
            terminal: true,
            confinement: None,
        };
        let bytes = request.encode();
        assert_eq!(CommandRequest::decode(&bytes[LENGTH..]), Ok(request));
        assert_eq!(
            CommandRequest::decode(&bytes[LENGTH + 1..]),
            Err(MalformedMessage)
        );
    }

    #[test]
    fn reports_come_back() {
        for report in [
            SupervisorReport::Started { supervisor: 5 },
            SupervisorReport::NotStarted { errno: 2 },
            SupervisorReport::NotConfined {
                reason: "why".into(),
            },
            SupervisorReport::Ended(ExitStatus::Code(-1)),
            SupervisorReport::Ended(ExitStatus::Signal(9)),
        ] {
            let bytes = report.encode();
            assert_eq!(SupervisorReport::decode(&bytes[LENGTH..]), Ok(report));
        }
    }
}
