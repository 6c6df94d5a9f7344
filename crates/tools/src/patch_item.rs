//! The item of changed files: its approval, its begin and its end.

use std::collections::BTreeMap;
use std::path::Path;

use codex_apply_patch::{ChangeKind, PatchPlan, WrittenChange, written_changes};
use codex_gate::{Effect, PatchEffect, PatchElsewhere, Permit};
use codex_protocol::{
    EventMsg, FileChange, PatchApplyBeginEvent, PatchApplyEndEvent, PatchApplyStatus,
};
use codex_session_base::events::TurnEmitter;
use codex_session_base::gate::Denied;

use super::tool::{ToolContext, ToolFailure};

const DECLINED_MESSAGE: &str = "patch rejected by user";

/// Waits for the permit of a patch. The item of one that is declined begins and ends.
pub(super) async fn ask(
    context: &ToolContext,
    plan: &PatchPlan,
    changes: &BTreeMap<String, FileChange>,
    elsewhere: Option<PatchElsewhere>,
) -> Result<Permit, ToolFailure> {
    let effect = Effect::Patch(PatchEffect {
        changes: changes.clone(),
        touched: plan.touched_paths().map(Path::to_owned).collect(),
        elsewhere,
    });
    let (stderr, failure) = match context.gate().permit(effect).await {
        Ok(permit) => return Ok(permit),
        Err(Denied::Refused(reason) | Denied::Reviewed(reason)) => {
            return Err(ToolFailure::Model(reason));
        }
        Err(Denied::Declined | Denied::Cancelled) => (
            DECLINED_MESSAGE,
            ToolFailure::Model(DECLINED_MESSAGE.to_owned()),
        ),
        Err(Denied::Aborted) => ("", ToolFailure::Aborted),
    };
    let emitter = context.emitter.clone();
    let item = PatchItem::begin(emitter, &context.call.id, changes.clone(), false);
    item.end(PatchApplyStatus::Declined, String::new(), stderr.to_owned());
    Err(failure)
}

/// A file that a tool may write at its end. Clients are shown an item if a person was asked.
pub(super) struct PermittedPatch(Option<PatchItem>);

/// Waits for the permit of a file that is written later.
pub(super) async fn permit(
    context: &ToolContext,
    plan: &PatchPlan,
) -> Result<PermittedPatch, ToolFailure> {
    let changes = changes_of(plan);
    let permit = ask(context, plan, &changes, None).await?;
    let begin = || PatchItem::begin(context.emitter.clone(), &context.call.id, changes, false);
    Ok(PermittedPatch(permit.is_approved().then(begin)))
}

impl PermittedPatch {
    /// The file was written, or could not be.
    pub(super) fn end(self, is_written: bool) {
        let status = if is_written {
            PatchApplyStatus::Completed
        } else {
            PatchApplyStatus::Failed
        };
        if let Some(item) = self.0 {
            item.end(status, String::new(), String::new());
        }
    }
}

/// The changes as clients see them.
pub(super) fn changes_of(plan: &PatchPlan) -> BTreeMap<String, FileChange> {
    let change = |change: &codex_apply_patch::PatchChange| {
        let shown = match &change.kind {
            ChangeKind::Add { content } => FileChange::Add {
                content: content.clone(),
            },
            ChangeKind::Delete { content } => FileChange::Delete {
                content: content.clone(),
            },
            ChangeKind::Update {
                unified_diff,
                move_path,
            } => FileChange::Update {
                unified_diff: unified_diff.clone(),
                move_path: move_path.as_ref().map(|path| path.display().to_string()),
            },
        };
        (change.path.display().to_string(), shown)
    };
    plan.changes().iter().map(change).collect()
}

/// A change as a patch says it, whatever the file holds.
pub fn written_change(change: &WrittenChange) -> FileChange {
    match change.clone() {
        WrittenChange::Add(content) => FileChange::Add { content },
        WrittenChange::Delete => FileChange::Delete {
            content: String::new(),
        },
        WrittenChange::Update { lines, move_to } => FileChange::Update {
            unified_diff: lines,
            move_path: move_to,
        },
    }
}

/// A patch cannot be applied to the files that are there. In a thread whose history is paginated its item ends without having
/// begun, with the changes that it asks for. Returns the failure for the model.
pub(super) fn unfit(
    context: &ToolContext,
    patch: &str,
    cwd: &Path,
    problem: String,
) -> ToolFailure {
    if !context.session.config.identity.has_paginated_history {
        return ToolFailure::Model(problem);
    }
    let written = written_changes(&format!("{patch}\n"));
    let changes = written.iter().map(|(path, change)| {
        let path = cwd.join(path).display().to_string();
        (path, written_change(change))
    });
    let mut item = PatchItem {
        emitter: context.emitter.clone(),
        call_id: context.call.id.clone(),
        changes: changes.collect(),
        ended: false,
    };
    item.emit_end(PatchApplyStatus::Failed, String::new(), problem.clone());
    ToolFailure::Model(problem)
}

/// The item of a patch: begins once and ends once.
pub(super) struct PatchItem {
    emitter: TurnEmitter,
    call_id: String,
    changes: BTreeMap<String, FileChange>,
    ended: bool,
}

impl PatchItem {
    pub(super) fn begin(
        emitter: TurnEmitter,
        call_id: &str,
        changes: BTreeMap<String, FileChange>,
        auto_approved: bool,
    ) -> Self {
        emitter.emit(EventMsg::PatchApplyBegin(PatchApplyBeginEvent {
            call_id: call_id.to_owned(),
            turn_id: emitter.turn_id().to_owned(),
            auto_approved,
            changes: changes.clone(),
        }));
        Self {
            emitter,
            call_id: call_id.to_owned(),
            changes,
            ended: false,
        }
    }

    pub(super) fn end(mut self, status: PatchApplyStatus, stdout: String, stderr: String) {
        self.emit_end(status, stdout, stderr);
    }

    fn emit_end(&mut self, status: PatchApplyStatus, stdout: String, stderr: String) {
        self.ended = true;
        self.emitter
            .emit(EventMsg::PatchApplyEnd(PatchApplyEndEvent {
                call_id: self.call_id.clone(),
                turn_id: self.emitter.turn_id().to_owned(),
                stdout,
                stderr,
                success: status == PatchApplyStatus::Completed,
                changes: std::mem::take(&mut self.changes),
                status,
            }));
    }
}

impl Drop for PatchItem {
    fn drop(&mut self) {
        if !self.ended {
            self.emit_end(PatchApplyStatus::Failed, String::new(), String::new());
        }
    }
}
