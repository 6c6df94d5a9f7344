//! The order of the requests of one connection.
//!
//! A request that writes something is carried out after the earlier requests that write or read the same thing, and a request
//! that reads it after the earlier ones that write it. Requests about different things do not wait for each other. A request
//! waits for earlier ones only, so no two wait for each other. A writer waits for readers for a limited time: one that looks into a
//! folder that does not answer holds up no change.

use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_protocol::{AbsolutePathBuf, normalize_path};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a request waits for earlier ones that only read.
const READER_WAIT: Duration = Duration::from_secs(5);

/// How long reading waits for requests that write.
const WRITER_WAIT: Duration = Duration::from_secs(2);

/// What a request reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A thread, by its id.
    Thread(String),
    /// The realtime conversation of a thread, by the thread id.
    Realtime(String),
    /// The input of a `command/exec` process, by its process id.
    Process(String),
    /// The input of a `process/spawn` process, by its handle.
    ProcessHandle(String),
    /// A file search session, by its id.
    Search(String),
    /// A file watch, by its id.
    Watch(String),
    /// A file or folder, with what is below it.
    Path(PathBuf),
    /// All files.
    Files,
    /// The lists of threads: which there are, and their names, sections and archives. The order of their writers is that of
    /// the threads.
    Threads,
    /// Which turns have begun. Their order is that of the threads.
    Turns,
    /// Settings, and what follows from them: features, skills, hooks, MCP servers, providers.
    Settings,
    /// The plugins and the marketplaces.
    Plugins,
    /// The MCP servers that were started.
    McpServers,
    /// Sections and projects.
    Groups,
    /// What is attached to threads.
    Attachments,
    /// The login.
    Account,
    /// Memories.
    Memories,
}

/// How a request uses a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// It changes it.
    Write,
    /// It reads it at some time until its reply.
    Read,
    /// It reads it when it begins. Later writers do not wait for its reply, which may need a server elsewhere.
    ReadFirst,
}

/// What a request uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) kind: AccessKind,
    pub(crate) subject: Subject,
}

/// The requests of a connection that run or wait.
#[derive(Debug, Default)]
pub(crate) struct RequestOrder(Vec<OrderedRequest>);

#[derive(Debug)]
struct OrderedRequest {
    accesses: Vec<Access>,
    is_done: CancellationToken,
    /// Whether reading has waited for it in vain.
    is_slow: bool,
}

/// The place of a request in the order. Dropping it lets later requests go on.
#[derive(Debug)]
pub(crate) struct OrderSlot {
    writers: Vec<CancellationToken>,
    readers: Vec<CancellationToken>,
    done: DropGuard,
}

impl RequestOrder {
    /// Adds a request with what it uses. None if it waits for nothing and nothing waits for it.
    pub(crate) fn enter(&mut self, accesses: Vec<Access>) -> Option<OrderSlot> {
        if accesses.is_empty() {
            return None;
        }
        self.0.retain(|earlier| !earlier.is_done.is_cancelled());
        let before = self.0.iter().filter(|earlier| earlier.precedes(&accesses));
        let (writers, readers): (Vec<_>, Vec<_>) = before.partition(|earlier| earlier.writes());
        let tokens = |requests: Vec<&OrderedRequest>| -> Vec<CancellationToken> {
            (requests.into_iter().map(|one| one.is_done.clone())).collect()
        };
        let (writers, readers) = (tokens(writers), tokens(readers));
        let is_done = CancellationToken::new();
        let done = is_done.clone().drop_guard();
        self.0.push(OrderedRequest {
            accesses,
            is_done,
            is_slow: false,
        });
        Some(OrderSlot {
            writers,
            readers,
            done,
        })
    }

