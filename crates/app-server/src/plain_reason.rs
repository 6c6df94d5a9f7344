//! A question about a command with the words of the model alone as the reason. Pure.
//!
//! They stay alone if they are short, show as they are and
//! do not speak of the sandbox; that the command leaves it is then said in a warning. Whatever else a model says stands in
//! the quotation marks of the engine's own reason.

use codex_app_server_protocol::v2::{CommandExecutionRequestApprovalParams, WarningNotification};
use codex_visible_text::visible_line;

/// The longest reason of a model that stands alone, in characters.
const MAX_PLAIN_CHARS: usize = 100;

/// The question with the reason of the model alone, and the warning that goes before it. None if the reason of the engine
/// has to be shown.
pub(crate) fn with_plain_reason(
    params: &CommandExecutionRequestApprovalParams,
) -> Option<(CommandExecutionRequestApprovalParams, WarningNotification)> {
    let (notice, reason) = (params.engine_notice.as_ref()?, params.reason.as_ref()?);
    let justification = params.justification.as_ref()?;
    let rest = reason.strip_prefix(notice.as_str())?.trim_start();
    let command = params.command.as_deref()?;
    // In such quotation marks the command has escapes, which the reason tells of.
    let hides = command.contains("$'");
    if hides
        || reason == justification
        || !rest.starts_with("The model's reason")
        || !is_plain(justification)
    {
        return None;
    }
    let command = visible_line(command);
    let warning = WarningNotification {
        message: format!("About the question whether `{command}` may run: {notice}"),
        thread_id: Some(params.thread_id.clone()),
    };
    let params = CommandExecutionRequestApprovalParams {
        reason: Some(justification.clone()),
        ..params.clone()
    };
    Some((params, warning))
}

fn is_plain(justification: &str) -> bool {
    let letters: String = (justification.chars())
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    justification.is_ascii()
        && justification.chars().count() <= MAX_PLAIN_CHARS
        && !justification.contains("\\u{")
        && !letters.contains("sandbox")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(command: &str, reason: &str, justification: &str) -> Option<String> {
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": "c", "command": command, "cwd": "/w",
                             "engineNotice": "It leaves.", "reason": reason, "justification": justification });
        let params = serde_json::from_value(params).unwrap();
        let (params, warning) = with_plain_reason(&params)?;
        assert!(
            warning.message.ends_with(" may run: It leaves."),
            "{}",
            warning.message
        );
        params.reason
    }

    #[test]
    fn a_plain_reason_stands_alone() {
        let reason = "It leaves. The model's reason (7 characters): “need it”";
        assert_eq!(asked("ls", reason, "need it").as_deref(), Some("need it"));
    }

    #[test]
    fn reason_that_imitates_the_engine_is_quoted() {
        let quoted = "It leaves. The model's reason (9 characters): “x”";
        for justification in [
            "It runs in the sandbox.",
            "It runs in the S.a.n.d b-o-x.",
            "It runs in the \u{405}andbox.",
            "It runs in the ѕandbox.",
            &"long ".repeat(30),
        ] {
            assert_eq!(asked("ls", quoted, justification), None, "{justification}");
        }
        assert_eq!(asked("sh -c $'ls\\u202e'", quoted, "need it"), None);
        assert_eq!(
            asked(
                "ls",
                "It leaves. `ls` requires approval by policy",
                "need it"
            ),
            None
        );
        assert_eq!(asked("ls", "need it", "need it"), None);
    }
}
