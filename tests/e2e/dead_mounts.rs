//! File systems that do not answer: no request waits for one, none holds up another, and the server ends.
//!
//! A mount of a user-space file system whose program reads requests and never answers them. A thread that waits for it cannot
//! even be killed. Mounting needs privileges; without them the tests say so and pass.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::codex;
use crate::setup::{PROGRAM, experimental_server, home_with, scripted_config, scripted_home};
use crate::threads::message_reply;

/// How long a request may take: one file system is tried for two seconds.
const REPLY_TIMEOUT: Duration = Duration::from_secs(8);

/// Mounts a file system at its argument. It answers the first request, which opens the connection, and no other.
const DAEMON: &str = r#"
import ctypes, os, struct, sys
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"dead", sys.argv[1].encode(), b"fuse.dead", 0, options):
    sys.exit(os.strerror(ctypes.get_errno()))
print("mounted", flush=True)
while True:
    request = os.read(device, 1 << 20)
    _, operation, unique = struct.unpack("<IIQ", request[:16])
    if operation == 26:
        body = struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0, *([0] * 7))
        os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
"#;

/// A mount that never answers. Whoever waits for it is let go when this is dropped.
struct DeadMount {
    at: PathBuf,
    daemon: Child,
}

impl DeadMount {
    /// None where nothing can be mounted.
    fn mount_at(at: PathBuf) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let mut daemon = Command::new("python3")
            .args(["-c", DAEMON])
            .arg(&at)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut said = String::new();
        let mut output = std::io::BufReader::new(daemon.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut said).unwrap();
        if said == "mounted\n" {
            return Some(Self { at, daemon });
        }
        let why = daemon.wait_with_output().unwrap().stderr;
        println!(
            "skipped: nothing can be mounted here: {}",
            String::from_utf8_lossy(&why)
        );
        None
    }

    fn path(&self, name: &str) -> PathBuf {
        self.at.join(name)
    }
}

impl Drop for DeadMount {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// A home folder with these settings and a mount beside it. `BASE` in the settings stands for the folder around both.
fn mounted(settings: &str) -> Option<(TempDir, DeadMount)> {
    let base = home_with("");
    let settings = settings.replace("BASE", base.path().to_str().unwrap());
    fs::write(base.path().join("config.toml"), settings).unwrap();
    fs::create_dir(base.path().join("work")).unwrap();
    let mount = DeadMount::mount_at(base.path().join("dead"))?;
    Some((base, mount))
}

/// Other requests are answered at once.
async fn works(server: &mut AppServer) {
    let before = Instant::now();
    server.result("mock/experimentalMethod", json!({})).await;
    assert!(before.elapsed() < Duration::from_secs(2), "others wait");
}

/// The reply comes soon, and other requests do not wait for it.
async fn soon(server: &mut AppServer, method: &str, params: Value) -> Value {
    let before = Instant::now();
    let id = server.begin(method, params.clone()).await.unwrap();
    works(server).await;
    let reply = server.reply_to(id).await.unwrap();
    assert!(
        before.elapsed() < REPLY_TIMEOUT,
        "{method} {params}: {reply}"
    );
    reply
}

/// The server ends soon after its input.
async fn ends(server: AppServer) {
    let before = Instant::now();
    server.finish().await.unwrap();
    assert!(before.elapsed() < Duration::from_secs(5), "the end waits");
}

fn is_refused(reply: &Value) -> bool {
    reply["error"]["message"]
        .as_str()
        .is_some_and(|text| text.contains("does not answer"))
}

/// A value of a schema: every text is `path`.
fn example(schema: &Value, schemas: &Value, path: &str, depth: usize) -> Value {
    let inner = |schema: &Value| example(schema, schemas, path, depth + 1);
    if let Some(name) = schema["$ref"].as_str() {
        return inner(&schemas[name.rsplit('/').next().unwrap()]);
    }
    if depth > 14 {
        return Value::Null;
    }
    if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        let mut parts = schema[key].as_array().into_iter().flatten();
        if let Some(part) = parts.find(|part| part["type"] != "null") {
            return inner(part);
        }
    }
    let kinds = schema["type"].as_array().into_iter().flatten();
    let mut kinds = kinds.chain([&schema["type"]]).filter_map(Value::as_str);
    match kinds.find(|kind| *kind != "null") {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([inner(&schema["items"])]),
        Some("object") => {
            let members = schema["properties"].as_object().into_iter().flatten();
            let members = members.map(|(name, schema)| (name.clone(), inner(schema)));
            Value::Object(members.filter(|(_, value)| !value.is_null()).collect())
        }
        _ => json!(path),
    }
}

