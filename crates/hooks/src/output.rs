//! The meaning of what a run returned: its exit code, its output, its error output.

mod form;

use codex_protocol::{HookEventName, HookOutputEntry, HookOutputEntryKind, HookRunStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hook::OnError;
use form::{CommonOutput, OutputDecision, ParsedOutput};

/// The exit code of a hook that objects. The reason is in its error output.
const OBJECTS: i32 = 2;

/// The reason of an objection that came without one. Other releases take such an objection for none.
const NO_REASON: &str = "the hook gave no reason";

/// The output of a hook may have this many bytes. A run that writes more has failed.
pub const OUTPUT_LIMIT: usize = 1024 * 1024;

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The command ended.
    Exited(i32),
    /// The command was killed by a signal.
    Signalled,
    /// It took longer than this many seconds.
    TimedOut(u64),
    /// It wrote too much.
    TooMuchOutput,
    /// It could not be run, or was not waited for.
    NotRun(String),
}

/// What a run returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunResult {
    /// How it ended.
    pub end: RunEnd,
    /// The output.
    pub stdout: String,
    /// The error output.
    pub stderr: String,
}

impl RunResult {
    /// The end of a run that returned nothing.
    #[must_use]
    pub fn without_output(end: RunEnd) -> Self {
        Self {
            end,
            stdout: String::new(),
            stderr: String::new(),
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct HookOutcome {
    /// The status.
    pub status: HookRunStatus,
    /// What is shown to people.
    pub entries: Vec<HookOutputEntry>,
    /// What the engine has to do.
    pub effects: HookEffects,
}

/// What the engine has to do because of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookEffects {
    /// Additional context for the model.
    pub context: Option<String>,
    /// The reason for an objection, for the model.
    pub objection: Option<String>,
    /// Whether what the event is about should go no further.
    pub stops: bool,
    /// Arguments in place of those of the model.
    pub updated_input: Option<Value>,
    /// The answer to a request for permission.
    pub permission: Option<PermissionVerdict>,
}

/// The answer of a hook to a request for permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionVerdict {
    /// Allowed.
    Allow,
    /// Denied, with the reason.
    Deny(String),
}

/// Interprets what a run returned.
#[must_use]
pub fn interpret(event: HookEventName, on_error: OnError, result: &RunResult) -> HookOutcome {
    let mut outcome = OutcomeBuilder::new(event);
    if let Err(problem) = outcome.read(result) {
        outcome.fail(problem, on_error);
    }
    outcome.finish()
}

/// An outcome that is being worked out.
struct OutcomeBuilder {
    event: HookEventName,
    status: HookRunStatus,
    entries: Vec<HookOutputEntry>,
    effects: HookEffects,
}

impl OutcomeBuilder {
    fn new(event: HookEventName) -> Self {
        Self {
            event,
            status: HookRunStatus::Completed,
            entries: Vec::new(),
            effects: HookEffects::default(),
        }
    }

    fn finish(self) -> HookOutcome {
        HookOutcome {
            status: self.status,
            entries: self.entries,
            effects: self.effects,
        }
    }

    fn entry(&mut self, kind: HookOutputEntryKind, text: String) {
        self.entries.push(HookOutputEntry { kind, text });
    }

    /// Reads what a run returned; an error is why the run failed.
    fn read(&mut self, result: &RunResult) -> Result<(), String> {
        match &result.end {
            RunEnd::NotRun(problem) => Err(problem.clone()),
            RunEnd::Signalled => Err(self.signalled().to_owned()),
            RunEnd::TimedOut(seconds) => Err(format!("hook timed out after {seconds}s")),
            RunEnd::TooMuchOutput => Err(format!("hook wrote more than {OUTPUT_LIMIT} bytes")),
            RunEnd::Exited(code) if self.is_about_model() => {
                self.read_observer(*code, result.stderr.trim())
            }
            RunEnd::Exited(0) => self.read_output(result.stdout.trim()),
            RunEnd::Exited(code) => self.read_exit(*code, result.stderr.trim()),
        }
    }

