//! `codex doctor`: checks the home folder, the model service and the machine, and says how to fix problems.
//!
//! The exit code is 1 if any check fails, else 0.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use codex_config::{Config, RequestParams};
use codex_doctor::{Finding, FindingState};
use codex_engine_host::wiring;
use serde_json::{Value, json};

use crate::print::answer_text;
use crate::settings_flags::SettingsFlags;

/// How many examples are listed per finding.
const EXAMPLES: usize = 10;

#[derive(Debug, Args)]
#[command(
    after_help = "The model provider is asked for its list of models, unless its login or key is missing.\n\nExit status: 0 nothing is broken, 1 something is."
)]
pub(crate) struct DoctorArguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print one line for each check, and the number of each result.
    #[arg(long, conflicts_with = "json")]
    summary: bool,
    /// List all findings, not only the first of many.
    #[arg(long)]
    all: bool,
    /// Only what requests to the model service need: settings, login, the service, proxies and certificates.
    #[arg(long)]
    network_only: bool,
    /// Accepted for compatibility; the output has neither colours nor other signs than those of ASCII.
    #[arg(long, hide = true)]
    no_color: bool,
    /// Accepted for compatibility, as `--no-color`.
    #[arg(long, hide = true)]
    ascii: bool,
}

pub(crate) fn run(
    arguments: &DoctorArguments,
    settings: &SettingsFlags,
) -> anyhow::Result<ExitCode> {
    let config = configuration(settings);
    let runtime = codex_engine_host::runtime::here()?;
    let findings = if arguments.network_only {
        runtime.block_on(codex_doctor::examine_network(&config))
    } else {
        runtime.block_on(codex_doctor::examine(&config))
    };
    let text = if arguments.json {
        as_json(&findings)
    } else if arguments.summary {
        as_summary(&findings)
    } else {
        as_text(&findings, if arguments.all { usize::MAX } else { EXAMPLES })
    };
    answer_text(&text);
    let is_well = (findings.iter()).all(|finding| finding.state != FindingState::Error);
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn configuration(settings: &SettingsFlags) -> anyhow::Result<Config> {
    let cwd = std::env::current_dir()?;
    let (flags, params) = (settings.overrides()?, RequestParams::default());
    wiring::load_config(Some(&cwd), &flags, &params)
}

fn as_json(findings: &[Finding]) -> String {
    let checks: Vec<Value> = findings.iter().map(Finding::as_json).collect();
    format!("{:#}\n", json!({ "checks": checks }))
}

/// A line for each finding, and how many have each state.
fn as_summary(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", first_line(finding));
    }
    let states = [FindingState::Ok, FindingState::Warning, FindingState::Error];
    let counts = states.map(|state| {
        let count = findings.iter().filter(|finding| finding.state == state);
        format!("{} {}", count.count(), state.name())
    });
    let _ = writeln!(text, "\n{}", counts.join(", "));
    text
}

fn first_line(finding: &Finding) -> String {
    let (state, check, message) = (finding.state.name(), finding.check, &finding.message);
    format!("{state:<8} {check:<14} {message}")
}

fn as_text(findings: &[Finding], most_details: usize) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{}", first_line(finding));
        for detail in finding.details.iter().take(most_details) {
            let _ = writeln!(text, "{:24}- {detail}", "");
        }
        if finding.details.len() > most_details {
            let more = finding.details.len() - most_details;
            let _ = writeln!(text, "{:24}- and {more} more (--all lists them)", "");
        }
        if let Some(advice) = &finding.advice {
            let _ = writeln!(text, "{:24}{advice}", "");
        }
    }
    text
}
