//! The JSON that hooks print. Each event has a form of its own; unknown members are errors, so that a misspelt decision is
//! not taken for none.

use codex_protocol::HookEventName;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// This many places of a text are looked at for an objection.
const MAX_DOCUMENTS: usize = 64;

/// The output of a hook. What its event does not have is empty.
#[derive(Debug, Default)]
pub(super) struct ParsedOutput {
    pub(super) common: CommonOutput,
    pub(super) decision: Option<OutputDecision>,
    pub(super) reason: Option<String>,
    pub(super) specific: SpecificOutput,
}

/// What hooks of all events can say.
#[derive(Debug)]
pub(super) struct CommonOutput {
    pub(super) goes_on: bool,
    pub(super) stop_reason: Option<String>,
    pub(super) suppress_output: bool,
    pub(super) system_message: Option<String>,
}

impl Default for CommonOutput {
    fn default() -> Self {
        Self {
            goes_on: true,
            stop_reason: None,
            suppress_output: false,
            system_message: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputDecision {
    Approve,
    Block,
    Allow,
    Deny,
    Ask,
}

/// What is special about an event.
#[derive(Debug, Default)]
pub(super) struct SpecificOutput {
    pub(super) additional_context: Option<String>,
    pub(super) permission_decision: Option<OutputDecision>,
    pub(super) permission_decision_reason: Option<String>,
    pub(super) updated_input: Option<Value>,
    pub(super) updated_mcp_tool_output: Option<Value>,
    pub(super) decision: Option<PermissionDecision>,
}

/// The answer to a request for permission.
#[derive(Debug)]
pub(super) struct PermissionDecision {
    pub(super) behavior: OutputDecision,
    pub(super) message: Option<String>,
    pub(super) updated_input: Option<Value>,
    pub(super) updated_permissions: Option<Value>,
    pub(super) interrupt: bool,
}

/// Reads the output for an event; nothing if it has another form.
pub(super) fn parse(event: HookEventName, text: &str) -> Option<ParsedOutput> {
    match event {
        HookEventName::PreToolUse => read::<PreToolUse>(text).map(ParsedOutput::from),
        HookEventName::PermissionRequest => read::<PermissionRequest>(text).map(ParsedOutput::from),
        HookEventName::PostToolUse => read::<PostToolUse>(text).map(ParsedOutput::from),
        HookEventName::UserPromptSubmit => read::<Prompt>(text).map(ParsedOutput::from),
        HookEventName::SessionStart | HookEventName::SubagentStart => {
            read::<Start>(text).map(ParsedOutput::from)
        }
        HookEventName::Stop | HookEventName::SubagentStop => {
            read::<Stop>(text).map(ParsedOutput::from)
        }
        HookEventName::Interrupt => read::<Notice>(text).map(ParsedOutput::from),
        _ => read::<Plain>(text).map(ParsedOutput::from),
    }
}

/// The reason of an objection in JSON of any form, behind other text too. It may be empty.
pub(super) fn objection_in(text: &str) -> Option<String> {
    let lines = text.match_indices('{').filter(|(at, _)| {
        let before = text[..*at].rsplit('\n').next().unwrap_or_default();
        before.trim().is_empty()
    });
    lines.take(MAX_DOCUMENTS).find_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let specific = &value["hookSpecificOutput"];
        let objects = |value: &Value| {
            let word = value.as_str().unwrap_or_default();
            ["block", "deny"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known))
        };
        let is_objection = objects(&value["decision"]) || objects(&specific["permissionDecision"]);
        is_objection.then(|| {
            let reason = value["reason"].as_str();
            let reason = reason.or_else(|| specific["permissionDecisionReason"].as_str());
            reason.unwrap_or_default().to_owned()
        })
    })
}

/// What is said when nothing can be decided any more.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Notice {
    #[serde(default, rename = "systemMessage")]
    system_message: Option<String>,
}