#[tokio::test]
async fn methods_reply_quickly_for_a_dead_mount() {
    let Some((home, mount)) = mounted("") else {
        return;
    };
    let generated = tempfile::tempdir().unwrap();
    let out = generated.path().to_str().unwrap();
    codex(&[
        "app-server",
        "generate-openrpc",
        "--experimental",
        "--out",
        out,
    ]);
    let openrpc = fs::read(generated.path().join("openrpc.json")).unwrap();
    let openrpc: Value = serde_json::from_slice(&openrpc).unwrap();
    let mut server = experimental_server(&home).await;
    let path = mount.path("folder/file");
    let mut count = 0;
    for method in openrpc["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        let params = method["params"].as_array().unwrap();
        let takes_params = !params.is_empty() && name != "initialize";
        if !takes_params || method["x-direction"] != "clientRequest" {
            continue;
        }
        let params = params.iter().map(|param| {
            let value = example(
                &param["schema"],
                &openrpc["components"]["schemas"],
                path.to_str().unwrap(),
                0,
            );
            (param["name"].as_str().unwrap().to_owned(), value)
        });
        let params = Value::Object(params.filter(|(_, value)| !value.is_null()).collect());
        soon(&mut server, name, params).await;
        count += 1;
    }
    assert!(count > 100, "{count}");
    ends(server).await;
}

#[tokio::test]
async fn dead_mount_does_not_delay_other_requests() {
    let Some((home, mount)) = mounted("") else {
        return;
    };
    let mut server = experimental_server(&home).await;
    let before = Instant::now();
    let mut ids = Vec::new();
    for number in 0..100 {
        let path = mount.path(&number.to_string());
        let read = server.begin("fs/readFile", json!({ "path": path })).await;
        let params = json!({ "command": ["true"], "cwd": path });
        ids.extend([
            read.unwrap(),
            server.begin("command/exec", params).await.unwrap(),
        ]);
    }
    works(&mut server).await;
    let other = home.path().join("config.toml");
    server.result("fs/readFile", json!({ "path": other })).await;
    for id in ids {
        let reply = server.reply_to(id).await.unwrap();
        assert!(is_refused(&reply), "{reply}");
    }
    assert!(before.elapsed() < REPLY_TIMEOUT);
    // One helper is left behind, whatever the number of requests.
    let helpers = fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let parent = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let parent = parent
            .rsplit(") ")
            .next()
            .unwrap_or_default()
            .split(' ')
            .nth(1);
        let name = fs::read(process.path().join("cmdline")).unwrap_or_default();
        name.starts_with(b"codex-mount-check")
            && parent == Some(server.process_id().unwrap().to_string().as_str())
    });
    assert_eq!(helpers.count(), 1);
    ends(server).await;
}

#[tokio::test]
async fn a_mount_that_answers_again_is_used_again() {
    let Some((home, mount)) = mounted("") else {
        return;
    };
    let mut server = experimental_server(&home).await;
    let params = json!({ "path": home.path().join("dead") });
    let reply = soon(&mut server, "fs/readDirectory", params.clone()).await;
    assert!(is_refused(&reply), "{reply}");
    drop(mount);
    server.result("fs/readDirectory", params).await;
    ends(server).await;
}

