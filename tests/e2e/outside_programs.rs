//! Programs that run outside of the sandbox: commands in the sandbox do not decide what they run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse, write_executable};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{PROGRAM, home_with, numbered, scripted_config, server_in};

/// Numbers the calls of all models.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A home folder, a workspace that commands may write, and a model.
struct Workspace {
    model: ModelServer,
    home: TempDir,
    work: TempDir,
}

impl Workspace {
    async fn new() -> Self {
        let model = ModelServer::start([]).await.unwrap();
        let settings = "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"";
        let home = home_with(&scripted_config(&model, settings));
        let work = tempfile::tempdir().unwrap();
        fs::create_dir(work.path().join(".git")).unwrap();
        Self { model, home, work }
    }

    fn work(&self) -> PathBuf {
        self.work.path().canonicalize().unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.work().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        write_executable(&file, text).unwrap();
    }

    fn add_settings(&self, before: &str, after: &str) {
        let file = self.home.path().join("config.toml");
        let config = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{before}{config}{after}")).unwrap();
    }

    /// Where programs outside note that they ran; commands in the sandbox cannot.
    fn ran(&self) -> String {
        fs::read_to_string(self.home.path().join("ran")).unwrap_or_default()
    }

    fn forget(&self) {
        let _ = fs::remove_file(self.home.path().join("ran"));
    }

    /// A line of a script that notes a word.
    fn note(&self, word: &str) -> String {
        format!("echo {word} >> {}", self.home.path().join("ran").display())
    }

    async fn server(&self) -> AppServer {
        let work = self.work();
        server_in(&self.home, &[("HOME", work.to_str().unwrap())]).await
    }

    async fn thread(&self, server: &mut AppServer) -> String {
        let params = json!({ "cwd": self.work() });
        server.start_thread_with(params).await
    }

    /// A turn in which the model runs these commands.
    async fn turn(&self, server: &mut AppServer, thread: &str, commands: &[&str]) -> Value {
        for command in commands {
            let number = CALLS.fetch_add(1, Ordering::Relaxed);
            let arguments = json!({ "command": command });
            let call = sse::function_call(&format!("call{number}"), "shell_command", &arguments);
            self.model
                .push(HttpReply::stream(&numbered(sse::items(&[call]))));
        }
        self.model
            .push(HttpReply::stream(&numbered(sse::text("done"))));
        server.start_turn(thread, "go").await;
        server.completed_turn().await
    }

    async fn hook(&self, server: &mut AppServer) -> Value {
        let params = json!({ "cwds": [self.work()] });
        let listed = server.call("hooks/list", params).await.unwrap();
        listed["result"]["data"][0]["hooks"][0].clone()
    }

    /// Has the user trust the hook as it is.
    async fn trust(&self, server: &mut AppServer) {
        let hook = self.hook(server).await;
        let state =
            json!({ hook["key"].as_str().unwrap(): { "trusted_hash": hook["currentHash"] } });
        let edit = json!({ "keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert" });
        let params = json!({ "edits": [edit], "reloadUserConfig": true });
        let written = server.call("config/batchWrite", params).await.unwrap();
        assert_eq!(written["result"]["status"], "ok", "{written}");
    }

    /// A hook at the end of turns.
    fn set_hook(&self, line: &str) {
        let hook = json!([{ "hooks": [{ "type": "command", "command": line }] }]);
        let hooks = json!({ "hooks": { "Stop": hook } });
        fs::write(self.home.path().join("hooks.json"), hooks.to_string()).unwrap();
    }

