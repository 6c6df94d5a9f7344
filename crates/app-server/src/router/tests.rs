//! Random lines: nothing panics, and every line with an id is replied to once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_checkpoints::CheckpointStore;
use codex_config::{ConfigWarning, Environment, Overrides};
use codex_environments::Environments;
use codex_http::{HttpPool, HttpSettings};
use codex_login::{Accounts, LoginSettings, StoreKind};
use codex_memories::MemoryStore;
use codex_model_client::{ClientIdentity, FixedCredential, ModelStore, Platform, SystemClock};
use codex_protocol::Release;
use codex_skills::{SkillLibrary, SkillToggle};
use codex_test_support::PseudoRandom;
use codex_thread_store::ThreadStore;
use codex_transport::Limits;
use codex_transport::Lines;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::*;
use crate::configuration::Configuration;
use crate::host::{
    ClientName, Extensions, FeedbackSupport, HostError, Identity, PreparedThread,
    RequestedSettings, StartupSettings, Stores, ThreadEngines, UserPlaces,
};

const LINES: u32 = 100_000;

const HANDSHAKE: &str =
    r#"{"id":-1,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}"#;

const SEEDS: [&str; 8] = [
    HANDSHAKE,
    r#"{"id":1,"method":"thread/start","params":{"cwd":"/tmp","config":{"model":"x"}}}"#,
    r#"{"id":"b","method":"turn/start","params":{"threadId":"0195f0a0-7b1c-7000-8000-0000000000ab","input":[{"type":"text","text":"hi"}]}}"#,
    r#"{"id":3,"method":"thread/read","params":{"threadId":"x","includeTurns":true}}"#,
    r#"{"id":4,"method":"thread/loaded/list","params":{"limit":1}}"#,
    r#"{"id":5,"method":"model/list","params":{},"trace":{"traceparent":"00-1"}}"#,
    r#"{"id":0,"result":{"decision":"accept"}}"#,
    r#"{"method":"initialized"}"#,
];

/// A host without an engine and skills.
#[derive(Debug)]
struct NoEngine {
    store: ThreadStore,
    skills: Arc<SkillLibrary>,
    configuration: Configuration,
    accounts: Arc<Accounts>,
    memories: Arc<MemoryStore>,
    checkpoints: Arc<CheckpointStore>,
    models: ModelStore,
    environments: Arc<Environments>,
}

/// An ephemeral login.
fn nobody() -> Arc<Accounts> {
    let mut settings = LoginSettings::hosted("/nowhere");
    settings.store = StoreKind::Ephemeral;
    let platform = Platform {
        os: "test",
        os_version: "0",
        architecture: "none",
        terminal: "none",
    };
    let identity = ClientIdentity::new("tests", "1.0.0", platform, None);
    let http = Arc::new(HttpPool::new(HttpSettings::default()));
    Arc::new(Accounts::new(
        settings,
        http,
        identity,
        Arc::new(SystemClock),
    ))
}

impl NoEngine {
    fn new() -> Self {
        let environment = Environment::with_home("/nowhere");
        let cwd = PathBuf::from("/nowhere");
        let configuration = Configuration::new(environment, Overrides::default(), cwd);
        Self {
            store: ThreadStore::new("/nowhere"),
            skills: SkillLibrary::new(|_| Ok(Default::default())),
            configuration: configuration.unwrap(),
            accounts: nobody(),
            environments: Arc::new(Environments::new(
                Arc::new(HttpPool::new(HttpSettings::default())),
                codex_exec::Launcher::with_helper("/nowhere"),
            )),
            checkpoints: Arc::new(CheckpointStore::new(
                Path::new("/nowhere"),
                Default::default(),
            )),
            memories: Arc::new(MemoryStore::in_folder(Path::new("/nowhere"))),
            models: ModelStore::fixed(&Value::Null, Arc::new(FixedCredential::default())),
        }
    }
}

impl StartupSettings for NoEngine {
    fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    fn warnings(&self) -> &[ConfigWarning] {
        &[]
    }

    fn default_provider(&self) -> String {
        "none".to_owned()
    }

    fn has_goals(&self) -> bool {
        true
    }

    fn thread_unload_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn client_release(&self) -> Option<Release> {
        None
    }

    fn working_folder(&self) -> &Path {
        Path::new("/nowhere")
    }

    fn shell(&self) -> PathBuf {
        PathBuf::from("/bin/sh")
    }

    fn check_sandbox_policy(&self, _: &codex_protocol::SandboxPolicy) -> Result<(), HostError> {
        Ok(())
    }
}

impl ThreadEngines for NoEngine {
    fn identity(&self, client: &ClientName) -> Identity {
        Identity {
            user_agent: client.name.clone(),
            home: PathBuf::from("/nowhere"),
        }
    }

