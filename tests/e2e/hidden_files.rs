//! A model that tries to read hidden files, by each of its tools and with each sandbox, through the real binary.
//!
//! Whatever it tries, no request to the model has the text of a hidden file in it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use codex_test_support::{AppServer, HttpReply, ModelServer, ReceivedRequest, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{PROGRAM, home_with, limited, numbered, scripted_config};

/// What hidden files have in them.
const SECRET: &str = "hidden-value-4711";

/// Scripts that try to read a hidden file of the working folder, or to make one of its names readable.
const SCRIPTS: [&str; 38] = [
    "cat .env",
    "cat sub/deep/.env",
    "cat link; cat folder-link/.env; cat hard; cat sub/hard",
    "cat keys/a.pem; cat keys/new.pem; ls keys",
    "ln -s .env a-link; cat a-link",
    "ln .env a-name; cat a-name",
    "cp .env copy; cat copy; cp -a . ../copy-of-all; cat ../copy-of-all/.env; rm -rf ../copy-of-all",
    "cat /proc/self/root$PWD/.env; cat /proc/self/cwd/.env; cat /proc/thread-self/root$PWD/.env",
    "for p in /proc/[0-9]*; do cat $p/root$PWD/.env; cat $p/cwd/.env; done",
    "tar cf - . | tr -d '\\000'; tar cf - .env | strings",
    "mv .env x; cat x",
    "mv sub moved; cat moved/deep/.env",
    "mv sub/deep sub/d; cat sub/d/.env",
    "mv ../work ../other; cat ../other/.env",
    "rm -f .env; ls; cat .env",
    "chmod 644 .env; cat .env",
    "dd if=.env; head -c 99 .env; od -c .env | head",
    "(exec 3< .env; cat <&3)",
    ". ./.env; set | grep 4711",
    "while read l; do echo $l; done < .env",
    "grep -r 4711 . ; find . -type f -exec cat {} +",
    "git diff --no-index /dev/null .env; git add -f .env; git show :.env; git hash-object -w .env; git stash",
    "git diff; git diff HEAD; git log -p -1 --all -- nothing",
    "python3 -c \"import mmap;f=open('.env','rb');print(mmap.mmap(f.fileno(),0,prot=1)[:])\"",
    "python3 -c \"import threading as t;x=t.Thread(target=lambda:print(open('.env').read()));x.start();x.join()\"",
    "python3 -c \"import os;d=os.open('.',os.O_PATH);print(os.read(os.open('.env',0,dir_fd=d),99))\"",
    "python3 -c \"import os,shutil;shutil.copyfile('.env','z');print(open('z').read())\"",
    "unshare -Urm sh -c 'umount .env; cat .env'",
    "unshare -Urm sh -c 'mkdir -p /tmp/b; mount --bind . /tmp/b; cat /tmp/b/.env; mount --rbind / /mnt; cat /mnt$PWD/.env'",
    "umount .env; umount -l .env; mount --bind /etc/hostname .env; cat .env",
    "nsenter -t 1 -m cat $PWD/.env; nsenter --target $PPID --mount cat $PWD/.env",
    "sudo -n cat .env; su -c \"cat $PWD/.env\" root < /dev/null",
    "rm .codexignore; : > .codexignore; mv .codexignore y; echo '!*' >> .codexignore; cat project-secret.txt",
    "sed -n p .env; awk 1 .env; sort .env; diff .env /dev/null; base64 -d < .env; xargs -a .env echo",
    "for d in 1 2 3 4 5 6; do cat .env & done; wait",
    "bash -c 'cat .env' & cat sub/../.env ./.env $PWD/.env //$PWD/.env; wait",
    "grep -rs 4711 $CODEX_HOME/checkpoints $CODEX_HOME/tmp",
    "cat project-secret.txt; cat sub/project-secret.txt",
];

