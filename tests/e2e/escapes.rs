//! A model that tries to get out of the sandbox, by each of its tools, through the real binary.
//!
//! The working folder is writable, everything else is not. Each attempt runs by itself; afterwards
//! nothing outside may have changed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use codex_test_support::sse;
use serde_json::Value;
use serde_json::json;

use crate::proto::Proto;

const SETTINGS: &str = r#"
model = "gpt-5.2-codex"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "workspace-write"
[features]
unified_exec = UNIFIED
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
"#;

/// Scripts that try to change something outside; `$OUT` stands for a folder there.
const SCRIPTS: [&str; 9] = [
    "echo x > $OUT/new",
    "echo x > $OUT/secret",
    "echo x > ../outside/new",
    "ln -s $OUT link2; echo x > link2/new; echo x > link/new",
    "ln $OUT/secret hard; echo x > hard; chmod 777 $OUT/secret",
    "mv $OUT/secret taken; touch inside; mv inside $OUT/new",
    "echo x > .git/hooks/pre-commit; mv .git moved; echo x > moved/hooks/pre-commit",
    "mkdir -p .codex; echo x > .codex/config.toml",
    "rm -rf $OUT/secret; mkdir $OUT/new; cp /bin/true $OUT/new2",
];

/// Patches that try the same.
const PATCHES: [&str; 5] = [
    "*** Add File: ../outside/new\n+x\n",
    "*** Add File: $OUT/new\n+x\n",
    "*** Add File: link/new\n+x\n",
    "*** Update File: $OUT/secret\n@@\n-secret\n+x\n",
    "*** Add File: .git/hooks/pre-commit\n+x\n",
];

/// What the attempts must leave alone.
struct Outside {
    folder: tempfile::TempDir,
}

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "secret\n").unwrap();
        Self { folder }
    }

    fn path(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// A repository in the working folder, and links that lead out of it.
    fn prepare(&self, cwd: &Path) {
        fs::create_dir_all(cwd.join(".git/hooks")).unwrap();
        symlink(self.folder.path(), cwd.join("link")).unwrap();
        symlink(self.folder.path(), cwd.join("../outside")).unwrap();
    }

    #[track_caller]
    fn check(&self, cwd: &Path, attempt: &str) {
        let names: Vec<_> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["secret"], "{attempt}");
        let secret = fs::read_to_string(self.folder.path().join("secret")).unwrap();
        assert_eq!(secret, "secret\n", "{attempt}");
        let hooks = cwd.join(".git/hooks");
        assert_eq!(fs::read_dir(hooks).unwrap().count(), 0, "{attempt}");
        assert!(!cwd.join(".codex/config.toml").exists(), "{attempt}");
    }
}

/// Lets the model make one call, and checks that nothing outside changed.
fn attempt(unified: bool, outside: &Outside, what: &str, call: Value) {
    let settings = SETTINGS.replace("UNIFIED", if unified { "true" } else { "false" });
    let mut proto = Proto::start(&settings, &[sse::items(&[call])], |cwd| {
        outside.prepare(cwd)
    });
    proto.say("1", "go");
    proto.wait_for("task_complete");
    proto.close();
    outside.check(&proto.cwd(), what);
}

fn shell_call(script: &str) -> Value {
    sse::function_call("c", "shell_command", &json!({ "command": script }))
}

fn exec_call(script: &str) -> Value {
    sse::function_call("c", "exec_command", &json!({ "cmd": script }))
}

#[test]
fn the_tools_work_where_they_may() {
    for (unified, call) in [
        (false, shell_call("echo x > new")),
        (true, exec_call("echo x > new")),
    ] {
        let settings = SETTINGS.replace("UNIFIED", if unified { "true" } else { "false" });
        let mut proto = Proto::start(&settings, &[sse::items(&[call])], |_| {});
        proto.say("1", "go");
        proto.wait_for("task_complete");
        assert_eq!(fs::read_to_string(proto.cwd().join("new")).unwrap(), "x\n");
    }
    let patch = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch";
    let call = sse::custom_call("c", "apply_patch", patch);
    let mut proto = Proto::start(
        &SETTINGS.replace("UNIFIED", "false"),
        &[sse::items(&[call])],
        |_| {},
    );
    proto.say("1", "go");
    proto.wait_for("task_complete");
    assert_eq!(fs::read_to_string(proto.cwd().join("new")).unwrap(), "x\n");
}

#[test]
fn the_shell_stays_inside() {
    for script in SCRIPTS {
        let outside = Outside::new();
        attempt(
            false,
            &outside,
            script,
            shell_call(&script.replace("$OUT", outside.path())),
        );
    }
}

#[test]
fn unified_exec_stays_inside() {
    for script in SCRIPTS {
        let outside = Outside::new();
        attempt(
            true,
            &outside,
            script,
            exec_call(&script.replace("$OUT", outside.path())),
        );
    }
}

#[test]
fn patches_stay_inside() {
    for change in PATCHES {
        let outside = Outside::new();
        let change = change.replace("$OUT", outside.path());
        let patch = format!("*** Begin Patch\n{change}*** End Patch");
        attempt(
            false,
            &outside,
            &change,
            sse::custom_call("c", "apply_patch", &patch),
        );
        let script = format!("apply_patch <<'EOF'\n{patch}\nEOF\n");
        attempt(false, &outside, &change, shell_call(&script));
        attempt(true, &outside, &change, exec_call(&script));
    }
}

#[test]
fn no_socket_is_opened() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo hi >&3");
    for (unified, call) in [(false, shell_call(&script)), (true, exec_call(&script))] {
        attempt(unified, &Outside::new(), &script, call);
        assert!(listener.accept().is_err(), "a connection was made");
    }
}

#[test]
fn who_leaves_the_group_does_not_survive() {
    let mark = format!("86{}", std::process::id());
    let script = format!("setsid sleep {mark} & (setsid sleep {mark} &) ; sleep 0.1; echo on");
    for (unified, call) in [(false, shell_call(&script)), (true, exec_call(&script))] {
        attempt(unified, &Outside::new(), &script, call);
        assert_eq!(running(&mark), 0, "{unified}");
    }
}

#[test]
fn a_killed_engine_leaves_nothing_running_and_a_rollout_that_loads() {
    let mark = format!("87{}", std::process::id());
    let call = shell_call(&format!("setsid sleep {mark} & echo started; sleep {mark}"));
    let mut proto = Proto::start(
        &SETTINGS.replace("UNIFIED", "false"),
        &[sse::items(&[call])],
        |_| {},
    );
    proto.say("1", "go");
    proto.wait_for("exec_command_output_delta");
    wait_until("the commands run", || running(&mark) == 2);
    proto.kill();
    wait_until("nothing outlives a killed engine", || running(&mark) == 0);
    let rollouts = proto.rollouts();
    assert_eq!(rollouts.len(), 1);
    let text = fs::read_to_string(&rollouts[0]).unwrap();
    for line in text.lines() {
        codex_protocol::RolloutLine::read(line).unwrap();
    }
    assert!(text.contains("task_started") && text.contains("function_call"));
}

/// Looks again and again, for processes tell nobody when they begin and end.
#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// How many processes have this word among their arguments.
fn running(word: &str) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| {
            line.split(|byte| *byte == 0)
                .any(|argument| argument == word.as_bytes())
        })
        .count()
}
