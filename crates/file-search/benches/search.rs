//! How long a search takes in a large tree: `cargo bench -p codex-file-search [FOLDER]`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures and prints"
)]

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Instant;

use codex_file_search::{SearchEvent, SearchRoots, SearchSession, search};

const FILES: usize = 50_000;
const FILES_PER_FOLDER: usize = 50;

fn main() {
    let given = std::env::args()
        .nth(1)
        .filter(|argument| !argument.starts_with('-'));
    let made = tempfile::tempdir().unwrap();
    let folder = match &given {
        Some(folder) => Path::new(folder),
        None => {
            make_tree(made.path());
            made.path()
        }
    };
    let roots = SearchRoots {
        folders: vec![folder.to_str().unwrap().to_owned()],
        ignore_files: Vec::new(),
    };
    for query in ["needle_unique", "client", "qqqzzzxxx"] {
        let mut times = Vec::new();
        let mut found = 0;
        for _ in 0..7 {
            let start = Instant::now();
            found = search(&roots, query, 50, &AtomicBool::new(false)).len();
            times.push(start.elapsed());
        }
        times.sort();
        println!("one search  {query:14} {:8.1?}  {found} found", times[3]);
    }
    let (sender, events) = channel();
    let start = Instant::now();
    let session = SearchSession::start(roots, 50, move |event| {
        sender.send(event).ok();
    });
    let session = session.unwrap();
    session.query("needle_unique".to_owned());
    let mut first = None;
    while let SearchEvent::Found { .. } = events.recv().unwrap() {
        first.get_or_insert_with(|| start.elapsed());
    }
    println!(
        "session     first {:.1?}, complete {:.1?}",
        first.unwrap(),
        start.elapsed()
    );
    for query in ["n", "ne", "nee", "client_server", "tok"] {
        let mut times = Vec::new();
        for _ in 0..7 {
            let start = Instant::now();
            session.query(query.to_owned());
            assert!(matches!(events.recv().unwrap(), SearchEvent::Found { .. }));
            times.push(start.elapsed());
            let event = events.recv().unwrap();
            assert!(matches!(event, SearchEvent::Complete { .. }));
        }
        times.sort();
        println!("next query  {query:14} {:8.1?}", times[3]);
    }
}

fn make_tree(root: &Path) {
    let words = [
        "alpha", "kernel", "client", "thread", "token", "server", "search", "render",
    ];
    for number in 0..FILES / FILES_PER_FOLDER {
        let word = |shift: usize| words[(number / shift) % words.len()];
        let folder = root.join(format!("{}_{}/{}_{number}", word(1), number % 40, word(8)));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES_PER_FOLDER {
            let (one, other) = (words[file % 8], words[(file + number) % 8]);
            fs::write(folder.join(format!("{one}_{other}_{number}_{file}.rs")), "").unwrap();
        }
    }
    fs::write(root.join("needle_unique_target.xyz"), "").unwrap();
}