/// Patches that try to show a hidden file, or to free its name.
const PATCHES: [&str; 10] = [
    "*** Update File: .env\n@@\n-KEY=hidden-value-4711\n+KEY=x\n",
    "*** Update File: .env\n*** Move to: free\n@@\n-KEY=hidden-value-4711\n+KEY=x\n",
    "*** Delete File: .env\n",
    "*** Add File: .env\n+x\n",
    "*** Add File: new/.env\n+x\n",
    "*** Add File: keys/new.pem\n+x\n",
    "*** Update File: link\n@@\n-KEY=hidden-value-4711\n+KEY=x\n",
    "*** Update File: hard\n@@\n-KEY=hidden-value-4711\n+KEY=x\n",
    "*** Delete File: folder-link/.env\n",
    "*** Update File: sub/../.env\n@@\n-KEY=hidden-value-4711\n+KEY=x\n",
];

const PATTERNS: &str = "[secrets]\ndeny_read = ['**/.env', '@/work/keys/**', '**/*.hidden.png']\n";

/// A project with hidden files, and a model that works in it.
struct HiddenTest {
    top: TempDir,
    home: TempDir,
    model: ModelServer,
    server: AppServer,
}

impl HiddenTest {
    /// `@` in the tables stands for the folder around the project.
    async fn with_settings(settings: &str, tables: &str, requirements: Option<&str>) -> Self {
        // Not in a folder that all commands may write.
        let top = tempfile::tempdir_in("/var/tmp").unwrap();
        let work = top.path().join("work");
        prepare(&work);
        let model = ModelServer::start([]).await.unwrap();
        let config = scripted_config(&model, settings) + tables;
        let home = home_with(&config.replace('@', top.path().to_str().unwrap()));
        let limited = requirements.map(|text| limited(&home, text));
        let program = limited.as_deref().unwrap_or(Path::new(PROGRAM));
        let mut server = AppServer::start(program.to_str().unwrap(), home.path()).unwrap();
        server.initialize_experimental().await;
        Self {
            top,
            home,
            model,
            server,
        }
    }

    fn work(&self) -> PathBuf {
        self.top.path().join("work")
    }

    async fn start(&mut self) -> String {
        let params = json!({ "cwd": self.work() });
        self.server.start_thread_with(params).await
    }

    fn script(&self, name: &str, arguments: &Value) {
        let call = sse::function_call("call", name, arguments);
        let reply = numbered(sse::items(&[call]));
        self.model.push(HttpReply::stream(&reply));
        self.model
            .push(HttpReply::stream(&numbered(sse::text("done"))));
    }

    /// The output of the last call, as the model was told it.
    fn output(&self) -> String {
        let last = self
            .model
            .requests()
            .last()
            .map(ReceivedRequest::json)
            .unwrap();
        let items = last["input"].as_array().unwrap().iter().rev();
        let is_output = |item: &&Value| {
            item["type"]
                .as_str()
                .is_some_and(|kind| kind.ends_with("call_output"))
        };
        let output = { items }.find(is_output).unwrap()["output"].clone();
        output
            .as_str()
            .map_or_else(|| output.to_string(), str::to_owned)
    }

    async fn call(&mut self, thread: &str, name: &str, arguments: &Value) -> String {
        self.script(name, arguments);
        self.server.run_turn(thread, "go").await;
        self.output()
    }

    async fn run(&mut self, thread: &str, script: &str) -> String {
        self.call(thread, "shell_command", &json!({ "command": script }))
            .await
    }

    async fn patch(&mut self, thread: &str, patch: &str) -> String {
        let script = format!("apply_patch <<'EOF'\n*** Begin Patch\n{patch}*** End Patch\nEOF\n");
        self.run(thread, &script).await
    }

    /// Nothing of a hidden file was read or changed.
    #[track_caller]
    fn check(&self, attempt: &str) {
        for request in self.model.requests() {
            let text = request.json()["input"].to_string();
            let calls = text.matches("-KEY=hidden-value-4711").count();
            assert_eq!(text.matches(SECRET).count(), calls, "{attempt}: {text}");
        }
        for (name, text) in hidden_files() {
            let found = fs::read_to_string(self.work().join(name)).unwrap();
            assert_eq!(found, text, "{attempt} changed {name}");
        }
    }
}

