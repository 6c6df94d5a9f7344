//! The language of rules files: a subset of Starlark.
//!
//! It has calls of rule functions; strings (also raw, triple-quoted and f-strings with plain names), integers, lists,
//! `None`, `True`, `False`; variables; `+`; list comprehensions; `for` loops. Functions, conditions and imports are
//! rejected. Evaluation always ends: there are no unbounded loops, and the number of steps is limited.

mod evaluate;
mod lexer;
mod parser;

pub(crate) use evaluate::{CallArguments, Value, evaluate};

/// A position in a file: line and column from 1, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourcePosition {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A syntax or evaluation error and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptError {
    pub(crate) position: SourcePosition,
    pub(crate) message: String,
}

impl ScriptError {
    pub(crate) fn new(position: SourcePosition, message: impl Into<String>) -> Self {
        Self {
            position,
            message: message.into(),
        }
    }
}
