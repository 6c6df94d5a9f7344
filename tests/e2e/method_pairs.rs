//! Every request that changes something, followed at once by every request that reads: the answer is the one that the same
//! request gets when all is done.
//!
//! The tables below sort all methods; a new one does not pass before it is in one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plugin_folders::MarketplaceFolder;
use crate::repository;
use crate::setup::{experimental_server, home_with, scripted_config};

/// How many requests that read follow a change at once. With more, the last ones would come when it is long done.
const READS_AT_ONCE: usize = 6;

/// Requests that only read, most of them about the main thread.
const READS: &[(&str, Params)] = &[
    ("thread/list", |_| json!({ "limit": 100 })),
    ("thread/list", |_| json!({ "limit": 100, "archived": true })),
    ("thread/loaded/list", |_| json!({})),
    (
        "thread/read",
        |about| json!({ "threadId": about.thread, "includeTurns": true }),
    ),
    ("thread/turns/list", of_thread),
    ("thread/items/list", of_thread),
    (
        "thread/turns/items/list",
        |about| json!({ "threadId": about.thread, "turnId": about.turn }),
    ),
    ("thread/timeline/list", of_thread),
    ("thread/search", |_| json!({ "searchTerm": "hello" })),
    (
        "thread/searchOccurrences",
        |about| json!({ "threadId": about.thread, "searchTerm": "hello" }),
    ),
    ("thread/goal/get", of_thread),
    ("thread/checkpoint/list", of_thread),
    ("thread/queue/list", of_thread),
    ("thread/attachment/list", of_thread),
    ("thread/compaction/read", of_thread),
    ("thread/pin/list", of_thread),
    ("thread/context/read", of_thread),
    ("thread/backgroundTerminals/list", of_thread),
    ("thread/memory/read", of_thread),
    ("thread/realtime/list", of_thread),
    (
        "getConversationSummary",
        |about| json!({ "conversationId": about.thread }),
    ),
    ("threadSection/list", |_| json!({})),
    ("project/list", |_| json!({ "limit": 100 })),
    (
        "project/read",
        |about| json!({ "projectId": about.project }),
    ),
    (
        "thread/attachmentOwner/list",
        |_| json!({ "attachmentType": "kind", "identityKey": "key" }),
    ),
    ("account/read", |_| json!({})),
    ("getAuthStatus", |_| json!({ "includeToken": false })),
    ("config/read", |_| json!({})),
    (
        "config/read",
        |about| json!({ "includeLayers": true, "cwd": about.work() }),
    ),
    ("configRequirements/read", |_| json!({})),
    ("permissionProfile/list", |_| json!({})),
    ("model/list", |_| json!({})),
    ("experimentalFeature/list", |_| json!({})),
    ("collaborationMode/list", |_| json!({})),
    ("skills/list", in_work),
    ("hooks/list", in_work),
    ("mcpServerStatus/list", |_| json!({})),
    ("app/list", |_| json!({})),
    ("app/installed", |_| json!({})),
    ("plugin/list", |_| json!({})),
    ("plugin/installed", |_| json!({})),
    ("plugin/search", |_| json!({ "searchTerm": "demo" })),
    ("plugin/read", |about| about.market.params("demo")),
    ("externalAgentConfig/detect", in_work),
    ("fs/readFile", |about| json!({ "path": about.file() })),
    ("fs/getMetadata", |about| json!({ "path": about.file() })),
    ("fs/readDirectory", |about| json!({ "path": about.work() })),
    (
        "fuzzyFileSearch",
        |about| json!({ "query": "file", "roots": [about.work()] }),
    ),
    (
        "command/exec",
        |about| json!({ "command": ["sh", "-c", "cat file; ls"], "cwd": about.work() }),
    ),
    ("memory/status", |_| json!({})),
    ("modelProvider/list", |_| json!({})),
    ("modelProvider/capabilities/read", |_| json!({})),
];

/// A request that reads a thread and loads it, which others beside it would notice.
const RESUME: &[(&str, Params)] = &[("thread/resume", of_thread)];

