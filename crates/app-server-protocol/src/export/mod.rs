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
mod shape;
mod typescript;
mod unused;

use catalogue::Catalogue;

/// How much of the vocabulary to describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// What a client may use without opting in.
    Stable,
    /// Everything.
    Experimental,
}

/// The release of the clients that the vocabulary is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// This one and 0.169: all methods and members, also those of 0.169 that this program does not use.
    Current,
    /// This program alone.
    Own,
    /// 0.117: without what came later.
    V0_117,
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