impl From<Notice> for ParsedOutput {
    fn from(notice: Notice) -> Self {
        Self {
            common: CommonOutput {
                system_message: notice.system_message,
                ..CommonOutput::default()
            },
            ..Self::default()
        }
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
    // A structure would be read from an array too.
    text.starts_with('{')
        .then(|| serde_json::from_str(text).ok())
        .flatten()
}

/// Declares the form of an event: the members that all have, and its own.
macro_rules! forms {
    ($($name:ident { $($member:ident $key:literal: $kind:ty),* })*) => { $(
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            #[serde(default = "goes_on", rename = "continue")]
            goes_on: bool,
            #[serde(default, rename = "stopReason")]
            stop_reason: Option<String>,
            #[serde(default, rename = "suppressOutput")]
            suppress_output: bool,
            #[serde(default, rename = "systemMessage")]
            system_message: Option<String>,
            $(#[serde(default, rename = $key)] $member: $kind,)*
        }

        impl $name {
            fn common(&mut self) -> CommonOutput {
                CommonOutput {
                    goes_on: self.goes_on,
                    stop_reason: self.stop_reason.take(),
                    suppress_output: self.suppress_output,
                    system_message: self.system_message.take(),
                }
            }
        }
    )* };
}

forms! {
    PreToolUse {
        decision "decision": Option<ApproveOrBlock>,
        reason "reason": Option<String>,
        specific "hookSpecificOutput": Option<PreToolUseSpecific>
    }
    PermissionRequest {
        specific "hookSpecificOutput": Option<PermissionSpecific>
    }
    PostToolUse {
        decision "decision": Option<Block>,
        reason "reason": Option<String>,
        specific "hookSpecificOutput": Option<PostToolUseSpecific>
    }
    Prompt {
        decision "decision": Option<Block>,
        reason "reason": Option<String>,
        specific "hookSpecificOutput": Option<ContextSpecific>
    }
    Start { specific "hookSpecificOutput": Option<ContextSpecific> }
    Stop {
        decision "decision": Option<Block>,
        reason "reason": Option<String>
    }
    Plain {}
}

fn goes_on() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Block {
    Block,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ApproveOrBlock {
    Approve,
    Block,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AllowOrDeny {
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AllowDenyOrAsk {
    Allow,
    Deny,
    Ask,
}

/// Must be there and name an event; which one does not matter.
struct EventNamed;

impl<'de> Deserialize<'de> for EventNamed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let is_event = |event: &HookEventName| event.pascal_case() == name;
        if HookEventName::ALL.iter().any(is_event) {
            return Ok(Self);
        }
        Err(serde::de::Error::custom("not an event"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PreToolUseSpecific {
    #[serde(rename = "hookEventName")]
    _event: EventNamed,
    #[serde(default)]
    permission_decision: Option<AllowDenyOrAsk>,
    #[serde(default)]
    permission_decision_reason: Option<String>,
    #[serde(default)]
    updated_input: Option<Value>,
    #[serde(default)]
    additional_context: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PostToolUseSpecific {
    #[serde(rename = "hookEventName")]
    _event: EventNamed,
    #[serde(default)]
    additional_context: Option<String>,
    #[serde(default, rename = "updatedMCPToolOutput")]
    updated_mcp_tool_output: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ContextSpecific {
    #[serde(rename = "hookEventName")]
    _event: EventNamed,
    #[serde(default)]
    additional_context: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PermissionSpecific {
    #[serde(rename = "hookEventName")]
    _event: EventNamed,
    #[serde(default)]
    decision: Option<PermissionForm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PermissionForm {
    behavior: AllowOrDeny,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    updated_input: Option<Value>,
    #[serde(default)]
    updated_permissions: Option<Value>,
    #[serde(default)]
    interrupt: bool,
}

impl From<PreToolUse> for ParsedOutput {
    fn from(mut form: PreToolUse) -> Self {
        let common = form.common();
        let specific = form.specific.map(|specific| SpecificOutput {
            additional_context: specific.additional_context,
            permission_decision: specific.permission_decision.map(|decision| match decision {
                AllowDenyOrAsk::Allow => OutputDecision::Allow,
                AllowDenyOrAsk::Deny => OutputDecision::Deny,
                AllowDenyOrAsk::Ask => OutputDecision::Ask,
            }),
            permission_decision_reason: specific.permission_decision_reason,
            updated_input: specific.updated_input,
            ..SpecificOutput::default()
        });
        Self {
            common,
            decision: form.decision.map(|decision| match decision {
                ApproveOrBlock::Approve => OutputDecision::Approve,
                ApproveOrBlock::Block => OutputDecision::Block,
            }),
            reason: form.reason,
            specific: specific.unwrap_or_default(),
        }
    }
}

impl From<PermissionRequest> for ParsedOutput {
    fn from(mut form: PermissionRequest) -> Self {
        let common = form.common();
        let decision = form.specific.and_then(|specific| specific.decision);
        let decision = decision.map(|form| PermissionDecision {
            behavior: match form.behavior {
                AllowOrDeny::Allow => OutputDecision::Allow,
                AllowOrDeny::Deny => OutputDecision::Deny,
            },
            message: form.message,
            updated_input: form.updated_input,
            updated_permissions: form.updated_permissions,
            interrupt: form.interrupt,
        });
        Self {
            common,
            specific: SpecificOutput {
                decision,
                ..SpecificOutput::default()
            },
            ..Self::default()
        }
    }
}

impl From<PostToolUse> for ParsedOutput {
    fn from(mut form: PostToolUse) -> Self {
        let common = form.common();
        let specific = form.specific.map(|specific| SpecificOutput {
            additional_context: specific.additional_context,
            updated_mcp_tool_output: specific.updated_mcp_tool_output,
            ..SpecificOutput::default()
        });
        Self {
            common,
            decision: form.decision.map(|Block::Block| OutputDecision::Block),
            reason: form.reason,
            specific: specific.unwrap_or_default(),
        }
    }
}

impl From<ContextSpecific> for SpecificOutput {
    fn from(specific: ContextSpecific) -> Self {
        Self {
            additional_context: specific.additional_context,
            ..Self::default()
        }
    }
}

impl From<Prompt> for ParsedOutput {
    fn from(mut form: Prompt) -> Self {
        Self {
            common: form.common(),
            decision: form.decision.map(|Block::Block| OutputDecision::Block),
            reason: form.reason,
            specific: form.specific.map(Into::into).unwrap_or_default(),
        }
    }
}

impl From<Start> for ParsedOutput {
    fn from(mut form: Start) -> Self {
        Self {
            common: form.common(),
            specific: form.specific.map(Into::into).unwrap_or_default(),
            ..Self::default()
        }
    }
}

impl From<Stop> for ParsedOutput {
    fn from(mut form: Stop) -> Self {
        Self {
            common: form.common(),
            decision: form.decision.map(|Block::Block| OutputDecision::Block),
            reason: form.reason,
            ..Self::default()
        }
    }
}

impl From<Plain> for ParsedOutput {
    fn from(mut form: Plain) -> Self {
        Self {
            common: form.common(),
            ..Self::default()
        }
    }
}