/// What a project can lead to a dead mount with.
#[tokio::test]
async fn links_and_mounts_in_a_project_hold_nobody_up() {
    let Some((home, mount)) = mounted("[projects.\"BASE/work\"]\ntrust_level = \"trusted\"\n")
    else {
        return;
    };
    let work = home.path().join("work");
    let below = home.path().join("below");
    fs::create_dir_all(below.join(".git")).unwrap();
    for name in [
        ".codex",
        ".agents",
        ".git",
        "AGENTS.md",
        "CLAUDE.md",
        ".claude",
    ] {
        symlink(mount.path(name), work.join(name)).unwrap();
    }
    let inner = DeadMount::mount_at(below.join("inner")).unwrap();
    let mut server = experimental_server(&home).await;
    for folder in [&work, &below] {
        for (method, params) in [
            (
                "config/read",
                json!({ "cwd": folder, "includeLayers": true }),
            ),
            (
                "skills/list",
                json!({ "cwds": [folder], "forceReload": true }),
            ),
            ("hooks/list", json!({ "cwds": [folder] })),
            ("plugin/list", json!({ "cwds": [folder] })),
            ("externalAgentConfig/detect", json!({ "cwds": [folder] })),
            ("gitDiffToRemote", json!({ "cwd": folder })),
            (
                "fuzzyFileSearch",
                json!({ "query": "x", "roots": [folder] }),
            ),
            ("fs/readDirectory", json!({ "path": folder })),
            ("fs/watch", json!({ "path": folder, "watchId": folder })),
            (
                "command/exec",
                json!({ "command": ["true"], "cwd": folder }),
            ),
            (
                "command/exec",
                json!({ "command": ["true"], "cwd": folder, "sandboxPolicy": { "type": "workspaceWrite" } }),
            ),
            ("thread/start", json!({ "cwd": folder })),
            (
                "fs/copy",
                json!({ "sourcePath": folder, "destinationPath": home.path().join("copy"), "recursive": true }),
            ),
            (
                "fs/remove",
                json!({ "path": folder, "recursive": true, "force": true }),
            ),
        ] {
            soon(&mut server, method, params).await;
        }
    }
    ends(server).await;
    drop(inner);
}

#[tokio::test]
async fn settings_that_name_a_dead_mount_hold_nobody_up() {
    let settings = r#"
        sandbox_mode = "workspace-write"
        log_dir = "BASE/dead/log"
        [sandbox_workspace_write]
        writable_roots = ["BASE/dead/root"]
        [projects."BASE/dead/project"]
        trust_level = "trusted"
        [[skills.config]]
        path = "BASE/dead/skill/SKILL.md"
        enabled = false
        [marketplaces.dead]
        source_type = "local"
        source = "BASE/dead/marketplace"
        [mcp_servers.one]
        command = "BASE/dead/server"
        [mcp_servers.two]
        command = "true"
        cwd = "BASE/dead/server"
    "#;
    let Some((home, _mount)) = mounted(settings) else {
        return;
    };
    let mut server = experimental_server(&home).await;
    let work = home.path().join("work");
    for (method, params) in [
        ("config/read", json!({ "cwd": work })),
        ("skills/list", json!({ "cwds": [work] })),
        ("plugin/list", json!({})),
        ("mcpServerStatus/list", json!({})),
        ("thread/start", json!({ "cwd": work })),
        ("thread/list", json!({})),
    ] {
        let reply = soon(&mut server, method, params).await;
        assert!(reply["error"].is_null(), "{method}: {reply}");
    }
    let command = json!({ "command": ["true"], "cwd": work });
    let reply = soon(&mut server, "command/exec", command).await;
    assert!(is_refused(&reply), "a dead writable root is named: {reply}");
    let open = json!({ "command": ["true"], "cwd": work, "sandboxPolicy": { "type": "dangerFullAccess" } });
    server.result("command/exec", open).await;
    ends(server).await;
}

