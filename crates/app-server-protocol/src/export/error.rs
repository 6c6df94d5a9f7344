//! What goes wrong with the tables of the catalogue.

use thiserror::Error;

/// Why the text of a catalogue could not be read, or one of the tables that it is made from.
#[derive(Debug, Error)]
#[error("cannot read {what}")]
pub struct CatalogueError {
    /// What was read.
    what: &'static str,
    #[source]
    source: serde_json::Error,
}

impl CatalogueError {
    pub(super) fn of(what: &'static str) -> impl Fn(serde_json::Error) -> Self {
        move |source| Self { what, source }
    }
}
