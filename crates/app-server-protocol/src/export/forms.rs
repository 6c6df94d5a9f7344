//! How the TypeScript types of a release write a member: optional or not, with null or without.
//!
//! What a release has at all is said where it is defined. This table says where its types differ from what follows from
//! ours, so that code for the types of that release compiles with those that are generated here.

use std::collections::BTreeMap;

use codex_protocol::Release;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::CatalogueError;
use super::schema::UNIONS;

const TABLE: &str = include_str!("forms.json");
const TABLE_NAME: &str = "forms.json";

/// The forms of members, by type, then by member or `variant.member`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Forms(BTreeMap<String, BTreeMap<String, FormByRelease>>);

/// A form of all releases, or forms from a release on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum FormByRelease {
    Always(MemberForm),
    From(BTreeMap<String, MemberForm>),
}

/// How a member is written: `!` if it is required, `?` if it is optional, then `null` if it may be null, and the type that
/// stands for integers or for any value, where it is another one: `!null bigint`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct MemberForm {
    pub(super) optional: bool,
    pub(super) null: bool,
    pub(super) scalars: ScalarForm,
}

/// The types of single values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ScalarForm {
    /// `number` and `JsonValue`.
    #[default]
    Usual,
    /// `bigint` for integers.
    BigInt,
    /// `unknown` for any value.
    Unknown,
}

impl TryFrom<String> for MemberForm {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no form");
        let (presence, scalars) = text.split_once(' ').unwrap_or((&text, ""));
        let scalars = match scalars {
            "" => ScalarForm::Usual,
            "bigint" => ScalarForm::BigInt,
            "unknown" => ScalarForm::Unknown,
            _ => return Err(wrong()),
        };
        let (optional, null) = match presence {
            "!" => (false, false),
            "!null" => (false, true),
            "?" => (true, false),
            "?null" => (true, true),
            _ => return Err(wrong()),
        };
        Ok(Self {
            optional,
            null,
            scalars,
        })
    }
}

impl From<MemberForm> for String {
    fn from(form: MemberForm) -> Self {
        let presence = if form.optional { "?" } else { "!" };
        let null = if form.null { "null" } else { "" };
        let scalars = match form.scalars {
            ScalarForm::Usual => "",
            ScalarForm::BigInt => " bigint",
            ScalarForm::Unknown => " unknown",
        };
        format!("{presence}{null}{scalars}")
    }
}

impl Forms {
    pub(super) fn read() -> Result<Self, CatalogueError> {
        serde_json::from_str(TABLE).map_err(CatalogueError::for_document("the forms of members"))
    }

    /// Checks that every name is one of a type and of a member of it, or of a method.
    pub(super) fn check_names(
        &self,
        methods: &[&str],
        definitions: &BTreeMap<String, Value>,
    ) -> Result<(), CatalogueError> {
        for (ty, members) in &self.0 {
            for path in members.keys() {
                let member = path
                    .rsplit_once('.')
                    .map_or(path.as_str(), |(_, last)| last);
                let is_known = if UNIONS.iter().any(|(_, union)| union == ty) {
                    let method = path.strip_suffix(".params");
                    method.is_some_and(|method| methods.contains(&method))
                } else {
                    let schema = definitions.get(ty);
                    schema.is_some_and(|schema| member.is_empty() || has_member(schema, member))
                };
                if !is_known {
                    let name = format!("{ty}.{path}");
                    return Err(CatalogueError::unknown_name(TABLE_NAME, name));
                }
            }
        }
        Ok(())
    }

    pub(super) fn types(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// The members of types, with the types: of an enumeration `variant.member`.
    pub(super) fn members(&self) -> impl Iterator<Item = (&String, &String)> {
        let members = self
            .0
            .iter()
            .filter(|(ty, _)| !UNIONS.iter().any(|(_, union)| union == ty));
        let members = members.flat_map(|(ty, members)| members.keys().map(move |one| (ty, one)));
        members.filter(|(_, member)| !member.is_empty())
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The form of a member in the types of a release; none where it is as ours. An empty path stands for the type.
    pub(super) fn for_member(&self, ty: &str, path: &str, release: Release) -> Option<&MemberForm> {
        if release == Release::OWN {
            return None;
        }
        match self.0.get(ty)?.get(path)? {
            FormByRelease::Always(form) => Some(form),
            FormByRelease::From(forms) => forms
                .iter()
                .filter_map(|(from, form)| Some((Release::parse(from)?, form)))
                .filter(|(from, _)| *from <= release)
                .max_by_key(|(from, _)| *from)
                .map(|(_, form)| form),
        }
    }
}

/// Whether a type, or a part of it, has a member of this name.
fn has_member(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Object(object) => {
            let properties = object.get("properties").and_then(Value::as_object);
            properties.is_some_and(|properties| properties.contains_key(name))
                || object.values().any(|part| has_member(part, name))
        }
        Value::Array(parts) => parts.iter().any(|part| has_member(part, name)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_no_member_is_an_error() {
        let definitions = BTreeMap::from([(
            "T".to_owned(),
            serde_json::json!({ "oneOf": [{ "properties": { "a": true } }] }),
        )]);
        for (forms, is_known) in [
            (r#"{"T":{"a":"?"}}"#, true),
            (r#"{"T":{"tag.a":"?"}}"#, true),
            (r#"{"T":{"b":"?"}}"#, false),
            (r#"{"U":{"a":"?"}}"#, false),
            (r#"{"ClientRequest":{"gone.params":"?"}}"#, false),
        ] {
            let read: Forms = serde_json::from_str(forms).unwrap();
            let result = read.check_names(&[], &definitions);
            assert_eq!(result.is_ok(), is_known, "{forms}");
        }
    }

    #[test]
    fn form_applies_until_the_next_release() {
        let forms: Forms =
            serde_json::from_str(r#"{"T":{"a":{"0.140":"?","0.169":"!null bigint"},"b":"!"}}"#)
                .unwrap();
        let form = |path, release| {
            let release = Release::parse(release).unwrap();
            forms
                .for_member("T", path, release)
                .map(|form| String::from(form.clone()))
        };
        assert_eq!(form("a", "0.117"), None);
        assert_eq!(form("a", "0.150").unwrap(), "?");
        assert_eq!(form("a", "0.171").unwrap(), "!null bigint");
        assert_eq!(form("a", "own"), None);
        assert_eq!(form("b", "0.117").unwrap(), "!");
        assert!(serde_json::from_str::<Forms>(r#"{"T":{"a":"!?"}}"#).is_err());
    }
}
