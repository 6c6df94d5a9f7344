//! The language of rule files: the part of Starlark that such files need.
//!
//! Calls of rule functions; strings (raw, triple-quoted and with `{name}` in them too), whole numbers, lists, `None`,
//! `True`, `False`; names; `+`; list comprehensions; `for` loops. No functions, conditions or imports: a file that uses
//! them is told so. Every file ends: there is no way to loop forever, and work is bounded.

mod evaluate;
mod lexer;
mod parser;

pub(crate) use evaluate::{Arguments, Value, evaluate};

/// A place in a file: line and column from 1, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A mistake and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) position: Position,
    pub(crate) message: String,
}

impl Mistake {
    pub(crate) fn new(position: Position, message: impl Into<String>) -> Self {
        Self {
            position,
            message: message.into(),
        }
    }
}
