//! What a context is made of, as text for people.

use std::fmt::Write as _;

use serde_json::Value;

use crate::text::harmless;

/// How many tools are named.
const NAMED_TOOLS: usize = 12;

/// The reply to `thread/context/read` as lines.
#[must_use]
pub fn context_text(read: &Value) -> String {
    let mut text = String::new();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let model = harmless(read["model"].as_str().unwrap_or_default());
    let tokens = number(&read["tokens"]);
    let _ = match read["contextWindow"].as_u64().filter(|window| *window > 0) {
        Some(window) => {
            let percent = tokens as f64 * 100.0 / window as f64;
            writeln!(
                text,
                "{model}: about {tokens} of {window} tokens ({percent:.1} %)"
            )
        }
        None => writeln!(text, "{model}: about {tokens} tokens"),
    };
    if let (Some(input), Some(cached)) = (
        read["lastInputTokens"].as_u64(),
        read["lastCachedTokens"].as_u64(),
    ) {
        let _ = writeln!(
            text,
            "Last request: {input} tokens, {cached} of them from the cache of the server"
        );
    }
    text.push('\n');
    for part in read["parts"].as_array().into_iter().flatten() {
        let name = part_name(part["kind"].as_str().unwrap_or_default());
        let _ = writeln!(text, "- {name}: {}", numbers(part));
    }
    let tools = read["tools"].as_array().map_or(&[][..], Vec::as_slice);
    if !tools.is_empty() {
        text.push_str("\nTools:\n\n");
    }
    for tool in tools.iter().take(NAMED_TOOLS) {
        let name = harmless(tool["name"].as_str().unwrap_or_default());
        let _ = writeln!(text, "- {name}: {}", numbers(tool));
    }
    let unnamed = tools.len().saturating_sub(NAMED_TOOLS) as u64;
    let more = number(&read["moreTools"]) + unnamed;
    if more > 0 {
        let _ = writeln!(text, "- and {more} more");
    }
    if read["lacksServerTools"] == true {
        text.push_str("\nThe tools of MCP servers are counted from the next turn on.\n");
    }
    text
}

fn numbers(part: &Value) -> String {
    let tokens = part["tokens"].as_u64().unwrap_or(0);
    let cached = part["cachedTokens"].as_u64().unwrap_or(0);
    let percent = part["percent"].as_f64().unwrap_or(0.0);
    let mut text = format!("{tokens} ({percent:.1} %)");
    if let Some(count) = part["count"].as_u64().filter(|count| *count > 1) {
        let _ = write!(text, " in {count}");
    }
    if cached > 0 {
        let _ = write!(text, ", {cached} cached");
    }
    text
}

fn part_name(kind: &str) -> String {
    let name = match kind {
        "instructions" => "Instructions",
        "tools" => "Tools",
        "projectInstructions" => "AGENTS.md",
        "skills" => "Skills",
        "memories" => "Memories",
        "settings" => "Settings and environment",
        "summaries" => "Summaries of compactions",
        "userMessages" => "Your messages",
        "agentMessages" => "Answers",
        "reasoning" => "Reasoning",
        "toolCalls" => "Calls of tools",
        "toolOutputs" => "Outputs of tools",
        "images" => "Images",
        "pins" => "Pinned texts",
        other => return harmless(other),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_and_tools_have_their_tokens_and_shares() {
        let read = json!({
            "model": "m", "contextWindow": 1000, "tokens": 100, "lastInputTokens": 90,
            "lastCachedTokens": 40, "lacksServerTools": true, "moreTools": 3,
            "parts": [{ "kind": "tools", "count": 2, "tokens": 60, "cachedTokens": 40, "percent": 60.0 }],
            "tools": [{ "name": "a\u{1b}[1m", "tokens": 50, "cachedTokens": 0, "percent": 50.0 }],
        });
        let text = context_text(&read);
        for line in [
            "m: about 100 of 1000 tokens (10.0 %)",
            "- Tools: 60 (60.0 %) in 2, 40 cached",
            "- and 3 more",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
