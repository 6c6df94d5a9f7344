//! The model as the engine sees it: a request in, a stream of typed events out.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use codex_model_client::{AttemptObserver, Encoded, Prompt, ToolSpec, TurnState};
use codex_protocol::{
    CodexErrorInfo, Personality, RateLimitSnapshot, ReasoningEffort, ReasoningSummary,
    ResponseItem, ServiceTier, ThreadId, TokenUsage, TruncationMode, TruncationPolicy, Verbosity,
};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::Value;

/// A model, or rather a provider of models.
pub trait Model: Debug + Send + Sync {
    /// What is known about a model. Answers something usable for any name.
    fn info(&self, name: &str) -> Arc<ModelInfo>;

    /// The models that can be asked for by name; empty if nobody knows.
    fn choices(&self) -> Vec<ModelChoice> {
        Vec::new()
    }

    /// Sends a request and answers its stream. Dropping either gives the request up.
    fn stream(&self, request: ModelRequest) -> BoxFuture<'static, Result<ModelStream, ModelError>>;

    /// Whether the provider can compact a conversation itself.
    fn compacts(&self) -> bool {
        false
    }

    /// Lets the provider compact the conversation of a request. Only where [`Model::compacts`].
    fn compact(
        &self,
        _request: ModelRequest,
    ) -> BoxFuture<'static, Result<Vec<ResponseItem>, ModelError>> {
        Box::pin(std::future::ready(Err(ModelError::cut_off())))
    }
}

/// A model that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// Its name.
    pub slug: String,
    /// What it is good for; none for models that are not offered to people.
    pub description: Option<String>,
    /// How hard it reasons unless told.
    pub default_effort: Option<ReasoningEffort>,
    /// How hard it can reason.
    pub efforts: Vec<ReasoningEffort>,
}

/// What comes back.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A request.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The thread, which is also the key of the provider's prompt cache.
    pub thread_id: ThreadId,
    /// The turn.
    pub turn_id: Arc<str>,
    /// The name of the model.
    pub model: Arc<ModelInfo>,
    /// The base instructions.
    pub instructions: Arc<str>,
    /// The conversation, item by item.
    pub input: Prompt,
    /// The tools.
    pub tools: Encoded<Vec<ToolSpec>>,
    /// Whether the model may make several calls at once.
    pub parallel_tool_calls: bool,
    /// How to reason; none if the model cannot be told.
    pub reasoning: Option<ReasoningRequest>,
    /// The service tier.
    pub service_tier: Option<ServiceTier>,
    /// How much to write.
    pub verbosity: Option<Verbosity>,
    /// The JSON Schema of the answer.
    pub output_schema: Option<Arc<Value>>,
    /// Where the provider wants the requests of this turn; shared by all of them.
    pub turn_state: TurnState,
    /// Who wants to know of each time the request is sent.
    pub observer: Option<Arc<dyn AttemptObserver>>,
    /// What kind of helper of the thread asks, if one does.
    pub subagent: Option<String>,
}

/// How to reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasoningRequest {
    /// How hard.
    pub effort: Option<ReasoningEffort>,
    /// How to summarise it.
    pub summary: ReasoningSummary,
}

/// What a model's server says.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// Which model answers.
    ServerModel(String),
    /// Where the account stands.
    RateLimits(RateLimitSnapshot),
    /// The server counts past reasoning itself.
    ReasoningIncluded,
    /// An item begins.
    ItemAdded(ResponseItem),
    /// An item is complete.
    ItemDone(ResponseItem),
    /// Text of the message that began last.
    TextDelta(String),
    /// A part of the summary of the reasoning begins.
    SummaryPartAdded {
        /// Which part.
        index: i64,
    },
    /// Text of the summary.
    SummaryDelta {
        /// Which part.
        index: i64,
        /// The text.
        delta: String,
    },
    /// Text of the reasoning itself.
    ReasoningDelta {
        /// Which part.
        index: i64,
        /// The text.
        delta: String,
    },
    /// The response is complete; nothing follows.
    Completed {
        /// The id of the response.
        response_id: String,
        /// What it used.
        usage: Option<TokenUsage>,
    },
}

/// Whether to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It would fail again.
    Never,
    /// After a delay of the engine's choice.
    Soon,
    /// After a delay of the server's choice.
    After(Duration),
}

/// Why there is no response, or only a part of one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What to tell people.
    pub message: String,
    /// What kind of failure it is.
    pub info: CodexErrorInfo,
    /// Whether to try again.
    pub retry: Retry,
    /// The status of the reply, if there was one.
    pub http_status: Option<u16>,
    /// The server found an image in the request that is none.
    pub invalid_image: bool,
}