    /// Whether the event is a request to the model. Nothing is decided about those.
    fn is_about_model(&self) -> bool {
        matches!(
            self.event,
            HookEventName::PreModelRequest | HookEventName::PostModelRequest
        )
    }

    /// Of a run that decides nothing, only the error output is told.
    fn read_observer(&mut self, code: i32, stderr: &str) -> Result<(), String> {
        if code != 0 {
            return Err(stderr.to_owned());
        }
        if !stderr.is_empty() {
            self.entry(HookOutputEntryKind::Error, stderr.to_owned());
        }
        Ok(())
    }

    fn signalled(&self) -> &'static str {
        match self.event {
            HookEventName::PreModelRequest | HookEventName::PostModelRequest => "",
            HookEventName::PreCompact | HookEventName::PostCompact | HookEventName::SessionEnd => {
                "hook process terminated without an exit code"
            }
            _ => "hook exited without a status code",
        }
    }

    fn read_exit(&mut self, code: i32, stderr: &str) -> Result<(), String> {
        match self.event {
            HookEventName::PostToolUse
            | HookEventName::Stop
            | HookEventName::SubagentStop
            | HookEventName::PreToolUse
            | HookEventName::UserPromptSubmit
            | HookEventName::PermissionRequest
                if code == OBJECTS =>
            {
                self.object(reason_of(Some(stderr.to_owned())));
                Ok(())
            }
            HookEventName::PreCompact | HookEventName::PostCompact | HookEventName::SessionEnd
                if !stderr.is_empty() =>
            {
                Err(stderr.to_owned())
            }
            _ => Err(format!("hook exited with code {code}")),
        }
    }

    fn read_output(&mut self, stdout: &str) -> Result<(), String> {
        let takes_text = matches!(
            self.event,
            HookEventName::SessionStart
                | HookEventName::UserPromptSubmit
                | HookEventName::SubagentStart
        );
        let must_be_json = matches!(
            self.event,
            HookEventName::Stop | HookEventName::SubagentStop
        );
        if stdout.is_empty() || self.event == HookEventName::SessionEnd {
            return Ok(());
        }
        let stdout = stdout.trim_start_matches('\u{feff}');
        let is_json = stdout.starts_with(['{', '[']);
        if self.event == HookEventName::Interrupt && !is_json {
            return Err(self.text("non-JSON stdout"));
        }
        if is_json || must_be_json {
            return match form::parse(self.event, stdout) {
                Some(parsed) => self.apply(parsed),
                None => self.read_misshapen(stdout).ok_or_else(|| self.invalid()),
            };
        }
        if self.read_misshapen(stdout).is_some() {
            return Ok(());
        }
        if takes_text {
            self.add_context(stdout.to_owned());
        }
        Ok(())
    }

    /// Reads an output that has not the form of its event. An objection to what has not happened yet counts all the same.
    fn read_misshapen(&mut self, stdout: &str) -> Option<()> {
        match self.event {
            HookEventName::PreToolUse | HookEventName::UserPromptSubmit => {}
            _ => return None,
        }
        let reason = form::objection_in(stdout)?;
        self.object(reason_of(Some(reason)));
        Some(())
    }

    fn apply(&mut self, output: ParsedOutput) -> Result<(), String> {
        if let Some(message) = output.common.system_message.clone() {
            self.entry(HookOutputEntryKind::Warning, message);
        }
        match self.event {
            HookEventName::PreToolUse => self.apply_pre_tool_use(output),
            HookEventName::PermissionRequest => self.apply_permission_request(output),
            HookEventName::PostToolUse => self.apply_post_tool_use(output),
            HookEventName::Stop | HookEventName::SubagentStop => self.apply_stop(output),
            _ => self.apply_general(output),
        }
    }

