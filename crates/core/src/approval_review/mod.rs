//! Automatic review of approvals: a hidden agent judges the risk of an action in place of a person.
//!
//! The reviewer is a thread of its own, without a file, that may read and do nothing else. It gets our risk policy as its
//! instructions, and the transcript and the action as data ([`question`]). Whatever it does not answer in time and in
//! the form that was asked for is a denial ([`verdict`]).

mod action;
mod question;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use codex_model_client::ModelInfo;
use codex_protocol::{
    AskForApproval, EventMsg, ModeKind, ReadOnlyAccess, ReasoningEffort, SandboxPolicy,
    SessionSource, SubAgentSource, ThreadSettingsPatch, UsageLimits, UserInput,
};
use tokio_util::sync::DropGuard;

pub(crate) use action::Action;
pub(crate) use question::question;

use crate::config::{Features, MessageHistory, SessionConfig, WebSearch};
use crate::gate::Assessment;
use crate::input::TurnInput;
use crate::ports::Clock;
use crate::thread::{NewTurn, StartedThread};
use crate::turn_settings::TurnSettings;

const POLICY: &str = include_str!("../../prompts/approval_review.md").trim_ascii_end();
const TIME_LIMIT: Duration = Duration::from_secs(90);
/// The label of the reviewer for providers and traces.
const LABEL: &str = "guardian";

/// The configuration of a reviewer: it asks nobody, changes nothing, and starts nothing.
pub(crate) fn config_of_reviewer(config: &SessionConfig, turn: &TurnSettings) -> SessionConfig {
    let mut settings = config.settings.clone();
    settings.model.clone_from(&turn.model.slug);
    settings.effort = effort(&turn.model);
    settings.cwd.clone_from(&turn.cwd);
    (settings.mode, settings.mode_instructions) = (ModeKind::Default, None);
    settings.approval_policy = AskForApproval::Never;
    settings.permission_profile = None;
    settings.sandbox_policy = SandboxPolicy::ReadOnly {
        access: ReadOnlyAccess::FullAccess,
        network_access: false,
    };
    SessionConfig {
        base_instructions: Some(POLICY.to_owned()),
        environment: Arc::clone(&config.environment),
        engine_files: Arc::clone(&config.engine_files),
        shell: config.shell.clone(),
        context_window: config.context_window,
        stream_max_retries: config.stream_max_retries,
        originator: config.originator.clone(),
        version: config.version.clone(),
        verbosity: config.verbosity,
        source: SessionSource::SubAgent(SubAgentSource::Other(LABEL.to_owned())),
        web_search: WebSearch::default(),
        features: Features::default(),
        message_history: MessageHistory {
            keep: false,
            max_bytes: None,
        },
        ephemeral: true,
        settings,
        ..SessionConfig::new(&config.home, &turn.cwd, &turn.model.slug)
    }
}

/// A low effort, if the model knows one: a review holds the turn up.
fn effort(model: &ModelInfo) -> Option<ReasoningEffort> {
    let levels = &model.supported_reasoning_levels;
    let low = levels
        .iter()
        .find(|level| level.effort == ReasoningEffort::Low);
    low.map(|level| level.effort.clone())
}

/// Lets a reviewer answer. It ends with the returned future.
pub(crate) async fn judge(
    reviewer: StartedThread,
    ends_with_this: DropGuard,
    turn: String,
    question: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Assessment {
    let answer = tokio::select! {
        answer = answer(reviewer, turn, question) => answer,
        () = clock.sleep(TIME_LIMIT) => {
            let text = "Automatic approval review timed out while evaluating the requested approval.";
            return Assessment::failed(text);
        }
    };
    drop(ends_with_this);
    match answer.and_then(|text| verdict::read(&text)) {
        Ok(assessment) => assessment,
        Err(reason) => Assessment::failed(format!("Automatic approval review failed: {reason}")),
    }
}

/// The last message of the reviewer.
async fn answer(
    reviewer: StartedThread,
    turn: String,
    question: Vec<String>,
) -> Result<String, String> {
    let StartedThread {
        thread, mut events, ..
    } = reviewer;
    let texts = question.into_iter().map(|text| UserInput::Text {
        text,
        text_elements: Vec::new(),
    });
    let turn = NewTurn {
        id: turn,
        root_turn_id: None,
        settings: ThreadSettingsPatch::default(),
        context: Vec::new(),
        input: TurnInput::from(texts.collect::<Vec<_>>()),
        output_schema: Some(verdict::schema()),
        limits: UsageLimits::default(),
        service_tier: None,
        ..NewTurn::default()
    };
    let started = thread.start_turn(turn).await;
    started.map_err(|error| error.to_string())?;
    let mut failure = None;
    while let Some(event) = events.next().await {
        match event.msg {
            EventMsg::Error(error) => failure = Some(error.message),
            EventMsg::TurnComplete(ended) => {
                let nothing = || failure.unwrap_or_else(|| "there is no answer".to_owned());
                return ended.last_agent_message.ok_or_else(nothing);
            }
            EventMsg::TurnAborted(_) => break,
            _ => {}
        }
    }
    Err(failure.unwrap_or_else(|| "the reviewer was stopped".to_owned()))
}
