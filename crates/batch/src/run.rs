//! A worker works on the rows that nobody else has.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use codex_client::{ConnectionHandle, ServerMessages};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::budget::RunBudget;
use crate::claim::{Claiming, RowClaim, claim, live_claims};
use crate::folder::{BatchError, BatchFolder, RowResult, RowUsage};
use crate::routes::Routes;
use crate::row::{RowRun, StopReason};
use crate::worker::BatchWorker;

/// How often a worker that was started for one row looks whether another worker still has it.
const HELD_ROW: Duration = Duration::from_secs(1);

/// How a worker works.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The most rows at once.
    pub concurrency: usize,
    /// The only row to work on.
    pub index: Option<usize>,
    /// Becomes true when the worker is to end. Rows that it works on go on later.
    pub pause: watch::Receiver<bool>,
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerEnd {
    /// Rows that it finished.
    pub finished: usize,
    /// Rows without a result that other workers have.
    pub held_by_others: usize,
    /// Rows that were stopped, or never begun, and go on later.
    pub left: usize,
    /// Whether the run has used what it may.
    pub is_budget_used: bool,
}

/// The rows that this worker works on.
type RunningRows = Arc<Mutex<HashMap<usize, RunningRow>>>;

#[derive(Clone)]
struct RunningRow {
    /// None once it is given up.
    claim: Arc<Mutex<Option<RowClaim>>>,
    used: Arc<Mutex<RowUsage>>,
    stop: Arc<watch::Sender<Option<StopReason>>>,
}

/// What the rows of a batch have used.
#[derive(Default)]
struct UsageTally {
    results: HashMap<usize, RowUsage>,
    others: RowUsage,
}

/// Reads what other workers have written since. Blocks on the file system, and holds the tally only afterwards.
fn refresh(tally: &Mutex<UsageTally>, folder: &BatchFolder, worker: &BatchWorker) {
    let known: HashSet<usize> = tally.lock().results.keys().copied().collect();
    let new = folder.finished().unwrap_or_default();
    let new: Vec<(usize, RowUsage)> = (new.into_iter())
        .filter(|index| !known.contains(index))
        .filter_map(|index| Some((index, folder.result(index).ok()??.usage)))
        .collect();
    let claims = live_claims(folder, worker).unwrap_or_default();
    let mut tally = tally.lock();
    tally.results.extend(new);
    let mut others = RowUsage::default();
    for (index, used) in claims {
        if !tally.results.contains_key(&index) {
            others.add(&used);
        }
    }
    tally.others = others;
}

impl UsageTally {
    fn total(&self, running: &RunningRows) -> RowUsage {
        let mut total = self.others;
        self.results.values().for_each(|used| total.add(used));
        for row in running.lock().values() {
            total.add(&row.used.lock());
        }
        total
    }
}

/// A worker at its work.
struct Run {
    folder: Arc<BatchFolder>,
    worker: Arc<BatchWorker>,
    connection: ConnectionHandle,
    routes: Routes,
    running: RunningRows,
    tally: Arc<Mutex<UsageTally>>,
}

/// Works on the rows of a batch until none is left for this worker. `progress` is called with each result.
///
/// # Errors
/// The folder cannot be read or written.
pub async fn run(
    folder: Arc<BatchFolder>,
    worker: Arc<BatchWorker>,
    connection: ConnectionHandle,
    messages: ServerMessages,
    options: RunOptions,
    mut progress: impl FnMut(&RowResult),
) -> Result<WorkerEnd, BatchError> {
    if let Some(index) = options.index {
        folder.row(index)?;
    }
    let routes = Routes::default();
    tokio::spawn(routes.clone().serve(connection.clone(), messages));
    let run = Run {
        folder,
        worker,
        connection,
        routes,
        running: RunningRows::default(),
        tally: Arc::default(),
    };
    let renewals = tokio::spawn(renew(Arc::clone(&run.folder), Arc::clone(&run.running)));
    let tallies = run.has_budget().then(|| {
        let (folder, worker) = (Arc::clone(&run.folder), Arc::clone(&run.worker));
        tokio::spawn(keep_tally(folder, worker, Arc::clone(&run.tally)))
    });
    let end = run.work(options, &mut progress).await;
    renewals.abort();
    if let Some(tallies) = tallies {
        tallies.abort();
    }
    end
}