/// The shell tool that suits a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShellKind {
    /// A program and its arguments.
    #[default]
    Argv,
    /// A script.
    Script,
    /// Sessions that go on.
    Unified,
    /// The provider's own.
    Local,
    /// None.
    Disabled,
}

/// The patch tool that suits a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchTool {
    /// None.
    #[default]
    None,
    /// Free text under a grammar.
    Freeform,
    /// A function.
    Function,
}

/// Instructions made for a model.
#[derive(Clone, Debug, PartialEq)]
pub enum BaseInstructions {
    /// The same whatever the personality is.
    Fixed(Arc<str>),
    /// With places for the text of the personality.
    Template {
        /// The instructions.
        template: Arc<str>,
        /// The text when no personality is set.
        unset: Option<Arc<str>>,
    },
}

/// The place of the personality in a template.
const PERSONALITY_PLACE: &str = "{{ personality }}";

/// What is known about a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// Its name.
    pub slug: String,
    /// Whether this is only a guess, because the model is not known.
    pub is_guess: bool,
    /// Instructions made for it.
    pub base_instructions: Option<BaseInstructions>,
    /// How it is told to be friendly.
    pub friendly: Option<Arc<str>>,
    /// How it is told to be matter-of-fact.
    pub pragmatic: Option<Arc<str>>,
    /// Tokens that it takes in.
    pub context_window: Option<i64>,
    /// How much of that is used, in percent.
    pub effective_window_percent: i64,
    /// At how many tokens to compact.
    pub auto_compact_limit: Option<i64>,
    /// How tool outputs are cut.
    pub truncation: TruncationPolicy,
    /// Its shell tool.
    pub shell: ShellKind,
    /// Its patch tool.
    pub patch: PatchTool,
    /// Whether it may make several calls at once.
    pub parallel_tool_calls: bool,
    /// Whether it can be told how to reason.
    pub reasoning: bool,
    /// How hard it reasons unless told.
    pub default_effort: Option<ReasoningEffort>,
    /// How it summarises unless told.
    pub default_summary: ReasoningSummary,
    /// How much it writes unless told; none if it cannot be told.
    pub default_verbosity: Option<Verbosity>,
    /// Whether it can see.
    pub images: bool,
    /// Whether a web search may bring it images.
    pub searches_images: bool,
}

impl ModelInfo {
    /// What to assume of a model that is not known.
    #[must_use]
    pub fn guess(slug: &str) -> Self {
        Self {
            slug: slug.to_owned(),
            is_guess: true,
            base_instructions: None,
            friendly: None,
            pragmatic: None,
            context_window: Some(272_000),
            effective_window_percent: 95,
            auto_compact_limit: None,
            truncation: TruncationPolicy {
                mode: TruncationMode::Bytes,
                limit: 10_000,
            },
            shell: ShellKind::Argv,
            patch: PatchTool::None,
            parallel_tool_calls: false,
            reasoning: false,
            default_effort: None,
            default_summary: ReasoningSummary::Auto,
            default_verbosity: None,
            images: true,
            searches_images: false,
        }
    }

    /// The instructions made for it, in a personality.
    #[must_use]
    pub fn instructions(&self, personality: Option<Personality>) -> Option<Arc<str>> {
        Some(match self.base_instructions.as_ref()? {
            BaseInstructions::Fixed(text) => Arc::clone(text),
            BaseInstructions::Template { template, unset } => {
                let text = match personality {
                    Some(personality) => self.personality(personality),
                    None => unset.as_deref(),
                };
                Arc::from(template.replace(PERSONALITY_PLACE, text.unwrap_or_default()))
            }
        })
    }

    /// The words for a personality, if it has any.
    #[must_use]
    pub fn personality(&self, personality: Personality) -> Option<&str> {
        match personality {
            Personality::None => None,
            Personality::Friendly => self.friendly.as_deref(),
            Personality::Pragmatic => self.pragmatic.as_deref(),
        }
    }

    /// The part of the window that is used.
    #[must_use]
    pub fn effective_window(&self) -> Option<i64> {
        self.context_window
            .map(|window| window * self.effective_window_percent / 100)
    }

    /// At how many tokens to compact: what the model asks for, but at most 90 % of its window.
    #[must_use]
    pub fn compact_at(&self) -> Option<i64> {
        let most = self.context_window.map(|window| window * 9 / 10);
        match (self.auto_compact_limit, most) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        }
    }
}
