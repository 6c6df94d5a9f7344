//! Deletes trace bundles that limits of age and size do not let be kept.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use codex_config::schema::TracesFile;
use codex_trace_folder::{BundleEntry, BundleSummary, Retention, bundles_in, expired};

const MEBIBYTE: u64 = 1 << 20;

pub fn retention(max_days: Option<u64>, max_mib: Option<u64>) -> Retention {
    Retention {
        max_age: max_days.map(|days| Duration::from_secs(days.saturating_mul(86_400))),
        max_bytes: max_mib.map(|mib| mib.saturating_mul(MEBIBYTE)),
    }
}

/// Deletes what the limits of the configuration do not let be kept.
pub fn delete_expired(folder: &Path, limits: TracesFile) {
    let limits = retention(limits.max_days, limits.max_mib);
    let bundles = bundles_in(folder).unwrap_or_default();
    for entry in deletable(&bundles, limits) {
        if let Err(error) = delete(entry) {
            tracing::warn!(%error, "an expired trace is not deleted");
        }
    }
}

/// The expired bundles, without those of sessions that may still run.
pub fn deletable(bundles: &[BundleEntry], limits: Retention) -> impl Iterator<Item = &BundleEntry> {
    let expired = expired(bundles, limits, SystemTime::now()).iter();
    expired.filter(|entry| {
        let may_run = || BundleSummary::read(entry).is_ok_and(|summary| summary.may_be_recorded());
        entry.is_packed || !may_run()
    })
}

pub fn delete(entry: &BundleEntry) -> anyhow::Result<()> {
    let path: &Path = &entry.path;
    let deleted = if entry.is_packed {
        std::fs::remove_file(path)
    } else {
        std::fs::remove_dir_all(path)
    };
    deleted.with_context(|| format!("cannot delete {}", path.display()))
}
