//! The offline reducer: from a bundle to the graph.
//!
//! One pass over the log, in the order of the file; payload files are read when their event comes and forgotten after.
//! Time is linear in the bytes read and written, memory is bounded by the graph and the largest payload. The same
//! bundle always gives the same graph: nothing here has a clock, and nothing walks an unordered map into the output.
//!
//! Each kind of event has its file: `threads`, `inference`, `compaction`, `tools`, `terminals`, `cells`, `agents`.
//! `conversation` and `placement` decide which items there are; `reducer` is the state and the dispatch.

mod accepted;
mod agents;
mod cells;
mod changes;
mod compaction;
mod conversation;
mod edges;
mod fault;
mod identity;
mod inference;
mod items;
mod log;
mod normalise;
mod payloads;
mod placement;
mod reducer;
mod terminals;
mod threads;
mod tools;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::format::{MANIFEST_FILE, Manifest, ROOT_VARIABLE, Schema};
use crate::model::RolloutTrace;

pub(crate) use identity::item_key;
pub(crate) use log::read_line;
pub(crate) use payloads::PayloadFiles;
pub(crate) use reducer::Reducer;
pub(crate) use terminals::write_session_id;

pub use changes::{Changes, ProtocolEvent};
pub use fault::{Fault, Problem, Problems, Severity};

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

/// Reduces the bundle in a folder, whatever is wrong with its events.
pub fn replay_bundle(bundle: impl AsRef<Path>) -> Result<Reduction, ReplayError> {
    replay_bundle_with(bundle, Strictness::Lenient)
}

/// Reduces the bundle in a folder.
pub fn replay_bundle_with(
    bundle: impl AsRef<Path>,
    strictness: Strictness,
) -> Result<Reduction, ReplayError> {
    let bundle = bundle.as_ref();
    let manifest = read_manifest(bundle)?;
    let mut reducer = reducer::Reducer::new(bundle, manifest, strictness);
    log::replay(bundle, &mut reducer)?;
    reducer.finish()
}

/// Reads `manifest.json` and refuses a bundle of an unknown schema.
pub fn read_manifest(bundle: impl AsRef<Path>) -> Result<Manifest, ReplayError> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u32,
    }

    let path = bundle.as_ref().join(MANIFEST_FILE);
    let text = match codex_regular_file::read(&path, u64::MAX) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(ReplayError::NoBundle(bundle.as_ref().to_owned()));
        }
        Err(source) => return Err(ReplayError::ReadManifest { path, source }),
    };
    // The version first: a newer manifest need not have the fields of this one.
    let version = serde_json::from_slice::<Version>(&text);
    match version.and_then(|version| {
        if Schema::numbered(version.schema_version).is_none() {
            return Ok(Err(version.schema_version));
        }
        serde_json::from_slice(&text).map(Ok)
    }) {
        Ok(Ok(manifest)) => Ok(manifest),
        Ok(Err(found)) => Err(ReplayError::NewerSchema {
            path,
            found,
            newest: Schema::NEWEST.number(),
        }),
        Err(source) => Err(ReplayError::ParseManifest { path, source }),
    }
}
