//! `codex batch`: each row has one result, whoever works and whatever dies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use codex_test_support::{HttpReply, Latch, ModelServer, sse, write_executable};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::escapes::wait_until;
use crate::hooks::runs_command;
use crate::setup::scripted_home;

struct Batch {
    home: TempDir,
    place: TempDir,
}

impl Batch {
    fn new(model: &ModelServer, tasks: &str, more: &[&str]) -> Self {
        Self::with_file(model, "tasks.jsonl", tasks, more)
    }

    fn with_file(model: &ModelServer, name: &str, tasks: &str, more: &[&str]) -> Self {
        let batch = Self {
            home: scripted_home(model, ""),
            place: TempDir::new().unwrap(),
        };
        let file = batch.place.path().join(name);
        fs::write(&file, tasks).unwrap();
        let work = batch.place.path().join("work");
        fs::create_dir(&work).unwrap();
        let mut arguments = vec![
            "create".to_owned(),
            batch.run_folder(),
            "--tasks".to_owned(),
        ];
        arguments.push(file.display().to_string());
        arguments.extend(["-C".to_owned(), work.display().to_string()]);
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        let made = batch.command(&arguments).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        batch
    }

    fn path(&self) -> PathBuf {
        self.place.path().join("run")
    }

    fn run_folder(&self) -> String {
        self.path().display().to_string()
    }