    /// Waits until earlier requests have written what this one uses, but not for long, and for none twice: nothing is read
    /// meanwhile.
    pub(crate) async fn writers_of(&mut self, accesses: &[Access]) {
        let is_awaited =
            |one: &&mut OrderedRequest| !one.is_slow && one.writes() && one.precedes(accesses);
        let mut writers: Vec<_> = self.0.iter_mut().filter(is_awaited).collect();
        let written = async {
            for writer in &writers {
                writer.is_done.cancelled().await;
            }
        };
        if tokio::time::timeout(WRITER_WAIT, written).await.is_err() {
            tracing::warn!("a request goes on before an earlier one that writes has ended");
            for writer in &mut writers {
                writer.is_slow = true;
            }
        }
    }

    /// Waits until the requests that change something are complete.
    pub(crate) async fn complete(&mut self) {
        for request in self.0.drain(..) {
            if request.writes() {
                request.is_done.cancelled().await;
            }
        }
    }
}

impl OrderedRequest {
    fn writes(&self) -> bool {
        let is_write = |access: &Access| access.kind == AccessKind::Write;
        self.accesses.iter().any(is_write)
    }

    fn precedes(&self, later: &[Access]) -> bool {
        let conflicts = |earlier: &Access| later.iter().any(|later| earlier.precedes(later));
        self.accesses.iter().any(conflicts)
    }
}

/// Adds the settings to the uses of a request that uses files of the home folder.
pub(crate) fn with_settings_of(home: &Path, mut uses: Vec<Access>) -> Vec<Access> {
    let home = Subject::folder(home);
    let in_home = uses.iter().filter(|access| access.subject.overlaps(&home));
    let settings = in_home.map(|access| Access {
        kind: access.kind,
        subject: Subject::Settings,
    });
    let settings: Vec<_> = settings.collect();
    uses.extend(settings);
    uses
}

impl OrderSlot {
    /// Waits for the earlier requests. Later ones wait until the result is dropped.
    pub(crate) async fn wait(self) -> DropGuard {
        for writer in self.writers {
            writer.cancelled().await;
        }
        let read = async {
            for reader in self.readers {
                reader.cancelled().await;
            }
        };
        if tokio::time::timeout(READER_WAIT, read).await.is_err() {
            tracing::warn!("a request goes on before an earlier one that reads has ended");
        }
        self.done
    }
}

impl Access {
    pub(crate) fn write(subject: Subject) -> Self {
        let kind = AccessKind::Write;
        Self { kind, subject }
    }

    pub(crate) fn read(subject: Subject) -> Self {
        let kind = AccessKind::Read;
        Self { kind, subject }
    }

    /// Whether a later request with such an access must wait for this one.
    fn precedes(&self, later: &Self) -> bool {
        use AccessKind::{Read, ReadFirst, Write};
        let matters = match (self.kind, later.kind) {
            (Write, Write) => !matches!(self.subject, Subject::Threads | Subject::Turns),
            (Write, Read | ReadFirst) | (Read, Write) => true,
            (Read | ReadFirst, _) => false,
        };
        matters && self.subject.overlaps(&later.subject)
    }
}

impl Subject {
    pub(crate) fn path(path: &AbsolutePathBuf) -> Self {
        Self::folder(&path.0)
    }

    /// Paths are compared by their text: one that leads through a link is another one.
    pub(crate) fn folder(path: impl AsRef<Path>) -> Self {
        Self::Path(normalize_path(path.as_ref()))
    }

    fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(one), Self::Path(other)) => is_within(one, other) || is_within(other, one),
            (Self::Path(_), Self::Files) | (Self::Files, Self::Path(_)) => true,
            (one, other) => one == other,
        }
    }
}

