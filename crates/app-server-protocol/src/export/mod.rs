//! The exporters: the vocabulary as TypeScript, JSON Schema, OpenRPC and tables for people.
//!
//! All of them start from one [`Catalogue`], which is made from the method table and the Rust types.
//! They answer files as values; whoever called them writes the files.

mod catalogue;
mod json_schema;
mod layout;
mod method_tables;
mod older;
mod openrpc;
mod request;
mod schema;
mod shape;
mod typescript;
mod unused;

use catalogue::Catalogue;
pub use request::{GeneratedFile, Release, Surface};

/// A TypeScript file per type, with index files.
pub fn typescript(surface: Surface, release: Release) -> Vec<GeneratedFile> {
    typescript::files(&Catalogue::new(surface, release))
}

/// A JSON Schema file per type, and the two bundles.
pub fn json_schema(surface: Surface, release: Release) -> Vec<GeneratedFile> {
    json_schema::files(&Catalogue::new(surface, release))
}

/// An OpenRPC document of every method.
pub fn openrpc(surface: Surface, release: Release) -> Vec<GeneratedFile> {
    vec![openrpc::file(&Catalogue::new(surface, release))]
}

/// The tables of methods, in Markdown.
pub fn method_tables() -> GeneratedFile {
    method_tables::file()
}