    fn command<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codex"));
        command
            .arg("batch")
            .args(arguments)
            .env("CODEX_HOME", self.home.path())
            .env_remove("SLURM_ARRAY_TASK_ID")
            .env_remove("JOB_COMPLETION_INDEX")
            .stdin(Stdio::null());
        command
    }

    async fn run(&self, more: &[&str]) -> Output {
        let folder = self.run_folder();
        let mut arguments = vec!["run", &folder];
        arguments.extend(more);
        let mut command = self.command(&arguments);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        output.await.unwrap()
    }

    fn start(&self, more: &[&str]) -> Child {
        let folder = self.run_folder();
        let mut arguments = vec!["run", &folder];
        arguments.extend(more);
        let mut command = self.command(&arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    fn result(&self, index: usize) -> Value {
        let file = self.path().join("results").join(format!("{index}.json"));
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    fn statuses(&self) -> Vec<String> {
        let rows = fs::read_to_string(self.path().join("rows.jsonl")).unwrap();
        (0..rows.lines().count())
            .map(|index| self.result(index)["status"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn rows(count: usize) -> String {
    (0..count)
        .map(|number| {
            json!({ "id": format!("r{number}"), "prompt": format!("task {number}") }).to_string()
                + "\n"
        })
        .collect()
}

/// Workers tell nobody what they do; the model is answered meanwhile.
async fn until(what: &'static str, is_so: impl Fn() -> bool + Send + 'static) {
    let looked = tokio::task::spawn_blocking(move || wait_until(what, is_so));
    looked.await.unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn held(latch: &Latch, text: &str) -> HttpReply {
    HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .wait(latch)
        .body(sse::frames(&sse::text(text)))
}

#[tokio::test]
async fn every_row_gets_a_thread_and_a_result() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let batch = Batch::new(&model, &rows(7), &["--check", "test -d ."]);
    let ran = batch.run(&["-j", "3"]).await;
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(batch.statuses(), ["passed"; 7]);
    let result = batch.result(4);
    assert_eq!(result["id"], "r4");
    assert_eq!(result["message"], "done");
    assert_eq!(result["checks"][0]["exitCode"], 0);
    let rollout = fs::read_to_string(result["rollout"].as_str().unwrap()).unwrap();
    assert!(rollout.contains("task 4"));
    // The threads are in the run folder alone, and nobody holds a row any more.
    assert!(!batch.home.path().join("sessions").exists());
    assert_eq!(names(&batch.path().join("claims")), [""; 0]);
    // Nothing is done twice.
    let again = batch.run(&[]).await;
    assert!(String::from_utf8_lossy(&again.stdout).contains("0 rows finished here"));
    assert_eq!(model.requests().len(), 7);
}

#[tokio::test]
async fn row_of_a_killed_worker_continues_in_its_thread() {
    let model = ModelServer::start([]).await.unwrap();
    let never = Latch::new();
    model.push(held(&never, "too late"));
    let batch = Batch::new(&model, &rows(1), &["--lease-seconds", "86400"]);
    let mut worker = batch.start(&[]);
    model.request(0).await;
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert_eq!(names(&batch.path().join("claims")), ["0.json"]);
    let thread = fs::read_to_string(batch.path().join("threads/0.json")).unwrap();
    let thread: Value = serde_json::from_str(&thread).unwrap();

    model.push(HttpReply::stream(&sse::text("done")));
    let ran = batch.run(&[]).await;
    assert!(ran.status.success(), "{ran:?}");
    let result = batch.result(0);
    assert_eq!(result["status"], "passed");
    assert_eq!(result["threadId"], thread["threadId"]);
    assert_eq!(model.requests().len(), 2);
    let sent = model.request(1).await.json()["input"].to_string();
    assert_eq!(sent.matches("task 0").count(), 1, "{sent}");
}

#[tokio::test]
async fn workers_share_the_rows_and_finish_each_once() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let batch = Batch::new(&model, &rows(40), &[]);
    let workers: Vec<Child> = (0..3).map(|_| batch.start(&["-j", "4"])).collect();
    for mut worker in workers {
        let ended = tokio::task::spawn_blocking(move || worker.wait().unwrap());
        assert!(ended.await.unwrap().success());
    }
    // What another worker had when the last one looked is finished by now.
    assert_eq!(batch.statuses(), ["passed"; 40]);
    assert_eq!(model.requests().len(), 40);
    assert_eq!(names(&batch.path().join("results")).len(), 40);
}

#[tokio::test]
async fn failures_come_first_and_are_retried() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("<b>done</b>")));
    let tasks = "id,prompt,checks\ngood,a,\nbad,b,\"[\"\"echo why >&2; exit 4\"\"]\"\n";
    let batch = Batch::with_file(&model, "tasks.csv", tasks, &[]);
    assert!(batch.run(&[]).await.status.success());
    assert_eq!(batch.statuses(), ["passed", "checkFailed"]);
    let check = &batch.result(1)["checks"][0];
    assert_eq!(
        [&check["exitCode"], &check["output"]],
        [&json!(4), &json!("why\n")]
    );

    let folder = batch.run_folder();
    let collected = batch.command(&["collect", &folder]).output().unwrap();
    assert!(collected.status.success());
    let page = fs::read_to_string(batch.path().join("results.html")).unwrap();
    assert!(page.find(">bad ").unwrap() < page.find(">good ").unwrap());
    assert!(page.contains("&lt;b&gt;done") && !page.contains("<b>done"));
    let csv = fs::read_to_string(batch.path().join("results.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3);

    let retried = batch.command(&["retry", &folder, "--failed"]).output();
    assert!(retried.unwrap().status.success());
    let status = batch
        .command(&["status", &folder, "--json"])
        .output()
        .unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!([&status["passed"], &status["waiting"]], [1, 1]);
    assert!(batch.run(&[]).await.status.success());
    assert_eq!(model.requests().len(), 3);
    assert_eq!(names(&batch.path().join("earlier")).len(), 1);
}

#[tokio::test]
async fn task_of_a_scheduler_works_on_its_row_alone() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let batch = Batch::new(&model, &rows(3), &[]);
    let folder = batch.run_folder();
    for (variable, index) in [("SLURM_ARRAY_TASK_ID", "2"), ("JOB_COMPLETION_INDEX", "0")] {
        let mut command = batch.command(&["run", &folder]);
        command.env(variable, index);
        let ran = tokio::task::spawn_blocking(move || command.output().unwrap()).await;
        assert!(ran.unwrap().status.success());
    }
    assert_eq!(names(&batch.path().join("results")), ["0.json", "2.json"]);
    let outside = batch.run(&["--index", "3"]).await;
    assert!(String::from_utf8_lossy(&outside.stderr).contains("3 rows, from 0 on"));
}

#[tokio::test]
async fn task_waits_for_the_worker_of_its_row() {
    let model = ModelServer::start([]).await.unwrap();
    let latch = Latch::new();
    model.push(held(&latch, "done"));
    let batch = Batch::new(&model, &rows(1), &[]);
    let mut first = batch.start(&["--index", "0"]);
    model.request(0).await;
    let folder = batch.run_folder();
    let mut second = batch.command(&["run", &folder, "--index", "0"]);
    second.stdout(Stdio::null()).stderr(Stdio::null());
    let mut second = second.spawn().unwrap();
    // It has looked at the claim, and found that the row is taken.
    let workers = batch.path().join("workers");
    until("the second worker begins", move || {
        names(&workers).len() == 2
    })
    .await;
    assert!(second.try_wait().unwrap().is_none());
    latch.open();
    let ended =
        tokio::task::spawn_blocking(move || (first.wait().unwrap(), second.wait().unwrap()));
    let (first, second) = ended.await.unwrap();
    assert!(first.success() && second.success());
    assert_eq!(batch.statuses(), ["passed"]);
    assert_eq!(model.requests().len(), 1);
}

/// A row that is stopped in its check has its result later, and asks nothing twice.
#[tokio::test]
async fn interrupted_check_runs_again_and_the_turn_does_not() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let check = "test -e again || { touch again; sleep 1000; }";
    let batch = Batch::new(&model, &rows(1), &["--check", check]);
    let mut worker = batch.start(&[]);
    let again = batch.place.path().join("work/again");
    until("the check begins", move || again.exists()).await;
    let pid = worker.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.unwrap().success());
    let ended = tokio::task::spawn_blocking(move || worker.wait().unwrap());
    assert_eq!(ended.await.unwrap().code(), Some(3));
    assert!(batch.run(&[]).await.status.success());
    assert_eq!(batch.statuses(), ["passed"]);
    assert_eq!(model.requests().len(), 1);
    assert!(batch.result(0)["usage"]["outputTokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn row_limit_and_run_budget_hold() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let batch = Batch::new(&model, &rows(6), &["--run-max-tokens", "25"]);
    let ran = batch.run(&["-j", "1"]).await;
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    let finished = names(&batch.path().join("results")).len();
    assert!(finished < 6, "{finished}");
    assert!(model.requests().len() < 6);

    let limited = Batch::new(&model, &rows(1), &["--max-tokens", "0"]);
    assert!(limited.run(&[]).await.status.success());
    assert_eq!(limited.statuses(), ["overLimit"]);
}

/// The run folder is often inside of the folder that rows work in.
#[tokio::test]
async fn rows_cannot_write_into_the_run_folder() {
    let model = ModelServer::start([]).await.unwrap();
    let batch = Batch::new(&model, &rows(1), &["--sandbox", "workspace-write"]);
    let run = batch.path();
    let rows = run.join("rows.jsonl");
    let row = fs::read_to_string(&rows).unwrap();
    let mut row: Value = serde_json::from_str(&row).unwrap();
    row["cwd"] = json!(batch.place.path());
    fs::write(&rows, row.to_string() + "\n").unwrap();
    let forge =
        "echo '{}' > run/results/0.json; echo x > run/rows.jsonl; rm -r run/claims; touch here";
    model.push(runs_command(forge));
    model.always(HttpReply::stream(&sse::text("done")));
    // Named through a link, which the rules of the sandbox do not know.
    let link = batch.home.path().join("link");
    std::os::unix::fs::symlink(batch.place.path(), &link).unwrap();
    let named = link.join("run").display().to_string();
    let mut command = batch.command(&["run", &named]);
    let ran = tokio::task::spawn_blocking(move || command.output().unwrap());
    assert!(ran.await.unwrap().status.success());
    assert!(batch.place.path().join("here").exists());
    assert_eq!(batch.statuses(), ["passed"]);
    assert!(fs::read_to_string(&rows).unwrap().contains("task 0"));
    assert!(run.join("claims").exists());
}

#[tokio::test]
async fn interrupted_worker_leaves_its_rows_for_later() {
    let model = ModelServer::start([]).await.unwrap();
    let never = Latch::new();
    model.push(held(&never, "too late"));
    let batch = Batch::new(&model, &rows(2), &[]);
    let mut worker = batch.start(&["-j", "1"]);
    model.request(0).await;
    let pid = worker.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let ended = tokio::task::spawn_blocking(move || worker.wait().unwrap());
    assert_eq!(ended.await.unwrap().code(), Some(3));
    assert!(!batch.path().join("results/0.json").exists());
    model.always(HttpReply::stream(&sse::text("done")));
    assert!(batch.run(&[]).await.status.success());
    assert_eq!(batch.statuses(), ["passed"; 2]);
}

#[test]
fn links_in_a_run_folder_lead_nowhere() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let model = runtime.block_on(ModelServer::start([])).unwrap();
    let batch = Batch::new(&model, &rows(1), &[]);
    let folder = batch.run_folder();
    let victim = batch.place.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    for name in ["results.csv", "results.jsonl", "results.html", "slurm.sh"] {
        std::os::unix::fs::symlink(&victim, batch.path().join(name)).unwrap();
    }
    for arguments in [&["collect", &folder][..], &["submit", &folder, "--slurm"]] {
        let output = batch.command(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    let script = fs::read_to_string(batch.path().join("slurm.sh")).unwrap();
    assert!(script.contains("batch run"), "{script}");
    // Parts of the folder that lie elsewhere.
    let elsewhere = batch.place.path().join("elsewhere");
    fs::rename(batch.path().join("workers"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, batch.path().join("workers")).unwrap();
    for command in ["run", "status", "collect"] {
        let output = batch.command(&[command, &folder]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("no folder of its own"), "{message}");
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn schedulers_get_a_file_and_their_own_program() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let model = runtime.block_on(ModelServer::start([])).unwrap();
    let batch = Batch::new(&model, &rows(3), &[]);
    let folder = batch.run_folder();
    // A stand-in notes what it is asked.
    let tools = batch.place.path().join("tools");
    fs::create_dir(&tools).unwrap();
    let asked = batch.place.path().join("asked");
    for (name, answer) in [("sbatch", "4711;cluster"), ("kubectl", "job created")] {
        let script = format!(
            "#!/bin/sh\necho {name} \"$@\" >> {}\necho '{answer}'\n",
            asked.display()
        );
        let tool = tools.join(name);
        write_executable(&tool, script).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let submit = |more: &[&str]| {
        let mut arguments = vec!["submit", &folder];
        arguments.extend(more);
        let output = batch
            .command(&arguments)
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    submit(&["--slurm"]);
    assert!(!asked.exists());
    let script = fs::read_to_string(batch.path().join("slurm.sh")).unwrap();
    assert!(script.contains("--array=0-2\n"), "{script}");
    assert!(submit(&["--slurm", "--apply"]).contains("scancel 4711"));
    let kubernetes = [
        "--kubernetes",
        "--image",
        "codex:1",
        "--volume-claim",
        "data",
        "--secret",
        "CODEX_API_KEY=model/key",
        "--apply",
    ];
    assert!(submit(&kubernetes).contains("kubectl delete job run"));
    let asked = fs::read_to_string(asked).unwrap();
    assert!(asked.contains("sbatch --parsable ") && asked.contains("kubectl apply -f "));
}
