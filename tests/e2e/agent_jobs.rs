//! Jobs of agents: one for each row of a CSV file.

use std::fs;
use std::path::PathBuf;

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, ReceivedRequest, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::setup::{home_with, numbered, scripted_config, scripted_home, server};

const OPEN_SETTINGS: &str = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"";

/// What the agent of an item does.
enum Work {
    Report(Value),
    ReportAndStop,
    Nothing,
    Fail,
    /// Its model answers once the latch is open.
    Hold(Latch),
}

/// A model whose agents do this, by item and row.
fn answer_agents(model: &ModelServer, work: impl Fn(&str, &Value) -> Work + Send + Sync + 'static) {
    model.answer(move |request| {
        let label = request.header("x-openai-subagent")?.to_owned();
        let job = label.strip_prefix("agent_job:")?;
        let body = request.json();
        let input = body["input"].as_array().unwrap();
        if input
            .iter()
            .any(|item| item["type"] == "function_call_output")
        {
            return Some(HttpReply::stream(&sse::text("reported")));
        }
        let (item, row) = item_of(request);
        let report = |result: Value, stop: bool| {
            let arguments =
                json!({ "job_id": job, "item_id": item, "result": result, "stop": stop });
            let call = sse::function_call("report", "report_agent_job_result", &arguments);
            HttpReply::stream(&sse::items(&[call]))
        };
        Some(match work(&item, &row) {
            Work::Report(result) => report(result, false),
            Work::ReportAndStop => report(json!({}), true),
            Work::Nothing => HttpReply::stream(&sse::text("nothing")),
            Work::Fail => HttpReply::status(400).body("no"),
            Work::Hold(latch) => HttpReply::status(200)
                .header("content-type", "text/event-stream")
                .wait(&latch)
                .body(sse::frames(&sse::text("late"))),
        })
    });
}

/// The item that an agent is given, and its row.
pub(crate) fn item_of(request: &ReceivedRequest) -> (String, Value) {
    let body = request.json();
    let texts = body["input"].as_array().unwrap().iter();
    let texts = texts.filter_map(|item| item["content"].as_array()?.last()?["text"].as_str());
    let prompt = texts.rev().find(|text| text.contains("Item ID: ")).unwrap();
    let item = prompt.split("Item ID: ").nth(1).unwrap().lines().next();
    let row = prompt.split("The row of the item:\n").nth(1).unwrap();
    let mut rows = serde_json::Deserializer::from_str(row).into_iter::<Value>();
    (item.unwrap().to_owned(), rows.next().unwrap().unwrap())
}

struct JobThread {
    model: ModelServer,
    home: TempDir,
    server: AppServer,
    thread: String,
}

impl JobThread {
    async fn start(input: &str, policy: &str, agents: &str) -> Self {
        let model = ModelServer::start([]).await.unwrap();
        let settings = format!(
            "{policy}\n[features]\nenable_fanout = true\nshell_snapshot = false\n[agents]\n{agents}"
        );
        let home = home_with(&scripted_config(&model, &settings));
        fs::write(home.path().join("in.csv"), input).unwrap();
        let mut server = server(&home).await;
        let params = json!({ "cwd": home.path() });
        let thread = server.start_thread_with(params).await;
        Self {
            model,
            home,
            server,
            thread,
        }
    }

    /// Begins a turn that starts a job with these arguments.
    async fn begin(&mut self, arguments: &Value) {
        let mut all = json!({ "csv_path": "in.csv", "instruction": "look at {a}" });
        for (name, value) in arguments.as_object().unwrap() {
            all[name] = value.clone();
        }
        let id = format!("job-{}", self.model.requests().len());
        let call = sse::function_call(&id, "spawn_agents_on_csv", &all);
        self.model.push(HttpReply::stream(&sse::items(&[call])));
        let end = numbered(sse::text("done"));
        self.model.push(HttpReply::stream(&end));
        self.server.start_turn(&self.thread, "go").await;
    }

    /// Waits for the end of the turn of the thread itself.
    async fn end(&mut self) -> Value {
        loop {
            let ended = self.server.wait_for("turn/completed").await.unwrap();
            if ended["params"]["threadId"] == self.thread.as_str() {
                return ended["params"]["turn"].clone();
            }
        }
    }

