//! How far a batch is.

use std::fs;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::folder::{BatchError, BatchFolder, RowStatus, RowUsage};

/// The rate is that of results of this time.
const RECENT_TIME: Duration = Duration::from_secs(300);

/// How far a batch is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchStatus {
    pub rows: usize,
    pub passed: usize,
    pub failed: usize,
    pub check_failed: usize,
    pub over_limit: usize,
    /// Rows that workers have. One that has died holds its row until its lease ends.
    pub running: usize,
    pub waiting: usize,
    pub usage: RowUsage,
    /// Results in a minute, of late.
    pub rate_per_minute: f64,
    /// Absent if nothing was finished of late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<f64>,
}

impl BatchStatus {
    /// Rows with a result.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.passed + self.failed + self.check_failed + self.over_limit
    }
}

/// How far a batch is now.
///
/// # Errors
/// Its folder cannot be read.
pub fn status(folder: &BatchFolder) -> Result<BatchStatus, BatchError> {
    let now = SystemTime::now();
    let lease = Duration::from_secs(folder.settings.lease_seconds);
    let age = |path: std::path::PathBuf| {
        let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
        Some(now.duration_since(modified.ok()?).unwrap_or_default())
    };
    let mut status = BatchStatus {
        rows: folder.rows.len(),
        ..BatchStatus::default()
    };
    let (mut recent, mut oldest) = (0_u32, Duration::ZERO);
    for index in 0..folder.rows.len() {
        let Some(result) = folder.result(index)? else {
            let claimed = age(folder.file("claims", index));
            if claimed.is_some_and(|age| age <= lease) {
                status.running += 1;
            } else {
                status.waiting += 1;
            }
            continue;
        };
        match result.status {
            RowStatus::Passed => status.passed += 1,
            RowStatus::Failed => status.failed += 1,
            RowStatus::CheckFailed => status.check_failed += 1,
            RowStatus::OverLimit => status.over_limit += 1,
        }
        status.usage.add(&result.usage);
        if let Some(age) = age(folder.file("results", index)).filter(|age| *age <= RECENT_TIME) {
            recent += 1;
            oldest = oldest.max(age);
        }
    }
    if recent > 0 {
        let minutes = oldest.as_secs_f64().max(1.0) / 60.0;
        status.rate_per_minute = f64::from(recent) / minutes;
        let left = u32::try_from(status.running + status.waiting).unwrap_or(u32::MAX);
        status.seconds_left = Some(f64::from(left) / status.rate_per_minute * 60.0);
    }
    Ok(status)
}
