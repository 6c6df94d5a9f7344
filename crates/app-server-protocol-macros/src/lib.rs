//! Layer: vocabulary. Macros of the vocabulary crates.
//!
//! They turn what is said once about a type (its tag, what of it is experimental, that it is sparse
//! on the wire) into code; they hold no knowledge of any single type. The code they write refers to
//! the traits of `codex_protocol`.

mod experimental;
mod released;
mod serde_attributes;
mod sparse;
mod tagged;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Deserialize` for an enum whose variants are told apart by a tag inside the object.
///
/// Unlike serde's own reader it does not buffer an object whose tag comes first, and an error keeps
/// the path to the field that caused it. It obeys the serde attributes `tag`, `rename_all`,
/// `rename_all_fields` on the enum and `rename`, `alias` on variants; attributes of fields are passed
/// on. A last variant marked `#[tagged(unknown)]` with one `serde_json::Value` field receives, whole,
/// every object whose tag is not known.
#[proc_macro_derive(Tagged, attributes(tagged))]
pub fn derive_tagged(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tagged::derive(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Implements `codex_protocol::Experimental`: says which experimental thing a value uses, if any, which members of the
/// type are experimental, and which releases have a member.
///
/// `#[experimental("descriptor")]` marks a field or a variant as experimental;
/// `#[experimental(nested)]` marks a stable field whose type has experimental members of its own.
/// `#[since("0.140")]` and `#[until("0.170")]` on a field or a variant name the first and the last release that has it,
/// `#[unread("0.169", "name")]` on a type names members that a release has and that are not read.
#[proc_macro_derive(Experimental, attributes(experimental, since, until, unread))]
pub fn derive_experimental(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    experimental::derive(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a struct sparse on the wire: a field that may be absent is absent when it holds nothing.
///
/// It concerns every `Option` field, and the `bool`, `Vec`, `BTreeMap` and `Update` fields that are
/// marked `#[serde(default)]`. Put it above the derives.
#[proc_macro_attribute]
pub fn sparse(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as syn::ItemStruct);
    sparse::expand(input).into()
}
