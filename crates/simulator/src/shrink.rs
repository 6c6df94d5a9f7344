//! Makes a simulation that fails smaller.

use crate::plan::Plan;

/// Leaves out kills, clients and actions as long as `fails` says that the rest still fails.
pub(crate) fn shrink(plan: &Plan, mut fails: impl FnMut(&Plan) -> bool) -> Plan {
    let mut best = plan.clone();
    let mut chunk = best.actions.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut is_smaller = false;
        while at < best.actions.len() {
            let mut smaller = best.clone();
            let end = (at + chunk).min(smaller.actions.len());
            smaller.actions.drain(at..end);
            if fails(&smaller) {
                best = smaller;
                is_smaller = true;
            } else {
                at += chunk;
            }
        }
        if chunk == 1 && !is_smaller {
            break;
        }
        chunk = (chunk / 2).max(1);
    }
    let last = best
        .actions
        .iter()
        .map(|action| action.phase)
        .max()
        .unwrap_or_default();
    if best.kills.len() > last {
        let mut smaller = best.clone();
        smaller.kills.truncate(last);
        if fails(&smaller) {
            best = smaller;
        }
    }
    for client in 0..best.clients.len() {
        let mut plainer = best.clone();
        plainer.clients[client].read_delay = 0;
        if plainer != best && fails(&plainer) {
            best = plainer;
        }
    }
    best
}