    fn apply_pre_tool_use(&mut self, output: ParsedOutput) -> Result<(), String> {
        let common = output.common;
        let specific = output.specific;
        // Nothing else that is wrong with an objection makes it none.
        let objection = match (specific.permission_decision, output.decision) {
            (Some(OutputDecision::Deny), _) => {
                Some(reason_of(specific.permission_decision_reason.clone()))
            }
            (_, Some(OutputDecision::Block)) => Some(reason_of(output.reason.clone())),
            _ => None,
        };
        if let Some(reason) = objection {
            if let Some(context) = specific.additional_context {
                self.add_context(context);
            }
            self.object(reason);
            return Ok(());
        }
        self.refuse_common(&common)?;
        let wants_allow = specific.permission_decision == Some(OutputDecision::Allow);
        if specific.updated_input.is_some() && !wants_allow {
            return Err(self.text("updatedInput without permissionDecision:allow"));
        }
        let has_stray_reason =
            specific.permission_decision.is_none() && specific.permission_decision_reason.is_some();
        if has_stray_reason {
            return Err(self.text("permissionDecisionReason without permissionDecision"));
        }
        match specific.permission_decision {
            Some(OutputDecision::Ask) => return Err(self.unsupported("permissionDecision:ask")),
            Some(OutputDecision::Allow) if specific.updated_input.is_none() => {
                return Err(self.unsupported("permissionDecision:allow"));
            }
            _ => {}
        }
        if output.decision.is_some() {
            return Err(self.unsupported("decision:approve"));
        }
        if output.reason.is_some() {
            return Err(self.text("reason without decision"));
        }
        if let Some(context) = specific.additional_context {
            self.add_context(context);
        }
        self.effects.updated_input = specific.updated_input;
        Ok(())
    }

    fn apply_permission_request(&mut self, output: ParsedOutput) -> Result<(), String> {
        self.refuse_common(&output.common)?;
        let Some(decision) = output.specific.decision else {
            return Ok(());
        };
        if decision.updated_input.is_some() {
            return Err(self.unsupported("updatedInput"));
        }
        if decision.updated_permissions.is_some() {
            return Err(self.unsupported("updatedPermissions"));
        }
        if decision.interrupt {
            return Err(self.unsupported("interrupt:true"));
        }
        match decision.behavior {
            OutputDecision::Allow => self.effects.permission = Some(PermissionVerdict::Allow),
            _ => {
                let default = || "PermissionRequest hook denied approval".to_owned();
                let reason = non_blank(decision.message).unwrap_or_else(default);
                self.object(reason);
            }
        }
        Ok(())
    }

    fn apply_post_tool_use(&mut self, output: ParsedOutput) -> Result<(), String> {
        if output.specific.updated_mcp_tool_output.is_some() {
            return Err(self.unsupported("updatedMCPToolOutput"));
        }
        if output.common.suppress_output {
            return Err(self.unsupported("suppressOutput"));
        }
        if !output.common.goes_on {
            let default = || "PostToolUse hook stopped execution".to_owned();
            let stop = output.common.stop_reason.unwrap_or_else(default);
            if let Some(context) = output.specific.additional_context {
                self.add_context(context);
            }
            let replacement = output.reason.unwrap_or_else(|| stop.clone());
            self.effects.objection = Some(replacement);
            self.entry(HookOutputEntryKind::Stop, stop);
            self.status = HookRunStatus::Stopped;
            return Ok(());
        }
        let reason = match output.decision {
            Some(_) => Some(reason_of(output.reason)),
            None if output.reason.is_some() => return Err(self.text("reason without decision")),
            None => None,
        };
        if let Some(context) = output.specific.additional_context {
            self.add_context(context);
        }
        if let Some(reason) = reason {
            self.object(reason);
        }
        Ok(())
    }

    fn apply_stop(&mut self, output: ParsedOutput) -> Result<(), String> {
        if !output.common.goes_on {
            self.stop(output.common.stop_reason);
        } else if output.decision.is_some() {
            self.object(reason_of(output.reason));
        }
        Ok(())
    }

    fn apply_general(&mut self, output: ParsedOutput) -> Result<(), String> {
        let objects = output.decision.is_some() && output.common.goes_on;
        let reason = objects.then(|| reason_of(output.reason));
        if let Some(context) = output.specific.additional_context {
            self.add_context(context);
        }
        if !output.common.goes_on {
            self.stop(output.common.stop_reason);
        } else if let Some(reason) = reason {
            self.object(reason);
        }
        Ok(())
    }

