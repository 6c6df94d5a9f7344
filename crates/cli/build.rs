//! Packs `schema/` for `codex app-server generate-*`, one archive for each folder. `src/generate/archive.rs` reads them.
//!
//! The schema file of a type repeats the definitions of all types that it refers to, farther apart than the compression
//! can see. An archive therefore holds each piece of text once, and its files as lists of pieces. Its content, compressed
//! with zlib: the length of the table in four bytes, the table as JSON, the texts of the pieces.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

/// Lines that are indented deeper belong to the piece of the line before them.
const PIECE_INDENTATION: usize = 4;

fn main() -> io::Result<()> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets no OUT_DIR"))?;
    for kind in ["typescript", "json", "openrpc"] {
        println!("cargo::rerun-if-changed={}", schema.join(kind).display());
        for surface in [
            "stable",
            "experimental",
            "stable-0.117",
            "experimental-0.117",
        ] {
            let archive = pack(&schema.join(kind).join(surface))?;
            let name = format!("{kind}-{surface}.archive");
            fs::write(Path::new(&out).join(name), archive)?;
        }
    }
    Ok(())
}

fn pack(folder: &Path) -> io::Result<Vec<u8>> {
    let mut pieces = Pieces::default();
    let mut files = Vec::new();
    for path in files_below(folder)? {
        let text = fs::read_to_string(&path)?;
        let relative = path.strip_prefix(folder).map_err(io::Error::other)?;
        files.push(json!({ "path": relative, "pieces": pieces.add(&text) }));
    }
    let table = json!({ "lengths": pieces.lengths, "files": files }).to_string();
    let table_length = u32::try_from(table.len()).map_err(io::Error::other)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&table_length.to_le_bytes())?;
    encoder.write_all(table.as_bytes())?;
    encoder.write_all(pieces.text.as_bytes())?;
    encoder.finish()
}

/// All files, sorted, so that the archive depends on nothing but their content.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The different pieces of the texts.
#[derive(Default)]
struct Pieces {
    numbers: HashMap<String, usize>,
    lengths: Vec<usize>,
    text: String,
}

impl Pieces {
    /// The numbers of the pieces of a text, in order.
    fn add(&mut self, text: &str) -> Vec<Value> {
        let mut numbers = Vec::new();
        let mut start = 0;
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            let indentation = line.len() - line.trim_start_matches(' ').len();
            if indentation <= PIECE_INDENTATION && start < end {
                numbers.push(self.number(&text[start..end]).into());
                start = end;
            }
            end += line.len();
        }
        numbers.push(self.number(&text[start..end]).into());
        numbers
    }

    fn number(&mut self, piece: &str) -> usize {
        if let Some(number) = self.numbers.get(piece) {
            return *number;
        }
        let number = self.lengths.len();
        self.numbers.insert(piece.to_owned(), number);
        self.lengths.push(piece.len());
        self.text.push_str(piece);
        number
    }
}
