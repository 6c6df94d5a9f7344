//! What goes wrong with the tables of the catalogue.

use thiserror::Error;

/// Why there is no catalogue.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// The text of a catalogue, or of one of the tables that it is made from, could not be read.
    #[error("cannot read {what}")]
    Unreadable {
        /// What was read.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A table names a type, a member or a method that does not exist, or exists no more.
    #[error("{table} names `{name}`, which does not exist")]
    UnknownName {
        /// The table.
        table: &'static str,
        /// The name.
        name: String,
    },
    /// A table names a type or a member that is not checked when this crate is compiled.
    #[error("the tables name `{name}`, which `names.rs` does not have")]
    Unnamed {
        /// The name.
        name: String,
    },
}

impl CatalogueError {
    pub(super) fn for_document(what: &'static str) -> impl Fn(serde_json::Error) -> Self {
        move |source| Self::Unreadable { what, source }
    }

    pub(super) fn unnamed(name: &str) -> Self {
        let name = name.to_owned();
        Self::Unnamed { name }
    }

    pub(super) fn unknown_name(table: &'static str, name: impl Into<String>) -> Self {
        Self::UnknownName {
            table,
            name: name.into(),
        }
    }
}
