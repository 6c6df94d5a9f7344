//! A field with three states on the wire: absent keeps the stored value, null clears it, a value replaces it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A change to a stored value.
///
/// A field of this type is marked `#[serde(default)]`, and is left out when it is [`Update::Leave`]
/// (`#[sparse]` sees to it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update<T> {
    /// Absent: keep what is there.
    #[default]
    Leave,
    /// Null: remove what is there.
    Clear,
    /// A value: put it in place of what is there.
    Set(T),
}

impl<T> Update<T> {
    /// Whether nothing is to be changed.
    pub fn is_leave(&self) -> bool {
        matches!(self, Self::Leave)
    }

    /// Applies the update to what is stored.
    pub fn apply(self, stored: &mut Option<T>) {
        match self {
            Self::Leave => {}
            Self::Clear => *stored = None,
            Self::Set(value) => *stored = Some(value),
        }
    }

    /// The same update of another type.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Update<U> {
        match self {
            Self::Leave => Update::Leave,
            Self::Clear => Update::Clear,
            Self::Set(value) => Update::Set(change(value)),
        }
    }
}

impl<T: Serialize> Serialize for Update<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Leave | Self::Clear => serializer.serialize_none(),
            Self::Set(value) => serializer.serialize_some(value),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Update<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::deserialize(deserializer)? {
            None => Self::Clear,
            Some(value) => Self::Set(value),
        })
    }
}

impl<T: JsonSchema> JsonSchema for Update<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Update_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    struct Patch {
        #[serde(default, skip_serializing_if = "Update::is_leave")]
        branch: Update<String>,
    }

    #[test]
    fn three_states_survive_the_wire() {
        for (wire, branch) in [
            (json!({}), Update::Leave),
            (json!({ "branch": null }), Update::Clear),
            (json!({ "branch": "main" }), Update::Set("main".to_owned())),
        ] {
            let patch: Patch = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(patch, Patch { branch });
            assert_eq!(serde_json::to_value(&patch).unwrap(), wire);
        }
    }

    #[test]
    fn a_wrong_type_is_an_error() {
        assert!(serde_json::from_value::<Patch>(json!({ "branch": 1 })).is_err());
    }
}
