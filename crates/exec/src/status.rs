//! How a process ended.

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// By itself, with this code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

impl ExitStatus {
    /// The code as a shell would tell it: 128 and the signal's number for a killed process.
    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }

    /// Whether the process ended by itself and without complaint.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}
