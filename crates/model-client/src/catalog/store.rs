//! Provides the selectable models: the built-in catalogue with the list of the hosted API, or a fixed catalogue from a
//! file.
//!
//! The API's list is cached in a file for five minutes, so that not every start sends a request. A list that cannot be
//! fetched, parsed or cached is not an error: the next best source is used.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{ModelCatalog, ModelInfo, ModelsCache, readable};
use crate::client::ModelClient;
use crate::clock::Clock;
use crate::credential::{Credential, CredentialSource};

/// A larger cache file is ignored.
const MAX_CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// Minimum time between two checks of the list's version, which every response contains.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// How long the list of a provider of the user counts, and that it gave none.
const OWN_FRESH: Duration = Duration::from_secs(30);
/// How long such a provider is waited for.
const OWN_WAIT: Duration = Duration::from_secs(2);

/// Provides the selectable models.
#[derive(Debug)]
pub struct ModelStore {
    source: ModelSource,
    credentials: Arc<dyn CredentialSource>,
    /// The models of a provider of the user.
    own: Option<OwnModels>,
}

/// What a server of the user lists.
#[derive(Debug)]
struct OwnModels {
    client: Arc<dyn ModelClient>,
    clock: Arc<dyn Clock>,
    /// What it listed last, and when. Locked while it is asked.
    seen: tokio::sync::Mutex<Option<(Timestamp, Vec<ModelInfo>)>>,
}

impl OwnModels {
    async fn current(&self) -> Vec<ModelInfo> {
        let mut seen = self.seen.lock().await;
        let now = self.clock.now().timestamp();
        if let Some((at, models)) = &*seen
            && now.duration_since(*at).unsigned_abs() <= OWN_FRESH
        {
            return models.clone();
        }
        let listed = tokio::time::timeout(OWN_WAIT, self.client.models()).await;
        let models = match listed {
            Ok(Ok(list)) => list.models,
            Ok(Err(error)) => {
                tracing::debug!(%error, "the provider lists no models");
                Vec::new()
            }
            Err(_) => Vec::new(),
        };
        *seen = Some((self.clock.now().timestamp(), models.clone()));
        models
    }
}

#[derive(Debug)]
enum ModelSource {
    /// A fixed catalogue.
    Fixed(ModelCatalog),
    /// The built-in catalogue merged with the API's list.
    HostedModels(Box<HostedModels>),
}

#[derive(Debug)]
struct HostedModels {
    /// The cache file.
    cache: PathBuf,
    version: String,
    client: Arc<dyn ModelClient>,
    clock: Arc<dyn Clock>,
    /// Locked while a request is running, so that concurrent callers share it.
    asking: tokio::sync::Mutex<Option<SeenEtag>>,
}

/// The last version of the list that a response contained, and when.
#[derive(Debug)]
struct SeenEtag {
    etag: String,
    at: Timestamp,
}

/// The selectable models at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct AvailableModels {
    pub catalog: ModelCatalog,
    /// Whether there is a ChatGPT login, which some models require.
    pub chatgpt: bool,
}

impl ModelStore {
    /// A store with a fixed catalogue. Invalid entries are skipped.
    pub fn fixed(list: &Value, credentials: Arc<dyn CredentialSource>) -> Self {
        let entries = list.get("models").and_then(Value::as_array);
        let models = entries.into_iter().flatten().cloned().filter_map(readable);
        Self {
            source: ModelSource::Fixed(ModelCatalog::new(models.collect())),
            credentials,
            own: None,
        }
    }

    /// A store with the built-in catalogue and the list of the hosted API, requested through `client` and cached in the
    /// file `cache`.
    pub fn hosted(
        cache: PathBuf,
        version: &str,
        client: Arc<dyn ModelClient>,
        clock: Arc<dyn Clock>,
        credentials: Arc<dyn CredentialSource>,
    ) -> Self {
        let hosted = HostedModels {
            cache,
            version: version.to_owned(),
            client,
            clock,
            asking: tokio::sync::Mutex::default(),
        };
        Self {
            source: ModelSource::HostedModels(Box::new(hosted)),
            credentials,
            own: None,
        }
    }

    /// The same with the models that the server behind `client` lists.
    #[must_use]
    pub fn with_own(self, client: Arc<dyn ModelClient>, clock: Arc<dyn Clock>) -> Self {
        let own = OwnModels {
            client,
            clock,
            seen: tokio::sync::Mutex::default(),
        };
        Self {
            own: Some(own),
            ..self
        }
    }

    /// The selectable models. With a ChatGPT login the API is asked if the cache is not fresh.
    pub async fn available(&self) -> AvailableModels {
        let login = self.credentials.current().await;
        let chatgpt = matches!(login, Some(Credential::ChatGpt { .. }));
        let mut catalog = match &self.source {
            ModelSource::Fixed(catalog) => catalog.clone(),
            ModelSource::HostedModels(hosted) if chatgpt => hosted.current().await,
            ModelSource::HostedModels(hosted) => catalog_with(hosted.cached()),
        };
        if let Some(own) = &self.own {
            catalog.add(own.current().await);
        }
        AvailableModels { catalog, chatgpt }
    }