/// Requests that change something.
const WRITE_METHODS: &[Write] = &[
    write("thread/start", |about| json!({ "cwd": about.work() })),
    write("thread/name/set", |about| {
        json!({ "threadId": about.thread, "name": about.word() })
    }),
    write("thread/metadata/update", |about| {
        let project = about.one_of([about.project.clone(), String::new()]);
        json!({ "threadId": about.thread, "projectId": project, "gitInfo": { "branch": about.word() } })
    }),
    write("thread/settings/update", |about| {
        json!({ "threadId": about.thread, "model": about.word() })
    }),
    write("thread/inject_items", |about| {
        let content = json!([{ "type": "input_text", "text": about.word() }]);
        let item = json!({ "type": "message", "role": "user", "content": content });
        json!({ "threadId": about.thread, "items": [item] })
    }),
    write("thread/prepareApprovedPlan", |about| {
        json!({ "threadId": about.thread, "markdown": about.word() })
    }),
    write("thread/goal/set", goal),
    write("thread/goal/clear", of_thread).after("thread/goal/set", goal),
    write("thread/pin/add", |about| {
        json!({ "threadId": about.thread, "text": about.word() })
    }),
    write("thread/pin/remove", |about| {
        json!({ "threadId": about.thread, "pinId": about.made("/pin/id") })
    })
    .after("thread/pin/add", |about| {
        json!({ "threadId": about.thread, "text": about.word() })
    }),
    write("thread/attachment/add", |about| {
        let key = about.word();
        json!({ "threadId": about.thread, "attachmentType": "kind", "identityKey": key, "payload": 1 })
    }),
    write("thread/attachment/remove", |about| {
        json!({ "threadId": about.thread, "attachmentType": "kind", "identityKey": "key" })
    })
    .after("thread/attachment/add", |about| {
        json!({ "threadId": about.thread, "attachmentType": "kind", "identityKey": "key", "payload": 1 })
    }),
    write("thread/section/move", |about| {
        let section = about.one_of([json!(about.section), Value::Null]);
        json!({ "threadId": about.thread, "sectionId": section })
    }),
    write("threadSection/create", |about| json!({ "name": about.word() })),
    write("threadSection/update", |about| {
        json!({ "sectionId": about.section, "name": about.word() })
    }),
    write("threadSection/delete", |about| {
        json!({ "sectionId": about.made("/section/id") })
    })
    .after("threadSection/create", |about| json!({ "name": about.word() })),
    write("project/create", new_project),
    write("project/import", |about| {
        let mut params = new_project(about);
        params["threads"] = json!([about.thread]);
        params
    }),
    write("project/update", |about| {
        json!({ "projectId": about.project, "name": about.word() })
    }),
    write("project/delete", |about| {
        json!({ "projectId": about.made("/project/id") })
    })
    .after("project/create", new_project),
    write("project/move", |about| {
        json!({ "projectId": about.made("/project/id"), "beforeProjectId": about.project })
    })
    .after("project/create", new_project),
    write("thread/archive", of_thread).on_new_threads(),
    write("thread/unarchive", of_thread)
        .on_new_threads()
        .after("thread/archive", of_thread),
    write("thread/delete", of_thread).on_new_threads(),
    write("thread/rollback", |about| {
        json!({ "threadId": about.thread, "numTurns": 1 })
    })
    .on_new_threads(),
    write("thread/revert", |about| {
        json!({ "threadId": about.thread, "beforeTurnId": about.turn })
    })
    .on_new_threads(),
    write("thread/unsubscribe", of_thread).on_new_threads(),
    write("config/value/write", |about| setting("model", &json!(about.word()))),
    write("config/batchWrite", |about| {
        let edit = setting("model_reasoning_summary", &about.one_of(["none", "auto"]).into());
        json!({ "edits": [edit] })
    }),
    write("experimentalFeature/enablement/set", |about| {
        json!({ "enablement": { "apps": about.one_of([true, false]) } })
    }),
    write("skills/extraRoots/set", |about| {
        let roots = [json!([about.folder.path().join("more")]), json!([])];
        json!({ "extraRoots": about.one_of(roots) })
    }),
    write("skills/config/write", |about| {
        let skill = about.home.path().join("skills/mine/SKILL.md");
        json!({ "path": skill, "enabled": about.one_of([false, true]) })
    }),
    write("modelProvider/config/write", |about| {
        let settings =
            json!({ "type": "customGateway", "providerId": "gate", "name": about.word() });
        json!({ "settings": settings })
    }),
    write("modelProvider/default/set", |about| {
        json!({ "providerId": about.one_of(["gate", "scripted"]) })
    }),
    write("marketplace/add", |about| json!({ "source": about.market.root }))
        .after("marketplace/remove", |_| json!({ "marketplaceName": "team" })),
    write("marketplace/remove", |_| json!({ "marketplaceName": "team" }))
        .after("marketplace/add", |about| json!({ "source": about.market.root })),
    write("plugin/install", |about| about.market.params("demo"))
        .after("plugin/uninstall", |_| json!({ "pluginId": "demo@team" })),
    write("plugin/uninstall", |_| json!({ "pluginId": "demo@team" }))
        .after("plugin/install", |about| about.market.params("demo")),
    write("fs/writeFile", written_file),
    write("fs/createDirectory", |about| {
        json!({ "path": about.work().join(about.word()) })
    }),
    write("fs/remove", |about| json!({ "path": about.file() })).after("fs/writeFile", written_file),
    write("fs/copy", |about| {
        json!({ "sourcePath": about.work().join(".other"), "destinationPath": about.file() })
    })
    .after("fs/writeFile", |about| {
        let mut params = written_file(about);
        params["path"] = json!(about.work().join(".other"));
        params
    }),
    write("account/login/start", login).after("account/logout", |_| json!({})),
    write("account/logout", |_| json!({})).after("account/login/start", login),
];

