//! The generated files that are checked in, and digests of the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codex_app_server_protocol::export::{self, Catalogue, GeneratedFile, Request, Surface};
use codex_protocol::Release;
use sha2::{Digest as _, Sha256};

const SURFACES: [(&str, Surface); 2] = [
    ("stable", Surface::Stable),
    ("experimental", Surface::Experimental),
];

/// The releases of which only digests are checked in.
const OLDER_RELEASES: [&str; 4] = ["0.117", "0.140", "0.169", "0.171"];

/// The paths and texts of all files, relative to the repository.
pub(crate) fn files(catalogue: &Catalogue) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (name, surface) in SURFACES {
        let request = Request::current(surface);
        let mut add = |folder: &str, file: GeneratedFile| {
            files.insert(format!("schema/{folder}/{name}/{}", file.path), file.text);
        };
        for file in export::typescript(catalogue, &request) {
            add("typescript", file);
        }
        // The other bundle has the same types.
        let mut bundles = export::json_schema_bundles(catalogue, &request);
        add("json", bundles.swap_remove(0));
    }
    files.insert("schema/catalogue.json".to_owned(), catalogue.text());
    files.insert("schema/digests.json".to_owned(), digests(catalogue));
    let tables = export::method_tables();
    files.insert(format!("docs/{}", tables.path), tables.text);
    files
}

/// A line for each kind of description that is not checked in itself.
fn digests(catalogue: &Catalogue) -> String {
    let mut lines = Vec::new();
    for (name, surface) in SURFACES {
        let current = Request::current(surface);
        let json = export::json_schema(catalogue, &current);
        lines.push((format!("json/{name}"), digest(&json)));
        let openrpc = export::openrpc(catalogue, &current);
        lines.push((format!("openrpc/{name}"), digest(&openrpc)));
        for release in OLDER_RELEASES {
            let parsed = Release::parse(release).unwrap();
            let request = Request::of_release(surface, parsed);
            let made = [
                ("typescript", export::typescript(catalogue, &request)),
                ("json", export::json_schema(catalogue, &request)),
                ("openrpc", export::openrpc(catalogue, &request)),
            ];
            for (kind, files) in made {
                lines.push((format!("{kind}/{name}-{release}"), digest(&files)));
            }
        }
    }
    lines.sort();
    let lines: BTreeMap<_, _> = lines.into_iter().collect();
    serde_json::to_string_pretty(&lines).unwrap() + "\n"
}

fn digest(files: &[GeneratedFile]) -> String {
    let mut files: Vec<_> = files.iter().collect();
    files.sort_by_key(|file| &file.path);
    let mut hash = Sha256::new();
    for file in files {
        for part in [&file.path, &file.text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
