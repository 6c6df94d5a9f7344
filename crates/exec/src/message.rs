//! What we, the steward and the supervisors tell each other.
//!
//! The steward gets an [`Order`](crate::order::Order) per command, and with it four descriptors: a socket
//! for the supervisor and the three standard streams of the command. Through that socket the supervisor
//! gets one [`Request`], and then nothing more: the end of our side means that the tree must die.
//! It answers one [`Report`] when the command runs or could not be started, and one when it ended;
//! the end of its side means that nothing of the tree is left. Requests and reports have their
//! length in front.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use codex_sandbox::{Confinement, Decoder, Encoder, Malformed};

use crate::status::ExitStatus;

/// Bytes of a message's length.
pub(crate) const LENGTH: usize = 4;

/// A command line and environment are limited by the kernel to a few megabytes.
pub(crate) const REQUEST_LIMIT: usize = 16 * 1024 * 1024;

/// A report is a number or a sentence.
pub(crate) const REPORT_LIMIT: usize = 64 * 1024;

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) command: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    /// Only where the request is written: who reads it finds all variables in `environment`.
    pub(crate) inherited: Arc<BTreeMap<OsString, OsString>>,
    /// Of variables that are there twice, the last one counts.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether the standard streams are a terminal that is to be the command's own.
    pub(crate) terminal: bool,
    pub(crate) confinement: Option<Box<Confinement>>,
}

impl Request {
    /// With the length in front.
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

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut decoder = Decoder::new(bytes);
        let request = Self {
            command: decoder.list(Decoder::string)?,
            cwd: decoder.string()?.into(),
            inherited: Arc::default(),
            environment: decoder.list(|decoder| Ok((decoder.string()?, decoder.string()?)))?,
            terminal: decoder.flag()?,
            confinement: if decoder.flag()? {
                Some(Box::new(Confinement::decode(&mut decoder)?))
            } else {
                None
            },
        };
        decoder.finish()?;
        Ok(request)
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command runs under the supervisor with this process id.
    Started { supervisor: u32 },
    /// It could not be started, for a reason of the operating system's.
    NotStarted { errno: i32 },
    /// It was not started because it could not be confined.
    NotConfined { reason: String },
    /// It ended.
    Ended(ExitStatus),
}

impl Report {
    /// With the length in front.
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

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
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
            _ => return Err(Malformed),
        };
        decoder.finish()?;
        Ok(report)
    }
}

/// The length in front. Messages are far below 4 GiB; both ends check their limit.
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
        let request = Request {
            command: vec!["a".into(), "".into()],
            cwd: "/x".into(),
            inherited: Arc::default(),
            environment: vec![("N".into(), "v".into())],
            terminal: true,
            confinement: None,
        };
        let bytes = request.encode();
        assert_eq!(Request::decode(&bytes[LENGTH..]), Ok(request));
        assert_eq!(Request::decode(&bytes[LENGTH + 1..]), Err(Malformed));
    }

    #[test]
    fn reports_come_back() {
        for report in [
            Report::Started { supervisor: 5 },
            Report::NotStarted { errno: 2 },
            Report::NotConfined {
                reason: "why".into(),
            },
            Report::Ended(ExitStatus::Code(-1)),
            Report::Ended(ExitStatus::Signal(9)),
        ] {
            let bytes = report.encode();
            assert_eq!(Report::decode(&bytes[LENGTH..]), Ok(report));
        }
    }
}
