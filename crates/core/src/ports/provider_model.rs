//! A model behind a provider: the model client and the catalogue, as the engine's port.

use std::sync::Arc;

use codex_model_client as client;
use codex_model_client::{
    ApplyPatchToolType, Completion, ModelCatalog, ModelClient, ModelStore, RequestContext,
    ShellType,
};
use codex_protocol::{Personality, ResponseItem, TruncationMode, TruncationPolicy};
use futures::StreamExt;
use futures::future::BoxFuture;

use super::model::{
    BaseInstructions, Model, ModelChoice, ModelError, ModelEvent, ModelInfo, ModelRequest,
    ModelStream, PatchTool, Retry, ShellKind,
};

/// A provider and what is known of its models.
#[derive(Clone, Debug)]
pub struct ProviderModel {
    client: Arc<dyn ModelClient>,
    catalog: Arc<ModelCatalog>,
    list: Option<Arc<ModelStore>>,
}

impl ProviderModel {
    /// The models of a provider.
    #[must_use]
    pub fn new(client: Arc<dyn ModelClient>, catalog: Arc<ModelCatalog>) -> Self {
        Self {
            client,
            catalog,
            list: None,
        }
    }

    /// Has this list hear which version of it the provider speaks of.
    #[must_use]
    pub fn telling(mut self, list: Arc<ModelStore>) -> Self {
        self.list = Some(list);
        self
    }
}

impl Model for ProviderModel {
    fn info(&self, name: &str) -> Arc<ModelInfo> {
        Arc::new(info_of(self.catalog.resolve(name)))
    }

    fn choices(&self) -> Vec<ModelChoice> {
        let choice = |model: &client::ModelInfo| {
            let is_offered = model.visibility == client::Visibility::List;
            let levels = &model.supported_reasoning_levels;
            ModelChoice {
                slug: model.slug.clone(),
                description: model.description.clone().filter(|_| is_offered),
                default_effort: model.default_reasoning_level.clone(),
                efforts: levels.iter().map(|level| level.effort.clone()).collect(),
            }
        };
        self.catalog.presets(true).into_iter().map(choice).collect()
    }

    fn stream(&self, request: ModelRequest) -> BoxFuture<'static, Result<ModelStream, ModelError>> {
        let client = Arc::clone(&self.client);
        let list = self.list.clone();
        Box::pin(async move {
            let request = request_of(request);
            let stream = match client.stream(&request).await {
                Ok(stream) => stream,
                Err(error) => return refused(error),
            };
            let events = stream.filter_map(move |event| {
                let event = match event {
                    Ok(client::ModelEvent::ModelsEtag(etag)) => {
                        tell(list.as_ref(), etag);
                        None
                    }
                    Ok(event) => event_of(event).map(Ok),
                    Err(error) => Some(Err(error_of(error))),
                };
                std::future::ready(event)
            });
            Ok(events.boxed())
        })
    }

    /// Known by the provider's name, as other programs that speak to it do.
    fn compacts(&self) -> bool {
        self.client.provider().name == "OpenAI"
    }

    fn compact(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'static, Result<Vec<ResponseItem>, ModelError>> {
        let client = Arc::clone(&self.client);
        Box::pin(async move {
            let compacted = client.compact(&request_of(request)).await;
            compacted.map_err(error_of)
        })
    }
}

/// A request that was refused. Where the account stands is told before that.
fn refused(error: client::ModelError) -> Result<ModelStream, ModelError> {
    let limits = match &error {
        client::ModelError::UsageLimitReached(limit) => limit.rate_limits.clone(),
        _ => return Err(error_of(error)),
    };
    let events = [Ok(ModelEvent::RateLimits(limits)), Err(error_of(error))];
    Ok(futures::stream::iter(events).boxed())
}

/// Tells a list which version it should have. Nobody waits for what comes of it.
fn tell(list: Option<&Arc<ModelStore>>, etag: String) {
    if let Some(list) = list.map(Arc::clone) {
        tokio::spawn(async move { list.heard_of(&etag).await });
    }
}

fn request_of(request: ModelRequest) -> client::ModelRequest {
    client::ModelRequest {
        model: request.model.slug.clone(),
        instructions: request.instructions,
        input: request.input,
        tools: request.tools,
        parallel_tool_calls: request.parallel_tool_calls,
        reasoning: request.reasoning.map(|reasoning| client::Reasoning {
            effort: reasoning.effort,
            summary: Some(reasoning.summary),
        }),
        service_tier: request.service_tier,
        verbosity: request.verbosity,
        output_schema: request.output_schema.as_deref().cloned(),
        context: RequestContext {
            thread_id: request.thread_id.0,
            turn_state: request.turn_state,
            observer: request.observer,
            subagent: request.subagent,
            ..RequestContext::default()
        },
    }
}