/// Methods that change nothing which another one reads, or whose change comes after their reply.
const UNPAIRED_METHODS: &[(&str, &[&str])] = &[
    ("opens the connection", &["initialize"]),
    (
        "answers what never is the same twice",
        &["thread/fork", "server/diagnostics"],
    ),
    (
        "begins what goes on after the reply",
        &[
            "turn/start",
            "turn/continue",
            "turn/steer",
            "turn/settings/update",
            "turn/interrupt",
            "review/start",
            "thread/compact/start",
            "thread/shellCommand",
            "thread/sample",
            "thread/sample/cancel",
            "thread/queue/add",
            "thread/queue/update",
            "thread/queue/delete",
            "thread/queue/reorder",
            "thread/queue/start",
            "thread/search/stream",
            "thread/search/stream/cancel",
            "thread/search/cancel",
            "thread/realtime/start",
            "thread/realtime/appendAudio",
            "thread/realtime/appendText",
            "thread/realtime/stop",
            "process/spawn",
            "process/kill",
            "process/resizePty",
            "process/writeStdin",
            "command/exec/write",
            "command/exec/terminate",
            "command/exec/resize",
            "fuzzyFileSearch/sessionStart",
            "fuzzyFileSearch/sessionUpdate",
            "fuzzyFileSearch/sessionStop",
            "fs/watch",
            "fs/unwatch",
            "account/login/cancel",
            "environment/add",
            "environment/status",
            "config/mcpServer/reload",
            "mcpServer/oauth/login",
            "windowsSandbox/setupStart",
            "marketplace/upgrade",
            "plugin/reconcile",
            "rollout/compress",
        ],
    ),
    (
        "needs a turn that did something, a stored memory, or a server elsewhere",
        &[
            "thread/checkpoint/diff",
            "thread/checkpoint/restore",
            "thread/compaction/restore",
            "thread/items/read",
            "thread/readState/update",
            "memory/reset",
            "thread/backgroundTerminals/clean",
            "thread/backgroundTerminals/terminate",
            "thread/approveGuardianDeniedAction",
            "externalAgentConfig/import",
            "gitDiffToRemote",
            "mcpServer/tool/call",
            "mcpServer/resource/read",
            "app/read",
            "plugin/skill/read",
            "account/rateLimits/read",
            "hooks/register",
            "hooks/unregister",
            "feedback/upload",
            "feedback/save",
        ],
    ),
    (
        "changes what no request reads",
        &[
            "thread/increment_elicitation",
            "thread/decrement_elicitation",
            "thread/memoryMode/set",
        ],
    ),
    (
        "has the same answer always",
        &[
            "mock/experimentalMethod",
            "environment/info",
            "windowsSandbox/readiness",
            "thread/realtime/listVoices",
            "externalAgentConfig/import/readHistories",
            "mcpServer/event/stream/stop",
            "account/securitySetup/read",
            "accountSession/list",
            "account/gatewayOAuth/read",
            "account/gatewayOAuth/cancel",
            "account/bedrock/checkGovCloudRequirements",
            "account/bedrock/discover",
            "userVerification/status",
            "userVerification/cancel",
            "remoteControl/status/read",
        ],
    ),
];

/// Changes that no request of the table shows.
const UNSEEN_METHODS: &[&str] = &["thread/unsubscribe"];

type Params = fn(&Subjects) -> Value;

