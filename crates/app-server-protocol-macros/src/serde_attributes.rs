//! Reads the serde attributes that decide wire names, and applies serde's renaming rules.
//!
//! Only what the vocabulary crates use is understood; everything else is skipped.

use syn::ext::IdentExt;
use syn::{Attribute, LitStr, Token};

/// What `#[serde(...)]` says of a container, a variant or a field.
#[derive(Default)]
pub(crate) struct SerdeAttributes {
    pub(crate) tag: Option<String>,
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<String>,
    pub(crate) rename_all_fields: Option<String>,
    pub(crate) aliases: Vec<String>,
    pub(crate) default: bool,
    pub(crate) skip_serializing_if: bool,
    pub(crate) untagged: bool,
}

impl SerdeAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut found = Self::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta
                    .path
                    .get_ident()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let value = if meta.input.peek(Token![=]) {
                    Some(meta.value()?.parse::<LitStr>()?.value())
                } else {
                    None
                };
                match (name.as_str(), value) {
                    ("tag", value) => found.tag = value,
                    ("rename", value) => found.rename = value,
                    ("rename_all", value) => found.rename_all = value,
                    ("rename_all_fields", value) => found.rename_all_fields = value,
                    ("alias", Some(value)) => found.aliases.push(value),
                    ("default", _) => found.default = true,
                    ("skip_serializing_if", _) => found.skip_serializing_if = true,
                    ("untagged", _) => found.untagged = true,
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// The wire name of a variant of an enum with these attributes.
    pub(crate) fn variant_name(&self, variant: &syn::Variant) -> syn::Result<String> {
        let own = Self::read(&variant.attrs)?;
        let identifier = variant.ident.unraw().to_string();
        Ok(own
            .rename
            .unwrap_or_else(|| rename_variant(&identifier, self.rename_all.as_deref())))
    }

    /// The wire name of a field of a struct with these attributes.
    pub(crate) fn field_name(&self, field: &syn::Field) -> syn::Result<String> {
        let own = Self::read(&field.attrs)?;
        let identifier = field
            .ident
            .as_ref()
            .map(|i| i.unraw().to_string())
            .unwrap_or_default();
        Ok(own
            .rename
            .unwrap_or_else(|| rename_field(&identifier, self.rename_all.as_deref())))
    }
}

/// serde's rules for a variant, whose name in Rust is in PascalCase.
fn rename_variant(name: &str, rule: Option<&str>) -> String {
    match rule {
        Some("lowercase") => name.to_ascii_lowercase(),
        Some("camelCase") => lower_first(name),
        Some("snake_case") => split_at_capitals(name, '_'),
        Some("kebab-case") => split_at_capitals(name, '-'),
        Some("SCREAMING_SNAKE_CASE") => split_at_capitals(name, '_').to_ascii_uppercase(),
        _ => name.to_owned(),
    }
}

/// serde's rules for a field, whose name in Rust is in snake_case.
fn rename_field(name: &str, rule: Option<&str>) -> String {
    match rule {
        Some("camelCase") => {
            let mut words = name.split('_').filter(|word| !word.is_empty());
            let first = words.next().unwrap_or_default().to_owned();
            words.fold(first, |name, word| name + &upper_first(word))
        }
        Some("kebab-case") => name.replace('_', "-"),
        _ => name.to_owned(),
    }
}

fn lower_first(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|c| c.to_ascii_lowercase())
        .into_iter()
        .chain(letters)
        .collect()
}

fn upper_first(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|c| c.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}

fn split_at_capitals(name: &str, separator: char) -> String {
    let mut split = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && index > 0 {
            split.push(separator);
        }
        split.push(letter.to_ascii_lowercase());
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_follow_serde() {
        let check = |rule, expected| assert_eq!(rename_variant("McpToolCall", rule), expected);
        check(None, "McpToolCall");
        check(Some("camelCase"), "mcpToolCall");
        check(Some("snake_case"), "mcp_tool_call");
        check(Some("kebab-case"), "mcp-tool-call");
        check(Some("lowercase"), "mcptoolcall");
        check(Some("SCREAMING_SNAKE_CASE"), "MCP_TOOL_CALL");
    }

    #[test]
    fn fields_follow_serde() {
        assert_eq!(rename_field("call_id", Some("camelCase")), "callId");
        assert_eq!(rename_field("call_id", None), "call_id");
        assert_eq!(rename_field("id", Some("camelCase")), "id");
    }
}
