//! Limits for all commands of this process together, so that descriptors and memory are left for all else.

use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections, of two descriptors each.
static CONNECTIONS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| shared(4));

/// Addresses that commands connect to, of at most two descriptors each.
static ADDRESSES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| shared(8));

/// Buffers for connections that carry much.
static LARGE_BUFFERS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(MOST_LARGE_BUFFERS)));

const MOST_LARGE_BUFFERS: usize = 256;

/// Takes a connection, unless too many are open.
pub(super) fn connection() -> Option<OwnedSemaphorePermit> {
    Arc::clone(&CONNECTIONS).try_acquire_owned().ok()
}

/// Takes an address, unless there are too many.
pub(super) fn address() -> Option<OwnedSemaphorePermit> {
    Arc::clone(&ADDRESSES).try_acquire_owned().ok()
}

/// Takes a large buffer, unless there are too many.
pub(super) fn large_buffer() -> Option<OwnedSemaphorePermit> {
    Arc::clone(&LARGE_BUFFERS).try_acquire_owned().ok()
}

fn shared(share: u64) -> Arc<Semaphore> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    Arc::new(Semaphore::new(part_of(limit.current, share)))
}

/// A share of the descriptors that this process may have.
fn part_of(descriptors: Option<u64>, share: u64) -> usize {
    let part = descriptors.and_then(|descriptors| usize::try_from(descriptors / share).ok());
    let most = Semaphore::MAX_PERMITS;
    part.map_or(most, |part| part.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_descriptors_leave_a_quarter_free() {
        for descriptors in [3, 1024, 20_000] {
            let of_connections = 2 * part_of(Some(descriptors), 4);
            let of_addresses = 2 * part_of(Some(descriptors), 8);
            assert!((of_connections + of_addresses) as u64 <= descriptors * 3 / 4);
        }
        assert_eq!(part_of(Some(1024), 4), 256);
        for unlimited in [None, Some(u64::MAX)] {
            assert_eq!(part_of(unlimited, 4), Semaphore::MAX_PERMITS);
        }
    }
}
