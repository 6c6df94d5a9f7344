//! The `sparse` attribute: gives each field that may be absent the serde attributes that leave it
//! out when it holds nothing.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Field, ItemStruct, Type, parse_quote};

use crate::serde_attributes::SerdeAttributes;

pub(crate) fn expand(mut item: ItemStruct) -> TokenStream {
    for field in &mut item.fields {
        match attribute_for(field) {
            Ok(Some(attribute)) => field.attrs.push(attribute),
            Ok(None) => {}
            Err(error) => return error.into_compile_error(),
        }
    }
    item.into_token_stream()
}

fn attribute_for(field: &Field) -> syn::Result<Option<Attribute>> {
    let serde = SerdeAttributes::read(&field.attrs)?;
    if serde.skip_serializing_if {
        return Ok(None);
    }
    let is_empty = match outer_type(&field.ty).as_deref() {
        Some("Option") => "Option::is_none",
        Some("bool") if serde.default => "std::ops::Not::not",
        Some("Vec") if serde.default => "Vec::is_empty",
        Some("BTreeMap") if serde.default => "std::collections::BTreeMap::is_empty",
        Some("Update") if serde.default => "codex_protocol::Update::is_leave",
        _ => return Ok(None),
    };
    Ok(Some(if serde.default {
        parse_quote!(#[serde(skip_serializing_if = #is_empty)])
    } else {
        parse_quote!(#[serde(default, skip_serializing_if = #is_empty)])
    }))
}

/// The name of a type without its path and arguments: `Option` for `std::option::Option<String>`.
pub(crate) fn outer_type(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string()),
        _ => None,
    }
}
