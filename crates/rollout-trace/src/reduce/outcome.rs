//! What a replay gives, and why it may give nothing.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::fault::{Fault, Problems};
use crate::format::ROOT_VARIABLE;
use crate::model::RolloutTrace;

/// What to do about a fault in a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// List it, leave out what depends on it, and go on.
    #[default]
    Lenient,
    /// Fail.
    Strict,
}

/// A reduced bundle.
#[derive(Debug)]
pub struct Reduction {
    pub trace: RolloutTrace,
    /// What was wrong, in the order of the log. Where strict replay succeeds, lenient replay gives the same graph,
    /// and these are only about what no graph shows: missing events, unread payloads, an open end.
    pub problems: Problems,
}

/// Why a bundle could not be reduced.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    #[error(
        "{} is no trace bundle: it has no manifest.json; name one of the folders below the one that \
         {ROOT_VARIABLE} named when the session ran", .0.display()
    )]
    NoBundle(PathBuf),
    #[error("read {path}: {source}")]
    ReadManifest { path: PathBuf, source: io::Error },
    #[error("parse {path}: {source}")]
    ParseManifest {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error(
        "{path} has schema version {found}, and this program reads versions 1 to {newest}; \
         reduce it with the version of the program that recorded it, or a later one"
    )]
    NewerSchema {
        path: PathBuf,
        found: u32,
        newest: u32,
    },
    #[error("open trace event log {path}: {source}")]
    OpenLog { path: PathBuf, source: io::Error },
    #[error("read trace event log {path}: {source}")]
    ReadLog { path: PathBuf, source: io::Error },
    #[error("{fault}")]
    Fault { line: Option<u64>, fault: Fault },
}
