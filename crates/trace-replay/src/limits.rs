//! Which inputs of a session cannot be given again.

use std::path::Path;

use codex_core::SessionInput;
use codex_protocol::{Op, UserInput};

/// Whether an input of an agent may come from a tool of its parent, which gives it again.
pub(crate) fn is_input_of_tool(input: &SessionInput) -> bool {
    let SessionInput::Submission(submission) = input else {
        return false;
    };
    matches!(submission.op, Op::UserInput(_) | Op::Interrupt)
}

/// Why an input cannot be given again. `has_outputs` says whether the bundle has the outputs of commands that a person ran.
pub(crate) fn limit_of(input: &SessionInput, has_outputs: bool) -> Option<String> {
    let items = match input {
        SessionInput::Submission(submission) => match &submission.op {
            Op::RunUserShellCommand { .. } if !has_outputs => {
                return Some(
                    "a person ran a command, whose output is not in the bundle".to_owned(),
                );
            }
            Op::Undo => return Some("files were set back to a snapshot".to_owned()),
            Op::UserInput(input) => &input.items,
            Op::UserTurn(turn) => &turn.items,
            _ => return None,
        },
        SessionInput::Turn(turn) => &turn.input.items,
        SessionInput::Steer(input) => &input.items,
        _ => return None,
    };
    items.iter().find_map(|item| match item {
        UserInput::LocalImage { path, .. } if !Path::new(path).is_file() => {
            Some(format!("the image {} is gone", Path::new(path).display()))
        }
        _ => None,
    })
}
