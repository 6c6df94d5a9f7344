//! Look-up of environment variables.
//!
//! This crate does not read the environment of the process: callers pass a look-up, so that tests and threads with
//! different environments can share a process.

/// A look-up of environment variables. Any closure of that shape is one.
pub trait Environment: Send + Sync {
    /// The value of a variable, if it is set.
    fn variable(&self, name: &str) -> Option<String>;
}

impl<F: Fn(&str) -> Option<String> + Send + Sync> Environment for F {
    fn variable(&self, name: &str) -> Option<String> {
        self(name)
    }
}

/// The value of a variable, unless it is unset or blank.
pub fn non_blank(environment: &dyn Environment, name: &str) -> Option<String> {
    environment
        .variable(name)
        .filter(|value| !value.trim().is_empty())
}
