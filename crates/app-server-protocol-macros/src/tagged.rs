//! The `Tagged` derive: reads an internally tagged enum in one pass.
//!
//! For each variant it writes a struct that holds the variant's fields, reads that, and moves the
//! fields over. Who finds the tag, and what happens when it does not come first, is
//! `codex_protocol::tagged`'s.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Data, DeriveInput, Fields, Variant};

use crate::serde_attributes::SerdeAttributes;

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(syn::Error::new_spanned(input, "Tagged is for enums"));
    };
    let serde = SerdeAttributes::read(&input.attrs)?;
    let Some(tag) = serde.tag.clone() else {
        return Err(syn::Error::new_spanned(
            input,
            "Tagged needs #[serde(tag = \"...\")]",
        ));
    };
    let name = &input.ident;
    let name_text = name.to_string();

    let (unknown, known): (Vec<_>, Vec<_>) = data.variants.iter().partition(|v| is_unknown(v));
    let mut names = Vec::new();
    let mut arms = Vec::new();
    for variant in known {
        let wire_name = serde.variant_name(variant)?;
        let aliases = SerdeAttributes::read(&variant.attrs)?.aliases;
        let body = read_variant(variant, serde.rename_all_fields.as_deref());
        arms.push(quote!(#wire_name #(| #aliases)* => { #body }));
        names.push(wire_name);
        names.extend(aliases);
    }
    let keep_unknown = match unknown.as_slice() {
        [] => quote!(),
        [variant] => {
            let variant = &variant.ident;
            quote! {
                const KEEPS_UNKNOWN: bool = true;
                fn unknown(whole: ::serde_json::Value) -> ::core::option::Option<Self> {
                    ::core::option::Option::Some(Self::#variant(whole))
                }
            }
        }
        [_, second, ..] => {
            return Err(syn::Error::new_spanned(
                second,
                "only one variant can be the unknown one",
            ));
        }
    };

    Ok(quote! {
        #[automatically_derived]
        impl ::codex_protocol::tagged::Tagged for #name {
            const TAG: &'static str = #tag;
            const NAME: &'static str = #name_text;
            const VARIANTS: &'static [&'static str] = &[#(#names),*];
            fn read<'de, D: ::serde::Deserializer<'de>>(
                tag: &str,
                fields: D,
            ) -> ::core::result::Result<Self, D::Error> {
                match tag {
                    #(#arms)*
                    other => ::core::result::Result::Err(
                        ::serde::de::Error::unknown_variant(other, Self::VARIANTS),
                    ),
                }
            }
            #keep_unknown
        }

        #[automatically_derived]
        impl<'de> ::serde::Deserialize<'de> for #name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                ::codex_protocol::tagged::deserialize(deserializer)
            }
        }
    })
}

fn is_unknown(variant: &Variant) -> bool {
    variant
        .attrs
        .iter()
        .any(|attribute| attribute.path().is_ident("tagged"))
}

/// The code that reads one variant's fields from `fields`.
fn read_variant(variant: &Variant, rename_fields: Option<&str>) -> TokenStream {
    let name = &variant.ident;
    match &variant.fields {
        Fields::Unit => quote! {
            #[derive(::serde::Deserialize)]
            struct Nothing {}
            let Nothing {} = <Nothing as ::serde::Deserialize>::deserialize(fields)?;
            ::core::result::Result::Ok(Self::#name)
        },
        Fields::Unnamed(inner) => {
            let inner = &inner.unnamed;
            quote! {
                <#inner as ::serde::Deserialize>::deserialize(fields).map(Self::#name)
            }
        }
        Fields::Named(named) => {
            let rename = rename_fields.map(|rule| quote!(#[serde(rename_all = #rule)]));
            let members: Vec<&Ident> = named
                .named
                .iter()
                .filter_map(|field| field.ident.as_ref())
                .collect();
            let fields = named.named.iter().map(|field| {
                let attributes = field.attrs.iter().filter(|a| a.path().is_ident("serde"));
                let (identifier, ty) = (&field.ident, &field.ty);
                quote!(#(#attributes)* #identifier: #ty)
            });
            quote! {
                #[derive(::serde::Deserialize)]
                #rename
                struct Fields { #(#fields),* }
                let Fields { #(#members),* } =
                    <Fields as ::serde::Deserialize>::deserialize(fields)?;
                ::core::result::Result::Ok(Self::#name { #(#members),* })
            }
        }
    }
}