    fn codex(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env("CODEX_HOME", self.home.path());
        let output = command.current_dir(self.work()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }
}

#[tokio::test]
async fn hook_with_changed_files_needs_trust_again() {
    for (line, files, changed) in [
        ("./check.sh", &["check.sh"][..], "check.sh"),
        (
            "sh -c 'cd tools && sh ./check.sh'",
            &["tools/check.sh"],
            "tools/check.sh",
        ),
        ("env A=1 bash check.sh", &["check.sh", "lib.sh"], "lib.sh"),
        ("D=.; \"$D\"/check.sh || true", &["check.sh"], "check.sh"),
        ("make -s", &["Makefile"], "Makefile"),
        ("./link.sh", &["check.sh", "link.sh"], "check.sh"),
    ] {
        let case = Workspace::new().await;
        for file in files {
            let text = match *file {
                "check.sh" if files.contains(&"lib.sh") => ". ./lib.sh".to_owned(),
                "Makefile" => format!("all:\n\t{}\n", case.note("good")),
                _ => case.note("good"),
            };
            if *file == "link.sh" {
                symlink("check.sh", case.work().join(file)).unwrap();
                continue;
            }
            case.write(file, &text);
        }
        case.set_hook(line);
        let mut server = case.server().await;
        let untrusted = case.hook(&mut server).await;
        assert_eq!(untrusted["trustStatus"], "untrusted", "{line}");
        case.trust(&mut server).await;
        assert_eq!(
            case.hook(&mut server).await["trustStatus"],
            "trusted",
            "{line}"
        );
        let thread = case.thread(&mut server).await;
        // The sandbox keeps the model from changing it.
        let write = format!("echo '{}' > {changed}", case.note("bad"));
        let replace = format!("rm -f {changed}; echo '{}' > {changed}", case.note("bad"));
        let rename = "mv tools tools2; mkdir tools";
        let link = format!(
            "echo '{}' > other.sh; ln -sf other.sh link.sh",
            case.note("bad")
        );
        case.turn(&mut server, &thread, &[&write, &replace, rename, &link])
            .await;
        assert_eq!(case.ran(), "good\n", "{line}");
        // Another session has changed it meanwhile.
        case.forget();
        case.write(changed, &format!("all:\n\t{}\n", case.note("bad")));
        case.turn(&mut server, &thread, &[]).await;
        assert_eq!(case.ran(), "", "{line}");
        assert_eq!(
            case.hook(&mut server).await["trustStatus"],
            "modified",
            "{line}"
        );
        let thread = case.thread(&mut server).await;
        let warned = server.wait_for("warning").await.unwrap();
        let warning = warned["params"]["message"].as_str().unwrap().to_owned();
        assert!(
            warning.contains("has changed since it was trusted"),
            "{warning}"
        );
        case.turn(&mut server, &thread, &[]).await;
        assert_eq!(case.ran(), "", "{line}");
        case.write(changed, &case.note("new"));
        if changed == "Makefile" {
            case.write(changed, &format!("all:\n\t{}\n", case.note("new")));
        }
        case.trust(&mut server).await;
        let thread = case.thread(&mut server).await;
        case.turn(&mut server, &thread, &[]).await;
        assert_eq!(case.ran(), "new\n", "{line}");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn hooks_do_not_run_planted_program() {
    let case = Workspace::new().await;
    case.write("bin/unrelated", "");
    case.set_hook(&format!("printenv HOME; {}", case.note("good")));
    let path = format!(
        "{}:{}",
        case.work().join("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let mut server = server_in(&case.home, &[("PATH", &path)]).await;
    case.trust(&mut server).await;
    let thread = case.thread(&mut server).await;
    let script = format!("#!/bin/sh\n{}", case.note("bad"));
    let shadow = format!("printf '{script}' > bin/printenv; chmod +x bin/printenv");
    case.turn(&mut server, &thread, &[&shadow]).await;
    assert!(case.work().join("bin/printenv").exists());
    assert_eq!(case.ran(), "");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_hook_reads_no_startup_files_of_a_shell() {
    let case = Workspace::new().await;
    case.set_hook(&case.note("good"));
    let environment = case.work().join("env.sh");
    let mut server = server_in(
        &case.home,
        &[
            ("HOME", case.work().to_str().unwrap()),
            ("BASH_ENV", environment.to_str().unwrap()),
            ("ENV", environment.to_str().unwrap()),
        ],
    )
    .await;
    case.trust(&mut server).await;
    let thread = case.thread(&mut server).await;
    let bad = case.note("bad");
    let files = [
        ".bash_profile",
        ".bash_login",
        ".profile",
        ".bashrc",
        ".zshenv",
    ];
    let writes = files.map(|file| format!("echo '{bad}' > {file}"));
    let writes: Vec<&str> = writes.iter().map(String::as_str).collect();
    case.turn(&mut server, &thread, &writes).await;
    assert!(case.work().join(".bash_profile").exists());
    assert_eq!(case.ran(), "good\n");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn hook_that_runs_workspace_code_is_not_trusted() {
    let case = Workspace::new().await;
    case.set_hook("cargo test");
    let mut server = case.server().await;
    case.trust(&mut server).await;
    assert_eq!(case.hook(&mut server).await["trustStatus"], "modified");
    case.thread(&mut server).await;
    let warned = server.wait_for("warning").await.unwrap();
    let warning = warned["params"]["message"].as_str().unwrap().to_owned();
    assert!(warning.contains("what it runs (`cargo`)"), "{warning}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn hook_without_trust_runs_its_first_content() {
    let case = Workspace::new().await;
    case.add_settings("", "[features]\ncodex_hooks = true\n");
    case.write("check.sh", &case.note("good"));
    case.set_hook("sh check.sh");
    let mut server = case.server().await;
    let thread = case.thread(&mut server).await;
    case.turn(&mut server, &thread, &["echo x > check.sh"])
        .await;
    assert_eq!(case.ran(), "good\n");
    case.write("check.sh", &case.note("bad"));
    case.turn(&mut server, &thread, &[]).await;
    assert_eq!(case.ran(), "good\n");
    server.finish().await.unwrap();
}

/// A server of MCP in the workspace that notes its start, and is none.
fn mcp_settings(command: &str, arguments: &[&str], cwd: &Path) -> String {
    format!(
        "[mcp_servers.docs]\ncommand = {command:?}\nargs = {:?}\ncwd = {:?}\nstartup_timeout_sec = 5\n",
        arguments,
        cwd.display().to_string()
    )
}

const STARTUP: &str = "mcpServer/startupStatus/updated";

/// The error of the next failed start.
async fn startup_error(server: &mut AppServer) -> String {
    loop {
        let told = server.wait_for(STARTUP).await.unwrap();
        if told["params"]["status"] == "failed" {
            return told["params"]["error"].as_str().unwrap().to_owned();
        }
    }
}

#[tokio::test]
async fn mcp_server_with_changed_files_needs_acceptance() {
    let case = Workspace::new().await;
    case.write("server.sh", &case.note("good"));
    case.add_settings("", &mcp_settings("sh", &["server.sh"], &case.work()));
    let mut server = case.server().await;
    let thread = case.thread(&mut server).await;
    let error = startup_error(&mut server).await;
    assert!(!error.contains("has changed"), "{error}");
    assert_eq!(case.ran(), "good\n");
    // The sandbox keeps the model from changing it.
    let write = format!("echo '{}' > server.sh", case.note("bad"));
    case.turn(&mut server, &thread, &[&write]).await;
    let text = fs::read_to_string(case.work().join("server.sh")).unwrap();
    assert_eq!(text, case.note("good"));
    server.finish().await.unwrap();
    // A session that knows no such server could.
    case.forget();
    case.write("server.sh", &case.note("bad"));
    let mut server = case.server().await;
    case.thread(&mut server).await;
    let error = startup_error(&mut server).await;
    let path = case.work().join("server.sh");
    assert!(error.contains(path.to_str().unwrap()), "{error}");
    assert!(
        error.contains("codex programs trust mcp_servers.docs"),
        "{error}"
    );
    assert_eq!(case.ran(), "");
    let params = json!({ "server": "docs", "uri": "x:y" });
    let read = server
        .call("mcpServer/resource/read", params)
        .await
        .unwrap();
    assert!(
        read["error"]["message"]
            .as_str()
            .unwrap()
            .contains("has changed"),
        "{read}"
    );
    let listed = server
        .call("mcpServerStatus/list", json!({}))
        .await
        .unwrap();
    assert_eq!(listed["result"]["data"][0]["tools"], json!({}));
    assert_eq!(case.ran(), "");
    server.finish().await.unwrap();
    let listed = case.codex(&["programs", "list"]);
    assert!(listed.contains("has changed: "), "{listed}");
    let trusted = case.codex(&["programs", "trust", "mcp_servers.docs"]);
    assert!(trusted.contains(path.to_str().unwrap()), "{trusted}");
    let again = case.codex(&["programs", "trust", "mcp_servers.docs"]);
    assert!(
        again.contains("no file of mcp_servers.docs has changed"),
        "{again}"
    );
    let mut server = case.server().await;
    case.thread(&mut server).await;
    startup_error(&mut server).await;
    assert_eq!(case.ran(), "bad\n");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn model_created_mcp_server_does_not_start() {
    let case = Workspace::new().await;
    case.add_settings("", &mcp_settings("sh", &["later.sh"], &case.work()));
    let mut server = case.server().await;
    let thread = case.thread(&mut server).await;
    startup_error(&mut server).await;
    let write = format!("echo '{}' > later.sh", case.note("bad"));
    case.turn(&mut server, &thread, &[&write]).await;
    assert!(case.work().join("later.sh").exists());
    case.thread(&mut server).await;
    let error = startup_error(&mut server).await;
    assert!(error.contains("has changed"), "{error}");
    assert_eq!(case.ran(), "");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unsandboxed_mcp_server_starts_unchanged() {
    let case = Workspace::new().await;
    case.write("server.sh", &case.note("one"));
    case.add_settings("", &mcp_settings("sh", &["server.sh"], &case.work()));
    let mut server = case.server().await;
    case.thread(&mut server).await;
    startup_error(&mut server).await;
    case.write("server.sh", &case.note("two"));
    let params = json!({ "cwd": case.work(), "sandbox": "danger-full-access" });
    server.start_thread_with(params).await;
    startup_error(&mut server).await;
    assert_eq!(case.ran(), "one\ntwo\n");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn changed_notify_program_does_not_run() {
    let case = Workspace::new().await;
    let script = case.work().join("notify.sh");
    case.write("notify.sh", &case.note("good"));
    case.add_settings(&format!("notify = ['sh', {script:?}]\n"), "");
    let mut server = case.server().await;
    let thread = case.thread(&mut server).await;
    let write = format!("echo '{}' > notify.sh", case.note("bad"));
    case.turn(&mut server, &thread, &[&write]).await;
    while case.ran() != "good\n" {
        tokio::task::yield_now().await;
    }
    server.finish().await.unwrap();
    case.write("notify.sh", &case.note("bad"));
    let mut server = case.server().await;
    let thread = case.thread(&mut server).await;
    let warned = server.wait_for("configWarning").await.unwrap();
    let warning = warned["params"]["summary"].as_str().unwrap().to_owned();
    assert!(warning.contains("codex programs trust notify"), "{warning}");
    case.turn(&mut server, &thread, &[]).await;
    case.codex(&["programs", "trust", "notify"]);
    case.turn(&mut server, &thread, &[]).await;
    while !case.ran().contains("bad") {
        tokio::task::yield_now().await;
    }
    assert_eq!(case.ran(), "good\nbad\n");
    server.finish().await.unwrap();
}

/// A turn with a command that a person typed.
async fn type_command(server: &mut AppServer, thread: &str) {
    let params = json!({ "threadId": thread, "command": "echo typed" });
    server.call("thread/shellCommand", params).await.unwrap();
    server.wait_for("turn/completed").await.unwrap();
}

/// A turn in which the model runs a command outside of the sandbox, which the user allows.
async fn leave_the_sandbox(case: &Workspace, server: &mut AppServer, thread: &str) {
    let arguments = json!({ "command": "echo out", "sandbox_permissions": "require_escalated", "justification": "x" });
    let call = sse::function_call("out", "shell_command", &arguments);
    case.model
        .push(HttpReply::stream(&numbered(sse::items(&[call]))));
    case.model
        .push(HttpReply::stream(&numbered(sse::text("done"))));
    server.start_turn(thread, "go").await;
    let asked = server
        .wait_for("item/commandExecution/requestApproval")
        .await
        .unwrap();
    let answer = json!({ "id": asked["id"], "result": { "decision": "accept" } });
    server.send(&answer).await.unwrap();
    server.completed_turn().await;
}

#[tokio::test]
async fn unsandboxed_commands_read_no_model_writable_startup_files() {
    let case = Workspace::new().await;
    let mut server = case.server().await;
    let params = json!({ "cwd": case.work(), "approvalPolicy": "on-request" });
    let thread = server.start_thread_with(params).await;
    let write = format!("echo '{}' > .bash_profile", case.note("bad"));
    case.turn(&mut server, &thread, &[&write]).await;
    let params = json!({ "threadId": thread, "command": "echo typed" });
    server.call("thread/shellCommand", params).await.unwrap();
    let warned = server.wait_for("warning").await.unwrap();
    server.wait_for("turn/completed").await.unwrap();
    let warning = warned["params"]["message"].as_str().unwrap().to_owned();
    assert!(warning.contains("without the startup files"), "{warning}");
    leave_the_sandbox(&case, &mut server, &thread).await;
    assert_eq!(case.ran(), "");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unsandboxed_commands_read_user_startup_files() {
    let case = Workspace::new().await;
    let person = case.home.path().join("person");
    fs::create_dir(&person).unwrap();
    fs::write(person.join(".bash_profile"), case.note("user")).unwrap();
    // The tests may be built where commands can write, and then their libraries would count.
    let libraries = ("LD_LIBRARY_PATH", "/usr/lib");
    let mut server = server_in(&case.home, &[libraries]).await;
    let params = json!({ "cwd": case.work(), "approvalPolicy": "on-request" });
    let thread = server.start_thread_with(params).await;
    type_command(&mut server, &thread).await;
    leave_the_sandbox(&case, &mut server, &thread).await;
    assert_eq!(case.ran(), "user\nuser\n");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn engine_does_not_run_a_planted_git() {
    let case = Workspace::new().await;
    let tools = tempfile::tempdir().unwrap();
    let bad = format!("#!/bin/sh\n{}", case.note("bad"));
    write_executable(&tools.path().join("git"), bad).unwrap();
    let path = format!(
        "{}:{}",
        tools.path().display(),
        std::env::var("PATH").unwrap()
    );
    let mut server = server_in(&case.home, &[("PATH", &path)]).await;
    let thread = case.thread(&mut server).await;
    case.turn(&mut server, &thread, &["echo x > file"]).await;
    let params = json!({ "cwd": case.work() });
    let _ = server.call("gitDiffToRemote", params).await.unwrap();
    assert_eq!(case.ran(), "");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn patch_cannot_change_hook_files() {
    let case = Workspace::new().await;
    case.write("check.sh", &case.note("good"));
    case.set_hook("./check.sh");
    let mut server = case.server().await;
    case.trust(&mut server).await;
    let thread = case.thread(&mut server).await;
    let patch =
        "*** Begin Patch\n*** Delete File: check.sh\n*** Add File: check.sh\n+bad\n*** End Patch";
    let call = sse::function_call("patch", "apply_patch", &json!({ "input": patch }));
    case.model
        .push(HttpReply::stream(&numbered(sse::items(&[call]))));
    case.turn(&mut server, &thread, &[]).await;
    let text = fs::read_to_string(case.work().join("check.sh")).unwrap();
    assert_eq!(text, case.note("good"));
    assert_eq!(case.ran(), "good\n");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn hook_hash_has_imported_files() {
    let case = Workspace::new().await;
    let note = |word: &str| {
        let file = case.home.path().join("ran");
        format!("open({file:?}, 'a').write('{word}\\n')\n")
    };
    case.write("hook.py", "import helper, json\n");
    case.write("helper.py", &note("good"));
    case.set_hook("python3 hook.py");
    let mut server = case.server().await;
    case.trust(&mut server).await;
    let thread = case.thread(&mut server).await;
    let bad = note("bad").replace('\'', "\"");
    let write = format!("printf '%s' '{bad}' > helper.py");
    case.turn(&mut server, &thread, &[&write]).await;
    assert_eq!(case.ran(), "good\n");
    // A module that comes before one of Python can be made, and ends trust.
    let shadow = format!("printf '%s' '{bad}' > json.py");
    case.turn(&mut server, &thread, &[&shadow]).await;
    assert!(case.work().join("json.py").exists());
    assert_eq!(case.ran(), "good\n");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn hook_hash_covers_indirectly_run_files() {
    let good = |case: &Workspace| {
        let file = case.home.path().join("ran");
        format!("open({file:?}, 'a').write('good\\n')\n")
    };
    for (line, script, changed) in [
        ("python3 d", "d/__main__.py", "d/__main__.py"),
        (
            "PYTHONPATH=lib python3 -c 'import foo'",
            "lib/foo.py",
            "lib/foo.py",
        ),
        // A module that comes before one of Python.
        (
            "env PYTHONPATH=lib python3 -c 'import foo'",
            "lib/foo.py",
            "lib/sitecustomize.py",
        ),
        (
            "python3 -c \"exec(open('h.txt').read())\"",
            "h.txt",
            "h.txt",
        ),
        ("python3 .codex/hooks/a.py", "h.txt", "h.txt"),
    ] {
        let case = Workspace::new().await;
        case.write(script, &good(&case));
        case.write(".codex/hooks/a.py", "exec(open('h.txt').read())\n");
        case.set_hook(line);
        let mut server = case.server().await;
        case.trust(&mut server).await;
        let thread = case.thread(&mut server).await;
        let bad = good(&case).replace("good", "bad").replace('\'', "\"");
        let bad = bad.trim_end();
        let write = format!("printf '%s' '{bad}' > {changed}");
        let replace = "mv d e; mv lib other; mv h.txt i.txt; mkdir d lib";
        case.turn(&mut server, &thread, &[&write, replace, &write])
            .await;
        case.turn(&mut server, &thread, &[]).await;
        let ran = case.ran();
        assert!(
            ran.starts_with("good\n") && !ran.contains("bad"),
            "{line}: {ran}"
        );
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn hook_with_a_computed_command_is_not_trusted() {
    let case = Workspace::new().await;
    case.write(
        ".codex/hooks/a.py",
        "import sys\nexec(open(sys.argv[1]).read())\n",
    );
    case.set_hook("python3 .codex/hooks/a.py x");
    let mut server = case.server().await;
    case.trust(&mut server).await;
    assert_eq!(case.hook(&mut server).await["trustStatus"], "modified");
    case.thread(&mut server).await;
    let warned = server.wait_for("warning").await.unwrap();
    let warning = warned["params"]["message"].as_str().unwrap().to_owned();
    assert!(warning.contains("`exec(open(sys.argv[1])"), "{warning}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn mcp_server_in_a_changed_folder_does_not_start() {
    let case = Workspace::new().await;
    let file = case.home.path().join("ran");
    let note = |word: &str| format!("open({file:?}, 'a').write('{word}\\n')\n");
    case.write("srv/__main__.py", &note("good"));
    case.add_settings("", &mcp_settings("python3", &["srv"], &case.work()));
    let mut server = case.server().await;
    case.thread(&mut server).await;
    startup_error(&mut server).await;
    assert_eq!(case.ran(), "good\n");
    server.finish().await.unwrap();
    case.write("srv/__main__.py", &note("bad"));
    let mut server = case.server().await;
    case.thread(&mut server).await;
    let error = startup_error(&mut server).await;
    assert!(error.contains("srv/__main__.py"), "{error}");
    assert_eq!(case.ran(), "good\n");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn code_in_a_hook_imports_nothing_of_the_workspace() {
    let case = Workspace::new().await;
    let file = case.home.path().join("ran");
    case.set_hook(&format!(
        "python3 -c 'import json; open({file:?}, \"a\").write(\"good\\n\")'"
    ));
    let mut server = case.server().await;
    case.trust(&mut server).await;
    let thread = case.thread(&mut server).await;
    let shadow = format!("echo 'open({file:?}, \"a\").write(\"bad\")' > json.py");
    case.turn(&mut server, &thread, &[&shadow]).await;
    assert!(case.work().join("json.py").exists());
    assert_eq!(case.ran(), "good\n");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn mcp_server_in_a_workspace_home_is_protected() {
    let case = Workspace::new().await;
    case.write(
        ".local/bin/docs-server",
        &format!("#!/bin/sh\n{}", case.note("good")),
    );
    case.add_settings("", "[mcp_servers.docs]\ncommand = \"docs-server\"\n");
    let work = case.work();
    let path = format!(
        "{}:{}",
        work.join(".local/bin").display(),
        std::env::var("PATH").unwrap()
    );
    let variables = [("HOME", work.to_str().unwrap()), ("PATH", path.as_str())];
    let mut server = server_in(&case.home, &variables).await;
    let thread = case.thread(&mut server).await;
    startup_error(&mut server).await;
    assert_eq!(case.ran(), "good\n");
    let write = format!("echo '{}' > .local/bin/docs-server", case.note("bad"));
    let rename = "mv .local old; mkdir -p .local/bin; cp /bin/true .local/bin/docs-server";
    case.turn(&mut server, &thread, &[&write, rename]).await;
    case.forget();
    case.thread(&mut server).await;
    startup_error(&mut server).await;
    assert_eq!(case.ran(), "good\n");
    server.finish().await.unwrap();
}
