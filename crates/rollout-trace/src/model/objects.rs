//! The objects of one kind in a graph, by their ids, and which of them changed.

use std::collections::BTreeSet;
use std::collections::btree_map::{self, BTreeMap, Entry};
use std::ops::Deref;

use serde::{Serialize, Serializer};

/// A map that can note the keys of what is changed. It reads like the map that it holds.
#[derive(Debug, Clone)]
pub struct Objects<K, V> {
    all: BTreeMap<K, V>,
    /// None if nobody wants to know.
    changed: Option<BTreeSet<K>>,
}

impl<K: Ord + Clone, V> Objects<K, V> {
    /// Notes changes from now on.
    pub(crate) fn track(&mut self) {
        self.changed.get_or_insert_default();
    }

    /// The keys of what was changed since the last time, whether it is still there or not.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<K> {
        let changed = self.changed.as_mut();
        changed.map(std::mem::take).unwrap_or_default()
    }

    fn note(&mut self, key: &K) {
        if let Some(changed) = &mut self.changed {
            changed.insert(key.clone());
        }
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.note(key);
        self.all.get_mut(key)
    }

    pub(crate) fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        self.note(&key);
        self.all.entry(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.note(&key);
        self.all.insert(key, value);
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.note(key);
        self.all.remove(key);
    }
}

impl<K, V> Default for Objects<K, V> {
    fn default() -> Self {
        Self::from(BTreeMap::new())
    }
}

impl<K, V> From<BTreeMap<K, V>> for Objects<K, V> {
    fn from(all: BTreeMap<K, V>) -> Self {
        let changed = None;
        Self { all, changed }
    }
}

impl<K, V> Deref for Objects<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl<'o, K, V> IntoIterator for &'o Objects<K, V> {
    type Item = (&'o K, &'o V);
    type IntoIter = btree_map::Iter<'o, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Objects<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl<K: Eq, V: Eq> Eq for Objects<K, V> {}

impl<K: Serialize, V: Serialize> Serialize for Objects<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}
