//! Packs `schema/catalogue.json` into the program: `codex app-server generate-*` writes files from it.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::Path;

const COMPRESSION_LEVEL: i32 = 19;

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).ok_or_else(|| io::Error::other(name.to_owned()));
    let folder = variable("CARGO_MANIFEST_DIR")?;
    let catalogue = Path::new(&folder).join("../../schema/catalogue.json");
    println!("cargo::rerun-if-changed={}", catalogue.display());
    let packed = Path::new(&variable("OUT_DIR")?).join("catalogue.zst");
    let text = fs::read(catalogue)?;
    zstd::stream::copy_encode(text.as_slice(), File::create(packed)?, COMPRESSION_LEVEL)
}
