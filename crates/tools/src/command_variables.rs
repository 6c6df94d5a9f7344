//! The variables of commands that do not come from the user.

use std::ffi::OsString;

use codex_gate::TurnPolicy;

use crate::tool::ToolContext;

/// The variables that the engine adds.
pub(crate) fn own_variables(
    context: &ToolContext,
    turn_policy: &TurnPolicy,
    more: &[(&str, &str)],
) -> Vec<(OsString, OsString)> {
    let thread = context.session.emitter.thread().as_str();
    let network = ("CODEX_SANDBOX_NETWORK_DISABLED", "1");
    let network = turn_policy.network_is_restricted().then_some(network);
    let own = [("CODEX_THREAD_ID", thread)].into_iter().chain(network);
    own.chain(more.iter().copied())
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}