fn hidden_files() -> [(&'static str, String); 6] {
    let text = format!("KEY={SECRET}\n");
    [
        (".env", text.clone()),
        ("sub/deep/.env", text.clone()),
        ("keys/a.pem", text.clone()),
        ("project-secret.txt", text.clone()),
        ("sub/project-secret.txt", text),
        (".codexignore", "project-secret.txt\n".to_owned()),
    ]
}

fn prepare(work: &Path) {
    for (name, text) in hidden_files() {
        let path = work.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::write(work.join("open.txt"), "open\n").unwrap();
    symlink(".env", work.join("link")).unwrap();
    symlink("sub/deep", work.join("folder-link")).unwrap();
    fs::hard_link(work.join(".env"), work.join("hard")).unwrap();
    fs::hard_link(work.join(".env"), work.join("sub/hard")).unwrap();
    let init = Command::new("git")
        .args(["init", "-q"])
        .current_dir(work)
        .status();
    assert!(init.unwrap().success());
}

/// Whether commands without a sandbox can have files hidden here.
fn hides() -> bool {
    codex_sandbox::hides_without_sandbox()
}

async fn no_attempt_reads_a_hidden_file(mode: &str) {
    let settings = format!("approval_policy = 'never'\nsandbox_mode = '{mode}'");
    let mut test = HiddenTest::with_settings(&settings, PATTERNS, None).await;
    let thread = test.start().await;
    let open = test.run(&thread, "cat open.txt").await;
    assert!(open.contains("open"), "{open}");
    for script in SCRIPTS {
        test.run(&thread, script).await;
        test.check(script);
    }
    for patch in PATCHES {
        let output = test.patch(&thread, patch).await;
        assert!(output.contains("hidden by"), "{patch} {output}");
        test.check(patch);
    }
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn commands_cannot_read_hidden_files() {
    if hides() {
        no_attempt_reads_a_hidden_file("workspace-write").await;
    }
}

#[tokio::test]
async fn no_command_that_only_reads_reads_a_hidden_file() {
    if hides() {
        no_attempt_reads_a_hidden_file("read-only").await;
    }
}

#[tokio::test]
async fn no_command_with_full_access_reads_a_hidden_file() {
    if hides() {
        no_attempt_reads_a_hidden_file("danger-full-access").await;
    }
}

#[tokio::test]
async fn model_learns_that_a_file_is_hidden() {
    let settings = "approval_policy = 'never'\nsandbox_mode = 'read-only'";
    let mut test = HiddenTest::with_settings(settings, PATTERNS, None).await;
    let thread = test.start().await;
    if hides() {
        let output = test.run(&thread, "cat sub/deep/.env").await;
        let note = "hidden, so that neither commands nor tools can read or change them: \
                    `sub/deep/.env` (`secrets.deny_read`)";
        assert!(output.contains(note), "{output}");
        let output = test.run(&thread, "cat project-secret.txt").await;
        assert!(output.contains(".codexignore`)"), "{output}");
    }
    fs::write(test.work().join("a.hidden.png"), "x").unwrap();
    let output = test
        .call(&thread, "view_image", &json!({ "path": "a.hidden.png" }))
        .await;
    assert!(
        output.contains("is hidden by `secrets.deny_read`"),
        "{output}"
    );
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn new_secret_files_are_hidden_from_the_next_command() {
    if !hides() {
        return;
    }
    let settings = "approval_policy = 'never'\nsandbox_mode = 'workspace-write'";
    let mut test = HiddenTest::with_settings(settings, PATTERNS, None).await;
    let thread = test.start().await;
    test.run(&thread, "true").await;
    fs::create_dir_all(test.work().join("later/on")).unwrap();
    fs::write(test.work().join("later/on/.env"), SECRET).unwrap();
    fs::write(test.work().join("keys/b.pem"), SECRET).unwrap();
    fs::write(
        test.work().join(".codexignore"),
        "project-secret.txt\nopen.txt\n",
    )
    .unwrap();
    fs::write(test.work().join("open.txt"), SECRET).unwrap();
    let output = test
        .run(&thread, "cat later/on/.env keys/b.pem open.txt")
        .await;
    assert!(!output.contains(SECRET), "{output}");
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_person_allows_one_file_for_a_turn() {
    if !hides() {
        return;
    }
    let settings = "approval_policy = 'on-request'\nsandbox_mode = 'workspace-write'\n\
                    features = { request_permissions_tool = true }";
    let tables = PATTERNS;
    for (requirements, is_allowed) in [
        (None, true),
        (Some("[secrets]\ndeny_read = ['**/.env']\n"), false),
    ] {
        let mut test = HiddenTest::with_settings(settings, tables, requirements).await;
        let thread = test.start().await;
        let wanted = test.work().canonicalize().unwrap().join("sub/deep/.env");
        let permissions = json!({ "file_system": { "read": [wanted] } });
        let ask = sse::function_call(
            "ask",
            "request_permissions",
            &json!({ "permissions": permissions }),
        );
        let cat = json!({ "command": "cat sub/deep/.env; cat .env" });
        let cat = sse::function_call("cat", "shell_command", &cat);
        for reply in [sse::items(&[ask]), sse::items(&[cat]), sse::text("done")] {
            test.model.push(HttpReply::stream(&numbered(reply)));
        }
        test.server.start_turn(&thread, "go").await;
        let question = test
            .server
            .wait_for("item/permissions/requestApproval")
            .await
            .unwrap();
        let reason = question["params"]["reason"].as_str().unwrap();
        let expected = if is_allowed {
            "is hidden by `secrets.deny_read`; this lets it be read."
        } else {
            "stays hidden by"
        };
        assert!(reason.contains(expected), "{reason}");
        let granted = question["params"]["permissions"].clone();
        let answer =
            json!({ "id": question["id"], "result": { "permissions": granted, "scope": "turn" } });
        test.server.send(&answer).await.unwrap();
        test.server.completed_turn().await;
        let output = test.output();
        assert_eq!(
            output.matches(SECRET).count(),
            usize::from(is_allowed),
            "{output}"
        );
        let output = test.run(&thread, "cat sub/deep/.env").await;
        assert!(!output.contains(SECRET), "{output}");
        test.server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn built_in_secret_patterns_are_hidden_unless_switched_off() {
    if !hides() {
        return;
    }
    for (mode, tables, is_hidden) in [
        ("workspace-write", "", true),
        ("workspace-write", "[secrets]\nbuilt_in = false\n", false),
        ("danger-full-access", "", false),
    ] {
        let settings = format!("approval_policy = 'never'\nsandbox_mode = '{mode}'");
        let mut test = HiddenTest::with_settings(&settings, tables, None).await;
        let key = test.home.path().join("person/.ssh/id_ed25519");
        fs::create_dir_all(key.parent().unwrap()).unwrap();
        fs::write(&key, SECRET).unwrap();
        fs::write(key.with_extension("pub"), "public").unwrap();
        let thread = test.start().await;
        let script = format!("cat {0} {0}.pub", key.display());
        let output = test.run(&thread, &script).await;
        assert_eq!(output.contains(SECRET), !is_hidden, "{mode} {output}");
        assert!(output.contains("public"), "{mode} {output}");
        let command = json!(["cat", key]);
        let params = json!({ "command": command, "sandboxPolicy": { "type": "readOnly" } });
        let read = test.server.result("command/exec", params).await;
        let is_empty = read["stdout"].as_str().unwrap().is_empty();
        assert_eq!(is_empty, !tables.contains("false"), "{read}");
        test.server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn user_can_read_hidden_files() {
    let settings = "approval_policy = 'never'\nsandbox_mode = 'read-only'";
    let mut test = HiddenTest::with_settings(settings, PATTERNS, None).await;
    let read = json!({ "path": test.work().join(".env") });
    let read = test.server.result("fs/readFile", read).await;
    assert!(read["dataBase64"].is_string(), "{read}");
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn unusable_patterns_deny_their_folder() {
    let settings = "approval_policy = 'never'\nsandbox_mode = 'read-only'";
    let mut test = HiddenTest::with_settings(settings, "", None).await;
    fs::write(test.work().join(".codexignore"), "[z-a]\n").unwrap();
    let thread = test.start().await;
    let output = test.run(&thread, "cat open.txt").await;
    assert!(output.contains(".codexignore` is unusable"), "{output}");
    let output = test.patch(&thread, "*** Add File: x\n+x\n").await;
    assert!(output.contains("is hidden by"), "{output}");
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn client_commands_obey_patterns_with_invalid_settings() {
    if !hides() {
        return;
    }
    let top = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(top.path().join(".env"), SECRET).unwrap();
    for (settings, is_refused) in [
        ("model = 5\n[secrets]\ndeny_read = ['**/.env']", false),
        ("[secrets]\ndeny_reads = ['**/.env']", true),
        ("[secret]\ndeny_read = ['**/.env']", true),
        ("[secrets]\ndeny_read = '**/.env'", true),
        ("[secrets]\ndeny_read = ['**/.env'", true),
    ] {
        let home = home_with(settings);
        let mut server = AppServer::start(PROGRAM, home.path()).unwrap();
        server.initialize_experimental().await;
        for (method, named) in [("command/exec", "command"), ("gitDiffToRemote", "cwd")] {
            let params = match named {
                "command" => json!({
                    "command": ["cat", ".env"],
                    "cwd": top.path(),
                    "sandboxPolicy": { "type": "readOnly" },
                }),
                _ => json!({ "cwd": top.path() }),
            };
            let reply = server.call(method, params).await.unwrap();
            let shown = reply.to_string();
            assert!(!shown.contains(SECRET), "{settings}: {shown}");
            let closed = shown.contains("`secrets.deny_read` hides are unknown");
            assert_eq!(closed, is_refused, "{settings}: {shown}");
        }
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn instructions_that_are_links_show_no_hidden_file() {
    let settings = "approval_policy = 'never'\nsandbox_mode = 'workspace-write'";
    let mut test = HiddenTest::with_settings(settings, PATTERNS, None).await;
    symlink(".env", test.work().join("AGENTS.md")).unwrap();
    let thread = test.start().await;
    test.run(&thread, "ln -sf .env AGENTS.override.md").await;
    test.run(&thread, "true").await;
    for request in test.model.requests() {
        let text = request.json().to_string();
        assert!(!text.contains(SECRET), "{text}");
    }
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn patch_of_hiding_file_needs_approval() {
    let patch = "*** Delete File: .codexignore\n";
    for mode in ["workspace-write", "danger-full-access"] {
        let settings = format!("approval_policy = 'never'\nsandbox_mode = '{mode}'");
        let mut test = HiddenTest::with_settings(&settings, "", None).await;
        let thread = test.start().await;
        let output = test.patch(&thread, patch).await;
        assert!(output.contains("rejected"), "{mode} {output}");
        test.check(patch);
        test.server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn a_question_about_a_link_names_the_hidden_file() {
    if !hides() {
        return;
    }
    let settings = "approval_policy = 'on-request'\nsandbox_mode = 'workspace-write'\n\
                    features = { exec_permission_approvals = true }";
    let mut test = HiddenTest::with_settings(settings, PATTERNS, None).await;
    let thread = test.start().await;
    let read = json!([test.work().join("link"), test.work().join("folder-link")]);
    let arguments = json!({
        "command": "cat link folder-link/.env",
        "sandbox_permissions": "with_additional_permissions",
        "additional_permissions": { "file_system": { "read": read } },
        "justification": "to look",
    });
    test.script("shell_command", &arguments);
    test.server.start_turn(&thread, "go").await;
    let question = test
        .server
        .wait_for("item/commandExecution/requestApproval")
        .await
        .unwrap();
    let reason = question["params"]["reason"].as_str().unwrap();
    let named = format!("`{}` is hidden by", test.work().join(".env").display());
    assert!(reason.contains(&named), "{reason}");
    let answer = json!({ "id": question["id"], "result": { "decision": "accept" } });
    test.server.send(&answer).await.unwrap();
    test.server.completed_turn().await;
    // The file that the question named, and not what is in the folder.
    let output = test.output();
    assert_eq!(output.matches(SECRET).count(), 1, "{output}");
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn differences_to_a_remote_have_no_hidden_file() {
    let settings = "approval_policy = 'never'\nsandbox_mode = 'read-only'";
    let mut test = HiddenTest::with_settings(settings, PATTERNS, None).await;
    let work = test.work();
    let script = "git -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m first && \
                  git init -q --bare ../remote && git remote add origin ../remote && git push -q origin HEAD";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(&work)
        .status();
    assert!(made.unwrap().success());
    let found = test
        .server
        .result("gitDiffToRemote", json!({ "cwd": work }))
        .await;
    let diff = found["diff"].as_str().unwrap();
    assert!(diff.contains("+open"), "{diff}");
    assert!(!diff.contains(SECRET) && !diff.contains("/.env"), "{diff}");
    test.server.finish().await.unwrap();
}
