//! The releases that have the members and variants of a type: `#[since("0.140")]`, `#[until("0.170")]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Fields, LitStr, Token, Variant};

use crate::serde_attributes::SerdeAttributes;

/// The constants of all parts of a type that have a mark.
pub(crate) fn parts(input: &DeriveInput) -> syn::Result<Vec<TokenStream>> {
    let serde = SerdeAttributes::read(&input.attrs)?;
    let mut parts = unread_members(&input.attrs)?;
    match &input.data {
        Data::Struct(data) => {
            for_each_marked(&data.fields, &serde, |name, releases| {
                parts.push(part(&quote!(Member(#name)), releases));
            })?;
        }
        Data::Enum(data) => {
            for (index, variant) in data.variants.iter().enumerate() {
                push_variant(index, variant, &serde, &mut parts)?;
            }
        }
        Data::Union(_) => {}
    }
    Ok(parts)
}

fn push_variant(
    index: usize,
    variant: &Variant,
    serde: &SerdeAttributes,
    parts: &mut Vec<TokenStream>,
) -> syn::Result<()> {
    let name = serde.variant_name(variant)?;
    if let Some(releases) = read_releases(&variant.attrs)? {
        let has_name = !serde.untagged && !SerdeAttributes::read(&variant.attrs)?.untagged;
        let place = if has_name {
            quote!(Variant(#name))
        } else {
            quote!(Branch(#index))
        };
        parts.push(part(&place, &releases));
    }
    let fields = SerdeAttributes {
        rename_all: serde.rename_all_fields.clone(),
        ..SerdeAttributes::default()
    };
    for_each_marked(&variant.fields, &fields, |member, releases| {
        parts.push(part(&quote!(VariantMember(#name, #member)), releases));
    })
}

fn for_each_marked(
    fields: &Fields,
    serde: &SerdeAttributes,
    mut visit: impl FnMut(&str, &TokenStream),
) -> syn::Result<()> {
    for field in fields {
        let Some(releases) = read_releases(&field.attrs)? else {
            continue;
        };
        if field.ident.is_none() {
            return Err(syn::Error::new_spanned(
                field,
                "a release is of a named field",
            ));
        }
        visit(&serde.field_name(field)?, &releases);
    }
    Ok(())
}

/// `#[unread("0.169", "name", …)]` on a type: members that clients of a release may send and that are not read.
fn unread_members(attributes: &[Attribute]) -> syn::Result<Vec<TokenStream>> {
    let mut parts = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("unread")) {
        let texts = attribute
            .parse_args_with(syn::punctuated::Punctuated::<LitStr, Token![,]>::parse_terminated)?;
        let mut texts = texts.iter();
        let Some(since) = texts.next() else {
            return Err(syn::Error::new_spanned(
                attribute,
                "expected a release and names",
            ));
        };
        let releases = releases(Some(since), None);
        parts.extend(texts.map(|name| part(&quote!(Unread(#name)), &releases)));
    }
    Ok(parts)
}

fn read_releases(attributes: &[Attribute]) -> syn::Result<Option<TokenStream>> {
    let since = read_release(attributes, "since")?;
    let until = read_release(attributes, "until")?;
    let is_marked = since.is_some() || until.is_some();
    Ok(is_marked.then(|| releases(since.as_ref(), until.as_ref())))
}

fn read_release(attributes: &[Attribute], name: &str) -> syn::Result<Option<LitStr>> {
    let found = attributes.iter().find(|a| a.path().is_ident(name));
    found.map(Attribute::parse_args).transpose()
}

fn releases(since: Option<&LitStr>, until: Option<&LitStr>) -> TokenStream {
    let since = since.map_or_else(
        || quote!(::codex_protocol::Release::FIRST),
        |since| quote!(::codex_protocol::Release::of_mark(#since)),
    );
    let until = until.map_or_else(
        || quote!(::core::option::Option::None),
        |until| quote!(::core::option::Option::Some(::codex_protocol::Release::of_mark(#until))),
    );
    quote!(::codex_protocol::Releases { since: #since, until: #until })
}

fn part(place: &TokenStream, releases: &TokenStream) -> TokenStream {
    quote!(::codex_protocol::ReleasedPart {
        place: ::codex_protocol::PartPlace::#place,
        releases: #releases,
    })
}
