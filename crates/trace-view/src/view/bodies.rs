//! Fitting texts into a budget, and reading payload files as far as they fit.

use std::io;

use codex_rollout_trace::BundlePayloads;
use codex_rollout_trace::format::PayloadRef;

/// The longest that one text may be, so that all of these lengths together fit the budget: the largest give first.
pub(super) fn fair_limit(lengths: impl Iterator<Item = u64>, budget: u64) -> u64 {
    let mut lengths: Vec<u64> = lengths.collect();
    lengths.sort_unstable();
    let (mut left, mut waiting) = (budget, lengths.len() as u64);
    for length in lengths {
        let share = left / waiting;
        if length > share {
            return share;
        }
        left -= length;
        waiting -= 1;
    }
    u64::MAX
}

/// As much of a text as the limit lets through.
pub(super) fn cut(text: &str, limit: u64) -> &str {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if text.len() <= limit {
        return text;
    }
    &text[..text.floor_char_boundary(limit)]
}

/// Reads a payload file up to the limit, without the blanks of its layout. Whether it was cut comes with it. A file that is
/// not as it was written is not read.
pub(super) fn read_body(
    bundle: &BundlePayloads,
    payload: &PayloadRef,
    limit: u64,
) -> io::Result<(String, bool)> {
    let (bytes, is_cut) = bundle.read(payload, limit)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    without_layout(&mut text);
    Ok((text, is_cut))
}

/// Reads a payload file as JSON.
pub(super) fn read_json(
    bundle: &BundlePayloads,
    payload: &PayloadRef,
) -> io::Result<serde_json::Value> {
    let (text, _) = read_body(bundle, payload, u64::MAX)?;
    Ok(serde_json::from_str(&text)?)
}

/// Removes blanks between the tokens of a JSON text.
fn without_layout(text: &mut String) {
    let (mut in_string, mut is_escaped) = (false, false);
    text.retain(|char| {
        if in_string {
            match char {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            return true;
        }
        in_string = char == '"';
        !char.is_ascii_whitespace()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_give_first() {
        let limit = |lengths: &[u64], budget| fair_limit(lengths.iter().copied(), budget);
        assert_eq!(limit(&[1, 2, 3], 6), u64::MAX);
        assert_eq!(limit(&[1, 2, 100], 13), 10);
        assert_eq!(limit(&[50, 2, 100], 22), 10);
        assert_eq!(limit(&[5, 5], 0), 0);
        assert_eq!(limit(&[], 0), u64::MAX);
    }

    #[test]
    fn a_cut_keeps_whole_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
    }

    #[test]
    fn blank_space_is_removed_outside_strings() {
        let mut text = "{\n  \"a b\": \"c \\\" d\",\n  \"e\": [ 1 ]\n}".to_owned();
        without_layout(&mut text);
        assert_eq!(text, r#"{"a b":"c \" d","e":[1]}"#);
    }
}