    /// Reports the version of the API's list from a response. A cached list with the same version is kept longer;
    /// otherwise the list is fetched.
    pub async fn note_etag(&self, etag: &str) {
        let ModelSource::HostedModels(hosted) = &self.source else {
            return;
        };
        let login = self.credentials.current().await;
        if matches!(login, Some(Credential::ChatGpt { .. })) {
            hosted.note_etag(etag).await;
        }
    }

    /// The known models without a request. Reads a file.
    pub fn known(&self) -> ModelCatalog {
        match &self.source {
            ModelSource::Fixed(catalog) => catalog.clone(),
            ModelSource::HostedModels(hosted) => catalog_with(hosted.cached()),
        }
    }
}

impl HostedModels {
    async fn current(&self) -> ModelCatalog {
        let _turn = self.asking.lock().await;
        if let Some(models) = self.cached() {
            return catalog_with(Some(models));
        }
        catalog_with(self.fetch().await)
    }

    async fn note_etag(&self, etag: &str) {
        let mut seen = self.asking.lock().await;
        let now = self.clock.now().timestamp();
        let is_news = |seen: &SeenEtag| {
            let age = now.duration_since(seen.at).unsigned_abs();
            seen.etag != etag || age > CHECK_INTERVAL
        };
        if !seen.as_ref().is_none_or(is_news) {
            return;
        }
        *seen = Some(SeenEtag {
            etag: etag.to_owned(),
            at: now,
        });
        let kept = read(&self.cache).filter(|cache| cache.client_version == self.version);
        match kept {
            Some(mut cache) if cache.etag.as_deref() == Some(etag) => {
                cache.fetched_at = now;
                self.keep(&cache);
            }
            _ => drop(self.fetch().await),
        }
    }

    /// Requests the list from the API.
    async fn fetch(&self) -> Option<Vec<ModelInfo>> {
        let list = match self.client.models().await {
            Ok(list) => list,
            Err(error) => {
                tracing::warn!(%error, "the list of models could not be fetched");
                return None;
            }
        };
        let cache = ModelsCache {
            fetched_at: self.clock.now().timestamp(),
            etag: list.etag,
            client_version: self.version.clone(),
            models: list.models,
        };
        self.keep(&cache);
        Some(cache.models)
    }

    fn keep(&self, cache: &ModelsCache) {
        if let Err(error) = write(&self.cache, cache) {
            tracing::warn!(%error, "the list of models could not be kept");
        }
    }

    /// The cached list, if it is fresh.
    fn cached(&self) -> Option<Vec<ModelInfo>> {
        let cache = read(&self.cache)?;
        let now = self.clock.now().timestamp();
        cache.is_fresh(now, &self.version).then_some(cache.models)
    }
}

fn catalog_with(models: Option<Vec<ModelInfo>>) -> ModelCatalog {
    let mut catalog = ModelCatalog::bundled();
    catalog.merge(models.unwrap_or_default());
    catalog
}

fn read(path: &Path) -> Option<ModelsCache> {
    let text = codex_regular_file::read(path, MAX_CACHE_BYTES).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    ModelsCache::deserialize(value)
        .inspect_err(|error| tracing::warn!(%error, "ignoring a list of models that was kept"))
        .ok()
}

