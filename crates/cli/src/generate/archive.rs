//! The generated files that are checked in below `schema/`, packed into the program by `build.rs`.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

static ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schema.archive"));

macro_rules! surfaces {
    ($kind:literal) => {
        Surfaces {
            stable: PackedFolder(concat!($kind, "/stable")),
            experimental: PackedFolder(concat!($kind, "/experimental")),
            older_stable: PackedFolder(concat!($kind, "/stable-0.117")),
            older_experimental: PackedFolder(concat!($kind, "/experimental-0.117")),
        }
    };
}

pub(crate) const TYPESCRIPT: Surfaces = surfaces!("typescript");
pub(crate) const JSON_SCHEMA: Surfaces = surfaces!("json");
pub(crate) const OPENRPC: Surfaces = surfaces!("openrpc");

/// The files of one kind: for clients that do not opt into experimental parts, and for those that do.
pub(crate) struct Surfaces {
    pub(super) stable: PackedFolder,
    pub(super) experimental: PackedFolder,
    /// The same without what is newer than 0.117.
    pub(super) older_stable: PackedFolder,
    pub(super) older_experimental: PackedFolder,
}

/// A folder of the archive.
pub(super) struct PackedFolder(&'static str);

#[derive(Deserialize)]
struct Table<'a> {
    /// The length of each piece. The pieces follow one another after the table.
    lengths: Vec<usize>,
    #[serde(borrow)]
    folders: BTreeMap<&'a str, Vec<PackedFile<'a>>>,
}

#[derive(Deserialize)]
struct PackedFile<'a> {
    path: &'a str,
    /// The numbers of its pieces.
    pieces: Vec<usize>,
}

impl PackedFolder {
    /// Calls `visit` with the relative path and the content of each file.
    pub(super) fn for_each_file(
        &self,
        mut visit: impl FnMut(&str, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        const DAMAGED: &str = "the program is damaged: its generated files cannot be unpacked";
        let content = zstd::decode_all(ARCHIVE).context(DAMAGED)?;
        let (length, rest) = content.split_first_chunk().context(DAMAGED)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (table, mut texts) = rest.split_at_checked(length).context(DAMAGED)?;
        let mut table: Table<'_> = serde_json::from_slice(table).context(DAMAGED)?;
        let mut pieces = Vec::with_capacity(table.lengths.len());
        for length in table.lengths {
            let (piece, rest) = texts.split_at_checked(length).context(DAMAGED)?;
            pieces.push(piece);
            texts = rest;
        }
        let mut text = Vec::new();
        for file in table.folders.remove(self.0).context(DAMAGED)? {
            text.clear();
            for number in file.pieces {
                text.extend_from_slice(pieces.get(number).context(DAMAGED)?);
            }
            visit(file.path, &text)?;
        }
        Ok(())
    }
}
