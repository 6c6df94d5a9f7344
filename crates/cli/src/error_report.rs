//! What the program says when it fails.

use crate::print::note;

/// Prints an error with its causes in one line. Some errors already include their cause.
pub(crate) fn report(error: &anyhow::Error) {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.ends_with(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    note(format_args!("error: {message}"));
}
