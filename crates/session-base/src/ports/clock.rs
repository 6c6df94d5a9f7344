//! The clock of the engine.

use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Tells and measures time, and waits.
pub trait Clock: Debug + Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;

    /// Time since some fixed point, for durations.
    fn elapsed(&self) -> Duration;

    /// Waits for a duration.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// The time zone of the user.
    fn zone(&self) -> TimeZone;

    /// A random number from 0 to 1, to spread retries.
    fn jitter(&self) -> f64;
}

/// The clock of the system.
#[derive(Debug)]
pub struct SystemClock {
    started: std::time::Instant,
    zone: TimeZone,
}

impl SystemClock {
    /// The clock, with the time zone of the system.
    #[must_use]
    pub fn new() -> Self {
        Self {
            started: std::time::Instant::now(),
            zone: linked_zone().unwrap_or_else(TimeZone::system),
        }
    }
}

/// The time zone that `/etc/localtime` links to. Reads only that file: a look-up by name would list all zones
/// first.
fn linked_zone() -> Option<TimeZone> {
    if std::env::var_os("TZ").is_some() {
        return None;
    }
    let link = std::path::Path::new("/etc/localtime");
    let file = link.read_link().ok()?;
    let (_, name) = file.to_str()?.rsplit_once("/zoneinfo/")?;
    TimeZone::tzif(name, &std::fs::read(link).ok()?).ok()
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn zone(&self) -> TimeZone {
        self.zone.clone()
    }

    fn jitter(&self) -> f64 {
        // The last bits of a nanosecond clock are random enough to spread retries.
        f64::from(self.started.elapsed().subsec_nanos() % 1024) / 1024.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_time_zone_is_read_from_its_link() {
        let Some(linked) = linked_zone() else {
            return;
        };
        let system = TimeZone::system();
        assert_eq!(linked.iana_name(), system.iana_name());
        let day = Timestamp::now();
        assert_eq!(linked.to_offset(day), system.to_offset(day));
    }
}
