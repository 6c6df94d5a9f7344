//! The exporters: the vocabulary as TypeScript, JSON Schema, OpenRPC and tables for people.
//!
//! All of them start from one [`Catalogue`], which is made from the method table and the Rust types, or read from the
//! file that it was written to. They answer files as values; whoever called them writes the files.

mod catalogue;
mod definitions;
mod error;
mod forms;
mod intersections;
mod json_schema;
mod layout;
mod messages;
mod method_tables;
mod names;
mod openrpc;
mod request;
mod schema;
mod selection;
mod shape;
mod typescript;
mod unused;

pub use catalogue::Catalogue;
pub use error::CatalogueError;
pub use messages::{MessageSchemas, MethodTypes};
pub use request::{GeneratedFile, Request, Surface};
use selection::Selection;

/// A TypeScript file per type, with index files.
pub fn typescript(catalogue: &Catalogue, request: &Request<'_>) -> Vec<GeneratedFile> {
    typescript::files(catalogue, request)
}

/// A JSON Schema file per type, and the two bundles.
pub fn json_schema(catalogue: &Catalogue, request: &Request<'_>) -> Vec<GeneratedFile> {
    json_schema::files(&Selection::new(catalogue, request))
}

/// The two bundles of JSON Schema, without the file per type.
pub fn json_schema_bundles(catalogue: &Catalogue, request: &Request<'_>) -> Vec<GeneratedFile> {
    json_schema::bundle_files(&Selection::new(catalogue, request))
}

/// An OpenRPC document of every method.
pub fn openrpc(catalogue: &Catalogue, request: &Request<'_>) -> Vec<GeneratedFile> {
    vec![openrpc::file(&Selection::new(catalogue, request))]
}

/// The tables of methods, in Markdown.
pub fn method_tables() -> GeneratedFile {
    method_tables::file()
}