fn is_within(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::AccessKind::{Read, ReadFirst, Write};
    use super::*;

    fn access(kind: AccessKind, subject: Subject) -> Vec<Access> {
        vec![Access { kind, subject }]
    }

    fn path(path: &str) -> Subject {
        Subject::Path(path.into())
    }

    /// Whether a request waits for an earlier one that runs.
    fn waits(earlier: Vec<Access>, later: Vec<Access>) -> bool {
        let mut order = RequestOrder::default();
        let first = order.enter(earlier).unwrap().wait();
        let first = first.now_or_never().unwrap();
        let mut second = Box::pin(order.enter(later).unwrap().wait());
        let is_waiting = (&mut second).now_or_never().is_none();
        drop(first);
        if is_waiting {
            assert!(
                second.now_or_never().is_some(),
                "the end lets the next go on"
            );
        }
        is_waiting
    }

    #[tokio::test]
    async fn writers_wait_and_are_waited_for() {
        let of = |kind| access(kind, Subject::Settings);
        assert!(waits(of(Write), of(Read)));
        assert!(waits(of(Write), of(ReadFirst)));
        assert!(waits(of(Write), of(Write)));
        assert!(waits(of(Read), of(Write)));
        assert!(!waits(of(Read), of(Read)));
        assert!(!waits(of(ReadFirst), of(Write)));
        assert!(!waits(of(Write), access(Read, Subject::Account)));
    }

    #[tokio::test(start_paused = true)]
    async fn reads_wait_once_for_a_slow_writer_only() {
        let mut order = RequestOrder::default();
        let file = path("/folder/file");
        let slow = order.enter(access(Write, file)).unwrap().wait().await;
        let all = access(ReadFirst, Subject::Files);
        let others = access(ReadFirst, Subject::Account);
        assert!(order.writers_of(&others).now_or_never().is_some());
        assert!(order.writers_of(&all).now_or_never().is_none());
        order.writers_of(&all).await;
        assert!(order.writers_of(&all).now_or_never().is_some());
        drop(slow);
    }

    #[tokio::test]
    async fn thread_list_writers_do_not_block_each_other() {
        let of = |kind| access(kind, Subject::Threads);
        assert!(!waits(of(Write), of(Write)));
        assert!(waits(of(Write), of(Read)));
    }

    #[tokio::test]
    async fn paths_overlap_with_their_descendants() {
        let write = |at| access(Write, path(at));
        assert!(waits(write("/a/b"), access(Read, path("/a/b"))));
        assert!(waits(write("/a/b/c"), access(Read, path("/a/b"))));
        assert!(waits(write("/a"), access(Read, path("/a/b/c"))));
        assert!(!waits(write("/a/b"), access(Read, path("/a/bc"))));
    }

    #[tokio::test]
    async fn spelling_of_a_path_does_not_matter() {
        let write = access(Write, Subject::folder("/a/x/../b"));
        assert!(waits(write, access(Read, Subject::folder("/a/./b"))));
    }

    #[tokio::test]
    async fn files_of_the_home_folder_are_settings() {
        let home = Path::new("/home/engine");
        let write = |at| with_settings_of(home, access(Write, path(at)));
        let settings = || access(Read, Subject::Settings);
        assert!(waits(write("/home/engine/config.toml"), settings()));
        assert!(waits(write("/home"), settings()));
        assert!(!waits(write("/home/other"), settings()));
    }

    #[tokio::test]
    async fn request_waits_for_all_earlier_ones_that_conflict() {
        let mut order = RequestOrder::default();
        let mut enter = |kind| order.enter(access(kind, Subject::Settings)).unwrap().wait();
        let first = enter(Read).now_or_never().unwrap();
        let second = enter(Read).now_or_never().unwrap();
        let mut third = Box::pin(enter(Write));
        assert!((&mut third).now_or_never().is_none());
        drop(second);
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn hanging_reader_does_not_block_writers_forever() {
        let mut order = RequestOrder::default();
        let mut enter = |kind| order.enter(access(kind, Subject::Settings)).unwrap().wait();
        let hanging = enter(Read).await;
        drop(enter(Write).await);
        drop(hanging);
    }

    #[test]
    fn request_that_uses_nothing_has_no_slot() {
        assert!(RequestOrder::default().enter(Vec::new()).is_none());
    }
}
