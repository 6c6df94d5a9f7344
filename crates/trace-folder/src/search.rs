//! Searches the texts of bundles: what people, the model and tools said. The keys of JSON and words of the format are no texts.

use std::collections::HashSet;

use codex_rollout_trace::Recording;
use codex_rollout_trace::format::{Event, LogLine, PayloadRef};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::TraceFolderError;
use crate::archive::UnpackLimit;
use crate::entry::{BundleEntry, LOG};
use crate::open::OpenBundle;

/// The text before and after a match that is shown.
const CONTEXT: usize = 60;
/// So much of a match is shown.
const LONGEST_MATCH: usize = 400;
/// Members whose values are words of the format.
const WORDS: [&str; 6] = ["type", "status", "role", "kind", "phase", "event_type"];

/// What to search for.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    /// Matches payloads that may contain the text, in which it is escaped; none for an expression.
    escaped: Option<Regex>,
}

impl Pattern {
    /// A text.
    ///
    /// # Errors
    /// The text is too long for a pattern.
    pub fn text(text: &str, case_sensitive: bool) -> Result<Self, TraceFolderError> {
        // Inside JSON inside a string, escapes are escaped again, so only plain words of the text are looked for there.
        let word = text.split(|char: char| !char.is_ascii_alphanumeric() && char != ' ');
        let word = word.max_by_key(|word| word.len()).unwrap_or_default();
        Ok(Self {
            regex: Self::compile(&regex::escape(text), case_sensitive)?,
            escaped: Some(Self::compile(&regex::escape(word), case_sensitive)?),
        })
    }

    /// A regular expression, matched with each text.
    ///
    /// # Errors
    /// The expression is invalid.
    pub fn regex(expression: &str, case_sensitive: bool) -> Result<Self, TraceFolderError> {
        Ok(Self {
            regex: Self::compile(expression, case_sensitive)?,
            escaped: None,
        })
    }

    fn compile(expression: &str, case_sensitive: bool) -> Result<Regex, TraceFolderError> {
        let mut builder = RegexBuilder::new(expression);
        Ok(builder.case_insensitive(!case_sensitive).build()?)
    }

    fn may_be_in(&self, payload: &str) -> bool {
        let escaped = self.escaped.as_ref();
        escaped.is_none_or(|escaped| escaped.is_match(payload))
    }
}

/// A text of a bundle that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The file inside the bundle.
    pub file: String,
    /// The call of a tool that the text belongs to.
    pub call: Option<String>,
    /// The match and the text around it, without line breaks.
    pub excerpt: String,
}

/// The matching texts of a bundle, up to a number. A text that occurs again is not listed again, and of a call only the first
/// text is. Payloads that are not as they were written are left out.
///
/// # Errors
/// The bundle cannot be read.
pub fn search(
    entry: &BundleEntry,
    pattern: &Pattern,
    limit: usize,
    limit_of_archive: UnpackLimit,
) -> Result<Vec<Match>, TraceFolderError> {
    let bundle = OpenBundle::open(&entry.path, limit_of_archive)?;
    let recording = Recording::read(bundle.folder())
        .map_err(|error| TraceFolderError::unreadable(&entry.path, error))?;
    let mut found = TextSearch {
        pattern,
        limit,
        matches: Vec::new(),
        texts: HashSet::new(),
        calls: HashSet::new(),
        payloads: HashSet::new(),
    };
    for line in recording.events() {
        found.line(&recording, line);
        if found.is_full() {
            break;
        }
    }
    Ok(found.matches)
}

struct TextSearch<'s> {
    pattern: &'s Pattern,
    limit: usize,
    matches: Vec<Match>,
    /// The texts that were found.
    texts: HashSet<String>,
    calls: HashSet<String>,
    /// The payloads that were searched.
    payloads: HashSet<String>,
}

