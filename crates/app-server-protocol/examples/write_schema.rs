//! Writes every generated description of the protocol that is checked in.

use std::path::Path;
use std::{fs, io};

use codex_app_server_protocol::export::Catalogue;

#[expect(clippy::unwrap_used, reason = "of the tests")]
#[path = "../tests/it/checked_in.rs"]
mod checked_in;

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let catalogue = Catalogue::of_types().map_err(io::Error::other)?;
    for folder in ["schema/typescript", "schema/json"] {
        let folder = root.join(folder);
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    for (path, text) in checked_in::files(&catalogue) {
        let path = root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}
