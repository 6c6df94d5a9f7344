//! Leases: one process at a time does a piece of work, and repeats it only after a pause if it failed.

use std::sync::Arc;

use rusqlite::{OptionalExtension, named_params};

use crate::store::{MemoryStore, MemoryStoreError, now};

/// How long a lease lasts, in seconds. No work takes longer.
pub(crate) const SECONDS: i64 = 3600;
/// The shortest pause after a failure. It doubles with each one.
const MIN_RETRY_DELAY: i64 = 3600;
/// The number of times that it doubles at most.
const DOUBLINGS: i64 = 8;

/// A lease of some work. Dropped without a result, it gives the work back.
#[derive(Debug)]
pub(crate) struct Lease {
    store: Arc<MemoryStore>,
    work: String,
    owner: String,
    is_settled: bool,
}

impl Lease {
    /// Takes the lease, if no other process has it and no failure is recent.
    pub(crate) fn take(
        store: &Arc<MemoryStore>,
        work: &str,
    ) -> Result<Option<Self>, MemoryStoreError> {
        let owner = uuid::Uuid::now_v7().to_string();
        let changed = store.write(|connection| {
            connection.execute(
                "INSERT INTO leases (work, owner, ends_at, retry_at, failures) \
                 VALUES (:work, :owner, :ends, 0, 0) ON CONFLICT (work) DO UPDATE \
                 SET owner = :owner, ends_at = :ends WHERE ends_at <= :now AND retry_at <= :now",
                named_params! {
                    ":work": work, ":owner": owner, ":ends": now() + SECONDS, ":now": now(),
                },
            )
        })?;
        Ok((changed > 0).then(|| Self {
            store: Arc::clone(store),
            work: work.to_owned(),
            owner,
            is_settled: false,
        }))
    }

    /// Whether nobody has taken it away.
    pub(crate) fn is_held(&self) -> Result<bool, MemoryStoreError> {
        let held = self.store.write(|connection| {
            connection
                .query_row(
                    "SELECT 1 FROM leases WHERE work = :work AND owner = :owner",
                    named_params! { ":work": self.work, ":owner": self.owner },
                    |_| Ok(()),
                )
                .optional()
        })?;
        Ok(held.is_some())
    }

    /// The work is done.
    pub(crate) fn finish(mut self) -> Result<(), MemoryStoreError> {
        self.is_settled = true;
        self.release()
    }

    /// The work has failed; it is repeated later.
    pub(crate) fn fail(mut self) -> Result<(), MemoryStoreError> {
        self.is_settled = true;
        self.store.write(|connection| {
            connection.execute(
                "UPDATE leases SET ends_at = 0, failures = failures + 1, \
                 retry_at = :now + (:pause << min(failures, :doublings)) \
                 WHERE work = :work AND owner = :owner",
                named_params! {
                    ":work": self.work, ":owner": self.owner, ":now": now(), ":pause": MIN_RETRY_DELAY,
                    ":doublings": DOUBLINGS,
                },
            )
        })?;
        Ok(())
    }

    fn release(&self) -> Result<(), MemoryStoreError> {
        self.store.write(|connection| {
            connection.execute(
                "DELETE FROM leases WHERE work = :work AND owner = :owner",
                named_params! { ":work": self.work, ":owner": self.owner },
            )
        })?;
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.is_settled
            && let Err(error) = self.release()
        {
            tracing::debug!(%error, "a lease of memories ends by time");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_has_one_owner_and_a_delay_after_failures() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStore::in_folder(folder.path()));
        let other = Arc::new(MemoryStore::in_folder(folder.path()));
        let lease = Lease::take(&store, "w").unwrap().unwrap();
        assert!(Lease::take(&other, "w").unwrap().is_none());
        assert!(Lease::take(&other, "x").unwrap().is_some());
        drop(lease);
        let lease = Lease::take(&other, "w").unwrap().unwrap();
        assert!(lease.is_held().unwrap());
        lease.fail().unwrap();
        assert!(Lease::take(&store, "w").unwrap().is_none());
        store
            .write(|connection| {
                let failed =
                    "SELECT retry_at - :now BETWEEN 3590 AND 3610 FROM leases WHERE work = 'w'";
                let params = named_params! { ":now": now() };
                let is_an_hour: bool = connection.query_row(failed, params, |row| row.get(0))?;
                assert!(is_an_hour);
                connection.execute("UPDATE leases SET retry_at = 0", [])
            })
            .unwrap();
        Lease::take(&store, "w").unwrap().unwrap().finish().unwrap();
        let lease = Lease::take(&store, "w").unwrap().unwrap();
        store.reset(folder.path()).unwrap();
        assert!(!lease.is_held().unwrap());
    }
}
