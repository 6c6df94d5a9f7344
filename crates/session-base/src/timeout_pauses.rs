//! Pauses the time limits of a thread's commands, for instance while a person is asked on behalf of the
//! thread.

use std::time::Duration;

use tokio::sync::watch;

use crate::ports::Clock;

/// The pauses of one thread, counted. They last until they are ended or the thread is closed.
#[derive(Clone, Debug, Default)]
pub struct TimeoutPauses(watch::Sender<u64>);

impl TimeoutPauses {
    /// Adds a pause. Returns how many there are.
    pub fn add(&self) -> u64 {
        self.0.send_modify(|count| *count = count.saturating_add(1));
        *self.0.borrow()
    }

    /// Ends a pause. Returns how many are left; none if there was none.
    pub fn take_back(&self) -> Option<u64> {
        let taken = self.0.send_if_modified(|count| match count.checked_sub(1) {
            Some(fewer) => {
                *count = fewer;
                true
            }
            None => false,
        });
        taken.then(|| *self.0.borrow())
    }

    /// Waits until a time limit has passed, without the time of pauses.
    pub async fn limit(&self, clock: &dyn Clock, limit: Duration) {
        let mut timeout_pauses = self.0.subscribe();
        let mut left = limit;
        loop {
            // The sender lives as long as this call, so waiting cannot fail.
            let _ = timeout_pauses.wait_for(|count| *count == 0).await;
            let started = clock.elapsed();
            tokio::select! {
                biased;
                () = clock.sleep(left) => return,
                _ = timeout_pauses.wait_for(|count| *count > 0) => {}
            }
            let ran = clock.elapsed().saturating_sub(started);
            left = left.saturating_sub(ran);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::ports::SystemClock;

    #[test]
    fn pauses_are_counted_down_to_zero() {
        let timeout_pauses = TimeoutPauses::default();
        assert_eq!(timeout_pauses.take_back(), None);
        assert_eq!((timeout_pauses.add(), timeout_pauses.add()), (1, 2));
        assert_eq!(timeout_pauses.take_back(), Some(1));
        assert_eq!(timeout_pauses.take_back(), Some(0));
        assert_eq!(timeout_pauses.take_back(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn paused_limit_does_not_advance() {
        let (clock, timeout_pauses) = (SystemClock::new(), TimeoutPauses::default());
        timeout_pauses.add();
        let mut limit = Box::pin(timeout_pauses.limit(&clock, Duration::ZERO));
        assert!(limit.as_mut().now_or_never().is_none());
        timeout_pauses.take_back();
        limit.await;
    }
}