    /// The output of the call that started the job, in the last request.
    fn output(&self) -> String {
        let requests = self.model.requests();
        let is_own = |request: &&ReceivedRequest| request.header("x-openai-subagent").is_none();
        let last = requests.iter().rev().find(is_own).unwrap().json();
        let input = last["input"].as_array().unwrap();
        let output = input
            .iter()
            .rev()
            .find(|item| item["type"] == "function_call_output");
        output.unwrap()["output"].as_str().unwrap().to_owned()
    }

    /// Runs a job to its end and returns what the call answered.
    async fn run(&mut self, arguments: Value) -> Value {
        self.begin(&arguments).await;
        self.end().await;
        serde_json::from_str(&self.output()).unwrap_or_else(|_| Value::String(self.output()))
    }

    /// The lines of the results after the first, without the times and with a word for the job.
    fn results(&self, path: PathBuf) -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        let job = self.job();
        let lines = text.lines().skip(1).map(|line| {
            let untimed = line.rsplitn(3, ',').last().unwrap();
            untimed.replace(&job, "JOB")
        });
        lines.collect()
    }

    /// The job of the last agent.
    fn job(&self) -> String {
        let requests = self.model.requests();
        let mut labels =
            (requests.iter().rev()).filter_map(|request| request.header("x-openai-subagent"));
        let label = labels.next().unwrap();
        label.strip_prefix("agent_job:").unwrap().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn workers(&self) -> Vec<Value> {
        let requests = self.model.requests();
        let is_worker = |request: &&ReceivedRequest| request.header("x-openai-subagent").is_some();
        requests
            .iter()
            .filter(is_worker)
            .map(ReceivedRequest::json)
            .collect()
    }
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

#[tokio::test]
async fn a_job_has_an_agent_for_each_row() {
    let input = "a,b\nx,\"1, 2\"\nx,2\n,3\nz,4\n";
    let mut job = JobThread::start(input, OPEN_SETTINGS, "max_threads = 3").await;
    answer_agents(&job.model, |item, row| match item {
        "x" => Work::Report(row.clone()),
        "x-2" => Work::Nothing,
        "row-3" => Work::Fail,
        _ => Work::Report(json!({ "n": 1 })),
    });
    let schema = json!({ "type": "object", "required": ["n"] });
    let arguments =
        json!({ "id_column": "a", "output_csv_path": "new/out.csv", "output_schema": schema });
    let answer = job.run(arguments).await;
    assert_eq!(answer["status"], "completed", "{answer}");
    assert_eq!(
        answer["output_csv_path"],
        job.path("new/out.csv").to_str().unwrap()
    );
    assert_eq!(
        [
            &answer["total_items"],
            &answer["completed_items"],
            &answer["failed_items"]
        ],
        [4, 2, 2]
    );
    let unreported = "worker finished without calling report_agent_job_result";
    let failed = &answer["failed_item_errors"];
    assert_eq!(
        failed[0],
        json!({ "item_id": "x-2", "source_id": "x", "last_error": unreported })
    );
    assert_eq!(failed[1]["item_id"], "row-3");
    let rows = job.results(job.path("new/out.csv"));
    assert_eq!(
        rows[0],
        r#"x,"1, 2",JOB,x,0,x,completed,1,,"{""a"":""x"",""b"":""1, 2""}""#
    );
    assert_eq!(rows[1], format!("x,2,JOB,x-2,1,x,failed,1,{unreported},"));
    assert!(rows[2].starts_with(",3,JOB,row-3,2,,failed,1,"), "{rows:?}");
    assert!(rows[2].contains(&format!("{unreported}: ")), "{rows:?}");
    assert_eq!(rows[3], r#"z,4,JOB,z,3,z,completed,1,,"{""n"":1}""#);

    // Agents can report, and start none themselves; the thread can start them and not report.
    let worker = job.workers().remove(0);
    assert!(names(&worker).contains(&"report_agent_job_result"));
    assert!(!names(&worker).contains(&"spawn_agents_on_csv"));
    assert!(worker["input"].to_string().contains("look at "));
    assert!(worker["input"].to_string().contains(r#"required"#));
    let own = job.model.requests()[0].json();
    assert!(names(&own).contains(&"spawn_agents_on_csv"));
    assert!(!names(&own).contains(&"report_agent_job_result"));
    // The model is not told of each agent besides.
    let last = job.model.requests().pop().unwrap().json();
    assert!(!last["input"].to_string().contains("subagent_notification"));
    let kinds = json!({ "sourceKinds": ["subAgentOther"] });
    let listed = job.server.call("thread/list", kinds).await.unwrap();
    let listed = listed["result"]["data"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 4);
    let label = format!("agent_job:{}", answer["job_id"].as_str().unwrap());
    assert_eq!(listed[0]["source"]["subAgent"]["other"], label);
    job.server.finish().await.unwrap();
}

#[tokio::test]
async fn invalid_job_is_refused_before_an_agent_starts() {
    let mut job = JobThread::start("a,b\n1,2\n", OPEN_SETTINGS, "").await;
    fs::write(job.path("short.csv"), "a,b\n1\n").unwrap();
    fs::create_dir(job.path("folder")).unwrap();
    for (arguments, refusal) in [
        (
            json!({ "instruction": " " }),
            "instruction must be non-empty",
        ),
        (
            json!({ "max_runtime_seconds": 0 }),
            "max_runtime_seconds must be >= 1",
        ),
        (
            json!({ "csv_path": "none.csv" }),
            "failed to read csv input ",
        ),
        (json!({ "csv_path": "folder" }), "failed to read csv input "),
        (
            json!({ "csv_path": "short.csv" }),
            "csv row 2 has 1 fields but header has 2",
        ),
        (
            json!({ "id_column": "c" }),
            "id_column c was not found in csv headers",
        ),
        (
            json!({ "output_csv_path": "folder" }),
            "failed to export output csv ",
        ),
        (
            json!({ "max_workers": -1 }),
            "failed to parse function arguments",
        ),
    ] {
        let answer = job.run(arguments).await;
        let answer = answer.as_str().unwrap();
        assert!(answer.starts_with(refusal), "{answer}");
    }
    assert!(job.workers().is_empty());
    job.server.finish().await.unwrap();
}

#[tokio::test]
async fn an_agent_can_stop_the_job() {
    let mut job = JobThread::start("a\n1\n2\n3\n", OPEN_SETTINGS, "").await;
    answer_agents(&job.model, |_, _| Work::ReportAndStop);
    let answer = job.run(json!({ "max_workers": 1 })).await;
    assert_eq!(answer["status"], "cancelled");
    assert_eq!(answer["job_error"], "cancelled by worker request");
    assert_eq!(answer["completed_items"], 1);
    let path = PathBuf::from(answer["output_csv_path"].as_str().unwrap());
    let name = path.file_name().unwrap().to_str().unwrap();
    let start = answer["job_id"]
        .as_str()
        .unwrap()
        .split('-')
        .next()
        .unwrap();
    assert_eq!(name, format!("in.agent-job-{start}.csv"));
    let rows = job.results(path);
    assert_eq!(rows[0], "1,JOB,row-1,0,,completed,1,,{}");
    assert_eq!(rows[2], "3,JOB,row-3,2,,pending,0,,");
    job.server.finish().await.unwrap();
}

#[tokio::test]
async fn an_agent_that_takes_too_long_is_ended() {
    let mut job = JobThread::start("a\n1\n2\n", OPEN_SETTINGS, "job_max_runtime_seconds = 1").await;
    let latch = Latch::new();
    let held = latch.clone();
    answer_agents(&job.model, move |item, _| match item {
        "row-1" => Work::Hold(held.clone()),
        _ => Work::Report(json!({})),
    });
    let answer = job.run(json!({})).await;
    assert_eq!(answer["completed_items"], 1);
    let failed = &answer["failed_item_errors"][0];
    assert_eq!(failed["last_error"], "worker exceeded max runtime of 1s");
    latch.open();
    job.server.finish().await.unwrap();
}

/// A job whose first item is reported and whose second is being worked on.
async fn half_done() -> (JobThread, Latch) {
    let mut job = JobThread::start("a\n1\n2\n", OPEN_SETTINGS, "").await;
    let latch = Latch::new();
    let held = latch.clone();
    answer_agents(&job.model, move |item, _| match item {
        "row-2" => Work::Hold(held.clone()),
        _ => Work::Report(json!({})),
    });
    job.begin(&json!({ "max_workers": 1, "output_csv_path": "out.csv" }))
        .await;
    // The thread, the first agent before and after its report, the second agent.
    job.model.request(3).await;
    (job, latch)
}

#[tokio::test]
async fn interrupt_ends_job_agents_and_keeps_results() {
    let (mut job, latch) = half_done().await;
    let started = job.server.call(
        "thread/read",
        json!({ "threadId": job.thread, "includeTurns": true }),
    );
    let turn = started.await.unwrap()["result"]["thread"]["turns"][0]["id"].clone();
    let params = json!({ "threadId": job.thread, "turnId": turn });
    job.server.call("turn/interrupt", params).await.unwrap();
    assert_eq!(job.end().await["status"], "interrupted");
    while !job.path("out.csv").exists() {
        job.server
            .call("thread/loaded/list", json!({}))
            .await
            .unwrap();
    }
    let rows = job.results(job.path("out.csv"));
    assert_eq!(rows[0], "1,JOB,row-1,0,,completed,1,,{}");
    assert_eq!(rows[1], "2,JOB,row-2,1,,failed,1,the job was interrupted,");
    latch.open();
    job.server.finish().await.unwrap();
}

#[tokio::test]
async fn job_of_a_killed_server_keeps_reported_results() {
    let (job, latch) = half_done().await;
    let JobThread {
        model,
        home,
        server: killed,
        thread,
    } = job;
    killed.kill().await.unwrap();
    latch.open();
    let mut server = server(&home).await;
    let resumed = server
        .call("thread/resume", json!({ "threadId": thread }))
        .await
        .unwrap();
    assert!(resumed["error"].is_null(), "{resumed}");
    let mut job = JobThread {
        model,
        home,
        server,
        thread,
    };
    job.model.push(HttpReply::stream(&sse::text("so")));
    job.server.start_turn(&job.thread, "how did it go?").await;
    job.end().await;
    let last = job.model.requests().pop().unwrap().json();
    let told = last["input"].to_string();
    assert!(
        told.contains("1 items are completed, 1 failed and 0 were not started"),
        "{told}"
    );
    let rows = job.results(job.path("out.csv"));
    assert_eq!(rows[0], "1,JOB,row-1,0,,completed,1,,{}");
    assert_eq!(
        rows[1],
        "2,JOB,row-2,1,,failed,1,the program ended while the job ran,"
    );
    job.server.finish().await.unwrap();
}

#[tokio::test]
async fn the_results_are_written_where_it_is_allowed() {
    let policy = "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"";
    let mut job = JobThread::start("a\n1\n", policy, "").await;
    answer_agents(&job.model, |_, _| Work::Report(json!({})));
    for (decision, workers) in [("decline", 0), ("accept", 2)] {
        job.begin(&json!({ "output_csv_path": "out.csv" })).await;
        let asked = job
            .server
            .wait_for("item/fileChange/requestApproval")
            .await
            .unwrap();
        assert_eq!(job.workers().len(), 0);
        let answer = json!({ "id": asked["id"], "result": { "decision": decision } });
        job.server.send(&answer).await.unwrap();
        let turn = job.end().await;
        let item = turn["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["type"] == "fileChange");
        let status = if decision == "accept" {
            "completed"
        } else {
            "declined"
        };
        assert_eq!(item.unwrap()["status"], status, "{turn}");
        assert_eq!(job.workers().len(), workers);
        assert_eq!(job.path("out.csv").exists(), decision == "accept");
    }
    job.server.finish().await.unwrap();

    let policy = "approval_policy = \"never\"\nsandbox_mode = \"read-only\"";
    let mut job = JobThread::start("a\n1\n", policy, "").await;
    let answer = job.run(json!({})).await;
    assert!(
        answer.as_str().unwrap().starts_with("patch rejected"),
        "{answer}"
    );
    job.server.finish().await.unwrap();
}

#[tokio::test]
async fn jobs_are_offered_where_they_are_enabled() {
    let model = ModelServer::start([HttpReply::stream(&sse::text("done"))]).await;
    let model = model.unwrap();
    let home = scripted_home(&model, "");
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "go").await;
    let request = model.requests().remove(0).json();
    assert!(!names(&request).contains(&"spawn_agents_on_csv"));
    server.finish().await.unwrap();
}
