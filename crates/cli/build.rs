//! Packs `schema/` into one archive for `codex app-server generate-*`. `src/generate/archive.rs` reads it.
//!
//! The files repeat each other: each schema has the definitions of all types that it refers to, and each surface most of
//! the types of the others. The archive therefore holds each piece of text once, and the files as lists of pieces. Its
//! content, compressed with zstd: the length of the table in four bytes, the table as JSON, the texts of the pieces.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// Lines that are indented deeper belong to the piece of the line before them.
const PIECE_INDENTATION: usize = 4;

const COMPRESSION_LEVEL: i32 = 12;

/// Pieces of the same type are megabytes apart.
const COMPRESSION_WINDOW_LOG: u32 = 24;

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).ok_or_else(|| io::Error::other(name.to_owned()));
    let schema = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../../schema");
    let mut pieces = Pieces::default();
    let mut folders = Map::new();
    for kind in ["typescript", "json", "openrpc"] {
        println!("cargo::rerun-if-changed={}", schema.join(kind).display());
        for surface in [
            "stable",
            "experimental",
            "stable-0.117",
            "experimental-0.117",
        ] {
            let name = format!("{kind}/{surface}");
            let files = files_in_pieces(&schema.join(&name), &mut pieces)?;
            folders.insert(name, files);
        }
    }
    let archive = Path::new(&variable("OUT_DIR")?).join("schema.archive");
    fs::write(archive, pack(&pieces, &folders)?)
}

/// The files of a folder as lists of pieces.
fn files_in_pieces(folder: &Path, pieces: &mut Pieces) -> io::Result<Value> {
    let mut files = Vec::new();
    for path in files_below(folder)? {
        let text = fs::read_to_string(&path)?;
        let relative = path.strip_prefix(folder).map_err(io::Error::other)?;
        files.push(json!({ "path": relative, "pieces": pieces.add(&text) }));
    }
    Ok(files.into())
}

fn pack(pieces: &Pieces, folders: &Map<String, Value>) -> io::Result<Vec<u8>> {
    let table = json!({ "lengths": pieces.lengths, "folders": folders }).to_string();
    let table_length = u32::try_from(table.len()).map_err(io::Error::other)?;
    let mut encoder = zstd::Encoder::new(Vec::new(), COMPRESSION_LEVEL)?;
    encoder.window_log(COMPRESSION_WINDOW_LOG)?;
    encoder.long_distance_matching(true)?;
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
