//! Other machines that settings name: carriers, commands of the program about them, and who may name one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse, write_executable};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{PROGRAM, experimental_server, home_with, scripted_config};
use crate::soak::message;

fn runs(id: &str, script: &str) -> HttpReply {
    let arguments = json!({ "command": script, "login": false });
    HttpReply::stream(&sse::items(&[sse::function_call(
        id,
        "shell_command",
        &arguments,
    )]))
}

/// A home folder with a scripted model and these environments.
fn home_of(model: &ModelServer, environments: &str) -> TempDir {
    let settings = "sandbox_mode = \"danger-full-access\"\nfeatures.unified_exec = false\n";
    home_with(&format!(
        "{}{environments}",
        scripted_config(model, settings)
    ))
}

fn stdio_environment(cwd: &Path) -> String {
    format!(
        "[environments.box]\ncommand = [{PROGRAM:?}, \"exec-server\", \"--listen\", \"stdio\"]\ncwd = {cwd:?}\n\
         env = {{ FROM_SETTINGS = \"yes\" }}\n"
    )
}

/// A program of this name that writes down its arguments, and does this.
fn stand_in(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    let log = folder.join("log");
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> {log:?}\n{script}\n");
    write_executable(&path, script).unwrap();
}

fn run(home: &Path, path: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env("CODEX_HOME", home)
        .env("PATH", path)
        .current_dir(home);
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    let (out, errors) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(&[&out[..], errors].concat()).into_owned()
}

