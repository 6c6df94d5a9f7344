//! Distinguishes messages of the user from context that the engine added with the same role.
//!
//! Context is recognised by its beginning and end, also in files of other versions.

use codex_protocol::{ContentItem, ResponseItem};

/// The beginning and end of context.
const WRAPPERS: [(&str, &str); 9] = [
    ("# agents.md instructions for ", "</instructions>"),
    ("<environment_context>", "</environment_context>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<hook_prompt hook_run_id=", "</hook_prompt>"),
    (PIN_BEGIN, PIN_END),
    ("<restored_message>", "</restored_message>"),
];

const PIN_BEGIN: &str = "<pinned_text>";
const PIN_END: &str = "</pinned_text>";

/// A text that the user has pinned, as the model is told.
pub fn wrapped_pin(text: &str) -> String {
    format!("{PIN_BEGIN}\n{text}\n{PIN_END}")
}

/// A message of the user that a compaction had dropped.
pub(super) fn wrapped_restored(text: &str) -> String {
    format!("<restored_message>\n{text}\n</restored_message>")
}

/// Whether a text of the context is pinned.
pub(super) fn is_pin(text: &str) -> bool {
    text.trim_start().starts_with(PIN_BEGIN)
}

const INSTRUCTIONS_HEAD: &str = "# AGENTS.md instructions for ";
const INSTRUCTIONS_BEGIN: &str = "\n\n<INSTRUCTIONS>\n";
const INSTRUCTIONS_END: &str = "\n</INSTRUCTIONS>";

/// What the head of a message about a folder below the working folder has before the path.
const FOLDER_WORDS: &str = "the folder ";

/// The text of instruction files, with a line about it.
pub fn wrapped_instructions(about: &str, text: &str) -> String {
    format!("{INSTRUCTIONS_HEAD}{about}{INSTRUCTIONS_BEGIN}{text}{INSTRUCTIONS_END}")
}

/// The text of the instruction file of a folder below the working folder.
pub fn wrapped_folder_instructions(folder: &str, text: &str) -> String {
    wrapped_instructions(&format!("{FOLDER_WORDS}{folder}"), text)
}

/// What a text of the context says that instruction files are about, and their text; none if it is another one.
fn instructions_about(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once(INSTRUCTIONS_BEGIN)?;
    let about = head.strip_prefix(INSTRUCTIONS_HEAD)?;
    let text = rest.strip_suffix(INSTRUCTIONS_END)?;
    (!about.contains('\n')).then_some((about, text))
}

/// The text of instruction files in a text of the context, unless they are of a folder below the working folder.
pub fn instructions_in(text: &str) -> Option<&str> {
    let (about, text) = instructions_about(text)?;
    (!about.starts_with(FOLDER_WORDS)).then_some(text)
}

/// The folder below the working folder whose instruction file a text of the context is, and its text.
pub fn folder_instructions_in(text: &str) -> Option<(&str, &str)> {
    let (about, text) = instructions_about(text)?;
    Some((about.strip_prefix(FOLDER_WORDS)?, text))
}

/// The beginnings of developer messages with settings of a turn.
const SETTINGS_SECTIONS: [&str; 5] = [
    "<permissions instructions>",
    "<model_switch>",
    "<collaboration_mode>",
    "<realtime_conversation>",
    "<personality_spec>",
];

/// Whether a message of role `user` is context.
pub fn is_contextual(content: &[ContentItem]) -> bool {
    texts(content).any(is_context_text)
}

/// The first message of a person in these items; empty if there is none.
#[must_use]
pub fn first_user_text(items: &[ResponseItem]) -> String {
    let said = items.iter().find_map(|item| match item {
        ResponseItem::Message { role, content, .. }
            if role == "user" && !is_contextual(content) =>
        {
            Some(texts(content).collect::<String>())
        }
        _ => None,
    });
    said.map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Whether a developer message contains settings.
pub(super) fn contains_settings(content: &[ContentItem]) -> bool {
    texts(content).any(|text| {
        SETTINGS_SECTIONS
            .iter()
            .any(|start| text.starts_with(start))
    })
}

/// The texts of a message.
pub fn texts(content: &[ContentItem]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|part| match part {
        ContentItem::InputText { text } | ContentItem::OutputText { text } => Some(text.as_str()),
        ContentItem::InputImage { .. } => None,
    })
}

/// Whether a text of role `user` is context.
#[must_use]
pub fn is_context_text(text: &str) -> bool {
    let text = text.trim();
    WRAPPERS
        .iter()
        .any(|(start, end)| starts_with(text, start) && ends_with(text, end))
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start))
}

fn ends_with(text: &str, end: &str) -> bool {
    let from = text.len().checked_sub(end.len());
    from.and_then(|from| text.get(from..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, contextual: bool) {
        let content = [ContentItem::InputText {
            text: text.to_owned(),
        }];
        assert_eq!(is_contextual(&content), contextual, "{text}");
    }

    #[test]
    fn context_is_known_by_its_ends() {
        check("<environment_context>\n</environment_context>", true);
        check(" <ENVIRONMENT_CONTEXT></environment_context>\n", true);
        check(
            "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\n</INSTRUCTIONS>",
            true,
        );
        check("<environment_context> is what?", false);
        check("<hook_prompt hook_run_id=\"a\">x</hook_prompt>", true);
        check("é", false);
        check("", false);
    }
}
