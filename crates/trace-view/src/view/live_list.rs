//! A list of the page whose elements change while a session runs.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// Elements as JSON, each with the version that changed it last.
#[derive(Debug, Default)]
pub(super) struct LiveList {
    elements: Vec<Element>,
    /// Versions and places of all elements.
    by_version: BTreeSet<(u64, usize)>,
}

#[derive(Debug)]
struct Element {
    version: u64,
    value: Box<RawValue>,
}

/// The elements that changed since a version.
#[derive(Debug, Serialize)]
pub(super) struct ListChanges<'l> {
    length: usize,
    changed: Vec<(usize, &'l RawValue)>,
}

impl LiveList {
    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }

    /// Sets an element, or adds it where the list ends.
    pub(super) fn set(
        &mut self,
        place: usize,
        value: &impl Serialize,
        version: u64,
    ) -> serde_json::Result<()> {
        let value = to_raw_value(value)?;
        let is_next = place == self.elements.len();
        match self.elements.get_mut(place) {
            Some(known) if known.value.get() == value.get() => return Ok(()),
            Some(known) => {
                self.by_version.remove(&(known.version, place));
                *known = Element { version, value };
            }
            None if is_next => self.elements.push(Element { version, value }),
            None => return Ok(()),
        }
        self.by_version.insert((version, place));
        Ok(())
    }

    pub(super) fn values(&self) -> Vec<&RawValue> {
        let elements = self.elements.iter();
        elements.map(|element| &*element.value).collect()
    }

    pub(super) fn changes(&self, since: u64) -> ListChanges<'_> {
        let changed = self.by_version.range((since.saturating_add(1), 0)..);
        ListChanges {
            length: self.elements.len(),
            changed: changed
                .map(|(_, place)| (*place, &*self.elements[*place].value))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_list_sends_changed_rows_only() {
        let mut list = LiveList::default();
        list.set(0, &1, 1).unwrap();
        list.set(1, &2, 1).unwrap();
        list.set(0, &1, 2).unwrap();
        list.set(1, &3, 2).unwrap();
        list.set(2, &4, 2).unwrap();
        let sent = |since| serde_json::to_value(list.changes(since)).unwrap();
        let expected = serde_json::json!({ "length": 3, "changed": [[1, 3], [2, 4]] });
        assert_eq!(sent(1), expected);
        assert_eq!(sent(2)["changed"], serde_json::json!([]));
        assert_eq!(sent(u64::MAX)["changed"], serde_json::json!([]));
    }
}