/// A request that changes something.
#[derive(Clone, Copy)]
struct Write {
    method: &'static str,
    params: Params,
    /// What has to be done before, so that there is something to change.
    before: Option<(&'static str, Params)>,
    /// Whether it is about a thread of its own each time.
    wants_new_thread: bool,
}

const fn write(method: &'static str, params: Params) -> Write {
    Write {
        method,
        params,
        before: None,
        wants_new_thread: false,
    }
}

impl Write {
    const fn after(self, method: &'static str, params: Params) -> Self {
        Self {
            before: Some((method, params)),
            ..self
        }
    }

    const fn on_new_threads(self) -> Self {
        Self {
            wants_new_thread: true,
            ..self
        }
    }
}

/// What requests are about.
struct Subjects {
    home: TempDir,
    folder: TempDir,
    market: MarketplaceFolder,
    thread: String,
    turn: String,
    section: String,
    project: String,
    /// The result of what was done before a change.
    made: Value,
    /// How many changes there were, and preparations of changes.
    changes: usize,
}

impl Subjects {
    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn file(&self) -> PathBuf {
        self.work().join("file")
    }

    /// A word that is another one each time.
    fn word(&self) -> String {
        format!("word-{}", self.changes)
    }

    /// One of these values, another one at the next change.
    fn one_of<T, const N: usize>(&self, values: [T; N]) -> T {
        let mut values = Vec::from(values);
        values.swap_remove(self.changes / 2 % N)
    }

    fn made(&self, pointer: &str) -> &Value {
        self.made.pointer(pointer).unwrap()
    }
}

fn of_thread(about: &Subjects) -> Value {
    json!({ "threadId": about.thread })
}

fn in_work(about: &Subjects) -> Value {
    json!({ "cwds": [about.work()] })
}

fn goal(about: &Subjects) -> Value {
    json!({ "threadId": about.thread, "objective": about.word(), "status": "paused" })
}

fn new_project(about: &Subjects) -> Value {
    json!({ "name": about.word(), "idempotencyKey": about.word(), "roots": [{ "path": about.work() }] })
}

fn setting(key: &str, value: &Value) -> Value {
    json!({ "keyPath": key, "value": value, "mergeStrategy": "replace" })
}

fn written_file(about: &Subjects) -> Value {
    let content = about.one_of(["b25l", "dHdvdHdv"]);
    json!({ "path": about.file(), "dataBase64": content })
}

fn login(about: &Subjects) -> Value {
    json!({ "type": "apiKey", "apiKey": format!("sk-{}", about.changes) })
}

/// A server, and what requests to it are about.
struct Pairs {
    server: AppServer,
    about: Subjects,
    /// The answers that were not those of later.
    stale: Vec<String>,
    _model: ModelServer,
}

impl Pairs {
    async fn start() -> Self {
        let model = ModelServer::start([]).await.unwrap();
        model.always(HttpReply::stream(&sse::text("hello")));
        let settings = "sandbox_mode = \"danger-full-access\"\n[features]\nplugins = true\n";
        let config = scripted_config(&model, settings) + "requires_openai_auth = true\n";
        let home = home_with(&config);
        let folder = tempfile::tempdir().unwrap();
        for skill in [
            home.path().join("skills/mine"),
            folder.path().join("more/more"),
        ] {
            add_skill(&skill);
        }
        fs::create_dir(folder.path().join("work")).unwrap();
        let mut market = MarketplaceFolder::new(&folder.path().join("market"), "team");
        market.add("demo", &json!({ "name": "demo" }), &json!({}));
        market.skill("demo", "hi", "Say hi.");
        let mut server = experimental_server(&home).await;
        let mut about = Subjects {
            home,
            folder,
            market,
            thread: String::new(),
            turn: String::new(),
            section: String::new(),
            project: String::new(),
            made: Value::Null,
            changes: 0,
        };
        server.result("account/login/start", login(&about)).await;
        let section = server.result("threadSection/create", json!({ "name": "S" }));
        about.section = text_at(&section.await, "/section/id");
        let project = server.result("project/create", new_project(&about)).await;
        about.project = text_at(&project, "/project/id");
        let provider =
            json!({ "type": "customGateway", "name": "Gate", "baseUrl": "http://127.0.0.1:1/v1" });
        let provider = json!({ "settings": provider });
        server.result("modelProvider/config/write", provider).await;
        let mut pairs = Self {
            server,
            about,
            stale: Vec::new(),
            _model: model,
        };
        pairs.open_thread().await;
        pairs
    }

