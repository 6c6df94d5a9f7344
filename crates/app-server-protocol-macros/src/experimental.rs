//! The `Experimental` derive: which experimental thing does a value use, and what of its type is
//! experimental at all.
//!
//! Whether a field "uses" its feature is told from its type: an empty collection, `false` and `None`
//! do not count.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Expr, Fields, Type, Variant};

use crate::released;
use crate::serde_attributes::SerdeAttributes;
use crate::sparse::outer_type;

/// What `#[experimental(...)]` says.
enum Mark {
    Experimental(Expr),
    Nested,
}

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let serde = SerdeAttributes::read(&input.attrs)?;
    let mut members = Vec::new();
    let mut clears = Vec::new();
    let body = match &input.data {
        Data::Struct(data) => {
            clears = clear_fields(&data.fields)?;
            let checks = check_fields(
                &data.fields,
                &serde,
                &mut members,
                |name| quote!(&self.#name),
            )?;
            quote!(#(#checks)* ::core::option::Option::None)
        }
        Data::Enum(data) => {
            let mut arms = Vec::new();
            for variant in &data.variants {
                arms.push(variant_arm(variant, &serde, &mut members)?);
            }
            quote!(match self { #(#arms)* })
        }
        Data::Union(_) => {
            return Err(syn::Error::new_spanned(
                input,
                "Experimental is for structs and enums",
            ));
        }
    };
    let name = &input.ident;
    let released = released::parts(input)?;
    Ok(quote! {
        #[automatically_derived]
        impl ::codex_protocol::Experimental for #name {
            const MEMBERS: &'static [::codex_protocol::ExperimentalMember] = &[#(#members),*];
            const RELEASED: &'static [::codex_protocol::ReleasedPart] = &[#(#released),*];
            fn experimental_use(&self) -> ::core::option::Option<&'static str> {
                #body
            }
            fn clear_experimental(&mut self) {
                #(#clears)*
            }
        }
    })
}

fn variant_arm(
    variant: &Variant,
    serde: &SerdeAttributes,
    members: &mut Vec<TokenStream>,
) -> syn::Result<TokenStream> {
    let name = &variant.ident;
    if let Some(Mark::Experimental(descriptor)) = read_mark(&variant.attrs)? {
        let wire_name = serde.variant_name(variant)?;
        members.push(member(&wire_name, &descriptor));
        return Ok(quote!(Self::#name { .. } => ::core::option::Option::Some(#descriptor),));
    }
    let field_names = SerdeAttributes {
        rename_all: serde.rename_all_fields.clone(),
        ..SerdeAttributes::default()
    };
    match &variant.fields {
        Fields::Named(named) => {
            let marked = named
                .named
                .iter()
                .map(|field| Ok(read_mark(&field.attrs)?.and(field.ident.clone())))
                .collect::<syn::Result<Vec<_>>>()?;
            let marked = marked.into_iter().flatten();
            let checks =
                check_fields(&variant.fields, &field_names, members, |name| quote!(#name))?;
            Ok(quote!(Self::#name { #(#marked,)* .. } => {
                #(#checks)*
                ::core::option::Option::None
            }))
        }
        Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
            let nested = unnamed.unnamed.iter().any(|field| !field.attrs.is_empty())
                && matches!(read_mark(&unnamed.unnamed[0].attrs)?, Some(Mark::Nested));
            Ok(if nested {
                quote!(Self::#name(inner) => ::codex_protocol::Experimental::experimental_use(inner),)
            } else {
                quote!(Self::#name(_) => ::core::option::Option::None,)
            })
        }
        _ => Ok(quote!(Self::#name { .. } => ::core::option::Option::None,)),
    }
}

/// A statement for each marked field that returns the descriptor of what the field uses.
fn check_fields(
    fields: &Fields,
    serde: &SerdeAttributes,
    members: &mut Vec<TokenStream>,
    access: impl Fn(&Ident) -> TokenStream,
) -> syn::Result<Vec<TokenStream>> {
    let mut checks = Vec::new();
    for field in fields {
        let (Some(name), Some(mark)) = (&field.ident, read_mark(&field.attrs)?) else {
            continue;
        };
        let value = access(name);
        checks.push(match mark {
            Mark::Experimental(descriptor) => {
                members.push(member(&serde.field_name(field)?, &descriptor));
                let used = if read_option(&field.attrs) {
                    quote!((#value).is_some())
                } else {
                    is_used(&field.ty, &value)
                };
                quote!(if #used { return ::core::option::Option::Some(#descriptor); })
            }
            Mark::Nested => quote! {
                if let ::core::option::Option::Some(descriptor) =
                    ::codex_protocol::Experimental::experimental_use(#value)
                {
                    return ::core::option::Option::Some(descriptor);
                }
            },
        });
    }
    Ok(checks)
}

/// A statement for each marked field of a struct that empties it, or what it nests.
fn clear_fields(fields: &Fields) -> syn::Result<Vec<TokenStream>> {
    let mut clears = Vec::new();
    for field in fields {
        let name = &field.ident;
        match read_mark(&field.attrs)? {
            Some(Mark::Experimental(_)) => {
                clears.push(quote!(self.#name = ::core::default::Default::default();));
            }
            Some(Mark::Nested) => clears.push(quote! {
                ::codex_protocol::Experimental::clear_experimental(&mut self.#name);
            }),
            None => {}
        }
    }
    Ok(clears)
}

/// Whether a field of this type holds anything, as an expression over a reference to it.
fn is_used(ty: &Type, value: &TokenStream) -> TokenStream {
    match outer_type(ty).as_deref() {
        Some("Option") => match option_argument(ty) {
            Some(inner) => {
                let inner_used = is_used(inner, &quote!(inner));
                quote!((#value).as_ref().is_some_and(|inner| #inner_used))
            }
            None => quote!((#value).is_some()),
        },
        Some("Vec" | "BTreeMap") => quote!(!(#value).is_empty()),
        Some("Update") => quote!(!(#value).is_leave()),
        Some("bool") => quote!(*(#value)),
        _ => quote!({
            let _ = #value;
            true
        }),
    }
}

fn option_argument(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let syn::PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments
    else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}

fn member(wire_name: &str, descriptor: &Expr) -> TokenStream {
    quote!(::codex_protocol::ExperimentalMember { name: #wire_name, descriptor: #descriptor })
}

/// Whether an optional member counts as used even if it is an empty list: `#[experimental("…", even_empty)]`.
fn read_option(attributes: &[Attribute]) -> bool {
    let mut marks = attributes
        .iter()
        .filter(|a| a.path().is_ident("experimental"));
    marks.any(|mark| matches!(mark.parse_args_with(descriptor_and_option), Ok((_, true))))
}

fn descriptor_and_option(input: syn::parse::ParseStream<'_>) -> syn::Result<(Expr, bool)> {
    let descriptor = input.parse()?;
    if input.is_empty() {
        return Ok((descriptor, false));
    }
    input.parse::<syn::Token![,]>()?;
    let option: Ident = input.parse()?;
    if option == "even_empty" {
        Ok((descriptor, true))
    } else {
        Err(syn::Error::new_spanned(option, "expected `even_empty`"))
    }
}

fn read_mark(attributes: &[Attribute]) -> syn::Result<Option<Mark>> {
    let Some(attribute) = attributes
        .iter()
        .find(|a| a.path().is_ident("experimental"))
    else {
        return Ok(None);
    };
    if let Ok(word) = attribute.parse_args::<Ident>() {
        return if word == "nested" {
            Ok(Some(Mark::Nested))
        } else {
            Err(syn::Error::new_spanned(
                word,
                "expected a descriptor or `nested`",
            ))
        };
    }
    let (descriptor, _) = attribute.parse_args_with(descriptor_and_option)?;
    Ok(Some(Mark::Experimental(descriptor)))
}
