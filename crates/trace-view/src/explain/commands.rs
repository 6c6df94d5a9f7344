//! Checks of single commands and their outputs.

use std::collections::HashSet;
use std::path::Path;

use super::facts::{CommandFacts, SessionFacts};
use super::finding::{Finding, FindingKind};
use super::words::{CLAIM, CUT, DENIAL, FAILURES, IMPORTANT, matches, short};

/// So often in a row is a loop.
const LOOP: usize = 4;

/// Commands whose exit code says what they found, not that they failed.
const RESULT_CODE_COMMANDS: [&str; 9] = [
    "grep", "rg", "test", "[", "diff", "cmp", "which", "ls", "git diff",
];

pub(super) fn find(facts: &SessionFacts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(other_folders(facts));
    findings.extend(
        facts
            .commands
            .iter()
            .filter_map(|command| cut_output(facts, command)),
    );
    findings.extend(
        facts
            .commands
            .iter()
            .filter_map(|command| denial(facts, command)),
    );
    findings.extend(claims(facts));
    findings.extend(loops(facts));
    findings
}

fn finding(
    facts: &SessionFacts<'_>,
    command: &CommandFacts,
    kind: FindingKind,
    why: String,
) -> Finding {
    let exit = command
        .exit_code
        .map(|code| format!(" → {code}"))
        .unwrap_or_default();
    Finding {
        kind,
        agent: facts.agent(&command.thread),
        at_unix_ms: command.at,
        object: command.call.clone(),
        what: format!("$ {}{exit}", short(&command.text, 120)),
        why,
    }
}

/// Commands in a folder that nobody named and where nothing was read or changed.
fn other_folders(facts: &SessionFacts<'_>) -> Vec<Finding> {
    let said = facts.user_message_texts();
    let mut told = HashSet::new();
    let mut findings = Vec::new();
    for command in &facts.commands {
        let settings = facts.settings.get(&command.thread);
        let Some(own) = settings.and_then(|settings| settings.cwd.as_deref()) else {
            continue;
        };
        let folder = command.folder.as_path();
        if folder == own
            || own.starts_with(folder)
            || folder.starts_with("/tmp") && !own.starts_with("/tmp")
        {
            continue;
        }
        let shown = folder.strip_prefix(own).unwrap_or(folder);
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if is_named(&said, &name)
            || is_worked_in(facts, command, shown, &name)
            || !told.insert(folder)
        {
            continue;
        }
        let why = format!(
            "it ran in {}, not in the session's folder {}; nobody named that folder, and nothing in it was read or changed before",
            shown.display(),
            own.display()
        );
        findings.push(finding(facts, command, FindingKind::OtherFolder, why));
    }
    findings
}

fn is_named(said: &str, folder: &str) -> bool {
    !folder.is_empty() && said.contains(folder)
}

/// Whether files below a folder were read or changed by others than the command.
fn is_worked_in(
    facts: &SessionFacts<'_>,
    command: &CommandFacts,
    shown: &Path,
    name: &str,
) -> bool {
    let prefix = format!("{}/", shown.display());
    let patched = facts.patches.iter().flat_map(|patch| &patch.files);
    let mut read = facts.commands.iter().filter(|other| other.at < command.at);
    patched
        .into_iter()
        .any(|file| file.starts_with(&prefix) || file.contains(&format!("/{name}/")))
        || read.any(|other| other.text.contains(&prefix))
}

/// Output of which the model did not see a line that matters.
fn cut_output(facts: &SessionFacts<'_>, command: &CommandFacts) -> Option<Finding> {
    let mark = CUT.as_ref()?.find(&command.shown)?;
    let (head, tail) = (&command.shown[..mark.start()], &command.shown[mark.end()..]);
    let head = head.lines().next_back().map(str::trim).unwrap_or_default();
    let tail = tail
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let start = command.output.find(head).map_or(0, |at| at + head.len());
    let end = command.output.rfind(tail).filter(|end| *end >= start);
    let omitted = &command.output[start..end.unwrap_or(command.output.len())];
    // Before the output stands the command, which may have the words of the line.
    let printed = command.shown.split_once("Output:\n");
    let printed = printed.map_or(command.shown.as_str(), |(_, printed)| printed);
    let is_seen = |line: &&str| printed.contains(line.trim());
    let line = omitted
        .lines()
        .find(|line| matches(&IMPORTANT, line) && !is_seen(line))?;
    let why = format!(
        "the model saw {} of {} bytes; what was cut has the line `{}`",
        command.shown.len(),
        command.output.len(),
        short(line, 160)
    );
    Some(finding(facts, command, FindingKind::OutputCut, why))
}

/// What the sandbox refused, unless the same command worked later.
fn denial(facts: &SessionFacts<'_>, command: &CommandFacts) -> Option<Finding> {
    let settings = facts.settings.get(&command.thread)?;
    if !settings.is_confined {
        return None;
    }
    let pattern = DENIAL.as_ref()?;
    let texts = [&command.output, &command.shown];
    let line = texts
        .into_iter()
        .flat_map(|text| text.lines())
        .find(|line| pattern.is_match(line))?;
    let mut later = facts.commands.iter().filter(|other| other.at > command.at);
    if later.any(|other| other.text == command.text && !pattern.is_match(&other.output)) {
        return None;
    }
    let why = format!(
        "the policy of the session confines commands, and this one was refused something: `{}`",
        short(line, 160)
    );
    Some(finding(facts, command, FindingKind::SandboxDenial, why))
}

/// A message that claims success although the last run of a command failed.
fn claims(facts: &SessionFacts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for thread in facts.trace.threads.values() {
        for answer in facts.answers(&thread.thread_id) {
            let text = answer.body.shown();
            let Some(claim) = CLAIM.as_ref().and_then(|claim| claim.find(&text)) else {
                continue;
            };
            let turn = answer.codex_turn_id.as_ref().map(ToString::to_string);
            let mut before = facts.commands.iter().filter(|command| {
                command.thread == thread.thread_id
                    && command.turn == turn
                    && command.at <= answer.first_seen_at_unix_ms
            });
            let Some(last) = before.rfind(|command| is_test(command)) else {
                continue;
            };
            if !has_failed(last) {
                continue;
            }
            let why = format!("the model then said `{}`", short(claim.as_str(), 80));
            findings.push(finding(facts, last, FindingKind::ClaimAfterFailure, why));
        }
    }
    findings
}

fn is_test(command: &CommandFacts) -> bool {
    let text = command.text.trim_start();
    !RESULT_CODE_COMMANDS
        .iter()
        .any(|asking| text.starts_with(asking))
}

fn has_failed(command: &CommandFacts) -> bool {
    command.exit_code.is_some_and(|code| code != 0)
        || command.output.lines().any(|line| matches(&FAILURES, line))
}

/// The same call with the same result, again and again.
fn loops(facts: &SessionFacts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for thread in facts.trace.threads.keys() {
        let own = facts
            .commands
            .iter()
            .filter(|command| command.thread == *thread);
        let own: Vec<&CommandFacts> = own.collect();
        let same = |one: &&CommandFacts, other: &&CommandFacts| {
            one.text == other.text && one.output == other.output && one.folder == other.folder
        };
        for run in own.chunk_by(same).filter(|run| run.len() >= LOOP) {
            let why = format!(
                "the same command gave the same result {} times in a row",
                run.len()
            );
            findings.push(finding(facts, run[0], FindingKind::Loop, why));
        }
    }
    findings
}
