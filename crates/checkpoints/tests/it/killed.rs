//! The process is killed in the middle of a restore.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use codex_checkpoints::{CheckpointLimits, CheckpointStore, RestoreRequest};

use crate::work::{THREAD, Work, picture};

/// How often the process is killed; more often where there is time for it.
const TIMES: &str = "CODEX_CHECKPOINT_KILLS";
const HOME: &str = "CODEX_CHECKPOINT_HOME";

/// The process that is killed.
#[test]
#[ignore = "is run by the other test"]
fn restores() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else {
        return;
    };
    let store = CheckpointStore::new(&home, CheckpointLimits::default());
    let checkpoint = store.checkpoints(THREAD).unwrap().pop().unwrap().id;
    let request = RestoreRequest {
        checkpoint,
        ..RestoreRequest::default()
    };
    store.restore(THREAD, &request).unwrap();
}

fn restore_in_process(work: &Work) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::restores", "--ignored", "--nocapture"])
        .env(HOME, &work.home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_restore_is_finished_or_was_never_begun() {
    let times = std::env::var(TIMES)
        .ok()
        .and_then(|times| times.parse().ok());
    let work = Work::new();
    for number in 0..150 {
        work.write(&format!("d{}/f{number}", number % 7), number.to_string());
    }
    let old = picture(&work.folder);
    work.run(
        "t",
        "for f in d[0-3]/*; do echo new > $f; done; rm -r d4; mv d5 moved; mkdir -p x/y; \
         for i in $(seq 50); do echo $i > x/y/$i; done; rm -r d6; echo file > d6; ln -s d0 link",
    )
    .await;
    let new = picture(&work.folder);
    work.end("t").await.unwrap();
    // How long it takes if nobody kills it.
    let begun = Instant::now();
    assert!(restore_in_process(&work).wait().unwrap().success());
    let whole = begun.elapsed().max(Duration::from_millis(1));
    assert!(picture(&work.folder) == old);
    let mut is_old = true;
    let mut finished = 0;
    for _ in 0..times.unwrap_or(20) {
        let mut child = restore_in_process(&work);
        let wait = whole.mul_f64(fastrand::f64());
        let begun = Instant::now();
        while begun.elapsed() < wait && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let checkpoints = work.checkpoints().len();
        work.store.finish_restores().unwrap();
        let now = picture(&work.folder);
        let (from, to) = if is_old { (&old, &new) } else { (&new, &old) };
        assert!(now == *from || now == *to);
        if now == *to {
            is_old = !is_old;
            finished += usize::from(work.checkpoints().len() > checkpoints);
        }
        let journal = std::fs::read_dir(work.home.join("checkpoints/journal")).unwrap();
        assert_eq!(journal.count(), 0);
        assert_eq!(
            work.checkpoints().last().unwrap().coverage,
            codex_checkpoints::Coverage::Complete
        );
    }
    eprintln!("{finished} restores were finished by another process");
}
