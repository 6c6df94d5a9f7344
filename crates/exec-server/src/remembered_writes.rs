//! The ids of writes to a command, so that a repeated one is not written twice.

use std::collections::{HashSet, VecDeque};

/// How many are remembered. A write is repeated after a lost connection, and a client has fewer without an answer.
const MAX_WRITES: usize = 65_536;

/// The last ids.
#[derive(Debug, Default)]
pub(crate) struct RememberedWrites {
    known: HashSet<String>,
    in_order: VecDeque<String>,
}

impl RememberedWrites {
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.known.contains(id)
    }

    /// Remembers an id, and forgets the oldest one above the limit.
    pub(crate) fn add(&mut self, id: String) {
        if !self.known.insert(id.clone()) {
            return;
        }
        self.in_order.push_back(id);
        if self.in_order.len() > MAX_WRITES
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_ids_are_forgotten() {
        let mut writes = RememberedWrites::default();
        for number in 0..=MAX_WRITES {
            writes.add(number.to_string());
            writes.add(number.to_string());
        }
        assert!(!writes.contains("0"));
        assert!(writes.contains("1") && writes.contains(&MAX_WRITES.to_string()));
        assert_eq!(writes.known.len(), MAX_WRITES);
    }
}
