//! Guesses whether the sandbox stopped a command.
//!
//! The system reports a denial only to the command, so this is a guess from exit code and output. It applies to sandboxed
//! commands only and decides nothing except whether a retry is offered.

use crate::platform::OWN_DENIAL_MESSAGES;

/// The exit code of a shell whose command was killed by the system call filter (128 + SIGSYS).
const KILLED_BY_FILTER: i32 = 128 + 31;

const DENIAL_MESSAGES: [&str; 7] = [
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "seccomp",
    "sandbox",
    "landlock",
    "failed to write file",
];

/// Whether a sandboxed command with this exit code and output was probably stopped by the sandbox.
///
/// Do not call this for commands that timed out or were killed by a signal.
#[must_use]
pub fn looks_denied(exit_code: i32, output: &[u8]) -> bool {
    match exit_code {
        0 => false,
        KILLED_BY_FILTER => true,
        _ => {
            let text = String::from_utf8_lossy(output).to_ascii_lowercase();
            let mut messages = DENIAL_MESSAGES.iter().chain(OWN_DENIAL_MESSAGES);
            messages.any(|telltale| text.contains(telltale))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_is_a_failure_with_a_known_message() {
        assert!(looks_denied(1, b"touch: /x: Read-only file system\n"));
        assert!(looks_denied(126, b"bash: ./x: PERMISSION denied"));
        assert!(looks_denied(159, b""));
        assert!(!looks_denied(0, b"permission denied"));
        for code in [1, 2, 126, 127] {
            assert!(!looks_denied(code, b"no such file or directory"));
        }
    }
}
