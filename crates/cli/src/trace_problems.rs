//! Prints problems of a bundle, for commands that read one.

use std::process::ExitCode;

use crate::print::note;
use codex_rollout_trace::{Problem, Problems, Reduction, Severity};

/// The exit status of a command that succeeded although the bundle is damaged.
pub(crate) const DAMAGED: u8 = 3;

/// The exit status of a command that has finished with a reduced bundle.
pub(crate) fn exit_with(reduction: Reduction, is_damaged: bool) -> ExitCode {
    // The process exits next; dropping the graph piece by piece would only take time.
    std::mem::forget(reduction);
    if is_damaged {
        ExitCode::from(DAMAGED)
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints every problem to standard error, each line prefixed with `name` if there are several bundles.
pub(crate) fn report_all(problems: &Problems, name: Option<&str>) {
    for problem in problems.listed() {
        report(problem, name);
    }
}

/// Prints only damage to standard error, without minor problems.
pub(crate) fn report_damage(problems: &Problems, name: Option<&str>) {
    for problem in problems.listed() {
        if problem.fault.severity() == Severity::Damage {
            report(problem, name);
        }
    }
}

fn report(problem: &Problem, name: Option<&str>) {
    let severity = match problem.fault.severity() {
        Severity::Notice => "notice",
        Severity::Damage => "damage",
    };
    let name = name.map_or_else(String::new, |name| format!("{name}: "));
    match problem.line {
        Some(line) => note(format_args!(
            "{name}{severity}: line {line}: {}",
            problem.fault
        )),
        None => note(format_args!("{name}{severity}: {}", problem.fault)),
    }
}
