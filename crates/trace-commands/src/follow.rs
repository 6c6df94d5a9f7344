//! `codex debug trace-view --follow` and `codex debug trace-reduce --watch`: traces of sessions that still run.
//!
//! The page is served on the loopback interface. Its address has a token that works once; the page gets a key for what
//! changes afterwards. What is new in a bundle is read once, and only what changed is sent.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use codex_engine_host::console::Console;
use codex_http::{CallbackReply, CallbackSite, PkceSecrets, StatusCode, listen, parameters, serve};
use codex_regular_file::OutputFile;
use codex_rollout_trace::{BundleFollower, Reduction, write_state};
use codex_system::process::lower_priority;
use codex_trace_folder::bundles_in;
use codex_trace_view::{LiveView, Prices};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use crate::outcome::TraceOutcome;
use crate::problems::{outcome_of, report_all, report_damage};

/// How often a bundle is looked at.
const INTERVAL: Duration = Duration::from_millis(200);
/// Work on a change is followed by a pause of this many times its length, so that the session has the processors to itself
/// nearly all the time. A long pause would only make more work wait.
const PAUSE_FACTOR: u32 = 50;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a request for changes waits for one.
const LONG_POLL: Duration = Duration::from_secs(20);

/// The bundle at a path, or the newest one in a folder of bundles, once there is one.
async fn bundle_at(path: &Path, console: &mut Console<'_>) -> anyhow::Result<PathBuf> {
    let mut is_announced = false;
    loop {
        if path.join("manifest.json").is_file() {
            return Ok(path.to_owned());
        }
        let bundles = bundles_in(path)?;
        if let Some(newest) = bundles.iter().rev().find(|bundle| !bundle.is_packed) {
            return Ok(newest.path.clone());
        }
        if !is_announced {
            console.answer(format!("waiting for a session in {}", path.display()));
            is_announced = true;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Reads what is added to a bundle until its end, and passes each state on.
async fn follow(
    mut follower: BundleFollower,
    mut on_change: impl FnMut(&mut BundleFollower) -> anyhow::Result<()>,
) -> anyhow::Result<Reduction> {
    let mut is_first = true;
    loop {
        let started = Instant::now();
        let is_changed = follower.poll()?;
        if follower.is_over() && !is_changed {
            return Ok(follower.finish()?);
        }
        if is_changed || is_first {
            is_first = false;
            on_change(&mut follower)?;
        }
        let pause = started.elapsed() * PAUSE_FACTOR;
        tokio::time::sleep(pause.clamp(INTERVAL, LONGEST_PAUSE)).await;
    }
}

/// Writes the state of a bundle whenever it changes, until its session ends.
pub(crate) fn watch_state(
    path: &Path,
    output: Option<PathBuf>,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    lower_priority();
    codex_engine_host::runtime::here()?.block_on(async {
        let bundle = bundle_at(path, console).await?;
        let derived = || OutputFile::derived(bundle.join("state.json"));
        let output = output.map_or_else(derived, OutputFile::named);
        let follower = BundleFollower::open(&bundle)?;
        let following = follow(follower, |follower| {
            write_state(&follower.snapshot(), &output)
                .with_context(|| format!("cannot write {}", output.path().display()))
        });
        let reduction = tokio::select! {
            reduction = following => reduction?,
            () = codex_system::signals::first() => return Ok(TraceOutcome::Done),
        };
        write_state(&reduction.trace, &output)
            .with_context(|| format!("cannot write {}", output.path().display()))?;
        report_all(console, &reduction.problems, None);
        console.answer(output.path().display());
        let is_damaged = reduction.problems.is_damaged();
        Ok(outcome_of(reduction, is_damaged))
    })
}

/// Serves the page of a bundle while its session runs. Ends once a browser has the end of the session.
pub(crate) fn serve_page(
    path: &Path,
    prices: Prices,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    lower_priority();
    codex_engine_host::runtime::beside_output()?.block_on(async {
        let bundle = bundle_at(path, console).await?;
        let mut follower = BundleFollower::open(&bundle)?;
        follower.track();
        let secrets = PkceSecrets::new()?;
        let source = format!("/changes?key={}", secrets.verifier);
        let (version, versions) = watch::channel(0);
        let site = Arc::new(LiveSite {
            token: Mutex::new(Some(secrets.state.clone())),
            key: secrets.verifier,
            view: Mutex::new(LiveView::new(&bundle, source, prices)),
            versions,
            end: Mutex::default(),
        });
        let (port, listeners) = listen(0).await.context("cannot listen")?;
        console.answer(format!("http://127.0.0.1:{port}/?token={}", secrets.state));
        let (ended, _) = mpsc::channel(1);
        let (seen, mut is_seen) = mpsc::channel(1);
        let served = tokio::spawn(serve(Arc::clone(&site), listeners, ended, seen));
        let following = follow(follower, |follower| {
            let mut view = site.view.lock();
            view.update(follower)?;
            version.send_replace(view.version());
            Ok(())
        });
        let reduction = tokio::select! {
            reduction = following => reduction?,
            () = codex_system::signals::first() => return Ok(TraceOutcome::Done),
        };
        {
            let mut view = site.view.lock();
            view.finish(&reduction.trace, &reduction.problems)?;
            *site.end.lock() = Some(view.version());
            version.send_replace(view.version());
        }
        report_damage(console, &reduction.problems, None);
        tokio::select! {
            _ = is_seen.recv() => {}
            () = codex_system::signals::first() => {}
        }
        served.abort();
        let is_damaged = reduction.problems.is_damaged();
        Ok(outcome_of(reduction, is_damaged))
    })
}

/// The page and its changes.
struct LiveSite {
    /// Opens the page once.
    token: Mutex<Option<String>>,
    /// Permits the page to ask for changes.
    key: String,
    view: Mutex<LiveView>,
    versions: watch::Receiver<u64>,
    /// The last version, once the session has ended.
    end: Mutex<Option<u64>>,
}

impl CallbackSite for LiveSite {
    type Failure = ();

    async fn reply(&self, target: &str) -> CallbackReply<()> {
        let (place, query) = target.split_once('?').unwrap_or((target, ""));
        let query = parameters(query);
        let value = |name: &str| {
            let found = query.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str()).unwrap_or_default()
        };
        match place {
            "/" if self.takes_token(value("token")) => self.page(),
            "/changes" if value("key") == self.key => {
                let since = value("since").parse().unwrap_or_default();
                self.changes(since).await
            }
            "/" => refused("This address works once. Start the command again."),
            _ => refused("There is nothing here."),
        }
    }
}

impl LiveSite {
    fn takes_token(&self, token: &str) -> bool {
        let mut expected = self.token.lock();
        let is_right = expected.as_deref() == Some(token);
        if is_right {
            *expected = None;
        }
        is_right
    }

    fn page(&self) -> CallbackReply<()> {
        let mut page = Vec::new();
        let view = self.view.lock();
        if let Err(error) = view.write_page(&mut page) {
            return refused(&error.to_string());
        }
        CallbackReply {
            is_last: *self.end.lock() == Some(view.version()),
            ..CallbackReply::page(String::from_utf8_lossy(&page).into_owned())
        }
    }

    /// What changed since a version, once something has.
    async fn changes(&self, since: u64) -> CallbackReply<()> {
        let mut versions = self.versions.clone();
        let changed = versions.wait_for(|version| *version > since);
        let _ = tokio::time::timeout(LONG_POLL, changed).await;
        let view = self.view.lock();
        match view.changes(since) {
            Ok(changes) => CallbackReply {
                kind: "application/json",
                is_last: *self.end.lock() == Some(view.version()),
                ..CallbackReply::page(changes)
            },
            Err(error) => refused(&error.to_string()),
        }
    }
}

fn refused(reason: &str) -> CallbackReply<()> {
    CallbackReply::text(StatusCode::FORBIDDEN, reason)
}
