//! Tools that run for real, in a copy of the working folder.
//!
//! The copy has another path, so the recorded path is replaced in responses and inputs, and replaced back in requests before
//! they are compared. Approvals are given when they are asked for, as they were given in the recorded session.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use codex_core::{Processes, SessionInput, Thread};
use codex_protocol::{EventMsg, Op, ReviewDecision};
use parking_lot::Mutex;

use crate::script::{Script, ScriptedInput};
use crate::timeline::Milestone;

/// The tools that run. All others answer as recorded: they need servers, clients or people.
const TOOLS: [&str; 8] = [
    "exec_command",
    "write_stdin",
    "shell",
    "shell_command",
    "local_shell",
    "apply_patch",
    "update_plan",
    "view_image",
];

/// What live tools need.
#[derive(Debug, Clone)]
pub struct LiveTools {
    /// Starts commands.
    pub processes: Arc<dyn Processes>,
    /// The environment of commands.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The copy of the working folder.
    pub folder: PathBuf,
}

pub(crate) fn runs(tool: &str) -> bool {
    TOOLS.contains(&tool)
}

/// The recorded path and the path of the copy.
#[derive(Debug)]
pub(crate) struct CopiedFolder {
    pub(crate) recorded: String,
    pub(crate) copy: String,
}

impl CopiedFolder {
    /// JSON of the recorded session with the path of the copy.
    pub(crate) fn to_copy(&self, json: &[u8]) -> Vec<u8> {
        replace(json, &self.recorded, &self.copy)
    }

    /// JSON of the replay with the recorded path.
    pub(crate) fn to_recorded(&self, json: &[u8]) -> Vec<u8> {
        replace(json, &self.copy, &self.recorded)
    }
}

/// Puts the path of the copy into the inputs of a session, and takes the answers to approvals out of them.
pub(crate) fn use_folder(script: &mut Script, folder: &CopiedFolder) -> RecordedAnswers {
    let mut inputs: Vec<ScriptedInput> = std::mem::take(&mut script.inputs).into();
    for input in &inputs {
        // Live tools take their time, so inputs are not waited for.
        script.milestones.remove(&Milestone::event(input.at.seq));
    }
    let answers = RecordedAnswers::take_from(&mut inputs);
    for input in &mut inputs {
        let json = serde_json::to_vec(&input.input).unwrap_or_default();
        if let Ok(moved) = serde_json::from_slice(&folder.to_copy(&json)) {
            input.input = moved;
        }
    }
    script.inputs = inputs.into();
    answers
}

fn replace(json: &[u8], from: &str, to: &str) -> Vec<u8> {
    String::from_utf8_lossy(json).replace(from, to).into_bytes()
}

/// The recorded answers to approvals, by what was asked.
#[derive(Debug, Default)]
pub(crate) struct RecordedAnswers(Mutex<HashMap<String, Op>>);

impl RecordedAnswers {
    /// Takes the answers out of the inputs.
    fn take_from(inputs: &mut Vec<ScriptedInput>) -> Self {
        let mut answers = HashMap::new();
        inputs.retain(|input| match answer_of(&input.input) {
            Some((id, op)) => {
                answers.insert(id, op);
                false
            }
            None => true,
        });
        Self(Mutex::new(answers))
    }

    /// Answers a question of a thread. What nobody answered is refused.
    pub(crate) async fn answer(&self, thread: &Thread, event: &EventMsg) {
        let answer = match event {
            EventMsg::ExecApprovalRequest(request) => {
                let id = request.approval_id.as_ref().unwrap_or(&request.call_id);
                let recorded = self.0.lock().remove(id);
                recorded.unwrap_or_else(|| Op::ExecApproval {
                    id: id.clone(),
                    turn_id: None,
                    decision: ReviewDecision::Denied,
                })
            }
            EventMsg::ApplyPatchApprovalRequest(request) => {
                let id = &request.call_id;
                let recorded = self.0.lock().remove(id);
                recorded.unwrap_or_else(|| Op::PatchApproval {
                    id: id.clone(),
                    decision: ReviewDecision::Denied,
                })
            }
            _ => return,
        };
        let _ = thread.submit(answer).await;
    }
}

fn answer_of(input: &SessionInput) -> Option<(String, Op)> {
    let SessionInput::Submission(submission) = input else {
        return None;
    };
    match &submission.op {
        Op::ExecApproval { id, .. } | Op::PatchApproval { id, .. } => {
            Some((id.clone(), submission.op.clone()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_replaced_there_and_back() {
        let folder = CopiedFolder {
            recorded: "/work/app".into(),
            copy: "/tmp/x".into(),
        };
        let json = br#"{"cmd":"cat /work/app/a"}"#;
        assert_eq!(folder.to_copy(json), br#"{"cmd":"cat /tmp/x/a"}"#);
        assert_eq!(folder.to_recorded(&folder.to_copy(json)), json);
    }
}
