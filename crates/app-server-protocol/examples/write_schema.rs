//! Writes every generated description of the protocol below the root of the repository.

use std::path::Path;
use std::{fs, io};

use codex_app_server_protocol::export;
use codex_app_server_protocol::export::{GeneratedFile, Release, Surface};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (surface, release, name) in [
        (Surface::Stable, Release::Current, "stable"),
        (Surface::Experimental, Release::Current, "experimental"),
        (Surface::Stable, Release::V0_117, "stable-0.117"),
        (Surface::Experimental, Release::V0_117, "experimental-0.117"),
    ] {
        replace(
            &root.join("schema/typescript").join(name),
            export::typescript(surface, release),
        )?;
        replace(
            &root.join("schema/json").join(name),
            export::json_schema(surface, release),
        )?;
        replace(
            &root.join("schema/openrpc").join(name),
            export::openrpc(surface, release),
        )?;
    }
    let tables = export::method_tables();
    fs::write(root.join("docs").join(tables.path), tables.text)
}

/// Makes the folder hold these files and nothing else.
fn replace(folder: &Path, files: Vec<GeneratedFile>) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for file in files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, file.text)?;
    }
    Ok(())
}
