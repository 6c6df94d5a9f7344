//! Simulated programs: what one does follows from its command line.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use codex_core::{ProcessInput, ProcessOwner, Processes, RunningProcess};
use codex_exec::{ExitStatus, Launch, OutputChunk, OutputStream, SpawnError};
use codex_sandbox::{EnforcementLevels, Namespaces};
use futures::StreamExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::watch;

use crate::machine::SeededRandom;
use crate::mcp_servers;
use crate::record::{self, RecordKind};

/// Starts simulated programs.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedPrograms {
    seed: u64,
    /// The number of MCP servers that were started.
    mcp_servers: Arc<AtomicU64>,
}

impl SimulatedPrograms {
    /// The programs of a simulation.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            mcp_servers: Arc::default(),
        }
    }
}

impl Processes for SimulatedPrograms {
    fn levels(&self) -> EnforcementLevels {
        EnforcementLevels {
            landlock: 7,
            seccomp: true,
            namespaces: Namespaces::MountsAndProcesses,
            ..EnforcementLevels::default()
        }
    }

    fn start(&self, launch: Launch) -> BoxFuture<'static, Result<RunningProcess, SpawnError>> {
        let words: Vec<_> = launch
            .command
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        let line = words.join(" ");
        if words
            .first()
            .is_some_and(|word| word == mcp_servers::PROGRAM)
        {
            // Each start is another one.
            let number = self.mcp_servers.fetch_add(1, Ordering::Relaxed);
            let random = SeededRandom::for_purpose(self.seed, 1000 + number);
            return Box::pin(async { Ok(mcp_servers::start(random)) });
        }
        let started = json!({ "command": line, "plan": format!("{:?}", launch.plan) });
        record::add(RecordKind::Program, 0, &started.to_string());
        let mut random =
            SeededRandom::for_purpose(self.seed, xxhash_rust::xxh3::xxh3_64(line.as_bytes()));
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(random.below(20))).await;
            if random.chance(1, 20) {
                return Err(SpawnError::TooSlow);
            }
            Ok(running(&mut random))
        })
    }
}

fn running(random: &mut SeededRandom) -> RunningProcess {
    let prints = random.below(6);
    let pause = random.below(300);
    // A size in the thousands fills buffers.
    let size = if random.chance(1, 8) { 40_000 } else { 20 };
    let hangs = random.chance(1, 8);
    let status = match random.below(6) {
        0 => ExitStatus::Code(1),
        1 => ExitStatus::Signal(9),
        _ => ExitStatus::Code(0),
    };
    let (killed, is_killed) = watch::channel(false);
    let end = Duration::from_millis(prints * pause + random.below(100));
    let mut until = is_killed.clone();
    let output = futures::stream::iter(0..prints)
        .then(move |number| async move {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let bytes = format!("{number} {}\n", "x".repeat(size));
            OutputChunk {
                stream: OutputStream::Stdout,
                bytes: Bytes::from(bytes),
            }
        })
        .chain(
            futures::stream::once(async move {
                if hangs {
                    let _ = until.wait_for(|killed| *killed).await;
                }
                None
            })
            .filter_map(std::future::ready),
        )
        .boxed();
    let owner = SimulatedProgram {
        killed,
        is_killed,
        hangs,
        begun: tokio::time::Instant::now(),
        end,
        status,
        kill_delay: Duration::from_millis(random.below(500)),
    };
    RunningProcess {
        owner: Box::new(owner),
        output,
        input: Some(Box::new(IgnoredInput)),
    }
}

#[derive(Debug)]
struct SimulatedProgram {
    killed: watch::Sender<bool>,
    is_killed: watch::Receiver<bool>,
    hangs: bool,
    begun: tokio::time::Instant,
    end: Duration,
    status: ExitStatus,
    kill_delay: Duration,
}

impl ProcessOwner for SimulatedProgram {
    fn ended(&self) -> BoxFuture<'_, ExitStatus> {
        let mut killed = self.is_killed.clone();
        let end = self.begun + self.end;
        Box::pin(async move {
            let by_itself = async {
                if self.hangs {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep_until(end).await;
            };
            tokio::select! {
                biased;
                () = by_itself => self.status,
                _ = killed.wait_for(|killed| *killed) => ExitStatus::Signal(9),
            }
        })
    }

    fn kill(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::time::sleep(self.kill_delay).await;
            self.killed.send_replace(true);
        })
    }
}

/// Takes input and does nothing with it.
#[derive(Debug)]
struct IgnoredInput;

impl ProcessInput for IgnoredInput {
    fn write<'a>(&'a mut self, _: &'a [u8]) -> BoxFuture<'a, std::io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
