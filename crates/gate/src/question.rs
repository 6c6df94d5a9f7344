//! The texts of a question to a person: what the engine says, in sentences of its own, and what the model says.
//!
//! A model cannot speak for the engine: its words come last, in quotation marks, with their length, and everything in them
//! shows. If what is asked about leaves the sandbox or widens it, the engine says so first. A question about a command that
//! stays in the sandbox has the words of the model alone as its reason, as clients expect it.

use std::path::{Path, PathBuf};

use codex_protocol::{AskForApproval, FileChange, RequestPermissionProfile};
use codex_sandbox::{ConfinementPolicy, Grants};
use codex_visible_text::{has_format_characters, length, quoted, script_hides, visible_line};

use super::decision::{ApprovalReason, ApprovalRequest, Confinement};
use super::effect::{CommandEffect, PatchEffect};
use super::turn_policy::{TurnPolicy, grants_of};

const WITHOUT_SANDBOX: &str = "This command runs without the sandbox: it can change every file that you can change, and \
                               use the network.";
const WITHOUT_SANDBOX_OFFLINE: &str =
    "This command runs without the sandbox: it can change every file that you can change.";
const IN_SANDBOX: &str = "This command runs in the sandbox.";
const NO_SANDBOX: &str = "This thread has no sandbox.";
const OUTER_SANDBOX: &str = "Only an outer sandbox, if there is one, confines this thread.";
const SECOND_RUN: &str = "If the sandbox stops it, it runs a second time without the sandbox.";
const RULE_WITHOUT_SANDBOX: &str =
    "A new rule lets such commands run without the sandbox from now on, in every thread.";
const IN_EDITOR: &str = "It runs in a terminal of the editor.";
const HIDDEN_CHARACTERS: &str =
    "It contains characters that do not show, or long gaps; they are written as escapes.";
const HIDDEN_IN_PATCH: &str =
    "The patch contains characters that do not show or that change the order of others.";

/// The length, in characters, from which it is told.
const LONG_COMMAND: usize = 400;

/// The number of paths that a sentence names.
const NAMED_PATHS: usize = 10;

/// What a question says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionTexts {
    /// What the engine says.
    pub notice: Option<String>,
    /// What the model says, for display.
    pub justification: Option<String>,
    /// The reason for clients that show only one text.
    pub reason: Option<String>,
}

/// The texts for a command.
pub fn command_texts(
    command: &CommandEffect,
    request: &ApprovalRequest,
    turn_policy: &TurnPolicy,
) -> QuestionTexts {
    let leaves_sandbox = request.then.confinement == Confinement::None && !turn_policy.is_open();
    let is_wider = !wider_rights(command, turn_policy).is_empty();
    let hides = hides_something(command);
    let mut notice = vec![confinement_sentence(command, request, turn_policy)];
    if command.in_editor {
        notice.push(IN_EDITOR.to_owned());
    }
    if let Some(machine) = &command.machine {
        notice.push(format!("It runs on the machine {}.", quoted(machine)));
    }
    if leaves_sandbox && request.amendment.is_some() {
        notice.push(RULE_WITHOUT_SANDBOX.to_owned());
    }
    notice.extend(size_sentence(&command.argv));
    if hides {
        notice.push(HIDDEN_CHARACTERS.to_owned());
    }
    let folder = command.cwd.display().to_string();
    if script_hides(&folder) {
        notice.push(format!("The folder is {}.", quoted(&folder)));
    }
    let notice = notice.join(" ");
    let warns = leaves_sandbox || is_wider || hides || hidden_in(command, turn_policy).is_some();
    let justification = command.justification.as_deref();
    let reason = match &request.reason {
        ApprovalReason::Engine(reason) if is_wider || hides => Some(format!("{notice} {reason}")),
        ApprovalReason::Engine(reason) => Some((*reason).to_owned()),
        ApprovalReason::Rule(reason) if warns => Some(format!("{notice} {reason}")),
        ApprovalReason::Rule(reason) => Some(reason.clone()),
        ApprovalReason::Model if warns => Some(format!(
            "{notice} {}",
            justification_sentence(justification)
        )),
        ApprovalReason::Model => justification.map(visible_line),
    };
    QuestionTexts {
        notice: Some(notice),
        justification: justification.map(visible_line),
        reason,
    }
}

