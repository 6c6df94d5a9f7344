//! The status of a loaded thread, derived from its events.

use codex_app_server_protocol::v2::{ThreadActiveFlag, ThreadStatus};
use codex_protocol::EventMsg;

/// What determines the status, apart from open questions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    is_running: bool,
    has_failed: bool,
}

impl Activity {
    pub(crate) fn take(&mut self, event: &EventMsg) {
        match event {
            EventMsg::TurnStarted(_) => {
                *self = Self {
                    is_running: true,
                    has_failed: false,
                };
            }
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => self.is_running = false,
            EventMsg::Error(error)
                if error
                    .codex_error_info
                    .as_ref()
                    .is_none_or(|info| info.fails_turn()) =>
            {
                *self = Self {
                    is_running: false,
                    has_failed: true,
                };
            }
            _ => {}
        }
    }

    pub(crate) fn status(
        self,
        waiting: impl Iterator<Item = ThreadActiveFlag> + Clone,
    ) -> ThreadStatus {
        let order = [
            ThreadActiveFlag::WaitingOnApproval,
            ThreadActiveFlag::WaitingOnUserInput,
        ];
        let active_flags: Vec<_> = order
            .into_iter()
            .filter(|flag| waiting.clone().any(|waiting| waiting == *flag))
            .collect();
        if self.is_running || !active_flags.is_empty() {
            ThreadStatus::Active { active_flags }
        } else if self.has_failed {
            ThreadStatus::SystemError
        } else {
            ThreadStatus::Idle
        }
    }
}
