//! The generated files that are checked in below `schema/`, packed into the program by `build.rs`.

use std::io::Read;

use anyhow::Context;
use flate2::bufread::ZlibDecoder;
use serde::Deserialize;

macro_rules! archive {
    ($name:literal) => {
        Archive {
            packed: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".archive")),
        }
    };
}

pub(crate) const TYPESCRIPT: Surfaces = Surfaces {
    stable: archive!("typescript-stable"),
    experimental: archive!("typescript-experimental"),
    older_stable: archive!("typescript-stable-0.117"),
    older_experimental: archive!("typescript-experimental-0.117"),
};
pub(crate) const JSON_SCHEMA: Surfaces = Surfaces {
    stable: archive!("json-stable"),
    experimental: archive!("json-experimental"),
    older_stable: archive!("json-stable-0.117"),
    older_experimental: archive!("json-experimental-0.117"),
};
pub(crate) const OPENRPC: Surfaces = Surfaces {
    stable: archive!("openrpc-stable"),
    experimental: archive!("openrpc-experimental"),
    older_stable: archive!("openrpc-stable-0.117"),
    older_experimental: archive!("openrpc-experimental-0.117"),
};

/// The files of one kind: for clients that do not opt into experimental parts, and for those that do.
pub(crate) struct Surfaces {
    pub(super) stable: Archive,
    pub(super) experimental: Archive,
    /// The same without what is newer than 0.117.
    pub(super) older_stable: Archive,
    pub(super) older_experimental: Archive,
}

pub(super) struct Archive {
    packed: &'static [u8],
}

#[derive(Deserialize)]
struct Table<'a> {
    /// The length of each piece. The pieces follow one another after the table.
    lengths: Vec<usize>,
    #[serde(borrow)]
    files: Vec<PackedFile<'a>>,
}

#[derive(Deserialize)]
struct PackedFile<'a> {
    path: &'a str,
    /// The numbers of its pieces.
    pieces: Vec<usize>,
}

impl Archive {
    /// Calls `visit` with the relative path and the content of each file.
    pub(super) fn for_each_file(
        &self,
        mut visit: impl FnMut(&str, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        const DAMAGED: &str = "the program is damaged: its generated files cannot be unpacked";
        let mut content = Vec::new();
        ZlibDecoder::new(self.packed)
            .read_to_end(&mut content)
            .context(DAMAGED)?;
        let (length, rest) = content.split_first_chunk().context(DAMAGED)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (table, mut texts) = rest.split_at_checked(length).context(DAMAGED)?;
        let table: Table<'_> = serde_json::from_slice(table).context(DAMAGED)?;
        let mut pieces = Vec::with_capacity(table.lengths.len());
        for length in table.lengths {
            let (piece, rest) = texts.split_at_checked(length).context(DAMAGED)?;
            pieces.push(piece);
            texts = rest;
        }
        let mut text = Vec::new();
        for file in table.files {
            text.clear();
            for number in file.pieces {
                text.extend_from_slice(pieces.get(number).context(DAMAGED)?);
            }
            visit(file.path, &text)?;
        }
        Ok(())
    }
}