#[tokio::test]
async fn command_on_dead_mount_times_out() {
    let Some((home, mount)) = mounted("") else {
        return;
    };
    let mut server = experimental_server(&home).await;
    let script = format!("cat '{}'", mount.path("x").display());
    let limited = |script: &str| json!({ "command": ["sh", "-c", script], "timeoutMs": 500 });
    soon(&mut server, "command/exec", limited(&script)).await;
    let unlimited = json!({ "command": ["sh", "-c", script] });
    server.begin("command/exec", unlimited).await.unwrap();
    let before = Instant::now();
    // It is not answered, so the observer would complain.
    server.abandon().await.unwrap();
    assert!(before.elapsed() < Duration::from_secs(6));
}

/// A thread whose folder died since, and a model that names paths on a dead mount.
#[tokio::test]
async fn turns_on_a_dead_mount_fail_and_others_continue() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "[features]\napply_patch_freeform = true");
    let (work, died) = (home.path().join("work"), home.path().join("dead"));
    fs::create_dir(&work).unwrap();
    fs::create_dir(&died).unwrap();
    let mut server = experimental_server(&home).await;
    let in_dead = server.start_thread_with(json!({ "cwd": died })).await;
    let other = server.start_thread_with(json!({ "cwd": work })).await;
    let Some(mount) = DeadMount::mount_at(died.clone()) else {
        return;
    };
    let start =
        |thread: &str| json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] });
    soon(&mut server, "turn/start", start(&in_dead)).await;
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "failed", "{ended}");
    let message = ended["error"]["message"].as_str().unwrap();
    assert!(message.contains("does not answer"), "{message}");
    let path = mount.path("x");
    let patch = format!(
        "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch\n",
        path.display()
    );
    for (name, arguments) in [
        (
            "shell_command",
            json!({ "command": "true", "workdir": path }),
        ),
        ("view_image", json!({ "path": path })),
    ] {
        model.push(HttpReply::stream(&sse::items(&[sse::function_call(
            name, name, &arguments,
        )])));
    }
    model.push(HttpReply::stream(&sse::items(&[sse::custom_call(
        "patch",
        "apply_patch",
        &patch,
    )])));
    model.push(message_reply("m", "done"));
    soon(&mut server, "turn/start", start(&other)).await;
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "completed", "{ended}");
    for request in model.requests().iter().skip(1) {
        let request = request.json();
        let output = request["input"].as_array().unwrap().last().unwrap();
        assert!(
            output["output"].to_string().contains("does not answer"),
            "{output}"
        );
    }
    ends(server).await;
}

#[tokio::test]
async fn programs_refuse_a_dead_mount_quickly() {
    let model = ModelServer::start([]).await.unwrap();
    let Some((home, mount)) = mounted(&scripted_config(&model, "")) else {
        return;
    };
    let folder = mount.path("folder");
    let folder = folder.to_str().unwrap();
    let image = mount.path("image.png");
    let file = mount.path("file");
    let file = file.to_str().unwrap();
    for arguments in [
        vec!["exec", "-C", folder, "hi"],
        vec![
            "exec",
            "--skip-git-repo-check",
            "-i",
            image.to_str().unwrap(),
            "hi",
        ],
        vec!["exec", "--skip-git-repo-check", "-o", file, "hi"],
        vec![
            "exec",
            "--skip-git-repo-check",
            "--output-schema",
            file,
            "hi",
        ],
        vec!["exec", "--skip-git-repo-check", "--add-dir", folder, "hi"],
        vec!["-C", folder, "app-server"],
        vec!["-C", folder, "mcp-server"],
        vec!["-C", folder, "acp"],
    ] {
        let before = Instant::now();
        let run = Command::new(PROGRAM)
            .args(&arguments)
            .env("CODEX_HOME", home.path())
            .current_dir(home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("does not answer"), "{arguments:?}: {said}");
        assert!(before.elapsed() < REPLY_TIMEOUT, "{arguments:?}");
    }
}
