//! The history after a local compaction: the latest messages of the user, and a summary.

use codex_protocol::{ContentItem, ResponseItem, TruncationMode, TruncationPolicy};

use super::contextual::is_contextual;
use super::entry::EntryKind;
use super::images::replace_images;
use super::items::History;
use super::messages::user_message;
use super::truncate::{middle_cut, tokens_of};

/// The tokens of user messages that are kept.
const USER_TOKENS: usize = 20_000;

/// Replaces a removed image.
const IMAGE_GONE: &str = "(An image stood here. It is not part of the summarised conversation; open its \
                          file or ask for it again if it is needed.)";

/// The prompt for a summary.
pub const COMPACT_PROMPT: &str = include_str!("../../prompts/compact.md");

/// The beginning of every summary. Stored threads depend on it, so it must not change.
fn prefix() -> &'static str {
    include_str!("../../prompts/summary_prefix.md").trim_end()
}

/// The messages of the user, without summaries of earlier compactions.
pub fn user_texts(history: &History) -> Vec<String> {
    let said = history
        .sent()
        .filter(|(entry, _)| entry.kind == EntryKind::UserTurn);
    let texts = said.filter_map(|(_, item)| match item.read() {
        ResponseItem::Message { content, .. } => Some(text_of(&content)),
        _ => None,
    });
    texts.filter(|text| !is_summary(text)).collect()
}

/// The new history.
pub fn compacted_history(texts: &[String], summary: &str) -> Vec<ResponseItem> {
    let mut left = USER_TOKENS;
    let mut kept = Vec::new();
    for text in texts.iter().rev() {
        if left == 0 {
            break;
        }
        let tokens = tokens_of(text.len());
        let limit = u64::try_from(left).unwrap_or(u64::MAX);
        let policy = TruncationPolicy {
            mode: TruncationMode::Tokens,
            limit,
        };
        kept.push(if tokens <= left {
            text.clone()
        } else {
            middle_cut(text, policy)
        });
        left = left.saturating_sub(tokens);
    }
    kept.reverse();
    kept.push(if is_summary(summary) {
        summary.to_owned()
    } else {
        format!("{}\n{summary}", prefix())
    });
    kept.into_iter().map(|text| user_message([text])).collect()
}

/// Whether an item is a message of the user.
pub fn is_user_message(item: &ResponseItem) -> bool {
    user_text(item).is_some_and(|text| !is_summary(&text))
}

/// Whether an item is the summary of an earlier compaction.
pub fn is_summary_item(item: &ResponseItem) -> bool {
    user_text(item).is_some_and(|text| is_summary(&text))
}

fn user_text(item: &ResponseItem) -> Option<String> {
    match item {
        ResponseItem::Message { role, content, .. }
            if role == "user" && !is_contextual(content) =>
        {
            Some(text_of(content))
        }
        _ => None,
    }
}

/// Replaces the images of an item, which would otherwise be stored again with every compaction.
pub fn without_images(item: ResponseItem) -> ResponseItem {
    replace_images(item, IMAGE_GONE)
}

pub(super) fn is_summary(text: &str) -> bool {
    text.strip_prefix(prefix())
        .is_some_and(|rest| rest.starts_with('\n'))
}

fn text_of(content: &[ContentItem]) -> String {
    let texts = content.iter().map(|part| match part {
        ContentItem::InputText { text } | ContentItem::OutputText { text } => text.as_str(),
        ContentItem::InputImage { .. } => IMAGE_GONE,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_words_stay_and_the_summary_is_last() {
        let texts = vec!["x".repeat(200_000), "newest".to_owned()];
        let items = compacted_history(&texts, "done so far");
        let texts: Vec<String> = items
            .iter()
            .map(|item| match item {
                ResponseItem::Message { content, .. } => text_of(content),
                _ => String::new(),
            })
            .collect();
        assert_eq!(texts.len(), 3);
        assert!(texts[0].contains("tokens truncated"));
        assert_eq!(texts[1], "newest");
        assert!(is_summary(&texts[2]) && texts[2].ends_with("\ndone so far"));
    }
}
