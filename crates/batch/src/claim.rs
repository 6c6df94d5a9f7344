//! Claims: who works on a row. A claim is a file that its worker writes again before its lease ends. One that is too old, or
//! whose worker has ended, is taken away by the next worker.
//!
//! A worker that was too slow and lost its claim finds that out when it renews it. Should both write a result, the first stays.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::folder::{BatchFolder, RowUsage, create, index_of, read_json};
use crate::worker::BatchWorker;

/// What the file of a claim says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimContent {
    pub(crate) worker: String,
    pub(crate) host: String,
    /// What the row has used so far.
    #[serde(default)]
    pub(crate) used: RowUsage,
}

/// A claim of this process.
#[derive(Debug)]
pub(crate) struct RowClaim {
    path: PathBuf,
    content: ClaimContent,
    /// The file itself, even if another worker has taken its name away.
    file: File,
    /// When it was renewed last.
    renewed: Instant,
    is_lost: bool,
}

/// What came of the attempt to claim a row.
#[derive(Debug)]
pub(crate) enum Claiming {
    Claimed(RowClaim),
    /// Another worker has it.
    Taken,
    /// It has a result.
    Done,
}

/// Claims a row for a worker. Blocks on the file system.
pub(crate) fn claim(
    folder: &BatchFolder,
    worker: &BatchWorker,
    index: usize,
) -> io::Result<Claiming> {
    if folder.has_result(index) {
        return Ok(Claiming::Done);
    }
    let path = folder.file("claims", index);
    let content = ClaimContent {
        worker: worker.id().to_owned(),
        host: worker.host().to_owned(),
        used: RowUsage::default(),
    };
    for _ in 0..2 {
        match create(&path, &content) {
            Ok(()) => {
                let file = OpenOptions::new().write(true).open(&path)?;
                let claim = RowClaim {
                    path,
                    content,
                    file,
                    renewed: Instant::now(),
                    is_lost: false,
                };
                // It may have got its result between the look and the claim.
                if folder.has_result(index) {
                    claim.release();
                    return Ok(Claiming::Done);
                }
                return Ok(Claiming::Claimed(claim));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        if !take_away(folder, worker, &path)? {
            return Ok(Claiming::Taken);
        }
    }
    Ok(Claiming::Taken)
}

/// Removes the claim of a worker that is gone. Returns whether it did.
fn take_away(folder: &BatchFolder, worker: &BatchWorker, path: &Path) -> io::Result<bool> {
    let Some(seen) = look_at(folder, worker, path)? else {
        // It has gone meanwhile.
        return Ok(true);
    };
    if seen.is_live {
        return Ok(false);
    }
    let aside = path.with_extension(format!("{}.ended", uuid::Uuid::now_v7()));
    match fs::rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    // Another worker may have been faster, and this is its claim; or its worker has renewed it meanwhile.
    let modified = fs::metadata(&aside).and_then(|metadata| metadata.modified());
    let is_other = modified? != seen.modified;
    if is_other {
        let _ = fs::hard_link(&aside, path);
    }
    fs::remove_file(&aside)?;
    Ok(!is_other)
}

/// A claim as a worker finds it.
struct SeenClaim {
    /// None while it is written.
    content: Option<ClaimContent>,
    modified: SystemTime,
    /// Whether its worker may still work.
    is_live: bool,
}

/// None if there is no claim.
fn look_at(
    folder: &BatchFolder,
    worker: &BatchWorker,
    path: &Path,
) -> io::Result<Option<SeenClaim>> {
    let modified = match fs::metadata(path).and_then(|metadata| metadata.modified()) {
        Ok(modified) => modified,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let content: Option<ClaimContent> = read_json(path).ok().flatten();
    let lease = Duration::from_secs(folder.settings.lease_seconds);
    let age = worker.now()?.duration_since(modified).unwrap_or_default();
    let has_ended = content
        .as_ref()
        .is_some_and(|held| worker.has_ended(folder, &held.worker, &held.host));
    Ok(Some(SeenClaim {
        content,
        modified,
        is_live: !has_ended && age <= lease,
    }))
}

/// The claims of other workers that may still work: the row, and what it has used. Blocks on the file system.
pub(crate) fn live_claims(
    folder: &BatchFolder,
    worker: &BatchWorker,
) -> io::Result<Vec<(usize, RowUsage)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.path().join("claims"))? {
        let path = entry?.path();
        if let Some(index) = index_of(&path)
            && let Some(seen) = look_at(folder, worker, &path)?
            && let Some(held) = seen.content.filter(|_| seen.is_live)
            && held.worker != worker.id()
        {
            found.push((index, held.used));
        }
    }
    Ok(found)
}

impl RowClaim {
    /// Renews the lease, if the row is still this worker's.
    ///
    /// # Errors
    /// Nothing is known about it.
    pub(crate) fn renew(&mut self, used: RowUsage) -> io::Result<()> {
        self.content.used = used;
        let mut bytes = serde_json::to_vec(&self.content)?;
        bytes.push(b'\n');
        let written = self.write(&bytes);
        // Also after a failure: some file systems refuse to write a file whose name another worker has taken away.
        let now: Option<ClaimContent> = read_json(&self.path).map_err(io::Error::other)?;
        self.is_lost = now.is_none_or(|now| now.worker != self.content.worker);
        written?;
        self.renewed = Instant::now();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(bytes)?;
        self.file.set_len(bytes.len() as u64)
    }

    /// Whether no other worker may have the row: it has the claim, and has renewed it in time.
    pub(crate) fn is_held(&self, lease: Duration) -> bool {
        !self.is_lost && self.renewed.elapsed() < lease
    }

    /// Gives the row up.
    pub(crate) fn release(self) {
        let now: Option<ClaimContent> = read_json(&self.path).ok().flatten();
        if now.is_some_and(|now| now.worker == self.content.worker)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, "a claim is not removed; it ends with its lease");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{BatchSettings, RowResult, RowStatus};
    use crate::tasks::BatchRow;

    fn folder(path: &Path, lease_seconds: u64) -> BatchFolder {
        let settings = BatchSettings {
            lease_seconds,
            ..BatchSettings::default()
        };
        BatchFolder::create(path, settings, vec![BatchRow::default(); 3]).unwrap()
    }

    fn claimed(claiming: io::Result<Claiming>) -> RowClaim {
        match claiming.unwrap() {
            Claiming::Claimed(claim) => claim,
            other => panic!("{other:?}"),
        }
    }

    fn result(index: usize, worker: &BatchWorker) -> RowResult {
        RowResult {
            index,
            id: String::new(),
            status: RowStatus::Passed,
            message: None,
            output: None,
            error: None,
            checks: Vec::new(),
            usage: RowUsage::default(),
            seconds: 0.0,
            thread_id: None,
            rollout: None,
            worker: worker.id().to_owned(),
            host: worker.host().to_owned(),
        }
    }

    #[test]
    fn row_belongs_to_one_worker_until_it_is_released() {
        let home = tempfile::tempdir().unwrap();
        let folder = folder(&home.path().join("run"), 60);
        let one = BatchWorker::register(&folder).unwrap();
        let other = BatchWorker::register(&folder).unwrap();
        let mut first = claimed(claim(&folder, &one, 0));
        assert!(matches!(
            claim(&folder, &other, 0).unwrap(),
            Claiming::Taken
        ));
        first.renew(RowUsage::default()).unwrap();
        assert!(first.is_held(Duration::from_secs(60)));
        assert!(!first.is_held(Duration::ZERO));
        assert_eq!(live_claims(&folder, &other).unwrap().len(), 1);
        first.release();
        claimed(claim(&folder, &other, 0)).release();
    }

    #[test]
    fn claim_of_an_ended_worker_is_taken_at_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = folder(&home.path().join("run"), 3600);
        let one = BatchWorker::register(&folder).unwrap();
        let mut lost = claimed(claim(&folder, &one, 0));
        drop(one);
        let other = BatchWorker::register(&folder).unwrap();
        let _new = claimed(claim(&folder, &other, 0));
        lost.renew(RowUsage::default()).unwrap();
        assert!(!lost.is_held(Duration::from_secs(60)));
        // What the loser gives up is not the claim of the other.
        lost.release();
        assert!(folder.file("claims", 0).exists());
    }

    #[test]
    fn claim_that_nobody_renews_expires() {
        let home = tempfile::tempdir().unwrap();
        let folder = folder(&home.path().join("run"), 30);
        let one = BatchWorker::register(&folder).unwrap();
        let lost = claimed(claim(&folder, &one, 1));
        let long_ago = one.now().unwrap() - Duration::from_secs(31);
        lost.file.set_modified(long_ago).unwrap();
        let other = BatchWorker::register(&folder).unwrap();
        let _new = claimed(claim(&folder, &other, 1));
    }

    #[test]
    fn first_result_of_a_row_stays() {
        let home = tempfile::tempdir().unwrap();
        let folder = folder(&home.path().join("run"), 60);
        let one = BatchWorker::register(&folder).unwrap();
        let other = BatchWorker::register(&folder).unwrap();
        assert!(folder.write_result(&result(2, &one)).unwrap());
        assert!(!folder.write_result(&result(2, &other)).unwrap());
        assert_eq!(folder.result(2).unwrap().unwrap().worker, one.id());
        assert!(matches!(claim(&folder, &other, 2).unwrap(), Claiming::Done));
        assert_eq!(
            fs::read_dir(folder.path().join("results")).unwrap().count(),
            1
        );
    }
}
