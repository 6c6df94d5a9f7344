//! Problems of a bundle, for commands that read one.

use codex_engine_host::console::Console;
use codex_rollout_trace::{Problem, Problems, Reduction, Severity};

use crate::outcome::TraceOutcome;

/// The outcome of a command that has finished with a reduced bundle.
pub(crate) fn outcome_of(reduction: Reduction, is_damaged: bool) -> TraceOutcome {
    // The process exits next; dropping the graph piece by piece would only take time.
    std::mem::forget(reduction);
    if is_damaged {
        TraceOutcome::Damaged
    } else {
        TraceOutcome::Done
    }
}

/// Prints every problem as notes, each line prefixed with `name` if there are several bundles.
pub(crate) fn report_all(console: &mut Console<'_>, problems: &Problems, name: Option<&str>) {
    for problem in problems.listed() {
        report(console, problem, name);
    }
}

/// Prints only damage as notes, without minor problems.
pub(crate) fn report_damage(console: &mut Console<'_>, problems: &Problems, name: Option<&str>) {
    for problem in problems.listed() {
        if problem.fault.severity() == Severity::Damage {
            report(console, problem, name);
        }
    }
}

fn report(console: &mut Console<'_>, problem: &Problem, name: Option<&str>) {
    let severity = match problem.fault.severity() {
        Severity::Notice => "notice",
        Severity::Damage => "damage",
    };
    let name = name.map_or_else(String::new, |name| format!("{name}: "));
    match problem.line {
        Some(line) => console.note(format_args!(
            "{name}{severity}: line {line}: {}",
            problem.fault
        )),
        None => console.note(format_args!("{name}{severity}: {}", problem.fault)),
    }
}
