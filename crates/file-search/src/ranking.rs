//! Keeps the best matches.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::query::{PathScorer, SearchQuery};

/// A matching path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchMatch {
    /// The searched folder, as given by the caller.
    pub root: String,
    /// The path relative to that folder.
    pub path: String,
    pub is_folder: bool,
    /// The score; higher is better.
    pub score: u32,
    /// The indexes of the matching characters, in order.
    pub indices: Vec<u32>,
}

/// An entry of the ranking. Better entries are less, by score, then by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankedPath {
    pub(crate) score: u32,
    pub(crate) path: String,
    pub(crate) root: usize,
    pub(crate) is_folder: bool,
}

impl RankedPath {
    fn order(&self) -> (std::cmp::Reverse<u32>, &str, usize) {
        (std::cmp::Reverse(self.score), &self.path, self.root)
    }
}

impl PartialOrd for RankedPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RankedPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// The best of all offered matches, up to a limit.
#[derive(Clone, Debug)]
pub(crate) struct Ranking {
    limit: usize,
    /// A heap with the worst entry on top.
    best: BinaryHeap<RankedPath>,
}

impl Ranking {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            best: BinaryHeap::new(),
        }
    }

    /// Offers a match. Returns whether it is kept.
    pub(crate) fn offer(&mut self, score: u32, path: &str, root: usize, is_folder: bool) -> bool {
        if self.best.len() >= self.limit {
            match self.best.peek() {
                Some(worst) if (std::cmp::Reverse(score), path, root) < worst.order() => {
                    self.best.pop();
                }
                _ => return false,
            }
        }
        self.best.push(RankedPath {
            score,
            path: path.to_owned(),
            root,
            is_folder,
        });
        true
    }

    /// Adds the entries of `other`. Returns whether any is kept.
    pub(crate) fn merge(&mut self, other: Self) -> bool {
        let mut changed = false;
        for ranked in other.best {
            changed |= self.offer(ranked.score, &ranked.path, ranked.root, ranked.is_folder);
        }
        changed
    }

    /// An empty ranking with the same limit.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.limit)
    }

    /// The entries, best first.
    fn into_sorted(self) -> Vec<RankedPath> {
        self.best.into_sorted_vec()
    }

    /// The matches, best first, with the indexes of matching characters.
    pub(crate) fn into_matches(
        self,
        query: &SearchQuery,
        scorer: &mut PathScorer,
        roots: &[String],
    ) -> Vec<SearchMatch> {
        let complete = |ranked: RankedPath| SearchMatch {
            indices: scorer.indices(query, &ranked.path),
            root: roots.get(ranked.root).cloned().unwrap_or_default(),
            path: ranked.path,
            is_folder: ranked.is_folder,
            score: ranked.score,
        };
        self.into_sorted().into_iter().map(complete).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_order() {
        let mut ranking = Ranking::new(3);
        for (score, path) in [(1, "c"), (5, "b"), (5, "a"), (0, "z"), (7, "d"), (5, "c")] {
            ranking.offer(score, path, 0, false);
        }
        let sorted = ranking.into_sorted();
        let found: Vec<_> = sorted
            .iter()
            .map(|ranked| (ranked.score, ranked.path.as_str()))
            .collect();
        assert_eq!(found, [(7, "d"), (5, "a"), (5, "b")]);
    }

    #[test]
    fn there_may_be_no_room_at_all() {
        assert!(!Ranking::new(0).offer(1, "a", 0, false));
    }
}
