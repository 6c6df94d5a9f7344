//! The paths that a session has found, in compact form for fast matching.

use std::num::NonZeroUsize;
use std::ops::Range;

use crate::query::{LetterSet, PathScorer, SearchQuery};
use crate::ranking::Ranking;
use crate::walk::FoundPath;

/// Minimum number of paths per matching thread.
const MIN_PATHS_PER_THREAD: usize = 4096;

/// Paths in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct PathCorpus {
    text: String,
    entries: Vec<PathEntry>,
}

#[derive(Clone, Copy, Debug)]
struct PathEntry {
    /// The end of its text; it begins at the end of the previous entry.
    end: usize,
    letters: LetterSet,
    root: u32,
    is_folder: bool,
}

impl PathCorpus {
    pub(crate) fn push(&mut self, found: FoundPath<'_>) {
        self.text.push_str(found.path);
        self.entries.push(PathEntry {
            end: self.text.len(),
            letters: LetterSet::of_path(found.path),
            root: u32::try_from(found.root).unwrap_or(u32::MAX),
            is_folder: found.is_folder,
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn append(&mut self, other: &Self) {
        let before = self.text.len();
        self.text.push_str(&other.text);
        let moved = other.entries.iter().map(|entry| PathEntry {
            end: before + entry.end,
            ..*entry
        });
        self.entries.extend(moved);
    }

    fn get(&self, index: usize) -> Option<FoundPath<'_>> {
        let start = match index.checked_sub(1) {
            Some(before) => self.entries.get(before)?.end,
            None => 0,
        };
        let entry = self.entries.get(index)?;
        Some(FoundPath {
            root: entry.root as usize,
            path: self.text.get(start..entry.end)?,
            is_folder: entry.is_folder,
        })
    }

    /// The paths in `part` that contain all letters of a query.
    pub(crate) fn candidates(&self, query: &SearchQuery, part: Range<usize>) -> Vec<usize> {
        let entries = self.entries.get(part.clone()).unwrap_or_default();
        let found = part.zip(entries);
        found
            .filter(|(_, entry)| query.may_match(entry.letters))
            .map(|(index, _)| index)
            .collect()
    }

    /// Matches `candidates` and adds them to `ranking`. Returns whether the ranking changed.
    pub(crate) fn rank(
        &self,
        query: &SearchQuery,
        candidates: &[usize],
        scorers: &mut ScorerPool,
        ranking: &mut Ranking,
    ) -> bool {
        let threads = candidates.len().div_ceil(MIN_PATHS_PER_THREAD).max(1);
        let scorers = scorers.some(threads);
        let share = candidates.len().div_ceil(scorers.len()).max(1);
        let empty = ranking.emptied();
        let shares = candidates.chunks(share).zip(scorers.iter_mut());
        let work = |(share, scorer): (&[usize], &mut PathScorer)| {
            let mut ranking = empty.clone();
            for found in share.iter().filter_map(|index| self.get(*index)) {
                if let Some(score) = scorer.score(query, found.path) {
                    ranking.offer(score, found.path, found.root, found.is_folder);
                }
            }
            ranking
        };
        let results: Vec<_> = if candidates.len() <= MIN_PATHS_PER_THREAD {
            shares.map(work).collect()
        } else {
            std::thread::scope(|scope| {
                let work = &work;
                let running: Vec<_> = shares
                    .map(|share| scope.spawn(move || work(share)))
                    .collect();
                let done = running.into_iter().filter_map(|thread| thread.join().ok());
                done.collect()
            })
        };
        let mut changed = false;
        for part in results {
            changed |= ranking.merge(part);
        }
        changed
    }
}

/// One matcher per thread, reused between queries.
#[derive(Debug)]
pub(crate) struct ScorerPool {
    limit: usize,
    made: Vec<PathScorer>,
}

impl ScorerPool {
    pub(crate) fn new() -> Self {
        Self {
            limit: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            made: Vec::new(),
        }
    }

    fn some(&mut self, wanted: usize) -> &mut [PathScorer] {
        let wanted = wanted.clamp(1, self.limit);
        while self.made.len() < wanted {
            self.made.push(PathScorer::new());
        }
        &mut self.made[..wanted]
    }

    pub(crate) fn first(&mut self) -> &mut PathScorer {
        &mut self.some(1)[0]
    }
}