/// Replaces the file atomically.
fn write(path: &Path, cache: &ModelsCache) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    codex_private_files::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, cache)?;
    file.flush()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use async_trait::async_trait;
    use jiff::ToSpan;
    use parking_lot::Mutex;
    use serde_json::json;

    use super::*;
    use crate::client::ModelList;
    use crate::credential::FixedCredential;
    use crate::error::ModelError;
    use crate::request::ModelRequest;
    use crate::stream::ModelStream;
    use codex_protocol::Provider;

    /// Counts requests.
    #[derive(Debug)]
    struct FakeApi {
        asked: Mutex<u32>,
        broken: bool,
        provider: Provider,
    }

    #[async_trait]
    impl ModelClient for FakeApi {
        async fn stream(&self, _request: &ModelRequest) -> Result<ModelStream, ModelError> {
            Err(ModelError::LoginNotRenewed("not here".to_owned()))
        }

        async fn compact(
            &self,
            _request: &ModelRequest,
        ) -> Result<Vec<codex_protocol::ResponseItem>, ModelError> {
            Ok(Vec::new())
        }

        async fn models(&self) -> Result<ModelList, ModelError> {
            *self.asked.lock() += 1;
            if self.broken {
                return Err(ModelError::LoginNotRenewed("down".to_owned()));
            }
            let model = ModelInfo {
                slug: "gpt-9".to_owned(),
                ..ModelInfo::clone(&ModelCatalog::bundled().resolve("gpt-5.4").info)
            };
            let etag = Some("v9".to_owned());
            Ok(ModelList {
                models: vec![model],
                etag,
            })
        }

        fn provider(&self) -> &Provider {
            &self.provider
        }
    }

    #[derive(Debug)]
    struct ManualClock(Mutex<jiff::Zoned>);

    #[async_trait]
    impl Clock for ManualClock {
        fn now(&self) -> jiff::Zoned {
            self.0.lock().clone()
        }

        async fn sleep(&self, _duration: Duration) {}

        fn jitter(&self) -> f64 {
            1.0
        }
    }

    struct StoreFixture {
        home: tempfile::TempDir,
        api: Arc<FakeApi>,
        clock: Arc<ManualClock>,
        store: ModelStore,
    }

    fn fixture(login: Option<Credential>, broken: bool) -> StoreFixture {
        let home = tempfile::tempdir().unwrap();
        let api = Arc::new(FakeApi {
            asked: Mutex::default(),
            broken,
            provider: Provider::new("Test", Some("http://localhost".to_owned())),
        });
        let noon = "2026-03-01T12:00:00Z[UTC]".parse().unwrap();
        let clock = Arc::new(ManualClock(Mutex::new(noon)));
        let store = ModelStore::hosted(
            home.path().join("models_cache.json"),
            "1.2.3",
            Arc::clone(&api) as Arc<dyn ModelClient>,
            Arc::clone(&clock) as Arc<dyn Clock>,
            Arc::new(FixedCredential(login)),
        );
        StoreFixture {
            home,
            api,
            clock,
            store,
        }
    }

    fn chatgpt() -> Option<Credential> {
        Some(Credential::ChatGpt {
            access_token: "token".into(),
            account_id: None,
            is_fedramp: false,
        })
    }

    fn knows(catalog: &ModelCatalog, slug: &str) -> bool {
        catalog.models().iter().any(|model| model.slug == slug)
    }

    #[tokio::test]
    async fn the_api_is_asked_once_in_five_minutes() {
        let fixture = fixture(chatgpt(), false);
        assert!(!knows(&fixture.store.known(), "gpt-9"));
        for _ in 0..2 {
            let available = fixture.store.available().await;
            assert!(available.chatgpt && knows(&available.catalog, "gpt-9"));
        }
        assert_eq!(*fixture.api.asked.lock(), 1);
        assert!(knows(&fixture.store.known(), "gpt-9"));
        let text = fs::read_to_string(fixture.home.path().join("models_cache.json")).unwrap();
        let cache: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&cache["etag"], &cache["client_version"]),
            (&json!("v9"), &json!("1.2.3"))
        );
        let later = fixture.clock.now().checked_add(6.minutes()).unwrap();
        *fixture.clock.0.lock() = later;
        fixture.store.available().await;
        assert_eq!(*fixture.api.asked.lock(), 2);
    }

    #[tokio::test]
    async fn version_in_an_api_reply_refreshes_the_model_list() {
        let fixture = fixture(chatgpt(), false);
        let asked = || *fixture.api.asked.lock();
        let wait = |minutes: i64| {
            let later = fixture.clock.now().checked_add(minutes.minutes()).unwrap();
            *fixture.clock.0.lock() = later;
        };
        fixture.store.note_etag("v9").await;
        assert_eq!(asked(), 1);
        // The cached list has this version, so it is fresh again.
        wait(4);
        fixture.store.note_etag("v9").await;
        wait(4);
        assert!(knows(&fixture.store.known(), "gpt-9"));
        assert_eq!(asked(), 1);
        for _ in 0..3 {
            fixture.store.note_etag("v10").await;
        }
        assert_eq!(asked(), 2);
        wait(2);
        fixture.store.note_etag("v10").await;
        assert_eq!(asked(), 3);
    }

    #[tokio::test]
    async fn without_a_chatgpt_login_nobody_is_asked() {
        let fixture = fixture(Some(Credential::ApiKey("key".into())), false);
        let available = fixture.store.available().await;
        assert!(!available.chatgpt && !knows(&available.catalog, "gpt-9"));
        fixture.store.note_etag("v9").await;
        assert_eq!(*fixture.api.asked.lock(), 0);
    }

    #[tokio::test]
    async fn failures_leave_the_built_in_list() {
        let fixture = fixture(chatgpt(), true);
        fs::write(fixture.home.path().join("models_cache.json"), "{ broken").unwrap();
        let available = fixture.store.available().await;
        assert_eq!(available.catalog, ModelCatalog::bundled());
    }

    #[tokio::test]
    async fn a_list_from_a_file_counts_alone() {
        let mut entry =
            serde_json::to_value(&*ModelCatalog::bundled().resolve("gpt-5.4").info).unwrap();
        entry["slug"] = json!("mine");
        let list = json!({ "models": [entry, { "slug": "half an entry" }] });
        let store = ModelStore::fixed(&list, Arc::new(FixedCredential(None)));
        let models = store.available().await.catalog;
        assert_eq!(models.models().len(), 1);
        assert_eq!(models, store.known());
    }
}
