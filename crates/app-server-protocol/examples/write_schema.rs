//! Writes every generated description of the protocol below the root of the repository.

use std::path::Path;
use std::{fs, io};

use codex_app_server_protocol::export;
use codex_app_server_protocol::export::{GeneratedFile, Surface};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (surface, name) in [
        (Surface::Stable, "stable"),
        (Surface::Experimental, "experimental"),
    ] {
        replace(
            &root.join("schema/typescript").join(name),
            export::typescript(surface),
        )?;
        replace(
            &root.join("schema/json").join(name),
            export::json_schema(surface),
        )?;
        replace(
            &root.join("schema/openrpc").join(name),
            export::openrpc(surface),
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
