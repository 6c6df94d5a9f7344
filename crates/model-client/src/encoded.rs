//! A value with cached JSON.
//!
//! Tools are sent with every request. The JSON is created at most once and shared by clones, so a request copies bytes
//! instead of serializing again.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A shared value that caches its JSON.
pub struct Encoded<T>(Arc<EncodedInner<T>>);

struct EncodedInner<T> {
    value: T,
    json: OnceLock<Box<RawValue>>,
}

impl<T: Serialize> Encoded<T> {
    /// The JSON of the value.
    pub fn json(&self) -> Result<&RawValue, serde_json::Error> {
        if let Some(json) = self.0.json.get() {
            return Ok(json);
        }
        let json = serde_json::value::to_raw_value(&self.0.value)?;
        Ok(self.0.json.get_or_init(|| json))
    }
}

impl<T> From<T> for Encoded<T> {
    fn from(value: T) -> Self {
        let json = OnceLock::new();
        Self(Arc::new(EncodedInner { value, json }))
    }
}

impl<T> Clone for Encoded<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for Encoded<T> {
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<T> Deref for Encoded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: PartialEq> PartialEq for Encoded<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Encoded<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(formatter)
    }
}

impl<T: Serialize> Serialize for Encoded<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().map_err(S::Error::custom)?.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_made_once_and_shared_by_clones() {
        let value = Encoded::from(vec!["a", "b"]);
        let clone = value.clone();
        let json: *const RawValue = value.json().unwrap();
        assert!(std::ptr::eq(json, clone.json().unwrap()));
        let text = serde_json::to_string(&[value, clone]).unwrap();
        assert_eq!(text, r#"[["a","b"],["a","b"]]"#);
    }
}
