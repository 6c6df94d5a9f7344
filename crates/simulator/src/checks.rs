//! What must hold of every simulation. Each rule looks at the record as a whole.

mod commands;
mod conversation;
mod history;
mod input;
mod queue;
mod stored;
mod tools;

use crate::plan::Plan;
use crate::problem::Problem;
use crate::worker::SimulationOutcome;

/// Checks everything.
#[must_use]
pub(crate) fn check(plan: &Plan, outcome: &SimulationOutcome) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(failure) = &outcome.failure {
        problems.push(Problem {
            rule: "a process ends as planned",
            details: failure.clone(),
        });
    }
    if outcome.errors.contains("panicked") {
        problems.push(Problem {
            rule: "nothing panics",
            details: outcome
                .errors
                .lines()
                .take(4)
                .collect::<Vec<_>>()
                .join(" | "),
        });
    }
    conversation::check(&outcome.entries, &mut problems);
    commands::check(plan, &outcome.entries, &mut problems);
    // A power cut takes turns back into the queue, and a full disk keeps them there.
    if !plan.cuts_power && plan.full_disk.is_none() {
        queue::check(&outcome.entries, &mut problems);
    }
    input::check(&outcome.entries, &mut problems);
    tools::check(plan, &outcome.entries, &mut problems);
    if outcome.failure.is_none() {
        stored::check(plan, &outcome.entries, &mut problems);
        // What a full disk has lost, clients are warned about.
        if plan.full_disk.is_none() {
            history::check(&stored::kept(plan, &outcome.entries), &mut problems);
        }
    }
    problems
}
