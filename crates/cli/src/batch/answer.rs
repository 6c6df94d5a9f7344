//! What the commands print.

/// Prints what a command answers.
#[allow(clippy::print_stdout)]
pub(super) fn say(text: &str) {
    println!("{text}");
}
