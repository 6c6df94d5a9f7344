//! The exporters: the vocabulary as TypeScript, JSON Schema, OpenRPC and tables for people.
//!
//! All of them start from one [`Catalogue`], which is made from the method table and the Rust types.
//! They answer files as values; whoever called them writes the files.

mod catalogue;
mod json_schema;
mod layout;
mod method_tables;
mod openrpc;
mod shape;
mod typescript;

use catalogue::Catalogue;

/// How much of the vocabulary to describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// What a client may use without opting in.
    Stable,
    /// Everything.
    Experimental,
}

/// A file to be written, with its path below the folder that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Relative, with `/` between its parts.
    pub path: String,
    /// The whole content.
    pub text: String,
}

/// A TypeScript file per type, with index files.
pub fn typescript(surface: Surface) -> Vec<GeneratedFile> {
    typescript::files(&Catalogue::new(surface))
}

/// A JSON Schema file per type, and the two bundles.
pub fn json_schema(surface: Surface) -> Vec<GeneratedFile> {
    json_schema::files(&Catalogue::new(surface))
}

/// An OpenRPC document of every method.
pub fn openrpc(surface: Surface) -> Vec<GeneratedFile> {
    vec![openrpc::file(&Catalogue::new(surface))]
}

/// The tables of methods, in Markdown.
pub fn method_tables() -> GeneratedFile {
    method_tables::file()
}