async fn started_on(server: &mut AppServer, cwd: &Path) -> String {
    let there = json!([{ "environmentId": "box", "cwd": cwd }]);
    let params = json!({ "environments": there });
    let started = server.result("thread/start", params).await;
    started["thread"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_command_of_the_settings_carries_a_thread() {
    let there = tempfile::tempdir().unwrap();
    let replies = [
        runs("c1", "pwd; echo $FROM_SETTINGS > seen"),
        message(0, "done"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_of(&model, &stdio_environment(there.path()));
    let mut server = experimental_server(&home).await;
    // Nothing is started before it is needed.
    let params = json!({ "environmentId": "box" });
    let status = server.result("environment/status", params.clone()).await;
    assert_eq!(status["status"], "pending");
    let id = started_on(&mut server, there.path()).await;
    server.run_turn(&id, "go").await;
    let seen = fs::read_to_string(there.path().join("seen")).unwrap();
    assert_eq!(seen, "yes\n");
    let status = server.result("environment/status", params).await;
    assert_eq!(status["status"], "ready");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_script_of_exec_works_on_another_machine() {
    let there = tempfile::tempdir().unwrap();
    let model = ModelServer::start([]).await.unwrap();
    let home = home_of(&model, &stdio_environment(there.path()));
    let elsewhere = there.path().join("other");
    fs::create_dir(&elsewhere).unwrap();
    let named = format!("box:{}", elsewhere.display());
    for (number, (asked, folder)) in [("box", there.path()), (&*named, &*elsewhere)]
        .into_iter()
        .enumerate()
    {
        model.push(runs("c1", "echo made > made"));
        model.push(message(number, "the answer"));
        let (home, asked) = (home.path().to_owned(), asked.to_owned());
        let path = std::env::var("PATH").unwrap();
        let running = move || run(&home, &path, &["exec", "--environment", &asked, "go"]);
        let output = tokio::task::spawn_blocking(running).await.unwrap();
        assert!(text(&output).contains("the answer"), "{}", text(&output));
        assert!(folder.join("made").exists());
    }
    let path = std::env::var("PATH").unwrap();
    let output = run(
        home.path(),
        &path,
        &["exec", "--environment", "nowhere", "go"],
    );
    assert!(text(&output).contains("no folder"), "{}", text(&output));
    let output = run(
        home.path(),
        &path,
        &["exec", "--environment", "nowhere:/x", "go"],
    );
    assert!(text(&output).contains("unknown"), "{}", text(&output));
}

#[tokio::test]
async fn user_programs_get_their_arguments() {
    let there = tempfile::tempdir().unwrap();
    let programs = tempfile::tempdir().unwrap();
    for name in ["ssh", "podman", "docker", "kubectl"] {
        // The last argument is the script, as it is for the real ones.
        let script = format!(
            "for last; do :; done\nHOME={:?} exec sh -c \"$last\"",
            there.path()
        );
        stand_in(programs.path(), name, &script);
    }
    let model = ModelServer::start([]).await.unwrap();
    let cwd = there.path();
    let environments = format!(
        "[environments.a]\nssh = \"build-host\"\nprogram = {PROGRAM:?}\ncwd = {cwd:?}\n\
         [environments.b]\ncontainer = \"dev\"\nengine = \"podman\"\nprogram = {PROGRAM:?}\ncwd = {cwd:?}\n\
         [environments.c]\nkubernetes = {{ pod = \"web\", namespace = \"team\", context = \"prod\" }}\n\
         program = {PROGRAM:?}\ncwd = {cwd:?}\n\
         [environments.d]\nssh = \"-oProxyCommand=touch x\"\n"
    );
    let home = home_of(&model, &environments);
    let path = format!(
        "{}:{}",
        programs.path().display(),
        std::env::var("PATH").unwrap()
    );
    let listed = text(&run(home.path(), &path, &["environment", "list"]));
    assert!(
        listed.contains("a  ssh") && listed.contains("c  kubernetes"),
        "{listed}"
    );
    assert!(!listed.contains("d  "), "{listed}");
    let log = programs.path().join("log");
    for (name, expected) in [
        ("a", "-T\n-o\nBatchMode=yes\n--\nbuild-host\nexec sh -c "),
        ("b", "exec\n-i\ndev\nsh\n-c\n"),
        (
            "c",
            "--context=prod\n--namespace=team\nexec\n-i\nweb\n--\nsh\n-c\n",
        ),
    ] {
        fs::remove_file(&log).ok();
        let output = run(home.path(), &path, &["environment", "test", name]);
        let said = text(&output);
        assert!(
            output.status.success() && said.contains("version"),
            "{said}"
        );
        assert!(said.contains("git version"), "{said}");
        let started = fs::read_to_string(&log).unwrap();
        assert!(started.starts_with(expected), "{started}");
    }
    let output = run(home.path(), &path, &["environment", "test", "d"]);
    assert!(!output.status.success());
    let doctor = text(&run(home.path(), &path, &["doctor"]));
    assert!(
        doctor.contains("a (ssh), b (container), c (kubernetes)"),
        "{doctor}"
    );
}

#[tokio::test]
async fn this_program_is_installed_through_the_carrier() {
    let there = tempfile::tempdir().unwrap();
    let programs = tempfile::tempdir().unwrap();
    let script = format!(
        "for last; do :; done\nHOME={:?} exec sh -c \"$last\"",
        there.path()
    );
    stand_in(programs.path(), "ssh", &script);
    let model = ModelServer::start([]).await.unwrap();
    let home = home_of(&model, "[environments.a]\nssh = \"host\"\n");
    let path = format!(
        "{}:{}",
        programs.path().display(),
        std::env::var("PATH").unwrap()
    );
    let output = run(home.path(), &path, &["environment", "test", "a"]);
    assert!(
        text(&output).contains("environment install"),
        "{}",
        text(&output)
    );
    let output = run(home.path(), &path, &["environment", "install", "a"]);
    assert!(output.status.success(), "{}", text(&output));
    let folder = there.path().join(".local/share/codex");
    let version = fs::read_dir(&folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let names: Vec<_> = (fs::read_dir(&version).unwrap())
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["codex"]);
    let mode = fs::metadata(version.join("codex"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    let output = run(home.path(), &path, &["environment", "test", "a"]);
    assert!(output.status.success(), "{}", text(&output));
    // A copy that is damaged on the way does not take its place.
    let damaged = format!(
        "for last; do :; done\n(cat; echo more) | HOME={:?} sh -c \"$last\"",
        there.path()
    );
    stand_in(programs.path(), "ssh", &damaged);
    let before = fs::metadata(version.join("codex"))
        .unwrap()
        .modified()
        .unwrap();
    let output = run(home.path(), &path, &["environment", "install", "a"]);
    assert!(!output.status.success());
    assert!(text(&output).contains("damaged"), "{}", text(&output));
    assert_eq!(
        fs::metadata(version.join("codex"))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
    assert_eq!(fs::read_dir(&version).unwrap().count(), 1);
}

#[tokio::test]
async fn a_project_names_no_machine() {
    let model = ModelServer::start([]).await.unwrap();
    let project = tempfile::tempdir().unwrap();
    let project = dunce::canonicalize(project.path()).unwrap();
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join(".codex")).unwrap();
    let marker = project.join("started");
    let environment = format!("[environments.box]\ncommand = [\"touch\", {marker:?}]\n");
    fs::write(project.join(".codex/config.toml"), environment).unwrap();
    let trusted = format!("[projects.{project:?}]\ntrust_level = \"trusted\"\n");
    let home = home_of(&model, &trusted);
    let mut server = experimental_server(&home).await;
    let there = json!([{ "environmentId": "box", "cwd": "/" }]);
    let params = json!({ "cwd": project, "environments": there });
    let (_, refused) = server.refusal("thread/start", params.clone()).await;
    assert!(refused.contains("unknown"), "{refused}");
    // Nor does a request of a client that passes settings on.
    let mut params = params;
    params["config"] = json!({ "environments": { "box": { "command": ["touch", marker] } } });
    let (_, refused) = server.refusal("thread/start", params).await;
    assert!(refused.contains("unknown"), "{refused}");
    assert!(!marker.exists());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_machine_of_namespaces_is_reached_over_standard_streams() {
    // What is below /mnt exists in that machine alone.
    let machine = format!(
        "mount -t tmpfs none /mnt && mkdir /mnt/work && cd /mnt/work && exec {PROGRAM} exec-server --listen stdio"
    );
    let unshare = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
    ];
    let tried = Command::new(unshare[0])
        .args(&unshare[1..])
        .arg("mount -t tmpfs none /mnt")
        .output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        {
            eprintln!("skipped: no machine can be made of namespaces here");
        }
        return;
    }
    let command = Value::from([&unshare[..], &[&*machine]].concat());
    let environment = format!("[environments.box]\ncommand = {command}\ncwd = \"/mnt/work\"\n");
    let replies = [runs("c1", "echo made > made; cat made"), message(0, "done")];
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_of(&model, &environment);
    let mut server = experimental_server(&home).await;
    let id = started_on(&mut server, Path::new("/mnt/work")).await;
    server.run_turn(&id, "go").await;
    let requests = model.requests();
    let last = requests.last().unwrap().json();
    let items = last["input"].as_array().unwrap();
    let output = items
        .iter()
        .find(|item| item["type"] == "function_call_output");
    let output = output.unwrap()["output"].to_string();
    assert!(
        output.contains("made") && output.contains("Exit code: 0"),
        "{output}"
    );
    assert!(!Path::new("/mnt/work").exists());
    server.finish().await.unwrap();
}
