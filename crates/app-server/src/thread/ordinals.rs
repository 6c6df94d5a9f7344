//! The positions of turns and items in a thread: the ordinals of their lines, as engines that number lines count them.
//!
//! Numbered files have the ordinals. Others have none and lack some lines of those, so the lines are
//! counted as such an engine would have written them.

use std::collections::HashMap;

use codex_app_server_protocol::v2::TimedItem;
use codex_projection::{Consumer, ItemEnd, id_of};
use codex_rollout::ScannedLine;

/// Counts the lines of a file.
#[derive(Debug, Default)]
pub(super) struct LineOrdinals {
    next: u64,
    last: LastLine,
    has_turn_context: bool,
    /// Whether there are messages for the model since the turn began.
    has_context_messages: bool,
    /// Whether the last response has calls, and whether one has its output.
    has_calls: bool,
    has_outputs: bool,
    /// Whether something was written since tokens were counted.
    is_uncounted: bool,
}

/// What the last line was, as far as it matters for the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LastLine {
    TurnStart,
    UserMessage,
    TokenCount,
    Reasoning,
    #[default]
    Other,
}

/// The lines of a numbered file for one line: those before the line itself, the line if there is one, and those after it.
#[derive(Clone, Copy)]
struct Lines(u64, u64, u64);

impl Lines {
    const NONE: Self = Self(0, 0, 0);
    const ONE: Self = Self(0, 1, 0);
}

impl LineOrdinals {
    /// The ordinal of the next line of the file, or of the last one before it if a numbered file has no such line.
    pub(super) fn take(&mut self, line: &ScannedLine<'_>) -> u64 {
        let (kind, payload) = line.kind().unwrap_or_default();
        let Lines(before, own, after) = match &*kind {
            "session_meta" if self.next > 0 => Lines::NONE,
            "turn_context" => self.turn_context(),
            // The state of the world, the settings of the turn, and those of the thread.
            "compacted" => Lines(0, 1, 3),
            "response_item" => self.response_item(payload.as_deref().unwrap_or_default()),
            "event_msg" => self.event(payload.as_deref().unwrap_or_default(), line),
            _ => Lines::ONE,
        };
        if let Some(written) = line.start().and_then(|start| start.ordinal) {
            self.next = written + 1;
            return written;
        }
        let ordinal = (self.next + before + own).saturating_sub(1);
        self.next += before + own + after;
        ordinal
    }

    fn turn_context(&mut self) -> Lines {
        let world = u64::from(std::mem::take(&mut self.has_context_messages));
        let settings = u64::from(!std::mem::replace(&mut self.has_turn_context, true));
        Lines(world, 1, settings)
    }

    fn response_item(&mut self, item: &str) -> Lines {
        self.is_uncounted = true;
        match item {
            "message" => self.has_context_messages = true,
            "function_call" | "custom_tool_call" | "local_shell_call" => self.has_calls = true,
            "function_call_output" | "custom_tool_call_output" => self.has_outputs = true,
            _ => {}
        }
        self.last = LastLine::Other;
        Lines::ONE
    }

    fn event(&mut self, event: &str, line: &ScannedLine<'_>) -> Lines {
        let last = std::mem::take(&mut self.last);
        match event {
            "task_started" | "turn_started" => {
                self.has_context_messages = false;
                // Calls that an interrupt left without an end are none of the next turn.
                self.has_calls = false;
                self.has_outputs = false;
                self.last = LastLine::TurnStart;
                Lines::ONE
            }
            "user_message" => {
                self.last = LastLine::UserMessage;
                self.is_uncounted = true;
                Lines::ONE
            }
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.last = LastLine::Reasoning;
                if last == LastLine::Reasoning {
                    Lines::NONE
                } else {
                    Lines::ONE
                }
            }
            "agent_message" if is_cut(line) => Lines::NONE,
            "token_count" => self.token_count(last),
            // The tokens of the request that was interrupted.
            "turn_aborted" => Lines(u64::from(self.is_uncounted), 1, 0),
            // A numbered file has the settings of a turn in it.
            "thread_settings_applied" if is_of_turn(line) => Lines::NONE,
            // A side thread has its own first line and its settings.
            "inherited_history_ends" => Lines(0, 1, 1),
            "error" | "context_compacted" | "thread_rolled_back" | "thread_name_updated" => {
                Lines::NONE
            }
            _ => Lines::ONE,
        }
    }

    /// A numbered file has one line with the tokens of a response, and another one when its calls have ended.
    fn token_count(&mut self, last: LastLine) -> Lines {
        self.last = LastLine::TokenCount;
        match last {
            LastLine::UserMessage => return Lines::NONE,
            LastLine::TurnStart => return Lines::ONE,
            // The summary of a compaction comes with the second one.
            LastLine::TokenCount => return Lines(0, 3, 0),
            LastLine::Reasoning | LastLine::Other => {}
        }
        self.is_uncounted = false;
        if !self.has_calls {
            return Lines(0, 2, 0);
        }
        if std::mem::take(&mut self.has_outputs) {
            self.has_calls = false;
        }
        Lines::ONE
    }
}

fn is_cut(line: &ScannedLine<'_>) -> bool {
    memchr::memmem::find(line.bytes(), b"\"is_cut\":true").is_some()
}

fn is_of_turn(line: &ScannedLine<'_>) -> bool {
    memchr::memmem::find(line.bytes(), b"\"turn_id\":\"").is_some()
}

/// The ordinals of some turns and of their items.
#[derive(Debug, Default)]
pub(crate) struct TurnOrdinals {
    here: u64,
    started: HashMap<String, u64>,
    completed: HashMap<String, u64>,
    /// By turn and item.
    items: HashMap<(String, String), u64>,
}

impl TurnOrdinals {
    pub(super) fn go_to(&mut self, ordinal: u64) {
        self.here = ordinal;
    }

    pub(super) fn begin(&mut self, turn: &str) {
        self.started.insert(turn.to_owned(), self.here);
    }

    pub(super) fn end(&mut self, turn: &str) {
        self.completed.insert(turn.to_owned(), self.here);
    }

    pub(crate) fn started(&self, turn: &str) -> Option<u64> {
        self.started.get(turn).copied()
    }

    pub(crate) fn completed(&self, turn: &str) -> Option<u64> {
        self.completed.get(turn).copied()
    }

    pub(crate) fn item(&self, turn: &str, item: &str) -> Option<u64> {
        let key = (turn.to_owned(), item.to_owned());
        self.items.get(&key).copied()
    }
}

impl Consumer for TurnOrdinals {
    fn item_completed(&mut self, turn: &str, item: &TimedItem, _: ItemEnd, _: Option<i64>) {
        let key = (turn.to_owned(), id_of(item).to_owned());
        self.items.insert(key, self.here);
    }
}

#[cfg(test)]
mod tests;
