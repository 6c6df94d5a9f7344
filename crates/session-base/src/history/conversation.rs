//! The conversation of a thread. The session owns it while idle, the running task otherwise.

use std::collections::VecDeque;

use codex_protocol::{
    EventMsg, RateLimitSnapshot, RawResponseItemEvent, ResponseItem, RolloutItem, ThreadPin,
    TokenCountEvent, TokenUsage, TokenUsageInfo, TruncationPolicy, TurnContext,
};
use codex_rollout::LineKind;

use super::items::History;
use super::rebuild::rebuild;
use super::truncate::tokens_of;
use crate::events::Emitter;

/// How many responses can be returned to.
const MAX_RESPONSE_MARKS: usize = 1024;

/// What is remembered between turns.
#[derive(Debug, Default)]
pub struct Conversation {
    pub history: History,
    /// The context that the model has; none if it has to be sent again.
    pub reference: Option<TurnContext>,
    /// The model of the last turn.
    pub previous_model: Option<String>,
    pub usage: ThreadUsage,
    /// The ids of the apps that the user had mentioned when the thread was loaded.
    pub mentioned_apps: Vec<String>,
    /// What was pinned when the thread was loaded.
    pub pins: Vec<ThreadPin>,
    /// Whether all turns that the lines tell of had full access; none if they tell of none.
    pub had_full_access: Option<bool>,
    /// The length of the history after each of the latest responses.
    response_marks: VecDeque<(String, usize)>,
}

impl Conversation {
    /// Rebuilds the conversation from the lines of a rollout.
    pub fn rebuilt(lines: impl IntoIterator<Item = RolloutItem>, policy: TruncationPolicy) -> Self {
        let rebuilt = rebuild(lines, policy);
        Self {
            history: rebuilt.history,
            reference: rebuilt.reference,
            previous_model: rebuilt.previous_model,
            usage: ThreadUsage {
                info: rebuilt.tokens,
                ..ThreadUsage::default()
            },
            mentioned_apps: rebuilt.mentioned_apps,
            pins: rebuilt.pins,
            had_full_access: rebuilt.had_full_access,
            response_marks: VecDeque::new(),
        }
    }

    /// Records an item in the history and the rollout, and emits it if raw items are wanted.
    pub fn record(&mut self, item: ResponseItem, to: &Recorder<'_>) {
        let raw = to.raw_items.then(|| item.clone());
        let Some(json) = self.history.record(item, to.policy) else {
            return;
        };
        to.emitter.log_json(LineKind::ResponseItem, &json);
        if let Some(item) = raw {
            to.emitter.emit(
                to.turn,
                EventMsg::RawResponseItem(RawResponseItemEvent { item }),
            );
        }
    }

    /// Estimates the context from the history and these instructions, in place of the usage of the last
    /// response.
    pub fn estimate(&mut self, instructions: &str, window: Option<i64>) {
        let tokens = tokens_of(instructions.len()) + self.history.tokens();
        self.usage.estimate(tokens, window);
    }

    /// Becomes an earlier state of itself, but for the token usage.
    pub fn return_to_earlier(&mut self, earlier: Self) {
        let usage = std::mem::take(&mut self.usage);
        *self = Self { usage, ..earlier };
    }

    /// Drops the last messages of the user and what follows them.
    pub fn drop_user_turns(&mut self, turns: u32) {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        if self.history.roll_back(turns).lost_context {
            self.reference = None;
        }
    }

    /// Remembers the end of a response.
    pub fn mark_response(&mut self, response_id: &str) {
        if self.response_marks.len() == MAX_RESPONSE_MARKS {
            self.response_marks.pop_front();
        }
        self.response_marks
            .push_back((response_id.to_owned(), self.history.len()));
    }

    /// Goes back to the end of a response. Returns false if it is not known.
    pub fn return_to(&mut self, response_id: &str) -> bool {
        let Some(index) = self
            .response_marks
            .iter()
            .position(|(id, _)| id == response_id)
        else {
            return false;
        };
        self.history.truncate(self.response_marks[index].1);
        self.response_marks.truncate(index + 1);
        true
    }
}

/// The destinations of recorded items besides the history.
#[derive(Debug)]
pub struct Recorder<'a> {
    pub emitter: &'a Emitter,
    pub turn: &'a str,
    pub policy: TruncationPolicy,
    pub raw_items: bool,
}

/// The token usage and the rate limits.
#[derive(Debug, Default)]
pub struct ThreadUsage {
    pub info: Option<TokenUsageInfo>,
    pub limits: Option<RateLimitSnapshot>,
    /// The usage of the server includes past reasoning.
    pub reasoning_included: bool,
    /// What the first request since the start or the last compaction sent, in tokens.
    pub first_input: Option<i64>,
}

impl ThreadUsage {
    /// Adds the usage of a response.
    pub fn add(&mut self, used: TokenUsage, window: Option<i64>) {
        let info = self.info.get_or_insert_with(TokenUsageInfo::default);
        info.total_token_usage.add(&used);
        self.first_input.get_or_insert(used.input_tokens);
        info.last_token_usage = used;
        info.model_context_window = window;
    }

    /// Sets the size of the context to an estimate.
    fn estimate(&mut self, tokens: usize, window: Option<i64>) {
        self.first_input = None;
        let info = self.info.get_or_insert_with(TokenUsageInfo::default);
        let total_tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
        info.last_token_usage = TokenUsage {
            total_tokens,
            ..TokenUsage::default()
        };
        info.model_context_window = window;
    }

    /// Sets the context to the full window, so that it is compacted before the next request.
    pub fn fill(&mut self, window: i64) {
        let info = self.info.get_or_insert_with(TokenUsageInfo::default);
        let full = TokenUsage {
            total_tokens: window,
            ..TokenUsage::default()
        };
        info.last_token_usage = full;
        info.total_token_usage = full;
        info.model_context_window = Some(window);
    }

    /// The usage of the last response.
    pub fn last(&self) -> Option<&TokenUsage> {
        self.info.as_ref().map(|info| &info.last_token_usage)
    }

    /// Takes a newer snapshot of the rate limits. Missing values are kept.
    pub fn limit(&mut self, mut newer: RateLimitSnapshot) {
        let older = self.limits.take().unwrap_or_default();
        newer.limit_id = newer.limit_id.or_else(|| Some("codex".to_owned()));
        newer.credits = newer.credits.or(older.credits);
        newer.plan_type = newer.plan_type.or(older.plan_type);
        self.limits = Some(newer);
    }

    pub fn event(&self) -> EventMsg {
        let rate_limits = self.limits.clone();
        EventMsg::TokenCount(TokenCountEvent {
            info: self.info,
            rate_limits,
        })
    }

    /// The tokens of the last request and its response.
    pub fn last_total(&self) -> i64 {
        self.info
            .map_or(0, |info| info.last_token_usage.total_tokens)
    }
}
