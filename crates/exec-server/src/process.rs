//! One command of a session: its numbered output, its input, its end.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use codex_exec::{
    ExitStatus, Launch, OutputStream, SpawnedProcess, StandardInput, StreamSetup, TerminalSize,
};
use codex_sandbox::LaunchPlan;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::machine::LocalMachine;
use crate::policy::RequestedSandbox;
use crate::refusal::Refusal;
use crate::remembered_writes::RememberedWrites;
use crate::renamed_program::renamed;
use crate::requests::{Base64, ProcessRead, ProcessStart, ProcessWrite, variable_policy};
use crate::session::Link;

/// How much output of a command is kept to be read again.
const KEPT_OUTPUT_BYTES: usize = 1024 * 1024;

/// The longest chunk of output.
const LONGEST_CHUNK: usize = 8192;

/// How much input may wait for a command that does not read.
const MOST_INPUT: usize = 16 * 1024 * 1024;

/// The longest wait of a read.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How much of the end of the output is looked at for a denial by the sandbox.
const LOOKED_AT: usize = 64 * 1024;

const TERMINAL_ROWS: u16 = 24;
const TERMINAL_COLUMNS: u16 = 80;

/// A command of a session. Its owner is a task that ends with the command, or when the session ends.
#[derive(Debug)]
pub(crate) struct SessionProcess {
    id: String,
    is_terminal: bool,
    is_confined: bool,
    record: Mutex<Record>,
    changed: Notify,
    requests: mpsc::UnboundedSender<OwnerRequest>,
}

/// What the owner of a command is asked for.
enum OwnerRequest {
    Interrupt,
    Kill,
    Input(Vec<u8>),
}

#[derive(Debug, Default)]
struct Record {
    chunks: VecDeque<Chunk>,
    kept: usize,
    last_seq: u64,
    exit_code: Option<i32>,
    is_denied: bool,
    is_closed: bool,
    has_input: bool,
    waiting_input: usize,
    writes: RememberedWrites,
}

#[derive(Clone, Debug)]
struct Chunk {
    seq: u64,
    stream: &'static str,
    bytes: Bytes,
}

impl SessionProcess {
    /// Starts a command. What it says goes to the link.
    pub(crate) async fn start(
        machine: &LocalMachine,
        params: ProcessStart,
        link: Arc<Link>,
    ) -> Result<Arc<Self>, Refusal> {
        let (is_terminal, has_input) = (params.tty, params.tty || params.pipe_stdin);
        let id = params.process_id.clone();
        let launch = launch(&machine.program, params)?;
        let is_confined = matches!(launch.plan, LaunchPlan::Confined(_));
        let spawned = machine.launcher.spawn(launch).await?;
        let (requests, incoming) = mpsc::unbounded_channel();
        let process = Arc::new(Self {
            id,
            is_terminal,
            is_confined,
            record: Mutex::new(Record {
                has_input,
                ..Record::default()
            }),
            changed: Notify::new(),
            requests,
        });
        let owner = Owner {
            process: Arc::clone(&process),
            link,
        };
        tokio::spawn(owner.run(spawned, incoming));
        Ok(process)
    }

    /// The name of what confines it.
    pub(crate) fn sandbox_name(&self) -> &'static str {
        match (self.is_confined, std::env::consts::OS) {
            (false, _) => "none",
            (true, "macos") => "macosSeatbelt",
            (true, "windows") => "windowsRestrictedToken",
            (true, _) => "linuxSeccomp",
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.record.lock().is_closed
    }

    /// Gives up the output that was kept.
    pub(crate) fn forget_output(&self) {
        let mut record = self.record.lock();
        record.chunks = VecDeque::new();
        record.kept = 0;
    }

    /// Writes to its input, once for each id.
    pub(crate) fn write(&self, params: ProcessWrite) -> Result<Value, Refusal> {
        let mut record = self.record.lock();
        if !record.has_input {
            return Ok(json!({ "status": "stdinClosed" }));
        }
        if record.exit_code.is_some() {
            return Err(Refusal::failed("the process has ended"));
        }
        if record.writes.contains(&params.write_id) {
            return Ok(json!({ "status": "accepted" }));
        }
        let bytes = params.chunk.0;
        if record.waiting_input + bytes.len() > MOST_INPUT {
            return Err(Refusal::failed(
                "the process does not read what was written before",
            ));
        }
        record.waiting_input += bytes.len();
        record.writes.add(params.write_id);
        // Sent under the lock, so that writes keep their order.
        self.requests.send(OwnerRequest::Input(bytes)).ok();
        Ok(json!({ "status": "accepted" }))
    }