    /// A thread with a turn.
    async fn open_thread(&mut self) {
        let params = json!({ "cwd": self.about.work() });
        self.about.thread = self.server.start_thread_with(params).await;
        let turn = self.server.run_turn(&self.about.thread, "hello").await;
        self.about.turn = text_at(&turn, "/id");
    }

    /// Plays a change with each request that reads, and returns how many of their answers it changed.
    async fn play(&mut self, write: &Write) -> usize {
        let main = (self.about.thread.clone(), self.about.turn.clone());
        let mut changed = 0;
        for reads in READS.chunks(READS_AT_ONCE).chain([RESUME]) {
            self.about.changes += 1;
            if write.wants_new_thread {
                self.open_thread().await;
            }
            if let Some((method, params)) = write.before {
                // What is not there to be taken away is as good.
                let reply = self.server.call(method, params(&self.about)).await.unwrap();
                self.about.made = reply["result"].clone();
            }
            let before = self.read(reads).await;
            self.about.changes += 1;
            let params = (write.params)(&self.about);
            let writing = self.server.begin(write.method, params).await.unwrap();
            let at_once = self.read(reads).await;
            let written = self.server.reply_to(writing).await.unwrap();
            assert!(written["result"].is_object(), "{}: {written}", write.method);
            let afterwards = self.read(reads).await;
            for (index, (method, _)) in reads.iter().enumerate() {
                if at_once[index] != afterwards[index] {
                    let (stale, now) = (&at_once[index], &afterwards[index]);
                    let pair = format!("{}, then {method}", write.method);
                    self.stale.push(format!("{pair}: {stale}, later {now}"));
                }
                changed += usize::from(before[index] != afterwards[index]);
            }
        }
        (self.about.thread, self.about.turn) = main;
        changed
    }

    /// The answers to these requests, which are sent at once.
    async fn read(&mut self, reads: &[(&str, Params)]) -> Vec<Value> {
        let mut sent = Vec::new();
        for (method, params) in reads {
            let params = params(&self.about);
            sent.push(self.server.begin(method, params).await.unwrap());
        }
        let mut answers = Vec::new();
        for id in sent {
            let mut answer = self.server.reply_to(id).await.unwrap();
            answer.as_object_mut().unwrap().remove("id");
            answers.push(answer);
        }
        answers
    }
}

fn add_skill(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let text = format!("---\nname: {name}\ndescription: d\n---\n");
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).unwrap().as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_write_is_visible_to_its_read_method() {
    let mut pairs = Pairs::start().await;
    let mut unseen = Vec::new();
    for write in WRITE_METHODS {
        if pairs.play(write).await == 0 {
            unseen.push(write.method);
        }
    }
    assert_eq!(pairs.stale, [""; 0]);
    assert_eq!(unseen, UNSEEN_METHODS);
    pairs.server.finish().await.unwrap();
}

#[test]
fn every_method_is_paired_or_listed_as_unpaired() {
    let page = fs::read_to_string(repository().join("docs/methods.md")).unwrap();
    let requests = page
        .split("\n## ")
        .find(|part| part.starts_with("Requests of the client"));
    let named = |text: &str| -> BTreeSet<String> {
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned()))
            .collect()
    };
    let methods = named(requests.unwrap());
    let status = fs::read_to_string(repository().join("docs/status/methods.md")).unwrap();
    let unsupported = status
        .lines()
        .filter(|line| line.contains("| not supported"));
    let unsupported = unsupported.flat_map(|row| row.split('`').skip(1).step_by(2));
    let mut sorted = BTreeMap::<&str, usize>::new();
    let read = READS
        .iter()
        .chain(RESUME)
        .map(|(method, _)| *method)
        .collect::<BTreeSet<_>>();
    let alone = UNPAIRED_METHODS
        .iter()
        .flat_map(|(_, methods)| methods.iter().copied());
    let written = WRITE_METHODS.iter().map(|write| write.method);
    for method in read
        .into_iter()
        .chain(written)
        .chain(alone)
        .chain(unsupported)
    {
        *sorted.entry(method).or_default() += 1;
    }
    let twice: Vec<_> = sorted.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let sorted: BTreeSet<String> = sorted.into_keys().map(str::to_owned).collect();
    let missing: Vec<_> = methods.difference(&sorted).collect();
    let unknown: Vec<_> = sorted.difference(&methods).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "{missing:?} {unknown:?}"
    );
}