/// What is said about hidden files that a command would be let read.
fn hidden_in(command: &CommandEffect, turn_policy: &TurnPolicy) -> Option<String> {
    let read = grants_of(command.additional.as_ref()?, &turn_policy.cwd).read;
    turn_policy.hidden_in_permissions(&read)
}

fn hides_something(command: &CommandEffect) -> bool {
    command.argv.iter().any(|word| script_hides(word))
        || script_hides(&command.cwd.display().to_string())
}

fn confinement_sentence(
    command: &CommandEffect,
    request: &ApprovalRequest,
    turn_policy: &TurnPolicy,
) -> String {
    match (&request.then.confinement, &turn_policy.policy) {
        (_, ConfinementPolicy::DangerFullAccess) => NO_SANDBOX.to_owned(),
        (_, ConfinementPolicy::External { .. }) => OUTER_SANDBOX.to_owned(),
        (Confinement::None | Confinement::OfPerson, _) => {
            match turn_policy.network_problem_outside() {
                Some(_) => WITHOUT_SANDBOX_OFFLINE.to_owned(),
                None => WITHOUT_SANDBOX.to_owned(),
            }
        }
        (Confinement::Policy(_), _) => {
            let rights = wider_rights(command, turn_policy);
            let mut sentence = if rights.is_empty() {
                IN_SANDBOX.to_owned()
            } else {
                format!("This command runs in a wider sandbox: it may also {rights}.")
            };
            if let Some(hidden) = hidden_in(command, turn_policy) {
                sentence = format!("{sentence} {hidden}");
            }
            let runs_again = match turn_policy.approval {
                AskForApproval::OnFailure | AskForApproval::UnlessTrusted => true,
                AskForApproval::Granular(granular) => granular.sandbox_approval,
                AskForApproval::OnRequest | AskForApproval::Never => false,
            };
            if runs_again {
                sentence = format!("{sentence} {SECOND_RUN}");
            }
            sentence
        }
    }
}

/// What the command may do besides what the sandbox of its turn allows; empty if nothing.
fn wider_rights(command: &CommandEffect, turn_policy: &TurnPolicy) -> String {
    let asked = command.additional.as_ref();
    let asked = asked.map(|asked| rights(&grants_of(asked, &turn_policy.cwd)));
    asked.unwrap_or_default()
}

/// The size of a command that may not be seen as a whole.
fn size_sentence(argv: &[String]) -> Option<String> {
    let text = argv.join(" ");
    let lines = text.lines().count();
    let characters = length(&text);
    (text.chars().count() >= LONG_COMMAND).then(|| match lines {
        0 | 1 => format!("It has {characters}."),
        lines => format!("It has {characters} in {lines} lines."),
    })
}

fn justification_sentence(justification: Option<&str>) -> String {
    match justification {
        Some(text) => format!("The model's reason ({}): {}", length(text), quoted(text)),
        None => "The model gives no reason.".to_owned(),
    }
}

