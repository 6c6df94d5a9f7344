//! Packs into the program what it prints or writes files from: the schema of the settings, and for `codex app-server generate-*`
//! `schema/catalogue.json` and the TypeScript of this program's own surfaces as it is.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const COMPRESSION_LEVEL: i32 = 19;

fn main() -> io::Result<()> {
    let schema = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../../schema");
    for name in ["catalogue", "config"] {
        let file = schema.join(name).with_extension("json");
        println!("cargo::rerun-if-changed={}", file.display());
        pack(&fs::read(file)?, &format!("{name}.zst"))?;
    }
    let typescript = schema.join("typescript");
    println!("cargo::rerun-if-changed={}", typescript.display());
    for surface in ["stable", "experimental"] {
        let mut files = Vec::new();
        add_files(&typescript.join(surface), "", &mut files)?;
        files.sort();
        let texts = files.concat();
        pack(texts.as_bytes(), &format!("typescript-{surface}.zst"))?;
    }
    Ok(())
}

fn variable(name: &str) -> io::Result<PathBuf> {
    let value = env::var_os(name).ok_or_else(|| io::Error::other(name.to_owned()))?;
    Ok(value.into())
}

/// Adds the files below a folder: the path of each and its text, each with a zero byte at its end.
fn add_files(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = format!("{prefix}{}", name.to_string_lossy());
        if entry.file_type()?.is_dir() {
            add_files(&entry.path(), &format!("{name}/"), files)?;
        } else {
            // Git may have checked it out with other line ends.
            let text = fs::read_to_string(entry.path())?.replace("\r\n", "\n");
            files.push(format!("{name}\0{text}\0"));
        }
    }
    Ok(())
}

fn pack(bytes: &[u8], name: &str) -> io::Result<()> {
    let packed = File::create(variable("OUT_DIR")?.join(name))?;
    zstd::stream::copy_encode(bytes, packed, COMPRESSION_LEVEL)
}
