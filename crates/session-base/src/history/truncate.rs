//! Truncating long text: the beginning and the end are kept, with a marker between them.

use codex_protocol::{
    FunctionCallOutputBody, FunctionCallOutputContentItem, TruncationMode, TruncationPolicy,
};

/// The estimated bytes of a token.
const BYTES_PER_TOKEN: usize = 4;

/// The budget of a policy in bytes.
pub fn byte_budget(policy: TruncationPolicy) -> usize {
    let limit = usize::try_from(policy.limit).unwrap_or(usize::MAX);
    match policy.mode {
        TruncationMode::Bytes => limit,
        TruncationMode::Tokens => limit.saturating_mul(BYTES_PER_TOKEN),
    }
}

/// The estimated tokens of a text of this length.
pub fn tokens_of(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Keeps the first and the last half of the budget.
pub fn middle_cut(text: &str, policy: TruncationPolicy) -> String {
    cut_to(text, byte_budget(policy), policy.mode)
}

fn cut_to(text: &str, budget: usize, mode: TruncationMode) -> String {
    if text.len() <= budget && (budget > 0 || text.is_empty()) {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(budget / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - (budget - budget / 2))..];
    let marker = match mode {
        TruncationMode::Bytes => {
            let removed = text[head.len()..text.len() - tail.len()].chars().count();
            format!("…{removed} chars truncated…")
        }
        TruncationMode::Tokens => {
            format!("…{} tokens truncated…", tokens_of(text.len() - budget))
        }
    };
    [head, &marker, tail].concat()
}

/// Like [`middle_cut`], with the number of lines in front if anything was cut.
pub fn formatted_cut(text: &str, policy: TruncationPolicy) -> String {
    if text.len() <= byte_budget(policy) && policy.limit > 0 {
        return text.to_owned();
    }
    format!(
        "Total output lines: {}\n\n{}",
        text.lines().count(),
        middle_cut(text, policy)
    )
}

/// Truncates the output of a tool when it is recorded. The limit is a fifth higher, so that output which the
/// tool has truncated is kept.
pub fn cut_output(
    output: FunctionCallOutputBody,
    policy: TruncationPolicy,
) -> FunctionCallOutputBody {
    let policy = TruncationPolicy {
        limit: policy.limit.saturating_mul(6) / 5,
        ..policy
    };
    match output {
        FunctionCallOutputBody::Text(text) if text.size() <= byte_budget(policy) => {
            FunctionCallOutputBody::Text(text)
        }
        FunctionCallOutputBody::Text(text) => {
            let text = text.as_str();
            let fits = text.len() <= byte_budget(policy);
            FunctionCallOutputBody::Text(if fits {
                text.into_owned().into()
            } else {
                middle_cut(&text, policy).into()
            })
        }
        FunctionCallOutputBody::Content(parts) => {
            FunctionCallOutputBody::Content(cut_parts(parts, policy))
        }
    }
}

/// Cuts texts until the limit is used up. Images are kept.
pub fn cut_parts(
    parts: Vec<FunctionCallOutputContentItem>,
    policy: TruncationPolicy,
) -> Vec<FunctionCallOutputContentItem> {
    use FunctionCallOutputContentItem::{InputImage, InputText};
    let mut left = byte_budget(policy);
    let mut omitted = 0;
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            InputText { .. } if left == 0 => omitted += 1,
            InputText { text } => {
                let text = cut_to(&text, left, policy.mode);
                left = left.saturating_sub(text.len());
                kept.push(InputText { text });
            }
            image @ InputImage { .. } => kept.push(image),
        }
    }
    if omitted > 0 {
        kept.push(InputText {
            text: format!("[omitted {omitted} text items ...]"),
        });
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(limit: u64) -> TruncationPolicy {
        TruncationPolicy {
            mode: TruncationMode::Bytes,
            limit,
        }
    }

    #[test]
    fn head_and_tail_stay() {
        assert_eq!(
            middle_cut("0123456789", bytes(4)),
            "01…6 chars truncated…89"
        );
        assert_eq!(middle_cut("0123456789", bytes(10)), "0123456789");
        assert_eq!(middle_cut("ééé", bytes(3)), "…2 chars truncated…é");
        assert_eq!(middle_cut("", bytes(0)), "");
        assert_eq!(middle_cut("abc", bytes(0)), "…3 chars truncated…");
        let tokens = TruncationPolicy {
            mode: TruncationMode::Tokens,
            limit: 1,
        };
        assert_eq!(middle_cut("0123456789", tokens), "01…2 tokens truncated…89");
    }

    #[test]
    fn truncation_names_the_whole_length() {
        let cut = formatted_cut("a\nb\nc\nd\n", bytes(4));
        assert!(cut.starts_with("Total output lines: 4\n\na\n…"));
        assert_eq!(formatted_cut("ab", bytes(4)), "ab");
    }

    #[test]
    fn parts_share_the_budget_and_images_stay() {
        let text = |text: &str| FunctionCallOutputContentItem::InputText {
            text: text.to_owned(),
        };
        let image = FunctionCallOutputContentItem::InputImage {
            image_url: "data:".to_owned(),
            detail: None,
        };
        let parts = vec![
            text("0123456789"),
            image.clone(),
            text("more"),
            text("more"),
        ];
        let FunctionCallOutputBody::Content(cut) =
            cut_output(FunctionCallOutputBody::Content(parts), bytes(5))
        else {
            panic!("parts stay parts");
        };
        assert_eq!(cut[1], image);
        assert_eq!(cut[2], text("[omitted 2 text items ...]"));
    }
}
