//! A single query, matched while the folders are walked.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::query::{Query, Scorer};
use crate::ranking::{Match, Ranking};
use crate::walk::{Roots, walk};

/// Returns the best matches, at most `limit`. If `cancelled` becomes true, returns the matches found so far.
#[must_use]
pub fn search(roots: &Roots, query: &str, limit: usize, cancelled: &AtomicBool) -> Vec<Match> {
    let query = Query::new(query);
    if query.is_empty() {
        return Vec::new();
    }
    let rankings = walk(
        roots,
        || (Scorer::new(), Ranking::new(limit)),
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
    best.into_matches(&query, &mut Scorer::new(), &roots.folders)
}
