//! The result of a check, as people and programs read it.

use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingState {
    Ok,
    Warning,
    Error,
}

impl FindingState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The result of one check.
#[derive(Debug)]
pub struct Finding {
    pub check: &'static str,
    pub state: FindingState,
    pub message: String,
    /// What the user should do.
    pub advice: Option<String>,
    pub details: Vec<String>,
    /// The same for programs, by name.
    pub facts: Map<String, Value>,
}

impl Finding {
    pub(crate) fn new(
        check: &'static str,
        state: FindingState,
        message: impl Into<String>,
    ) -> Self {
        Self {
            check,
            state,
            message: message.into(),
            advice: None,
            details: Vec::new(),
            facts: Map::new(),
        }
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    pub(crate) fn with_details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details = details.into_iter().collect();
        self
    }

    pub(crate) fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// The finding as JSON.
    pub fn as_json(&self) -> Value {
        json!({
            "check": self.check,
            "state": self.state.name(),
            "message": self.message,
            "advice": self.advice,
            "details": self.details,
            "facts": self.facts,
        })
    }
}
