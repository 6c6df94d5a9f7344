//! A single query, matched while the folders are walked.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::query::{PathScorer, SearchQuery};
use crate::ranking::{Ranking, SearchMatch};
use crate::walk::{SearchRoots, walk};

/// Returns the best matches, at most `limit`. If `cancelled` becomes true, returns the matches found so far.
#[must_use]
pub fn search(
    roots: &SearchRoots,
    query: &str,
    limit: usize,
    cancelled: &AtomicBool,
) -> Vec<SearchMatch> {
    let query = SearchQuery::new(query);
    if query.is_empty() {
        return Vec::new();
    }
    let rankings = walk(
        roots,
        || (PathScorer::new(), Ranking::new(limit)),
        |(scorer, ranking), found| {
            if let Some(score) = scorer.score(&query, found.path) {
                ranking.offer(score, found.path, found.root, found.is_folder);
            }
            !cancelled.load(Ordering::Relaxed)
        },
        |(_, ranking)| ranking,
    );
    let mut best = Ranking::new(limit);
    for ranking in rankings {
        best.merge(ranking);
    }
    best.into_matches(&query, &mut PathScorer::new(), &roots.folders)
}
