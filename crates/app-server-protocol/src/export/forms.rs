//! How the TypeScript types of a release write a member: optional or not, with null or without.
//!
//! What a release has at all is said where it is defined. This table says where its types differ from what follows from
//! ours, so that code for the types of that release compiles with those that are generated here.

use std::collections::BTreeMap;

use codex_protocol::Release;
use serde::{Deserialize, Serialize};

use super::error::CatalogueError;

const TABLE: &str = include_str!("forms.json");

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
        serde_json::from_str(TABLE).map_err(CatalogueError::of("the forms of members"))
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The form of a member in the types of a release; none where it is as ours. An empty path stands for the type.
    pub(super) fn of(&self, ty: &str, path: &str, release: Release) -> Option<&MemberForm> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn form_holds_from_a_release_to_the_next_one() {
        let forms: Forms =
            serde_json::from_str(r#"{"T":{"a":{"0.140":"?","0.169":"!null bigint"},"b":"!"}}"#)
                .unwrap();
        let form = |path, release| {
            let release = Release::parse(release).unwrap();
            forms
                .of("T", path, release)
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
