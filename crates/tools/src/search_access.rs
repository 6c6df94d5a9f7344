//! Whether searches of a thread may go by full access.

use codex_protocol::SandboxPolicy;
use parking_lot::Mutex;

/// Whether the thread has full access, as far as searches go. That it began without full access is never changed, because any
/// change of the tools makes the provider read the whole conversation anew. Full access is lost once, for good.
#[derive(Debug, Default)]
pub struct SearchAccess(Mutex<Option<bool>>);

impl SearchAccess {
    /// What the turns of a stored thread had.
    pub fn stored(policies: Option<bool>) -> Self {
        Self(Mutex::new(policies))
    }

    /// Takes the policy of a turn into account.
    pub(super) fn under(&self, policy: &SandboxPolicy) -> bool {
        let mut state = self.0.lock();
        let access = state.get_or_insert(true);
        *access &= *policy == SandboxPolicy::DangerFullAccess;
        *access
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_results_close_with_less_access() {
        let full = SandboxPolicy::DangerFullAccess;
        let less = serde_json::from_str(r#"{"type":"read-only"}"#).unwrap();
        let seen = |policies: &[&SandboxPolicy]| -> Vec<bool> {
            let access = SearchAccess::default();
            policies.iter().map(|policy| access.under(policy)).collect()
        };
        assert_eq!(seen(&[&less, &full, &less]), [false, false, false]);
        assert_eq!(
            seen(&[&full, &full, &less, &full]),
            [true, true, false, false]
        );
    }
}