    /// Before a tool is used, nothing but that use can be decided about.
    fn refuse_common(&self, common: &CommonOutput) -> Result<(), String> {
        if !common.goes_on {
            return Err(self.unsupported("continue:false"));
        }
        if common.stop_reason.is_some() {
            return Err(self.unsupported("stopReason"));
        }
        if common.suppress_output {
            return Err(self.unsupported("suppressOutput"));
        }
        Ok(())
    }

    fn add_context(&mut self, context: String) {
        self.entry(HookOutputEntryKind::Context, context.clone());
        self.effects.context = Some(context);
    }

    fn object(&mut self, reason: String) {
        self.status = HookRunStatus::Blocked;
        self.entry(HookOutputEntryKind::Feedback, reason.clone());
        self.effect_of_objection(reason);
    }

    fn effect_of_objection(&mut self, reason: String) {
        if self.event == HookEventName::PermissionRequest {
            self.effects.permission = Some(PermissionVerdict::Deny(reason));
        } else {
            self.effects.objection = Some(reason);
        }
    }

    fn stop(&mut self, reason: Option<String>) {
        self.status = HookRunStatus::Stopped;
        let default = match self.event {
            HookEventName::PreCompact | HookEventName::PostCompact => {
                let event = self.event.pascal_case();
                Some(format!("{event} hook stopped execution"))
            }
            _ => None,
        };
        if let Some(reason) = reason.or(default) {
            self.entry(HookOutputEntryKind::Stop, reason);
        }
        self.effects.stops = true;
    }

    fn fail(&mut self, problem: String, on_error: OnError) {
        self.status = HookRunStatus::Failed;
        self.effects = HookEffects::default();
        if on_error == OnError::Block {
            match self.event {
                HookEventName::SessionStart
                | HookEventName::SubagentStart
                | HookEventName::PreCompact => {
                    self.status = HookRunStatus::Stopped;
                    self.effects.stops = true;
                }
                HookEventName::PreToolUse
                | HookEventName::PermissionRequest
                | HookEventName::PostToolUse
                | HookEventName::UserPromptSubmit
                | HookEventName::Stop
                | HookEventName::SubagentStop => {
                    self.status = HookRunStatus::Blocked;
                    self.effect_of_objection(format!("a required hook failed: {problem}"));
                }
                HookEventName::PreModelRequest
                | HookEventName::PostModelRequest
                | HookEventName::PostCompact
                | HookEventName::SessionEnd
                | HookEventName::Interrupt => {}
            }
        }
        if !problem.is_empty() {
            self.entry(HookOutputEntryKind::Error, problem);
        }
    }

    fn text(&self, what: &str) -> String {
        format!("{} hook returned {what}", self.event.pascal_case())
    }

    fn unsupported(&self, what: &str) -> String {
        self.text(&format!("unsupported {what}"))
    }

    fn invalid(&self) -> String {
        let event = match self.event {
            HookEventName::SessionStart => "session start",
            HookEventName::UserPromptSubmit => "user prompt submit",
            HookEventName::PreToolUse => "pre-tool-use",
            HookEventName::PermissionRequest => "permission-request",
            HookEventName::PostToolUse => "post-tool-use",
            HookEventName::Stop => "stop hook",
            HookEventName::SubagentStart => "subagent start",
            HookEventName::SubagentStop => "subagent stop hook",
            HookEventName::PreCompact => "PreCompact hook",
            HookEventName::PostCompact => "PostCompact hook",
            HookEventName::Interrupt => "interrupt hook",
            other => other.kebab_case(),
        };
        format!("hook returned invalid {event} JSON output")
    }
}

/// The reason of an objection.
fn reason_of(given: Option<String>) -> String {
    non_blank(given).unwrap_or_else(|| NO_REASON.to_owned())
}

/// The text, unless it is blank.
fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
