//! What the checks look at: commands with their folders and outputs, patches, messages, compactions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use codex_rollout_trace::format::{ExecutionStatus, PayloadKind};
use codex_rollout_trace::ids::{ItemId, ThreadId};
use codex_rollout_trace::model::{
    ConversationItem, ItemKind, OperationKind, Role, RolloutTrace, TerminalRequest,
};
use codex_rollout_trace::{BundlePayloads, Reduction};
use serde_json::Value;

use crate::timeline::typed_command;

/// Longer payloads are not read.
const MOST_BYTES: u64 = 4 << 20;

/// What happened in a session.
pub(super) struct SessionFacts<'t> {
    pub(super) trace: &'t RolloutTrace,
    /// In the order of their starts.
    pub(super) commands: Vec<CommandFacts>,
    pub(super) patches: Vec<PatchFacts>,
    /// What is known of each thread when it starts.
    pub(super) settings: HashMap<ThreadId, RecordedThreadSettings>,
}

/// A command that ran.
pub(super) struct CommandFacts {
    pub(super) call: String,
    pub(super) thread: ThreadId,
    pub(super) turn: Option<String>,
    pub(super) at: i64,
    pub(super) ended: i64,
    pub(super) text: String,
    /// Where it ran, after a `cd` at its beginning.
    pub(super) folder: PathBuf,
    pub(super) exit_code: Option<i32>,
    /// All that it printed, as far as it is recorded.
    pub(super) output: String,
    /// What the model saw of it.
    pub(super) shown: String,
}

/// Files that a patch changed.
pub(super) struct PatchFacts {
    pub(super) thread: ThreadId,
    pub(super) at: i64,
    pub(super) files: Vec<String>,
    pub(super) has_failed: bool,
}

impl PatchFacts {
    /// Whether it is about a file of this name.
    pub(super) fn is_about(&self, name: &str) -> bool {
        let mut files = self.files.iter();
        files.any(|path| path.rsplit('/').next() == Some(name))
    }
}

/// The settings of a thread.
pub(super) struct RecordedThreadSettings {
    pub(super) cwd: Option<PathBuf>,
    /// Whether commands are confined.
    pub(super) is_confined: bool,
}

impl<'t> SessionFacts<'t> {
    pub(super) fn from_reduction(reduction: &'t Reduction, bundle: &Path) -> Self {
        let trace = &reduction.trace;
        let payloads = BundlePayloads::in_bundle(bundle);
        let json = |id: &codex_rollout_trace::ids::PayloadId| -> Option<Value> {
            let payload = trace.raw_payloads.get(id)?;
            let (bytes, is_cut) = payloads.read(payload, MOST_BYTES).ok()?;
            (!is_cut).then(|| serde_json::from_slice(&bytes).ok())?
        };
        let metadata = trace.raw_payloads.values();
        let metadata = metadata.filter(|payload| payload.kind == PayloadKind::SessionMetadata);
        let settings = metadata
            .filter_map(|payload| json(&payload.raw_payload_id))
            .filter_map(|value| {
                Some((
                    ThreadId::from(value["thread_id"].as_str()?),
                    thread_of(&value),
                ))
            })
            .collect();
        let mut facts = Self {
            trace,
            commands: Vec::new(),
            patches: Vec::new(),
            settings,
        };
        facts.add_commands();
        for call in trace.tool_calls.values() {
            let invocation = call.raw_invocation_payload_id.as_ref().and_then(json);
            let Some(invocation) = invocation.filter(|value| value["tool_name"] == "apply_patch")
            else {
                continue;
            };
            let payload = &invocation["payload"];
            let text = [&payload["input"], &payload["arguments"]];
            let text = text.into_iter().find_map(Value::as_str).unwrap_or_default();
            facts.patches.push(PatchFacts {
                thread: call.thread_id.clone(),
                at: call.execution.started_at_unix_ms,
                files: patched_files(text),
                has_failed: call.execution.status == ExecutionStatus::Failed,
            });
        }
        facts
    }

