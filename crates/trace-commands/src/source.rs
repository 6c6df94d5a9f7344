//! Finds what a trace command is given: a bundle, a rollout, or the id of a thread.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use codex_protocol::ThreadId;
use codex_rollout_trace::format::ROOT_VARIABLE;
use codex_trace_folder::{OpenBundle, UnpackLimit, bundles_in};

/// How large a packed bundle may become.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct UnpackArguments {
    /// The size in MiB that a packed bundle may have unpacked; by default 500 times its own, at most 4096.
    #[arg(long, value_name = "MIB")]
    max_unpacked_mib: Option<u64>,
}

impl UnpackArguments {
    pub(crate) fn limit(self) -> UnpackLimit {
        let mebibytes = self.max_unpacked_mib;
        mebibytes.map_or(UnpackLimit::BySize, |mebibytes| {
            UnpackLimit::Bytes(mebibytes.saturating_mul(1 << 20))
        })
    }
}

/// Opens a bundle, the bundle of a thread, or its rollout if it has no bundle.
pub(crate) fn open_source(source: &Path, unpack: UnpackArguments) -> anyhow::Result<OpenBundle> {
    let found = match thread_id(source) {
        Some(thread) if !source.exists() => {
            trace_of(&thread).map_or_else(|| rollout_of(&thread), Ok)?
        }
        _ => source.to_owned(),
    };
    Ok(OpenBundle::open(&found, unpack.limit())?)
}

fn thread_id(source: &Path) -> Option<ThreadId> {
    ThreadId::parse(source.to_str()?).ok()
}

/// The newest bundle of a thread in the folder where sessions are traced.
fn trace_of(thread: &ThreadId) -> Option<PathBuf> {
    let root = std::env::var_os(ROOT_VARIABLE).filter(|root| !root.is_empty())?;
    let bundles = bundles_in(Path::new(&root)).ok()?;
    let is_of_thread = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.contains(&format!("-{thread}")))
    };
    let mut newest = bundles.into_iter().rev();
    Some(newest.find(|bundle| is_of_thread(&bundle.path))?.path)
}

/// The rollout of a thread, archived ones included.
pub(crate) fn rollout_of(thread: &ThreadId) -> anyhow::Result<PathBuf> {
    let home = codex_engine_host::environment::home()?;
    let found =
        codex_rollout::find(&home, thread).or_else(|| codex_rollout::find_archived(&home, thread));
    found.with_context(|| format!("there is no thread {thread} in {}", home.display()))
}
