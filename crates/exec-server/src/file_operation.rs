//! An operation on files in a process of its own, confined by the system as a command would be.
//!
//! The process is this program under a hidden first argument. It reads one request, answers, and ends.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{Launch, OutputStream, StreamSetup};
use codex_sandbox::LaunchPlan;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::FileOperation;
use crate::machine::LocalMachine;
use crate::policy::RequestedSandbox;
use crate::refusal::Refusal;

/// The first argument that asks this program for one operation.
const ARGUMENT: &str = "exec-server-file-operation";

/// How long an operation may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A longer answer is none.
const ANSWER_LIMIT: usize = 1 << 30;

#[derive(Serialize, Deserialize)]
struct OperationRequest {
    method: String,
    params: Value,
}

/// Performs the operation on standard input, if this process was started for it. Then the process ends.
pub fn run_file_operation_if_asked() {
    if std::env::args_os().nth(1).as_deref() != Some(ARGUMENT.as_ref()) {
        return;
    }
    let answer = answer_standard_input();
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    let is_written = std::io::stdout().lock().write_all(&text).is_ok();
    std::process::exit(i32::from(!is_written));
}

fn answer_standard_input() -> Result<Value, Refusal> {
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text)?;
    let request: OperationRequest =
        serde_json::from_slice(&text).map_err(|error| Refusal::failed(error.to_string()))?;
    match FileOperation::parse(&request.method, &request.params)? {
        Some(operation) => operation.perform(),
        None => Err(Refusal::unknown_method(&request.method)),
    }
}

/// Performs an operation in the sandbox that is asked for.
pub(crate) async fn perform_confined(
    machine: &LocalMachine,
    sandbox: &RequestedSandbox,
    method: &str,
    params: &Value,
) -> Result<Value, Refusal> {
    let folder = Path::new("/");
    let plan = RequestedSandbox::plan(Some(sandbox), folder)?;
    let mut params = params.clone();
    if let Some(params) = params.as_object_mut() {
        params.remove("sandbox");
    }
    let request = OperationRequest {
        method: method.to_owned(),
        params,
    };
    let request =
        serde_json::to_vec(&request).map_err(|error| Refusal::failed(error.to_string()))?;
    let asking = ask(machine, plan, request);
    let answer = tokio::time::timeout(LIMIT, asking).await;
    answer.unwrap_or_else(|_| Err(Refusal::failed("the operation took too long")))
}

async fn ask(machine: &LocalMachine, plan: LaunchPlan, request: Vec<u8>) -> Result<Value, Refusal> {
    let program = machine.program.clone().into_os_string();
    let mut spawned = machine
        .launcher
        .spawn(Launch {
            command: vec![program, OsString::from(ARGUMENT)],
            cwd: "/".into(),
            inherited: Arc::default(),
            environment: Vec::new(),
            streams: StreamSetup::InputAndOutput,
            plan,
            network: codex_exec::CommandNetwork::default(),
        })
        .await?;
    let writing = async {
        if let Some(mut input) = spawned.input.take() {
            // If it does not read all, its answer says why.
            input.write(&request).await.ok();
            input.close().await.ok();
        }
    };
    let output = &mut spawned.output;
    let reading = async {
        let mut answer = Vec::new();
        while let Some(chunk) = output.next().await {
            if chunk.stream == OutputStream::Stdout && answer.len() < ANSWER_LIMIT {
                answer.extend_from_slice(&chunk.bytes);
            }
        }
        answer
    };
    let ((), answer) = tokio::join!(writing, reading);
    serde_json::from_slice::<Result<Value, Refusal>>(&answer)
        .map_err(|_| Refusal::sandbox("the process for the operation ended without an answer"))?
}
