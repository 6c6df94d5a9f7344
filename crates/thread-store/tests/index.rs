//! The index over a home folder: lists, look-ups, and changes of files by other processes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use codex_protocol::{GitInfo, SessionSource, ThreadId};
use codex_thread_store::{
    AncestorFilter, FILE_NAME, IndexState, ListCursor, SideThreads, SortKey, SourceKinds,
    ThreadQuery, ThreadRecord, ThreadStore, annotations, inspect,
};
use jiff::Timestamp;
use serde_json::json;
use tokio::task::JoinSet;

/// A home folder and the index over it.
struct Home {
    folder: tempfile::TempDir,
    store: ThreadStore,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = ThreadStore::new(folder.path());
        Self { folder, store }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a thread; greater numbers are newer.
    fn thread(&self, number: u32, cwd: &str, text: &str) -> (ThreadId, PathBuf) {
        let at = Timestamp::from_second(1_772_359_200 + i64::from(number) * 3600).unwrap();
        let id = ThreadId::parse(&format!("0195f0a0-7b1c-7000-8000-{number:012x}")).unwrap();
        let day = at.strftime("sessions/%Y/%m/%d").to_string();
        let name = format!("rollout-{}-{id}.jsonl", at.strftime("%Y-%m-%dT%H-%M-%S"));
        let folder = self.path().join(day);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        let meta = json!({"id": id, "timestamp": at, "cwd": cwd, "originator": "test",
            "cli_version": "1", "source": "vscode", "model_provider": "mock",
            "git": {"branch": "main"}});
        let annotations = json!({"type": "user_message", "message": text});
        let lines = [
            line(at, "session_meta", &meta),
            line(at, "event_msg", &annotations),
        ];
        fs::write(&path, lines.concat()).unwrap();
        (id, path)
    }

    async fn list(&self, query: &ThreadQuery) -> Vec<ThreadRecord> {
        self.store.list(query.clone()).await.unwrap().threads
    }

    async fn ids(&self, query: &ThreadQuery) -> Vec<ThreadId> {
        let threads = self.list(query).await;
        threads.into_iter().map(|thread| thread.id).collect()
    }

    async fn previews(&self, query: &ThreadQuery) -> Vec<String> {
        let threads = self.list(query).await;
        let preview = |thread: ThreadRecord| thread.facts.preview.unwrap();
        threads.into_iter().map(preview).collect()
    }
}