fn event_of(event: client::ModelEvent) -> Option<ModelEvent> {
    use client::ModelEvent as From;
    Some(match event {
        From::ServerModel(name) => ModelEvent::ServerModel(name),
        From::RateLimits(limits) => ModelEvent::RateLimits(limits),
        From::ReasoningIncluded => ModelEvent::ReasoningIncluded,
        From::ItemAdded(item) => ModelEvent::ItemAdded(item),
        From::ItemDone(item) => ModelEvent::ItemDone(item),
        From::TextDelta(delta) => ModelEvent::TextDelta(delta),
        From::ReasoningSummaryPart {
            summary_index: index,
        } => ModelEvent::SummaryPartAdded { index },
        From::ReasoningSummaryDelta {
            delta,
            summary_index: index,
        } => ModelEvent::SummaryDelta { index, delta },
        From::ReasoningDelta {
            delta,
            content_index: index,
        } => ModelEvent::ReasoningDelta { index, delta },
        From::Completed(Completion {
            response_id, usage, ..
        }) => ModelEvent::Completed { response_id, usage },
        From::ModelsEtag(_) | From::Created => return None,
    })
}

fn error_of(error: client::ModelError) -> ModelError {
    let retry = match (error.is_retryable(), error.retry_after()) {
        (false, _) => Retry::Never,
        (true, Some(after)) => Retry::After(after),
        (true, None) => Retry::Soon,
    };
    ModelError {
        message: error.to_string(),
        info: error.codex_error_info(),
        retry,
        http_status: error.http_status(),
        invalid_image: error == client::ModelError::InvalidImage,
    }
}

fn instructions_of(info: &client::ModelInfo) -> Option<BaseInstructions> {
    let messages = info.model_messages.as_ref();
    let template = messages.and_then(|messages| messages.instructions_template.as_deref());
    let fixed = info.base_instructions.as_deref();
    let Some(template) = template else {
        return fixed.map(|text| BaseInstructions::Fixed(Arc::from(text)));
    };
    let texts = messages.and_then(|messages| messages.instructions_variables.as_ref());
    Some(BaseInstructions::Template {
        template: Arc::from(template),
        unset: texts.and_then(|texts| texts.personality_default.as_deref().map(Arc::from)),
    })
}

fn info_of(found: client::ResolvedModel) -> ModelInfo {
    let client::ResolvedModel { info, is_fallback } = found;
    let mode = match info.truncation_policy.mode {
        client::TruncationMode::Bytes => TruncationMode::Bytes,
        client::TruncationMode::Tokens => TruncationMode::Tokens,
    };
    let limit = info.truncation_policy.limit;
    ModelInfo {
        is_guess: is_fallback,
        base_instructions: instructions_of(&info),
        friendly: info.personality(Personality::Friendly).map(Arc::from),
        pragmatic: info.personality(Personality::Pragmatic).map(Arc::from),
        context_window: info.context_window,
        effective_window_percent: info.effective_context_window_percent,
        auto_compact_limit: info.auto_compact_token_limit,
        truncation: TruncationPolicy {
            mode,
            limit: u64::try_from(limit).unwrap_or(0),
        },
        shell: match info.shell_type {
            ShellType::Default => ShellKind::Argv,
            ShellType::Local => ShellKind::Local,
            ShellType::UnifiedExec => ShellKind::Unified,
            ShellType::Disabled => ShellKind::Disabled,
            ShellType::ShellCommand => ShellKind::Script,
        },
        patch: match info.apply_patch_tool_type {
            None => PatchTool::None,
            Some(ApplyPatchToolType::Freeform) => PatchTool::Freeform,
            Some(ApplyPatchToolType::Function) => PatchTool::Function,
        },
        parallel_tool_calls: info.supports_parallel_tool_calls,
        reasoning: info.supports_reasoning_summaries,
        default_effort: info.default_reasoning_level.clone(),
        default_summary: info.default_reasoning_summary,
        default_verbosity: info.default_verbosity.filter(|_| info.support_verbosity),
        images: info.takes_images(),
        searches_images: info.web_search_tool_type == client::WebSearchToolType::TextAndImage,
        slug: info.slug,
    }
}
