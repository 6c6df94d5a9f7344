//! What was taken from a thread.

use codex_trace_view::TextCleaner;
use serde::Deserialize;
use serde_json::{Value, json};

/// The limits on the texts of a note, in bytes.
const RAW_MEMORY_BYTES: usize = 32 * 1024;
const SUMMARY_BYTES: usize = 16 * 1024;
const SLUG_CHARACTERS: usize = 60;

/// What was taken from a thread. Without texts, the thread had nothing worth knowing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) thread: String,
    /// When the thread was last changed before, in Unix seconds.
    pub(crate) thread_updated_at: i64,
    pub(crate) made_at: i64,
    /// The rollout.
    pub(crate) path: String,
    pub(crate) cwd: String,
    pub(crate) raw_memory: String,
    pub(crate) summary: String,
    /// A short name; may be empty.
    pub(crate) slug: String,
}

impl Note {
    /// The file name of the summary.
    pub(crate) fn summary_file(&self) -> String {
        let day = jiff::Timestamp::from_second(self.thread_updated_at).unwrap_or_default();
        let day = day.strftime("%Y-%m-%d");
        match self.slug.as_str() {
            "" => format!("{day}-{}.md", self.thread),
            slug => format!("{day}-{slug}-{}.md", self.thread),
        }
    }
}

/// The answer of the model.
#[derive(Debug, Deserialize)]
pub(crate) struct NoteTexts {
    raw_memory: String,
    rollout_summary: String,
    #[serde(default)]
    rollout_slug: Option<String>,
}

impl NoteTexts {
    /// The form of the answer.
    pub(crate) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "rollout_summary": { "type": "string" },
                "rollout_slug": { "type": ["string", "null"] },
                "raw_memory": { "type": "string" },
            },
            "required": ["rollout_summary", "rollout_slug", "raw_memory"],
            "additionalProperties": false,
        })
    }

    pub(crate) fn read(answer: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(answer.trim())
    }

    /// Puts the texts into a note, without secrets.
    pub(crate) fn fill(self, note: &mut Note, cleaner: &mut TextCleaner) {
        let mut clean = |text: &str, limit| cut(&cleaner.clean(text.trim()), limit).to_owned();
        note.raw_memory = clean(&self.raw_memory, RAW_MEMORY_BYTES);
        note.summary = clean(&self.rollout_summary, SUMMARY_BYTES);
        note.slug = slug(&clean(
            self.rollout_slug.as_deref().unwrap_or_default(),
            SUMMARY_BYTES,
        ));
    }
}

/// A name that is safe as a part of a file name.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars().take(SLUG_CHARACTERS) {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

/// The start of a text, up to a limit in bytes.
pub(crate) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cleaned_and_names_are_safe() {
        let answer = json!({
            "raw_memory": " The key is sk-abcdefghijklmnopqrstuvwx. ",
            "rollout_summary": "s",
            "rollout_slug": "../../Fix the Größe!",
        });
        let texts = NoteTexts::read(&format!("\n{answer}\n")).unwrap();
        let mut note = Note {
            thread: "t".to_owned(),
            thread_updated_at: 1_700_000_000,
            ..Note::default()
        };
        texts.fill(&mut note, &mut TextCleaner::new(std::iter::empty()));
        assert!(!note.raw_memory.contains("abcdefghijkl"), "{note:?}");
        assert!(note.raw_memory.starts_with("The key is "), "{note:?}");
        assert_eq!(note.summary_file(), "2023-11-14-fix-the-gr-e-t.md");
        assert!(NoteTexts::read("no JSON").is_err());
    }
}