/// The texts for a patch.
pub fn patch_texts(
    patch: &PatchEffect,
    turn_policy: &TurnPolicy,
    grants: &Grants,
) -> QuestionTexts {
    let is_refused = |path: &&PathBuf| match &patch.elsewhere {
        Some(elsewhere) => elsewhere.outside.contains(path),
        None => !turn_policy.may_write(&[(*path).clone()], grants.clone()),
    };
    let refused: Vec<&PathBuf> = patch.touched.iter().filter(is_refused).collect();
    let own_folder = || {
        let cwd = codex_mounts::canonicalize(&turn_policy.cwd);
        cwd.unwrap_or_else(|_| turn_policy.cwd.clone())
    };
    let cwd = patch.elsewhere.is_none().then(own_folder);
    let outside: Vec<&Path> = (refused.iter())
        .filter(|path| cwd.as_ref().is_none_or(|cwd| !path.starts_with(cwd)))
        .map(|path| path.as_path())
        .collect();
    let mut warnings = Vec::new();
    if let Some(elsewhere) = patch.elsewhere.as_ref().filter(|_| !outside.is_empty()) {
        let machine = quoted(&elsewhere.machine);
        warnings.push(format!("This patch is made on the machine {machine}."));
    }
    if !outside.is_empty() {
        let paths = named_paths(&outside);
        warnings.push(format!(
            "This patch writes outside of the folders that the sandbox allows: {paths}."
        ));
    }
    let names = patch.changes.keys().map(Path::new);
    let odd: Vec<&Path> = names
        .chain(patch.touched.iter().map(PathBuf::as_path))
        .filter(|name| script_hides(&name.display().to_string()))
        .collect();
    if !odd.is_empty() {
        let names = named_paths(&odd);
        warnings.push(format!(
            "Names of files contain characters that do not show: {names}."
        ));
    }
    if patch.changes.values().any(hides_in_change) {
        warnings.push(HIDDEN_IN_PATCH.to_owned());
    }
    let reason = (!warnings.is_empty()).then(|| warnings.join(" "));
    let notice = reason.clone().unwrap_or_else(|| {
        let about = match turn_policy.policy {
            ConfinementPolicy::DangerFullAccess => NO_SANDBOX,
            ConfinementPolicy::External { .. } => OUTER_SANDBOX,
            _ if refused.is_empty() => "This patch writes where the sandbox allows it.",
            _ => "This patch writes in the working folder, where the sandbox allows no writing.",
        };
        about.to_owned()
    });
    QuestionTexts {
        notice: Some(notice),
        justification: None,
        reason,
    }
}

fn hides_in_change(change: &FileChange) -> bool {
    match change {
        FileChange::Add { content } | FileChange::Delete { content } => {
            has_format_characters(content)
        }
        FileChange::Update { unified_diff, .. } => has_format_characters(unified_diff),
    }
}

/// The texts for a request for permissions.
pub fn permissions_texts(
    permissions: &RequestPermissionProfile,
    reason: Option<&str>,
    turn_policy: &TurnPolicy,
) -> QuestionTexts {
    let profile = codex_protocol::PermissionProfile {
        network: permissions.network,
        file_system: permissions.file_system.clone(),
        macos: None,
    };
    let grants = grants_of(&profile, &turn_policy.cwd);
    let rights = rights(&grants);
    let mut notice = format!(
        "With these permissions, commands and patches that follow may {rights}, and nobody is asked again."
    );
    if let Some(hidden) = turn_policy.hidden_in_permissions(&grants.read) {
        notice = format!("{notice} {hidden}");
    }
    QuestionTexts {
        reason: Some(format!("{notice} {}", justification_sentence(reason))),
        justification: reason.map(visible_line),
        notice: Some(notice),
    }
}

/// What grants allow, as the end of a sentence.
fn rights(grants: &Grants) -> String {
    let paths = |paths: &[PathBuf]| {
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        named_paths(&paths)
    };
    let mut rights = Vec::new();
    if !grants.write.is_empty() {
        rights.push(format!("write to {}", paths(&grants.write)));
    }
    if !grants.read.is_empty() {
        rights.push(format!("read {}", paths(&grants.read)));
    }
    if grants.network {
        rights.push("use the network".to_owned());
    }
    rights.join(" and ")
}

fn named_paths(paths: &[&Path]) -> String {
    let named = paths.iter().take(NAMED_PATHS);
    let named: Vec<String> = named
        .map(|path| quoted(&path.display().to_string()))
        .collect();
    match paths.len().checked_sub(NAMED_PATHS) {
        Some(more) if more > 0 => format!("{} and {more} more", named.join(", ")),
        _ => named.join(", "),
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