/// Makes a thread a child of another one.
fn spawned_by(path: &Path, parent: &ThreadId) {
    let spawn = json!({"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}});
    let text = fs::read_to_string(path).unwrap();
    let text = text.replace(r#""source":"vscode""#, &format!(r#""source":{spawn}"#));
    fs::write(path, text).unwrap();
}

fn line(at: Timestamp, kind: &str, payload: &serde_json::Value) -> String {
    let line = json!({"timestamp": at, "type": kind, "payload": payload});
    format!("{line}\n")
}

fn query() -> ThreadQuery {
    ThreadQuery {
        limit: 10,
        after: None,
        sort: SortKey::Created,
        is_ascending: false,
        archived: false,
        providers: None,
        include_unknown_provider: false,
        kinds: SourceKinds::interactive(),
        cwds: None,
        ancestor: None,
        attached: SideThreads::Hidden,
        search: None,
        included: None,
        excluded: Vec::new(),
    }
}

fn append(path: &Path, text: &str) {
    let mut content = fs::read(path).unwrap();
    content.extend_from_slice(text.as_bytes());
    fs::write(path, content).unwrap();
}

#[tokio::test]
async fn pages_come_newest_first_and_every_thread_once() {
    let home = Home::new();
    let mut expected: Vec<ThreadId> = (0..57).map(|n| home.thread(n, "/w", "hi").0).collect();
    expected.reverse();
    let mut found = Vec::new();
    let mut page = query();
    loop {
        let answer = home.store.list(page.clone()).await.unwrap();
        found.extend(answer.threads.into_iter().map(|thread| thread.id));
        if found.len() == 20 {
            // A new thread does not shift the following pages.
            home.thread(99, "/w", "new");
        }
        match answer.next {
            Some(next) => page.after = Some(next),
            None => break,
        }
    }
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_list_turns_round_at_its_first_thread() {
    let home = Home::new();
    let all: Vec<ThreadId> = (0..5).map(|n| home.thread(n, "/w", "hi").0).collect();
    // The backwards cursor of a page that begins with the third thread is between that and the fourth, as in 0.169.
    let newer = vec![&all[3], &all[4]];
    let older = vec![&all[2], &all[1], &all[0]];
    for (is_ascending, back) in [(false, newer), (true, older)] {
        let mut one = ThreadQuery {
            is_ascending,
            limit: 1,
            ..query()
        };
        for _ in 0..2 {
            one.after = home.store.list(one.clone()).await.unwrap().next;
        }
        let page = home.store.list(one).await.unwrap();
        assert_eq!(page.threads[0].id, all[2]);
        let turned = ThreadQuery {
            after: page.back,
            is_ascending: !is_ascending,
            ..query()
        };
        assert_eq!(home.ids(&turned).await.iter().collect::<Vec<_>>(), back);
    }
    let nothing = ThreadQuery {
        cwds: Some(vec!["/nowhere".to_owned()]),
        ..query()
    };
    assert_eq!(home.store.list(nothing).await.unwrap().back, None);
}

#[tokio::test]
async fn filters_combine() {
    let home = Home::new();
    home.thread(1, "/a", "alpha task");
    home.thread(2, "/b/", "beta task");
    home.thread(3, "/b", "gamma work");
    let previews = async |query: ThreadQuery| home.previews(&query).await;
    let cwd = |cwd: &str| ThreadQuery {
        cwds: Some(vec![cwd.to_owned()]),
        ..query()
    };
    assert_eq!(previews(cwd("/b")).await, ["gamma work", "beta task"]);
    assert_eq!(previews(cwd("/b//")).await.len(), 2);
    assert_eq!(previews(cwd("/nowhere")).await.len(), 0);
    let search = ThreadQuery {
        search: Some("task".to_owned()),
        ..cwd("/b")
    };
    assert_eq!(previews(search).await, ["beta task"]);
    let provider = |name: &str| ThreadQuery {
        providers: Some(vec![name.to_owned()]),
        ..query()
    };
    assert_eq!(previews(provider("mock")).await.len(), 3);
    assert_eq!(previews(provider("other")).await.len(), 0);
    let mut kinds = SourceKinds::default();
    kinds.add(&SessionSource::Exec);
    kinds.add_agents();
    assert_eq!(previews(ThreadQuery { kinds, ..query() }).await.len(), 0);
    let either = ThreadQuery {
        cwds: Some(vec!["/b".to_owned(), "/a".to_owned()]),
        ..query()
    };
    assert_eq!(previews(either).await.len(), 3);
}

#[tokio::test]
async fn threads_are_found_by_those_that_they_come_of() {
    let home = Home::new();
    let (root, _) = home.thread(1, "/w", "root");
    let (child, path) = home.thread(2, "/w", "child");
    spawned_by(&path, &root);
    let (_, path) = home.thread(3, "/w", "grandchild");
    spawned_by(&path, &child);
    let mut kinds = SourceKinds::default();
    kinds.add_agents();
    let of = |ancestor: AncestorFilter| ThreadQuery {
        kinds: kinds.clone(),
        ancestor: Some(ancestor),
        ..query()
    };
    let children = home
        .previews(&of(AncestorFilter::Children(root.clone())))
        .await;
    assert_eq!(children, ["child"]);
    let all = home.previews(&of(AncestorFilter::Descendants(root))).await;
    assert_eq!(all, ["grandchild", "child"]);
}

#[tokio::test]
async fn writes_of_other_processes_are_visible_at_once() {
    let home = Home::new();
    let (old, old_path) = home.thread(1, "/w", "old");
    let (new, new_path) = home.thread(2, "/w", "new");
    assert_eq!(home.ids(&query()).await, [new.clone(), old.clone()]);
    let updated = ThreadQuery {
        sort: SortKey::Updated,
        ..query()
    };
    let later = SystemTime::now() + Duration::from_secs(100);
    let file = fs::File::options().append(true).open(&old_path).unwrap();
    file.set_modified(later).unwrap();
    assert_eq!(home.ids(&updated).await, [old.clone(), new.clone()]);
    fs::remove_file(new_path).unwrap();
    assert_eq!(home.ids(&query()).await, std::slice::from_ref(&old));
    assert_eq!(home.store.get(&new).await.unwrap(), None);
    let (newest, _) = home.thread(3, "/w", "newest");
    assert_eq!(home.ids(&query()).await, [newest, old]);
}

#[tokio::test]
async fn a_folder_that_is_gone_is_forgotten() {
    let home = Home::new();
    let (_, path) = home.thread(1, "/w", "gone");
    home.thread(50, "/w", "there");
    home.store.settle().await.unwrap();
    let known = || match inspect(home.path(), home.path()).index {
        IndexState::Read {
            threads,
            behind,
            gone,
        } => (threads, behind.len(), gone.len()),
        state => panic!("{state:?}"),
    };
    assert_eq!(known(), (2, 0, 0));
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_eq!(known(), (2, 0, 1));
    ThreadStore::new(home.path()).settle().await.unwrap();
    assert_eq!(known(), (1, 0, 0));
}

#[tokio::test]
async fn archived_threads_are_a_list_of_their_own() {
    let home = Home::new();
    let (id, path) = home.thread(1, "/w", "one");
    let (other, _) = home.thread(2, "/w", "two");
    let archived = ThreadQuery {
        archived: true,
        ..query()
    };
    home.store.settle().await.unwrap();
    let moved = codex_rollout::archive(home.path(), &path, &id).unwrap();
    home.store.touched(&path);
    home.store.touched(&moved);
    assert_eq!(home.ids(&query()).await, [other]);
    assert_eq!(home.ids(&archived).await, std::slice::from_ref(&id));
    let record = home.store.get(&id).await.unwrap().unwrap();
    assert!(record.archived && record.path == moved);
}

#[tokio::test]
async fn moved_threads_are_listed_after_kill() {
    let home = Home::new();
    let (id, path) = home.thread(1, "/w", "one");
    let (other, _) = home.thread(100, "/w", "two");
    let archived = ThreadQuery {
        archived: true,
        ..query()
    };
    home.store.settle().await.unwrap();
    let ids = async |query: &ThreadQuery| {
        // The index of a process that was told nothing.
        let store = ThreadStore::new(home.path());
        let threads = store.list(query.clone()).await.unwrap().threads;
        threads
            .into_iter()
            .map(|thread| thread.id)
            .collect::<Vec<_>>()
    };
    let moved = codex_rollout::archive(home.path(), &path, &id).unwrap();
    assert_eq!(ids(&archived).await, std::slice::from_ref(&id));
    assert_eq!(ids(&query()).await, std::slice::from_ref(&other));
    codex_rollout::unarchive(home.path(), &moved, &id).unwrap();
    assert_eq!(ids(&query()).await, [other, id.clone()]);
    assert!(ids(&archived).await.is_empty());
    // A list of either kind may be the first one.
    codex_rollout::archive(home.path(), &path, &id).unwrap();
    assert_eq!(ids(&query()).await.len(), 1);
    assert_eq!(ids(&archived).await, [id]);
}

#[tokio::test]
async fn index_of_other_releases_gets_the_thread_path() {
    let home = Home::new();
    let (id, path) = home.thread(1, "/w", "one");
    let file = home.path().join("state_5.sqlite");
    // Nothing is made where there is none.
    home.store.update_path_elsewhere(&id, &path, true);
    assert!(!file.exists());
    let index = rusqlite::Connection::open(&file).unwrap();
    let columns = "id TEXT, rollout_path TEXT, archived INTEGER, archived_at INTEGER, name TEXT";
    index
        .execute_batch(&format!(
            "CREATE TABLE threads ({columns}); INSERT INTO threads VALUES ('{id}', 'before', 0, NULL, NULL), ('b', 'b', 0, NULL, NULL)"
        ))
        .unwrap();
    let row = || {
        let select = "SELECT rollout_path, archived, archived_at IS NULL, name FROM threads";
        let mut rows = index.prepare(select).unwrap();
        let rows = rows.query_map([], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, bool>(1)?,
                row.get::<_, bool>(2)?,
                row.get::<_, Option<String>>(3)?,
            ))
        });
        rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()
    };
    let other = ("b".to_owned(), false, true, None);
    let moved = codex_rollout::archive(home.path(), &path, &id).unwrap();
    home.store.update_path_elsewhere(&id, &moved, true);
    let place = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    assert_eq!(row(), [(place(&moved), true, false, None), other.clone()]);
    let back = codex_rollout::unarchive(home.path(), &moved, &id).unwrap();
    home.store.update_path_elsewhere(&id, &back, false);
    home.store.update_name_elsewhere(&id, "a name");
    let name = Some("a name".to_owned());
    assert_eq!(row(), [(place(&back), false, true, name), other]);
}

#[tokio::test]
async fn stored_facts_outlive_the_index() {
    let home = Home::new();
    let (id, path) = home.thread(1, "/w", "one");
    let at = Timestamp::UNIX_EPOCH;
    let git = GitInfo {
        branch: Some("topic".to_owned()),
        ..GitInfo::default()
    };
    let check = async |store: &ThreadStore| {
        let record = store.get(&id).await.unwrap().unwrap();
        assert_eq!(record.name.as_deref(), Some("A name"));
        assert_eq!(record.facts.git.as_ref(), Some(&git));
    };
    home.store.settle().await.unwrap();
    codex_rollout::set_name(home.path(), &id, "A name", at).unwrap();
    annotations::set_git(home.path(), &id, &git, at).unwrap();
    check(&home.store).await;
    for name in [FILE_NAME, "thread-index-2.sqlite-wal"] {
        let _ = fs::remove_file(home.path().join(name));
    }
    check(&ThreadStore::new(home.path())).await;

    // The same with the name only in the rollout.
    for name in ["session_index.jsonl", "thread_metadata.jsonl", FILE_NAME] {
        let _ = fs::remove_file(home.path().join(name));
    }
    let meta = json!({"id": id, "git": git});
    let name = json!({"type": "thread_name_updated", "thread_id": id, "thread_name": "A name"});
    append(&path, &line(at, "session_meta", &meta));
    append(&path, &line(at, "event_msg", &name));
    let _ = fs::remove_file(home.path().join("thread-index-2.sqlite-wal"));
    check(&ThreadStore::new(home.path())).await;
}

#[tokio::test]
async fn a_damaged_index_is_set_aside() {
    let home = Home::new();
    let (id, _) = home.thread(1, "/w", "one");
    fs::write(home.path().join(FILE_NAME), vec![b'x'; 10_000]).unwrap();
    assert_eq!(home.ids(&query()).await, [id]);
    assert!(home.path().join("thread-index-2.sqlite.damaged").exists());
}

#[tokio::test]
async fn an_index_of_another_program_is_set_aside() {
    for tables in [
        "CREATE TABLE threads (id TEXT PRIMARY KEY, title TEXT)",
        "CREATE TABLE others (x)",
        "CREATE VIEW threads AS SELECT 1 AS id",
        "CREATE TABLE said (id); CREATE TABLE progress (name); CREATE TABLE threads (id)",
    ] {
        let home = Home::new();
        let (id, _) = home.thread(1, "/w", "one");
        let file = rusqlite::Connection::open(home.path().join(FILE_NAME)).unwrap();
        file.execute_batch(tables).unwrap();
        drop(file);
        assert_eq!(home.ids(&query()).await, [id]);
        assert!(home.path().join("thread-index-2.sqlite.damaged").exists());
    }
}

/// Keeps the processor busy until it is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn of_threads(count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..count {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(is_over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn list_without_an_index_stays_complete_under_load() {
    let home = Home::new();
    let mut expected: Vec<ThreadId> = (0..300).map(|n| home.thread(n, "/w", "hi").0).collect();
    expected.reverse();
    let _load = Load::of_threads(4);
    let list_all = |number: usize| {
        let store = ThreadStore::kept_in(home.path(), home.path().join(number.to_string()));
        async move {
            let mut found = Vec::new();
            let mut page = query();
            loop {
                let answer = store.list(page.clone()).await.unwrap();
                assert!(!answer.threads.is_empty() || answer.next.is_some());
                found.extend(answer.threads.into_iter().map(|thread| thread.id));
                match answer.next {
                    Some(next) => page.after = Some(next),
                    None => return found,
                }
            }
        }
    };
    let lists: JoinSet<_> = (0..8).map(list_all).collect();
    for found in lists.join_all().await {
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn read_only_home_is_listed_from_memory() {
    let home = Home::new();
    let (id, _) = home.thread(1, "/w", "one");
    // A folder in place of the file, because permissions do not restrict tests that run as root.
    fs::create_dir(home.path().join(FILE_NAME)).unwrap();
    assert_eq!(home.ids(&query()).await, [id]);
}

#[tokio::test]
async fn odd_files_harm_no_others() {
    let home = Home::new();
    let (id, path) = home.thread(1, "/w", "one");
    let folder = path.parent().unwrap();
    let odd = |number: u8| {
        folder.join(format!(
            "rollout-2026-03-01T11-00-00-0195f0a0-7b1c-7000-8000-{number:012x}.jsonl"
        ))
    };
    fs::write(odd(0xa0), "").unwrap();
    let garbage: Vec<u8> = (0..100_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    fs::write(odd(0xa1), garbage).unwrap();
    fs::create_dir(odd(0xa2)).unwrap();
    let sparse = fs::File::create(odd(0xa3)).unwrap();
    sparse.set_len(2 << 30).unwrap();
    std::os::unix::fs::symlink("/dev/zero", odd(0xa4)).unwrap();
    std::os::unix::fs::symlink("nowhere", odd(0xa5)).unwrap();
    fs::write(folder.join("rollout-x.jsonl"), "").unwrap();
    assert_eq!(home.ids(&query()).await, [id]);
    let odd_one = ThreadId::parse("0195f0a0-7b1c-7000-8000-0000000000a3").unwrap();
    assert_eq!(home.store.get(&odd_one).await.unwrap(), None);
}

#[tokio::test]
async fn cursor_of_a_missing_thread_keeps_its_position() {
    let home = Home::new();
    let (old, _) = home.thread(1, "/w", "one");
    home.thread(5, "/w", "two");
    let text = "2026-03-01T12:00:00Z|0195f0a0-7b1c-7000-8000-ffffffffffff";
    let page = ThreadQuery {
        after: Some(ListCursor::parse(text).unwrap()),
        ..query()
    };
    assert_eq!(home.ids(&page).await, [old]);
}
