//! The offline reducer: from a bundle to the graph.
//!
//! One pass over the log, in the order of the file; payload files are read when their event comes and forgotten after.
//! Time is linear in the bytes read and written, memory is bounded by the graph and the largest payload. The same
//! bundle always gives the same graph: nothing here has a clock, and nothing walks an unordered map into the output.
//!
//! Each kind of event has its file: `threads`, `inference`, `compaction`, `tools`, `terminals`, `cells`, `agents`; `dispatch`
//! chooses it. `reducer` is the state, with parts in files that do not know the whole: `conversation`, `cell_queue`,
//! `tool_records`, `responses`, `edges`. `matching` and `placement` decide which items there are.

mod accepted;
mod agents;
mod cell_queue;
mod cells;
mod changes;
mod compaction;
mod conversation;
mod deliveries;
mod dispatch;
mod edges;
mod fault;
mod identity;
mod inference;
mod items;
mod log;
mod matching;
mod normalise;
mod outcome;
mod payloads;
mod placement;
mod position;
mod reducer;
mod responses;
mod sent;
mod terminals;
mod threads;
mod tool_records;
mod tools;
mod tracking;

use std::io;
use std::path::Path;

use crate::format::{MANIFEST_FILE, Manifest, Schema};

pub(crate) use identity::item_key;
pub(crate) use log::read_line;
pub(crate) use payloads::PayloadFiles;
pub(crate) use reducer::Reducer;
pub(crate) use terminals::write_session_id;

pub use changes::{Changes, ProtocolEvent};
pub use fault::{Fault, Problem, Problems, Severity};
pub use outcome::{Reduction, ReplayError, Strictness};

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
    let text = match codex_regular_file::read_inside(
        bundle.as_ref(),
        Path::new(MANIFEST_FILE),
        u64::MAX,
    ) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(ReplayError::NoBundle(bundle.as_ref().to_owned()));
        }
        Err(source) => return Err(ReplayError::ReadManifest { path, source }),
    };
    // The version first: a later manifest need not have the fields of this one.
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