    fn prepare(&self, _: &RequestedSettings) -> Result<PreparedThread, HostError> {
        Err(HostError::Other("there is no engine".to_owned()))
    }

    fn commands(&self) -> Result<Arc<codex_core::StandaloneCommands>, HostError> {
        Err(HostError::Other("there are no commands here".to_owned()))
    }

    fn environments(&self) -> &Arc<Environments> {
        &self.environments
    }
}

impl Stores for NoEngine {
    fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    fn models(&self) -> &ModelStore {
        &self.models
    }

    fn checkpoints(&self) -> &Arc<CheckpointStore> {
        &self.checkpoints
    }

    fn memories(&self) -> &Arc<MemoryStore> {
        &self.memories
    }

    fn store(&self) -> &ThreadStore {
        &self.store
    }
}

impl Extensions for NoEngine {
    fn mcp_servers(&self, _cwd: &Path) -> Result<crate::McpSettings, HostError> {
        Err(HostError::Other("there are no servers here".to_owned()))
    }

    fn apps(
        &self,
        _: &Path,
        _: &Map<String, Value>,
    ) -> Result<Option<crate::host::AppsAccess>, HostError> {
        Ok(None)
    }

    fn hooks(&self, _: &Path) -> Result<codex_hooks::HookCatalog, HostError> {
        Ok(codex_hooks::HookCatalog::default())
    }

    fn skills(&self) -> &Arc<SkillLibrary> {
        &self.skills
    }

    fn switch_skill(&self, _: &SkillToggle) -> Result<(), HostError> {
        Err(HostError::Other("there is no engine".to_owned()))
    }

    fn read_plugins(&self) -> Result<(), HostError> {
        Err(HostError::Other("there is no engine".to_owned()))
    }
}

impl UserPlaces for NoEngine {
    fn homes(&self) -> codex_external_agent::HomeFolders {
        codex_external_agent::HomeFolders {
            user: None,
            ours: PathBuf::from("/nowhere"),
        }
    }

    fn ignore_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn open_page(&self, _: &str) {}
}

impl FeedbackSupport for NoEngine {
    fn feedback(&self) -> crate::host::FeedbackSettings {
        crate::host::FeedbackSettings {
            enabled: false,
            folder: PathBuf::from("/nowhere"),
            endpoint: None,
        }
    }

    fn send_feedback(&self, _: String, _: Vec<u8>) -> BoxFuture<'static, Result<(), HostError>> {
        Box::pin(async { Ok(()) })
    }

    fn log_tail(&self) -> String {
        String::new()
    }
}

/// The id that a line must be replied to with.
fn id_of(line: &[u8]) -> Option<String> {
    match serde_json::from_slice(line) {
        Ok(Message::Request(request)) => Some(request.id.to_string()),
        Ok(_) => None,
        // Not a message, but possibly an object with an id.
        Err(_) => {
            let message: Value = serde_json::from_slice(line).ok()?;
            let id = message.get("id")?.clone();
            serde_json::from_value::<RequestId>(id)
                .ok()
                .map(|id| id.to_string())
        }
    }
}

#[tokio::test]
async fn random_input_gets_one_reply_per_request() {
    let server = AppServer::new(Arc::new(NoEngine::new()));
    let connection = server.connect(Limits::ONLY_CLIENT);
    let mut router = Router::new(server, Arc::clone(&connection));
    let mut noise = PseudoRandom::new(0);
    let mut expected: HashMap<String, i64> = HashMap::new();
    let mut input = format!("{HANDSHAKE}\n").into_bytes();
    for _ in 0..LINES {
        let seed = SEEDS[noise.below(SEEDS.len())];
        input.extend(noise.mutated(seed));
        input.push(b'\n');
    }
    let mut lines = Lines::new(input.as_slice(), 1024);
    while let Some(line) = lines.next_line().unwrap() {
        if let InputLine::Whole(line) = &line
            && let Some(id) = id_of(line)
        {
            *expected.entry(id).or_default() += 1;
        }
        router.take(line).await;
    }
    let all = u32::try_from(IN_FLIGHT).unwrap();
    let _done = router.permits.acquire_many(all).await.unwrap();
    connection.outbox().close();
    let mut output = Vec::new();
    connection.outbox().write_to(&mut output).await.unwrap();
    for line in output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let reply: Value = serde_json::from_slice(line).unwrap();
        if let Ok(id) = serde_json::from_value::<RequestId>(reply["id"].clone()) {
            *expected.entry(id.to_string()).or_default() -= 1;
        }
    }
    expected.retain(|_, missing| *missing != 0);
    assert_eq!(expected, HashMap::new());
}
