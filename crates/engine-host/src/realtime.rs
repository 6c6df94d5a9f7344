//! Realtime conversations: the address and the key of the server, and what its model is told.

use std::sync::Arc;
use std::time::Duration;

use codex_config::schema::RealtimeKind as ConfiguredKind;
use codex_config::{Config, Feature, RealtimeConfig};
use codex_core::{
    PreparedRealtime, RealtimeService, RealtimeStart, RealtimeThread, RealtimeUnavailable,
};
use codex_http::HttpPool;
use codex_login::Accounts;
use codex_model_client::Credential;
use codex_protocol::{AuthMode, Provider, Secret};
use codex_realtime::{RealtimeKind, RealtimeSettings};
use codex_thread_store::ThreadStore;
use futures::future::BoxFuture;

use crate::realtime_context::{self, CONTEXT_BYTES};
use crate::wiring::non_blank;

/// The address of the hosted provider.
const HOSTED_URL: &str = "https://api.openai.com/v1";
/// What the model is told if nobody gives it instructions.
const PROMPT: &str = include_str!("../prompts/realtime.md");
const TIMEOUT: Duration = Duration::from_secs(15);
/// The key for a scripted server, which takes any.
const SCRIPTED_KEY: &str = "scripted";

/// Realtime conversations with the server of a provider.
#[derive(Debug)]
pub(crate) struct ProviderRealtime {
    config: RealtimeConfig,
    provider: Provider,
    originator: String,
    is_scripted: bool,
    accounts: Arc<Accounts>,
    pool: Arc<HttpPool>,
    /// The threads of the user, for what the model is told about them.
    store: Option<ThreadStore>,
}

impl ProviderRealtime {
    /// The realtime conversations of a thread; none if the feature is off.
    pub(crate) fn of_config(
        config: &Config,
        provider: Provider,
        originator: &str,
        accounts: &Arc<Accounts>,
        pool: &Arc<HttpPool>,
    ) -> Option<Self> {
        let is_on = config.features.enabled(Feature::RealtimeConversation);
        is_on.then(|| Self {
            config: config.realtime.clone(),
            provider,
            originator: originator.to_owned(),
            is_scripted: false,
            accounts: Arc::clone(accounts),
            pool: Arc::clone(pool),
            store: None,
        })
    }

    /// The same with a provider that is scripted, so that nothing is sent to a configured address.
    pub(crate) fn scripted(self, is_scripted: bool) -> Self {
        Self {
            is_scripted,
            ..self
        }
    }

    pub(crate) fn with_threads(self, store: ThreadStore) -> Self {
        Self {
            store: Some(store),
            ..self
        }
    }

    /// The key: that of the provider, that of the user, or for the hosted provider that of the environment.
    fn key(&self) -> Option<Secret> {
        if self.is_scripted {
            return Some(SCRIPTED_KEY.into());
        }
        let of_variable = |name: &str| non_blank(name).map(|key| key.trim().into());
        let of_provider = self.provider.env_key.as_deref().and_then(of_variable);
        let of_user = || {
            let login = self.accounts.login()?;
            match (login.mode(), login.credential()) {
                (AuthMode::Apikey, Credential::ApiKey(key)) => Some(key),
                _ => None,
            }
        };
        let hosted = self.provider.requires_openai_auth;
        of_provider
            .or_else(|| self.provider.bearer_token.clone())
            .or_else(of_user)
            .or_else(|| hosted.then(|| of_variable("OPENAI_API_KEY")).flatten())
    }

    fn base_url(&self) -> String {
        let configured = self.config.base_url.as_ref();
        let configured = configured.filter(|_| !self.is_scripted);
        let url = configured.or(self.provider.base_url.as_ref());
        url.map_or_else(|| HOSTED_URL.to_owned(), String::clone)
    }

    fn headers(&self) -> Vec<(String, String)> {
        let fixed = self.provider.http_headers.iter();
        let fixed = fixed.map(|(name, value)| (name.clone(), value.clone()));
        let of_environment = self.provider.env_http_headers.iter();
        let of_environment = of_environment
            .filter_map(|(name, variable)| Some((name.clone(), non_blank(variable)?)));
        let originator = ("originator".to_owned(), self.originator.clone());
        fixed
            .chain(of_environment)
            .chain(std::iter::once(originator))
            .collect()
    }

    fn settings(&self, start: &RealtimeStart, thread: &RealtimeThread) -> Option<RealtimeSettings> {
        let session_id = start.session_id.clone();
        let query = self.provider.query_params.iter();
        Some(RealtimeSettings {
            base_url: self.base_url(),
            query: query
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            headers: self.headers(),
            key: self.key()?,
            version: start.version.unwrap_or(self.config.version),
            kind: match self.config.kind {
                ConfiguredKind::Conversational => RealtimeKind::Conversational,
                ConfiguredKind::Transcription => RealtimeKind::Transcription,
            },
            model: start.model.clone().or_else(|| self.config.model.clone()),
            voice: start.voice.clone(),
            writes: start.writes,
            instructions: String::new(),
            session_id: session_id.unwrap_or_else(|| thread.id.to_string()),
            timeout: TIMEOUT,
        })
    }
}

impl RealtimeService for ProviderRealtime {
    fn prepare(
        &self,
        start: RealtimeStart,
        thread: RealtimeThread,
    ) -> BoxFuture<'static, Result<PreparedRealtime, RealtimeUnavailable>> {
        let Some(mut settings) = self.settings(&start, &thread) else {
            let error = RealtimeUnavailable::NoKey;
            return Box::pin(std::future::ready(Err(error)));
        };
        let prompt = self.config.prompt.clone().or(start.prompt);
        let prompt = prompt.unwrap_or_else(|| PROMPT.trim_end().to_owned());
        let fixed = self.config.startup_context.clone();
        let (store, pool) = (self.store.clone(), Arc::clone(&self.pool));
        Box::pin(async move {
            let context = match fixed {
                _ if start.without_context => String::new(),
                Some(text) => cut(text),
                None => realtime_context::about(store.as_ref(), &thread).await,
            };
            let parts = [prompt, context];
            let parts: Vec<_> = parts.iter().filter(|part| !part.is_empty()).collect();
            settings.instructions = match parts[..] {
                [prompt, context] => format!("{prompt}\n\n{context}"),
                [only] => only.clone(),
                _ => String::new(),
            };
            Ok(PreparedRealtime { settings, pool })
        })
    }

    fn start_instructions(&self) -> Option<String> {
        self.config.start_instructions.clone()
    }
}

fn cut(text: String) -> String {
    realtime_context::cut(&text, CONTEXT_BYTES).to_owned()
}