impl Run {
    async fn work(
        &self,
        options: RunOptions,
        progress: &mut impl FnMut(&RowResult),
    ) -> Result<WorkerEnd, BatchError> {
        let mut waiting = self.unfinished(options.index).await;
        let mut rows = JoinSet::new();
        let mut end = WorkerEnd::default();
        let mut pause = options.pause.clone();
        let has_budget = self.has_budget();
        if has_budget {
            refresh_beside(&self.tally, &self.folder, &self.worker).await;
        }
        let mut is_held = false;
        loop {
            let is_paused = *pause.borrow();
            if is_paused {
                self.stop_all(StopReason::Pause);
            }
            while !is_paused && !end.is_budget_used && rows.len() < options.concurrency {
                if has_budget && self.is_budget_used() {
                    end.is_budget_used = true;
                    break;
                }
                let Some(index) = waiting.pop_front() else {
                    break;
                };
                match self.claim(index).await? {
                    Claiming::Claimed(claim) => {
                        let row = self.begin(index, claim);
                        rows.spawn(async move { (index, row.run().await) });
                    }
                    // Whoever was started for this row alone stays until it has a result.
                    Claiming::Taken if options.index.is_some() => {
                        waiting.push_back(index);
                        is_held = true;
                        break;
                    }
                    Claiming::Taken => end.held_by_others += 1,
                    Claiming::Done => {}
                }
            }
            let waits = std::mem::take(&mut is_held) && !is_paused;
            if rows.is_empty() && !waits {
                break;
            }
            tokio::select! {
                ended = rows.join_next(), if !rows.is_empty() => match ended {
                    Some(Ok((index, result))) => match self.finish(index, result).await? {
                        Some(result) => {
                            progress(&result);
                            end.finished += 1;
                        }
                        None => end.left += 1,
                    },
                    Some(Err(error)) => {
                        tracing::error!(%error, "a row has ended without a result");
                        end.left += 1;
                    }
                    None => {}
                },
                () = paused(&mut pause), if !is_paused => {}
                () = tokio::time::sleep(HELD_ROW), if waits => {}
                () = tokio::time::sleep(Duration::from_millis(200)), if has_budget => {
                    if self.is_budget_used() {
                        end.is_budget_used = true;
                        self.stop_all(StopReason::Budget);
                    }
                }
            }
        }
        end.left += waiting.len();
        Ok(end)
    }

    /// The rows without a result, in their order.
    async fn unfinished(&self, index: Option<usize>) -> VecDeque<usize> {
        if let Some(index) = index {
            return VecDeque::from([index]);
        }
        let folder = Arc::clone(&self.folder);
        let found = tokio::task::spawn_blocking(move || {
            (0..folder.rows.len())
                .filter(|index| !folder.has_result(*index))
                .collect()
        });
        found.await.unwrap_or_default()
    }

    async fn claim(&self, index: usize) -> Result<Claiming, BatchError> {
        let (folder, worker) = (Arc::clone(&self.folder), Arc::clone(&self.worker));
        let claimed = tokio::task::spawn_blocking(move || claim(&folder, &worker, index)).await;
        let claimed = claimed.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        claimed.map_err(|source| BatchError::Io {
            path: self.folder.path().to_owned(),
            source,
        })
    }

    fn begin(&self, index: usize, claim: RowClaim) -> RowRun {
        let (stop, stopped) = watch::channel(None);
        let used = Arc::new(Mutex::new(RowUsage::default()));
        let row = RunningRow {
            claim: Arc::new(Mutex::new(Some(claim))),
            used: Arc::clone(&used),
            stop: Arc::new(stop),
        };
        let total = self.tally.lock().total(&self.running);
        self.running.lock().insert(index, row);
        let limits = self.folder.rows[index].limits;
        RowRun {
            folder: Arc::clone(&self.folder),
            worker: Arc::clone(&self.worker),
            connection: self.connection.clone(),
            routes: self.routes.clone(),
            index,
            limits: self.folder.settings.budget.limits_of_row(limits, &total),
            used,
            stop: stopped,
        }
    }

