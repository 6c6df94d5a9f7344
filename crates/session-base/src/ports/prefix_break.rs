//! That a request does not begin like the one before it: what has changed, and what it costs.

use std::fmt;

use codex_protocol::ReasoningEffort;
use serde::{Deserialize, Serialize};

/// How many tools a sentence names.
const NAMED_TOOLS: usize = 5;

/// A request that does not begin like the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixBreak {
    /// What has changed, from the front.
    pub changes: Vec<PrefixChange>,
    /// The estimated tokens of what was sent before and has to be read again.
    pub lost_tokens: u64,
    /// The estimated tokens of what need not be read again.
    pub kept_tokens: u64,
}

/// What breaks a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PrefixChange {
    /// Another model, which has kept nothing.
    Model { before: String, after: String },
    /// Another effort, which servers tell the model before everything else.
    Effort {
        before: Option<ReasoningEffort>,
        after: Option<ReasoningEffort>,
    },
    /// Another schema of the answer, which is part of the instructions.
    OutputSchema,
    /// Other instructions of the model.
    Instructions,
    /// Other tools, by name; all empty if only their order is another one.
    Tools {
        added: Vec<String>,
        removed: Vec<String>,
        changed: Vec<String>,
    },
    /// An item of the history before others.
    Item {
        index: usize,
        /// What it was, in words.
        kind: String,
    },
}

impl fmt::Display for PrefixBreak {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes: Vec<_> = self.changes.iter().map(PrefixChange::to_string).collect();
        write!(
            formatter,
            "The server reads about {} tokens again that it had been sent: {}.",
            self.lost_tokens,
            changes.join("; ")
        )
    }
}

impl fmt::Display for PrefixChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { before, after } => {
                write!(formatter, "the model is `{after}` instead of `{before}`")
            }
            Self::Effort { before, after } => {
                let word = |effort: &Option<ReasoningEffort>| match effort {
                    Some(effort) => format!("`{}`", effort.as_str()),
                    None => "the default".to_owned(),
                };
                let (before, after) = (word(before), word(after));
                write!(formatter, "the effort is {after} instead of {before}")
            }
            Self::OutputSchema => formatter.write_str("the schema of the answer has changed"),
            Self::Instructions => formatter.write_str("the instructions of the model have changed"),
            Self::Tools {
                added,
                removed,
                changed,
            } => {
                let lists = [("added", added), ("removed", removed), ("changed", changed)];
                let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
                let lists: Vec<_> = lists.map(|(verb, names)| tool_list(verb, names)).collect();
                if lists.is_empty() {
                    return formatter.write_str("the order of the tools has changed");
                }
                write!(formatter, "tools were {}", lists.join(", "))
            }
            Self::Item { index, kind } => write!(
                formatter,
                "item {} of the history has changed ({})",
                index + 1,
                kind
            ),
        }
    }
}

fn tool_list(verb: &str, names: &[String]) -> String {
    let shown = &names[..names.len().min(NAMED_TOOLS)];
    let more = names.len() - shown.len();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{verb} ({}{more})", shown.join(", "))
}