impl TextSearch<'_> {
    fn is_full(&self) -> bool {
        self.matches.len() >= self.limit
    }

    fn line(&mut self, recording: &Recording, line: &LogLine) {
        let call = match &line.payload {
            Event::ToolCallStarted {
                tool_call_id: call, ..
            }
            | Event::ToolCallRuntimeStarted {
                tool_call_id: call, ..
            }
            | Event::ToolCallRuntimeEnded {
                tool_call_id: call, ..
            }
            | Event::ToolCallEnded {
                tool_call_id: call, ..
            } => Some(call.as_str()),
            _ => None,
        };
        match &line.payload {
            Event::CodeCellStarted {
                source_js: text,
                model_visible_call_id: cell,
                ..
            } => self.text(LOG, Some(cell.as_str()), text),
            Event::InferenceFailed { error: text, .. }
            | Event::InferenceCancelled { reason: text, .. }
            | Event::CompactionRequestFailed { error: text, .. }
            | Event::AgentResultObserved { message: text, .. } => self.text(LOG, None, text),
            _ => {}
        }
        for payload in line.payload.payloads() {
            // What is put together from parts is found in them.
            if payload.parts.is_empty() && self.payloads.insert(payload.raw_payload_id.to_string())
            {
                self.payload(recording, payload, call);
            }
        }
    }

    fn payload(&mut self, recording: &Recording, payload: &PayloadRef, call: Option<&str>) {
        let (Some(file), Ok(bytes)) = (payload.file(), recording.bytes(payload)) else {
            return;
        };
        let text = String::from_utf8_lossy(&bytes);
        if !self.pattern.may_be_in(&text) {
            return;
        }
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            self.value(&file, call, &value);
        }
    }

    fn value(&mut self, file: &str, call: Option<&str>, value: &Value) {
        if self.is_full() {
            return;
        }
        match value {
            Value::String(text) => self.text(file, call, text),
            Value::Array(values) => {
                for value in values {
                    self.value(file, call, value);
                }
            }
            Value::Object(members) => {
                let own = members.get("call_id").and_then(Value::as_str);
                for (name, value) in members {
                    if !WORDS.contains(&name.as_str()) {
                        self.value(file, own.or(call), value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, file: &str, call: Option<&str>, text: &str) {
        // Arguments of calls are JSON in a string, whose keys are no texts either.
        let is_object = text.starts_with('{') || text.starts_with('[');
        if is_object && let Ok(inner) = serde_json::from_str::<Value>(text) {
            return self.value(file, call, &inner);
        }
        let Some(found) = self.pattern.regex.find(text) else {
            return;
        };
        if self.is_full()
            || call.is_some_and(|call| self.calls.contains(call))
            || !self.texts.insert(text.to_owned())
        {
            return;
        }
        self.calls.extend(call.map(str::to_owned));
        self.matches.push(Match {
            file: file.to_owned(),
            call: call.map(str::to_owned),
            excerpt: excerpt(text, found.range()),
        });
    }
}

fn excerpt(text: &str, found: std::ops::Range<usize>) -> String {
    let start = text.floor_char_boundary(found.start.saturating_sub(CONTEXT));
    let end = found.end.min(found.start + LONGEST_MATCH) + CONTEXT;
    let end = text.ceil_char_boundary(end.min(text.len()));
    let shown: Vec<&str> = text[start..end].split_whitespace().collect();
    shown.join(" ").replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &Pattern, value: &Value) -> Vec<(Option<String>, String)> {
        let mut search = TextSearch {
            pattern,
            limit: 20,
            matches: Vec::new(),
            texts: HashSet::new(),
            calls: HashSet::new(),
            payloads: HashSet::new(),
        };
        search.value("payloads/1.json", None, value);
        let matches = search.matches.into_iter();
        matches.map(|found| (found.call, found.excerpt)).collect()
    }

    #[test]
    fn trace_search_finds_texts_but_no_format_keys() {
        let pattern = Pattern::text("FAILED", false).unwrap();
        let value = serde_json::json!({
            "failed": 0, "status": "failed", "arguments": "{\"failed\": 1}",
            "output": format!("{}two tests failed: a, b", "x ".repeat(200)),
        });
        let texts = found(&pattern, &value);
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].1.ends_with("two tests failed: a, b"), "{texts:?}");
    }

    #[test]
    fn repeated_calls_and_texts_are_listed_once() {
        let pattern = Pattern::text("a \"b\"", false).unwrap();
        let value = serde_json::json!([
            { "call_id": "c1", "arguments": "{\"cmd\": \"echo a \\\"b\\\"\"}" },
            { "call_id": "c1", "output": "a \"b\"" },
            { "text": "not a \"b\"" },
            { "text": "not a \"b\"" },
        ]);
        let texts = found(&pattern, &value);
        let expected = [
            (Some("c1".to_owned()), "echo a \"b\"".to_owned()),
            (None, "not a \"b\"".to_owned()),
        ];
        assert_eq!(texts, expected);
    }
}