    fn add_commands(&mut self) {
        let trace = self.trace;
        for operation in trace.terminal_operations.values() {
            let TerminalRequest::ExecCommand {
                display_command,
                command,
                cwd,
                ..
            } = &operation.request
            else {
                continue;
            };
            if operation.kind != OperationKind::ExecCommand {
                continue;
            }
            let Some(call) = trace.tool_calls.get(&operation.tool_call_id) else {
                continue;
            };
            let text = typed_command(command, display_command).to_owned();
            let result = operation.result.as_ref();
            let output = result.map(|result| {
                let (out, err) = (result.stdout.shown(), result.stderr.shown());
                format!("{out}{err}")
            });
            let outputs = call.model_visible_output_item_ids.iter();
            let shown: Vec<String> = outputs.filter_map(|id| self.text_of(*id)).collect();
            self.commands.push(CommandFacts {
                call: call.tool_call_id.to_string(),
                thread: call.thread_id.clone(),
                turn: call
                    .started_by_codex_turn_id
                    .as_ref()
                    .map(ToString::to_string),
                at: operation.execution.started_at_unix_ms,
                ended: operation.execution.ended_at_unix_ms.unwrap_or(i64::MAX),
                folder: folder_of(&text, Path::new(cwd)),
                text,
                exit_code: result.and_then(|result| result.exit_code),
                output: output.unwrap_or_default(),
                shown: shown.join("\n"),
            });
        }
        self.commands.sort_by_key(|command| command.at);
    }

    pub(super) fn text_of(&self, item: ItemId) -> Option<String> {
        Some(self.trace.conversation_items.get(&item)?.body.shown())
    }

    pub(super) fn agent(&self, thread: &ThreadId) -> String {
        let thread = self.trace.threads.get(thread);
        thread.map_or_else(|| "/root".to_owned(), |thread| thread.agent_path.clone())
    }

    /// The agent of a turn; the root if the turn is not known.
    pub(super) fn agent_of_turn(&self, turn: Option<&str>) -> String {
        let turn = turn.and_then(|id| self.trace.codex_turns.get(id));
        turn.map_or_else(|| "/root".to_owned(), |turn| self.agent(&turn.thread_id))
    }

    /// What people said to a thread and to the root.
    pub(super) fn user_message_texts(&self) -> String {
        let items = self.trace.conversation_items.values();
        let said = items.filter(|item| item.role == Role::User && item.kind == ItemKind::Message);
        said.map(|item| item.body.shown())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The messages of the model of a thread, in the order of time.
    pub(super) fn answers(&self, thread: &ThreadId) -> Vec<&ConversationItem> {
        let items = self.trace.conversation_items.values();
        let mut answers: Vec<_> = items
            .filter(|item| {
                item.thread_id == *thread
                    && item.role == Role::Assistant
                    && item.kind == ItemKind::Message
            })
            .collect();
        answers.sort_by_key(|item| item.first_seen_at_unix_ms);
        answers
    }
}

fn thread_of(metadata: &Value) -> RecordedThreadSettings {
    let policy = &metadata["sandbox_policy"];
    let name = policy["type"].as_str().or_else(|| policy.as_str());
    RecordedThreadSettings {
        cwd: metadata["cwd"].as_str().map(PathBuf::from),
        is_confined: name
            .is_some_and(|name| !name.contains("danger") && !name.contains("external")),
    }
}

/// The folder in which the rest of a command runs that begins with `cd`.
fn folder_of(text: &str, cwd: &Path) -> PathBuf {
    let Some(rest) = text.trim_start().strip_prefix("cd ") else {
        return cwd.to_owned();
    };
    let end = rest.find(['&', ';', '\n']).unwrap_or(rest.len());
    let folder = rest[..end].trim().trim_matches(['"', '\'']);
    if folder.is_empty() || folder.contains(['$', '`', '*']) {
        return cwd.to_owned();
    }
    let mut joined = PathBuf::new();
    for part in cwd.join(folder).components() {
        match part {
            std::path::Component::ParentDir => {
                joined.pop();
            }
            std::path::Component::CurDir => {}
            part => joined.push(part),
        }
    }
    joined
}

fn patched_files(patch: &str) -> Vec<String> {
    // In a function call the patch is JSON in a string.
    let patch = patch.replace("\\n", "\n");
    let lines = patch.lines().filter_map(|line| {
        let line = line.split_once("*** ").map_or(line, |(_, line)| line);
        let heads = ["Update File: ", "Add File: ", "Delete File: ", "Move to: "];
        heads.iter().find_map(|head| line.strip_prefix(head))
    });
    lines
        .map(|file| file.trim().trim_end_matches('"').to_owned())
        .collect()
}