    /// Writes the result and gives up the claim. Returns the result if it is the one that counts.
    async fn finish(
        &self,
        index: usize,
        result: Option<RowResult>,
    ) -> Result<Option<RowResult>, BatchError> {
        // Without a result the claim is renewed until this process ends, which may still write the thread.
        let row = match &result {
            Some(_) => self.running.lock().remove(&index),
            None => None,
        };
        let folder = Arc::clone(&self.folder);
        let written = tokio::task::spawn_blocking(move || {
            let written = match &result {
                Some(result) => folder.write_result(result),
                None => Ok(false),
            };
            if let Some(row) = row
                && let Some(claim) = row.claim.lock().take()
            {
                claim.release();
            }
            written.map(|is_first| result.filter(|_| is_first))
        });
        let written = written.await.unwrap_or_else(|error| {
            Err(BatchError::Io {
                path: self.folder.path().to_owned(),
                source: std::io::Error::other(error),
            })
        })?;
        if let Some(result) = &written {
            self.tally.lock().results.insert(index, result.usage);
        }
        Ok(written)
    }

    /// Stops the rows that nothing has stopped yet.
    fn stop_all(&self, reason: StopReason) {
        for row in self.running.lock().values() {
            row.stop.send_if_modified(|stop| {
                let is_first = stop.is_none();
                *stop = stop.or(Some(reason));
                is_first
            });
        }
    }

    fn has_budget(&self) -> bool {
        self.folder.settings.budget != RunBudget::default()
    }

    fn is_budget_used(&self) -> bool {
        let used = self.tally.lock().total(&self.running);
        self.folder.settings.budget.is_used(&used)
    }
}

/// Returns once the worker is to end.
async fn paused(pause: &mut watch::Receiver<bool>) {
    if pause.wait_for(|is_paused| *is_paused).await.is_err() {
        // Nobody can end it any more.
        std::future::pending().await
    }
}

/// Renews the claims for as long as the worker works, and stops rows that another worker has taken.
async fn renew(folder: Arc<BatchFolder>, running: RunningRows) {
    let lease = lease_of(&folder);
    let mut ticks = tokio::time::interval(lease / 3);
    loop {
        ticks.tick().await;
        let running = Arc::clone(&running);
        let renewed = tokio::task::spawn_blocking(move || {
            // The file system may be slow: rows begin and end meanwhile.
            let rows: Vec<(usize, RunningRow)> = (running.lock().iter())
                .map(|(index, row)| (*index, row.clone()))
                .collect();
            for (index, row) in rows {
                let used = *row.used.lock();
                let mut claim = row.claim.lock();
                let Some(claim) = claim.as_mut() else {
                    continue;
                };
                if let Err(error) = claim.renew(used) {
                    tracing::warn!(index, %error, "a claim is not renewed");
                }
                if !claim.is_held(lease) {
                    row.stop.send_replace(Some(StopReason::Lost));
                }
            }
        });
        if renewed.await.is_err() {
            return;
        }
    }
}

/// Reads again and again what other workers have used.
async fn keep_tally(
    folder: Arc<BatchFolder>,
    worker: Arc<BatchWorker>,
    tally: Arc<Mutex<UsageTally>>,
) {
    let mut ticks = tokio::time::interval(lease_of(&folder) / 3);
    loop {
        ticks.tick().await;
        refresh_beside(&tally, &folder, &worker).await;
    }
}

async fn refresh_beside(
    tally: &Arc<Mutex<UsageTally>>,
    folder: &Arc<BatchFolder>,
    worker: &Arc<BatchWorker>,
) {
    let (folder, worker) = (Arc::clone(folder), Arc::clone(worker));
    let tally = Arc::clone(tally);
    let refreshed = tokio::task::spawn_blocking(move || refresh(&tally, &folder, &worker));
    if let Err(error) = refreshed.await {
        tracing::warn!(%error, "what other workers have used is not known");
    }
}

fn lease_of(folder: &BatchFolder) -> Duration {
    Duration::from_secs(folder.settings.lease_seconds.max(3))
}
