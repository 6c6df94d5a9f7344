//! What the engine needs of a stored thread, and no more: the lines that its history is rebuilt from.
//!
//! Most lines of a long thread tell people what happened, and most settings of turns were replaced
//! by later ones; those are passed over without being read.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use codex_protocol::{RolloutItem, RolloutLine, SessionMeta};
use codex_rollout::{LoadError, Loaded, ScannedLine, scan};

/// A stored thread, read as far as the engine needs it.
#[derive(Debug)]
pub struct Stored {
    pub(crate) path: PathBuf,
    pub(crate) loaded: Loaded,
    /// How many bytes of the file are whole lines.
    pub(crate) length: u64,
    /// How long the file was at least when it was read. What is added later is another process's.
    pub(crate) size: u64,
}

impl Stored {
    /// Reads the file of a thread, or what of it stands before `end`. `also` sees every line of that too,
    /// so that who needs more of a thread does not go through its file once more.
    ///
    /// # Errors
    /// The file cannot be read, or it does not say what thread it is.
    pub fn read(
        path: &Path,
        end: Option<u64>,
        mut also: impl FnMut(ScannedLine<'_>),
    ) -> Result<Self, LoadError> {
        let end = end.unwrap_or(u64::MAX);
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        let mut lines = Lines::default();
        let length = scan(path, |line| {
            if line.offset() >= end {
                return ControlFlow::Break(());
            }
            lines.take(line);
            also(line);
            ControlFlow::Continue(())
        })?;
        let length = length.min(end);
        Ok(Self {
            path: path.to_owned(),
            loaded: lines.finish()?,
            length,
            size,
        })
    }

    /// Reads the file of a thread with every line that it has.
    pub(crate) fn read_all(path: &Path) -> Result<Self, LoadError> {
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        Ok(Self {
            path: path.to_owned(),
            loaded: codex_rollout::load(path)?,
            length: size,
            size,
        })
    }
}

#[derive(Debug, Default)]
struct Lines {
    items: Vec<RolloutItem>,
    skipped: usize,
    settings: Newest,
    tokens: Newest,
}

/// The newest line of a kind of which only that one counts.
#[derive(Debug, Default)]
struct Newest {
    line: Vec<u8>,
    /// Before which item it stood.
    at: usize,
}

impl Newest {
    fn set(&mut self, line: &[u8], at: usize) {
        self.line.clear();
        self.line.extend_from_slice(line);
        self.at = at;
    }

    fn read(self) -> Option<(usize, RolloutItem)> {
        let line = RolloutLine::read(std::str::from_utf8(&self.line).ok()?).ok()?;
        Some((self.at, line.item))
    }
}

impl Lines {
    fn take(&mut self, line: ScannedLine<'_>) {
        let Some((kind, payload)) = line.kind() else {
            self.skipped += 1;
            return;
        };
        let at = self.items.len();
        match (kind.as_ref(), payload.as_deref()) {
            ("turn_context", _) => self.settings.set(line.bytes(), at),
            ("event_msg", Some("token_count")) => {
                if !tells_nothing(line.bytes()) {
                    self.tokens.set(line.bytes(), at);
                }
            }
            ("event_msg", Some(kind)) if kind != "thread_rolled_back" => {}
            _ => match line.read() {
                Some(line) => self.items.push(line.item),
                None => self.skipped += 1,
            },
        }
    }

    fn finish(mut self) -> Result<Loaded, LoadError> {
        let meta = self.items.iter().find_map(|item| match item {
            RolloutItem::SessionMeta(meta) => Some(SessionMeta::clone(meta)),
            _ => None,
        });
        let meta = meta.ok_or(LoadError::NoMeta)?;
        if let Some((_, tokens)) = self.tokens.read() {
            self.items.push(tokens);
        }
        if let Some((at, settings)) = self.settings.read() {
            self.items.insert(at.min(self.items.len()), settings);
        }
        Ok(Loaded {
            meta,
            items: self.items,
            skipped: self.skipped,
        })
    }
}

/// Whether a count of tokens has none, as before the first response.
fn tells_nothing(line: &[u8]) -> bool {
    let window = &line[..line.len().min(200)];
    memchr::memmem::find(window, b"\"info\":null").is_some()
}

#[cfg(test)]
mod tests {
    use codex_protocol::{EventMsg, TruncationMode, TruncationPolicy};

    use super::*;
    use crate::conversation::Conversation;

    const LINES: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"a","timestamp":"t","cwd":"/","originator":"o","cli_version":"1","model_provider":null,"base_instructions":null}}
{"timestamp":"t","type":"event_msg","payload":{"type":"task_started","turn_id":"1","model_context_window":null}}
{"timestamp":"t","type":"turn_context","payload":{"cwd":"/","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"old","summary":"auto"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}
{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":null}}
{"timestamp":"t","type":"turn_context","payload":{"cwd":"/","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"new","summary":"auto"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"two"}]}}
{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":2},"last_token_usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":2},"model_context_window":null},"rate_limits":null}}
{"timestamp":"t","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}
{"torn"#;

    #[test]
    fn less_is_read_and_it_comes_to_the_same() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), LINES).unwrap();
        let stored = Stored::read(file.path(), None, |_| {}).unwrap();
        assert_eq!(stored.length, (LINES.len() - "{\"torn".len()) as u64);
        let told =
            |item: &RolloutItem| matches!(item, RolloutItem::EventMsg(EventMsg::TurnStarted(_)));
        assert!(!stored.loaded.items.iter().any(told));
        let policy = TruncationPolicy {
            mode: TruncationMode::Bytes,
            limit: 100,
        };
        let whole = codex_rollout::load(file.path()).unwrap();
        let (all, few) = (
            Conversation::rebuilt(whole.items, policy),
            Conversation::rebuilt(stored.loaded.items, policy),
        );
        assert_eq!(all.history.len(), few.history.len());
        assert_eq!(all.told, few.told);
        assert_eq!(all.previous_model, few.previous_model);
        assert_eq!(all.previous_model.as_deref(), Some("new"));
        assert_eq!(all.usage.info, few.usage.info);
        assert!(few.usage.info.is_some());
    }
}