    /// Interrupts it as Ctrl-C does; nothing if it has ended.
    pub(crate) fn interrupt(&self) {
        self.requests.send(OwnerRequest::Interrupt).ok();
    }

    /// Ends it with all that it started. Returns whether it ran.
    pub(crate) fn terminate(&self) -> bool {
        let runs = self.record.lock().exit_code.is_none();
        self.requests.send(OwnerRequest::Kill).ok();
        runs
    }

    /// Whether a read would find something new.
    fn has_news(&self, after: u64) -> bool {
        let record = self.record.lock();
        record.is_closed || record.last_seq > after
    }

    /// Waits, if that is asked for, until there is something new.
    pub(crate) async fn wait_for_news(&self, params: &ProcessRead) {
        let wait = Duration::from_millis(params.wait_ms.unwrap_or_default()).min(LONGEST_WAIT);
        if wait.is_zero() {
            return;
        }
        let waiting = async {
            loop {
                let mut changed = std::pin::pin!(self.changed.notified());
                changed.as_mut().enable();
                if self.has_news(params.after_seq.unwrap_or_default()) {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(wait, waiting).await.ok();
    }

    /// What was kept of the output after a number.
    pub(crate) fn read(&self, params: &ProcessRead) -> Value {
        let record = self.record.lock();
        let after = params.after_seq.unwrap_or_default();
        let limit = params.max_bytes.unwrap_or(u64::MAX);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut chunks, mut bytes, mut next) = (Vec::new(), 0, record.last_seq + 1);
        for chunk in record.chunks.iter().filter(|chunk| chunk.seq > after) {
            if !chunks.is_empty() && bytes + chunk.bytes.len() > limit {
                next = chunk.seq;
                break;
            }
            bytes += chunk.bytes.len();
            chunks.push(json!({
                "seq": chunk.seq,
                "stream": chunk.stream,
                "chunk": Base64(chunk.bytes.to_vec()),
            }));
        }
        json!({
            "chunks": chunks,
            "nextSeq": next,
            "exited": record.exit_code.is_some(),
            "exitCode": record.exit_code,
            "closed": record.is_closed,
            "failure": null,
            "sandboxDenied": record.is_denied,
        })
    }

    /// Keeps a chunk of output, and lets go of the oldest ones above the limit.
    fn keep(&self, stream: &'static str, bytes: Bytes) -> u64 {
        let mut record = self.record.lock();
        record.last_seq += 1;
        let seq = record.last_seq;
        record.kept += bytes.len();
        record.chunks.push_back(Chunk { seq, stream, bytes });
        while record.kept > KEPT_OUTPUT_BYTES
            && let Some(oldest) = record.chunks.pop_front()
        {
            record.kept -= oldest.bytes.len();
        }
        seq
    }

    fn end_of_output(&self) -> Vec<u8> {
        let record = self.record.lock();
        let mut parts = Vec::new();
        let mut length = 0;
        for chunk in record.chunks.iter().rev() {
            if length >= LOOKED_AT {
                break;
            }
            length += chunk.bytes.len();
            parts.push(chunk.bytes.clone());
        }
        parts.reverse();
        parts.concat()
    }

    fn exit(&self, status: ExitStatus) -> (u64, i32, bool) {
        let code = match status {
            // A terminal of the reference tells no signals.
            ExitStatus::Signal(_) if self.is_terminal => 1,
            status => status.code(),
        };
        let is_denied = self.is_confined
            && matches!(status, ExitStatus::Code(code) if code != 0)
            && codex_sandbox::looks_denied(code, &self.end_of_output());
        let mut record = self.record.lock();
        record.last_seq += 1;
        record.exit_code = Some(code);
        record.is_denied = is_denied;
        (record.last_seq, code, is_denied)
    }

    fn close(&self) -> u64 {
        let mut record = self.record.lock();
        record.last_seq += 1;
        record.is_closed = true;
        record.writes = RememberedWrites::default();
        record.last_seq
    }
}

/// The command to launch, and how it is confined.
fn launch(program: &Path, params: ProcessStart) -> Result<Launch, Refusal> {
    if params.argv.is_empty() {
        return Err(Refusal::params("`argv` is empty"));
    }
    if params.enforce_managed_network
        || is_given(&params.managed_network)
        || is_given(&params.network_proxy)
    {
        return Err(Refusal::sandbox(
            "this machine cannot limit the network of a command to certain hosts",
        ));
    }
    let cwd = params.cwd.0;
    let plan = RequestedSandbox::plan(params.sandbox.as_ref(), &cwd)?;
    let inherited: BTreeMap<OsString, OsString> = match params.env_policy {
        Some(policy) => variable_policy(policy).apply(std::env::vars_os()),
        None => BTreeMap::new(),
    };
    let streams = match (params.tty, params.pipe_stdin) {
        (true, _) => StreamSetup::Terminal(
            TerminalSize::new(TERMINAL_ROWS, TERMINAL_COLUMNS)
                .ok_or_else(|| Refusal::failed("no terminal of this size"))?,
        ),
        (false, true) => StreamSetup::InputAndOutput,
        (false, false) => StreamSetup::OutputOnly,
    };
    let command = match &params.arg0 {
        Some(name) if params.argv.first() != Some(name) => renamed(program, name, &params.argv),
        _ => params.argv.iter().map(OsString::from).collect(),
    };
    Ok(Launch {
        command,
        cwd,
        inherited: Arc::new(inherited),
        environment: (params.env.into_iter())
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        streams,
        plan,
        network: codex_exec::CommandNetwork::default(),
    })
}

fn is_given(value: &Option<Value>) -> bool {
    value.as_ref().is_some_and(|value| !value.is_null())
}

/// Owns a command: reads its output, feeds its input, tells the link, and ends the command with the session.
struct Owner {
    process: Arc<SessionProcess>,
    link: Arc<Link>,
}

impl Owner {
    async fn run(
        self,
        spawned: SpawnedProcess,
        mut requests: mpsc::UnboundedReceiver<OwnerRequest>,
    ) {
        let SpawnedProcess {
            process: mut owned,
            mut output,
            input,
        } = spawned;
        let (mut is_open, mut has_exited) = (true, false);
        let input = input.map(|input| self.feed(input));
        while is_open || !has_exited {
            tokio::select! {
                biased;
                Some(request) = requests.recv() => match request {
                    OwnerRequest::Interrupt => {
                        owned.interrupt().ok();
                    }
                    OwnerRequest::Input(bytes) => {
                        if let Some(input) = &input {
                            input.send(bytes).ok();
                        }
                    }
                    OwnerRequest::Kill => {
                        owned.kill().await;
                    }
                },
                // A client that does not read holds the command up, and one that is gone does not.
                chunk = async { self.link.until_room().await; output.next().await }, if is_open => match chunk {
                    Some(chunk) => self.send_output(chunk.stream, chunk.bytes),
                    None => is_open = false,
                },
                status = owned.wait(), if !has_exited => {
                    has_exited = true;
                    self.send_exit(status);
                }
                () = self.link.until_ended() => return,
            }
        }
        let seq = self.process.close();
        self.notify(
            "process/closed",
            json!({ "processId": self.process.id, "seq": seq }),
        );
    }

    /// Feeds the input from a task of its own: a command that does not read holds nothing else up.
    fn feed(&self, mut input: StandardInput) -> mpsc::UnboundedSender<Vec<u8>> {
        let (sender, mut waiting) = mpsc::unbounded_channel::<Vec<u8>>();
        let process = Arc::clone(&self.process);
        tokio::spawn(async move {
            while let Some(bytes) = waiting.recv().await {
                let is_taken = input.write(&bytes).await.is_ok();
                process.record.lock().waiting_input -= bytes.len();
                if !is_taken {
                    return;
                }
            }
        });
        sender
    }

    fn send_output(&self, stream: OutputStream, bytes: Bytes) {
        let stream = match stream {
            _ if self.process.is_terminal => "pty",
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let chunk = rest.split_to(rest.len().min(LONGEST_CHUNK));
            let text = Base64(chunk.to_vec());
            let seq = self.process.keep(stream, chunk);
            self.notify(
                "process/output",
                json!({ "processId": self.process.id, "seq": seq, "stream": stream, "chunk": text }),
            );
        }
    }

    fn send_exit(&self, status: ExitStatus) {
        let (seq, code, is_denied) = self.process.exit(status);
        self.notify(
            "process/exited",
            json!({
                "processId": self.process.id,
                "seq": seq,
                "exitCode": code,
                "sandboxDenied": is_denied,
            }),
        );
    }

    fn notify(&self, method: &str, params: Value) {
        self.link.notify(method, params);
        self.process.changed.notify_waiters();
    }
}
