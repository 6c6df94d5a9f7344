//! Commands from start to end: streams, terminals, limits, and who survives whom.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

mod common;

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codex_exec::{
    CaptureLimits, ExitStatus, OutputObserver, RunEnd, RunLimits, SpawnError, StandardInput,
    StreamSetup, TerminalSize, run,
};
use common::{
    TEST_TIMEOUT, finish, folder, gone, launch, launcher, limits, lives, marked, parent_of, shell,
    spawn, text_of, texts, try_finish, words,
};

#[tokio::test]
async fn both_streams_and_the_code_come_back() {
    let out = texts(finish(shell("echo out; echo err >&2; exit 3")).await);
    assert_eq!(out, (3, "out\n".into(), "err\n".into()));
}

#[tokio::test]
async fn signal_status_is_reported() {
    let finished = finish(shell("kill -TERM $$")).await;
    assert_eq!(finished.ending, RunEnd::Exited(ExitStatus::Signal(15)));
    assert_eq!(ExitStatus::Signal(15).code(), 143);
}

#[tokio::test]
async fn folder_and_variables_are_the_given_ones() {
    let (_guard, path) = folder();
    let mut wanted = launch(&["/bin/sh", "-c", "pwd; env | sort"]);
    wanted.cwd = path.clone();
    let inherited = [("A", "0"), ("B", "2")].map(|(name, value)| (name.into(), value.into()));
    wanted.inherited = Arc::new(inherited.into());
    wanted.environment = vec![("A".into(), "1".into())];
    let (_, out, _) = texts(finish(wanted).await);
    assert_eq!(
        out.lines()
            .filter(|line| !line.starts_with("_="))
            .collect::<Vec<_>>(),
        [
            path.to_str().unwrap(),
            "A=1",
            "B=2",
            &format!("PWD={}", path.display())
        ]
    );
}

#[tokio::test]
async fn command_environment_does_not_affect_the_supervisor() {
    let (_guard, path) = folder();
    let mut wanted = launch(&["/bin/sh", "-c", "true"]);
    wanted.environment.push(("LD_DEBUG".into(), "files".into()));
    let trace = path.join("trace");
    wanted
        .environment
        .push(("LD_DEBUG_OUTPUT".into(), trace.into()));
    assert_eq!(texts(finish(wanted).await).0, 0);
    let traces = std::fs::read_dir(&path).unwrap();
    for entry in traces {
        let text = text_of(&entry.unwrap().path());
        assert!(!text.contains("codex-supervisor"), "{text}");
    }
}

#[tokio::test]
async fn commands_inherit_only_the_standard_streams() {
    let out = texts(finish(shell("ls /proc/self/fd")).await).1;
    // The fourth is the folder that `ls` reads.
    assert_eq!(out, "0\n1\n2\n3\n");
    let out = texts(finish(shell("grep SigBlk /proc/self/status")).await).1;
    assert_eq!(out, "SigBlk:\t0000000000000000\n");
    // A writer whose reader has gone ends quietly.
    let out = texts(finish(shell("(yes; echo $? >&2) | head -1")).await);
    assert_eq!(out, (0, "y\n".into(), "141\n".into()));
}

#[tokio::test]
async fn spawn_errors_give_the_reason() {
    let error = try_finish(launch(&["/no/such/program"])).await.unwrap_err();
    assert!(matches!(&error, SpawnError::Command(error) if error.kind() == ErrorKind::NotFound));
    assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    let mut nowhere = shell("true");
    nowhere.cwd = "/no/such/folder".into();
    let error = try_finish(nowhere).await.unwrap_err();
    assert!(matches!(error, SpawnError::Command(error) if error.kind() == ErrorKind::NotFound));
    let error = try_finish(launch(&["/etc/passwd"])).await.unwrap_err();
    assert!(
        matches!(error, SpawnError::Command(error) if error.kind() == ErrorKind::PermissionDenied)
    );
    let error = try_finish(launch(&[])).await.unwrap_err();
    assert!(matches!(error, SpawnError::EmptyCommand));
    let huge = "x".repeat(17 * 1024 * 1024);
    let error = try_finish(launch(&["/bin/echo", &huge])).await.unwrap_err();
    assert!(matches!(error, SpawnError::TooLong));
    let big = "x".repeat(4 * 1024 * 1024);
    let error = try_finish(launch(&["/bin/echo", &big])).await.unwrap_err();
    assert!(
        matches!(error, SpawnError::Command(error) if error.kind() == ErrorKind::ArgumentListTooLong)
    );
}

#[tokio::test]
async fn missing_supervisor_is_an_error() {
    let launcher = codex_exec::Launcher::with_helper("/no/such/supervisor");
    let error = launcher.spawn(shell("true")).await.unwrap_err();
    assert!(matches!(error, SpawnError::Supervisor(_)));
    // One that does not know the protocol.
    let launcher = codex_exec::Launcher::with_helper("/bin/true");
    let error = launcher.spawn(shell("true")).await.unwrap_err();
    assert!(matches!(error, SpawnError::Supervisor(_)));
}

#[tokio::test]
async fn input_is_written_and_closed() {
    let mut wanted = launch(&["/bin/cat"]);
    wanted.streams = StreamSetup::InputAndOutput;
    let mut spawned = spawn(wanted).await;
    let mut input = spawned.input.take().unwrap();
    input.write(b"hello").await.unwrap();
    input.close().await.unwrap();
    let finished = run(spawned, limits(), std::future::pending(), ()).await;
    assert_eq!(texts(finished), (0, "hello".into(), String::new()));
}

#[tokio::test]
async fn without_input_reading_ends_at_once() {
    assert_eq!(texts(finish(launch(&["/bin/cat"])).await).0, 0);
}

#[tokio::test]
async fn a_terminal_has_a_size_and_can_be_resized() {
    let script = "test -t 0 && test -t 2 && stty size; read line; stty size; cat";
    let mut wanted = shell(script);
    wanted.streams = StreamSetup::Terminal(TerminalSize::default());
    let mut spawned = spawn(wanted).await;
    let first = spawned.output.next().await.unwrap();
    assert_eq!(&*first.bytes, b"24 80\r\n");
    let size = TerminalSize::new(10, 20).unwrap();
    spawned.process.resize(size).unwrap();
    let mut input = spawned.input.take().unwrap();
    input.write(b"go\n").await.unwrap();
    input.close().await.unwrap();
    let finished = run(spawned, limits(), std::future::pending(), ()).await;
    let (code, out, _) = texts(finished);
    assert_eq!(code, 0);
    assert!(out.contains("10 20\r\n"), "{out}");
}

#[tokio::test]
async fn a_terminal_belongs_to_the_command() {
    let mut wanted = shell("ps -o tty= -p $$ | grep -q pts && echo yes > /dev/tty");
    wanted.streams = StreamSetup::Terminal(TerminalSize::default());
    assert_eq!(texts(finish(wanted).await).1, "yes\r\n");
    let spawned = spawn(shell("true")).await;
    let error = spawned.process.resize(TerminalSize::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn too_much_output_costs_bounded_memory() {
    let limits = RunLimits {
        keep: CaptureLimits::both_ends(1000),
        ..limits()
    };
    let script = "echo first; head -c 300000000 /dev/zero; echo last";
    let before = peak_memory();
    let spawned = spawn(shell(script)).await;
    let finished = run(spawned, limits, std::future::pending(), ()).await;
    assert!(finished.stdout.head.starts_with(b"first\n"));
    assert!(finished.stdout.tail.ends_with(b"last\n"));
    assert_eq!(finished.stdout.total, 300_000_011);
    assert_eq!(finished.stdout.omitted, 300_000_011 - 1000);
    // Other tests may run in this process.
    assert!(peak_memory() - before < 100 * 1024, "kibibytes");
}

/// In kibibytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn unread_output_blocks_the_command() {
    let mut spawned = spawn(launch(&["/usr/bin/yes"])).await;
    let mut seen = 0;
    while seen < 100_000 {
        seen += spawned.output.next().await.unwrap().bytes.len();
    }
    assert_eq!(spawned.process.status(), None);
    assert_eq!(spawned.process.kill().await, ExitStatus::Signal(9));
}

#[tokio::test]
async fn every_piece_is_shown_as_it_comes() {
    let mut wanted = shell("echo one; read x; echo two");
    wanted.streams = StreamSetup::InputAndOutput;
    let mut spawned = spawn(wanted).await;
    struct Show<'a>(Option<StandardInput>, &'a mut Vec<bytes::Bytes>);
    impl OutputObserver for Show<'_> {
        async fn observe(&mut self, chunk: &codex_exec::OutputChunk) {
            self.1.push(chunk.bytes.clone());
            if let Some(mut input) = self.0.take() {
                input.write(b"\n").await.unwrap();
            }
        }
    }
    let mut pieces = Vec::new();
    let show = Show(spawned.input.take(), &mut pieces);
    let finished = run(spawned, limits(), std::future::pending(), show).await;
    assert_eq!(finished.ending, RunEnd::Exited(ExitStatus::Code(0)));
    assert_eq!(pieces, ["one\n", "two\n"]);
}

#[tokio::test]
async fn a_timeout_kills_the_tree_and_keeps_the_output() {
    let limits = RunLimits {
        timeout: Some(Duration::from_millis(300)),
        ..limits()
    };
    let spawned = spawn(shell("echo $$; sleep 1000 & sleep 1000")).await;
    let finished = run(spawned, limits, std::future::pending(), ()).await;
    assert_eq!(finished.ending, RunEnd::TimedOut);
    let shell: i32 = String::from_utf8(finished.stdout.into_bytes())
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(!lives(shell));
    assert!(finished.elapsed < TEST_TIMEOUT);
}

#[tokio::test]
async fn no_time_at_all_times_out_at_once() {
    let limits = RunLimits {
        timeout: Some(Duration::ZERO),
        ..limits()
    };
    let spawned = spawn(shell("sleep 1000")).await;
    let finished = run(spawned, limits, std::future::pending(), ()).await;
    assert_eq!(finished.ending, RunEnd::TimedOut);
}

#[tokio::test]
async fn a_stop_is_quick() {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    struct StopAtOnce<'a>(Option<tokio::sync::oneshot::Sender<()>>, &'a mut Instant);
    impl OutputObserver for StopAtOnce<'_> {
        async fn observe(&mut self, _: &codex_exec::OutputChunk) {
            *self.1 = Instant::now();
            drop(self.0.take());
        }
    }
    let spawned = spawn(shell(
        "trap '' INT TERM HUP; echo up; sleep 1000 & sleep 1000",
    ))
    .await;
    let mut since = Instant::now();
    let show = StopAtOnce(Some(stop), &mut since);
    let stopped = async {
        stopped.await.ok();
    };
    let finished = run(spawned, limits(), stopped, show).await;
    assert_eq!(finished.ending, RunEnd::Stopped);
    assert_eq!(finished.stdout.into_bytes(), b"up\n");
    assert!(
        since.elapsed() < Duration::from_millis(200),
        "{:?}",
        since.elapsed()
    );
}

#[tokio::test]
async fn background_process_does_not_lose_output() {
    let limits = RunLimits {
        linger: Duration::from_millis(100),
        ..limits()
    };
    let spawned = spawn(shell("echo hi; sleep 1000 &")).await;
    let finished = run(spawned, limits, std::future::pending(), ()).await;
    assert_eq!(texts(finished).1, "hi\n");
}

#[tokio::test]
async fn background_processes_live_as_long_as_the_owner() {
    let mut spawned = spawn(shell("sleep 1000 & echo $!")).await;
    let first = spawned.output.next().await.unwrap();
    let background: i32 = String::from_utf8(first.bytes.to_vec())
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert_eq!(spawned.process.wait().await, ExitStatus::Code(0));
    assert!(lives(background));
    drop(spawned);
    gone(background).await;
}

/// Scripts that try to get away from their owner. Each prints the number of a process that is to
/// survive.
const RUNAWAY_SCRIPTS: [&str; 4] = [
    "setsid sh -c 'echo $$; exec sleep 1000' & wait",
    "(setsid sh -c 'echo $$; exec sleep 1000' &) ; sleep 1000",
    "(sh -c '(setsid sh -c \"echo \\$\\$; exec sleep 1000\" &)' &) ; exit 0",
    "setsid -f nohup sh -c 'trap \"\" HUP TERM INT; echo $$; while :; do sleep 1; done'; sleep 1000",
];

async fn runaway(spawned: &mut codex_exec::SpawnedProcess) -> i32 {
    let mut text = Vec::new();
    while !text.ends_with(b"\n") {
        text.extend_from_slice(&spawned.output.next().await.unwrap().bytes);
    }
    String::from_utf8(text).unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn no_runaway_survives_its_owner() {
    for script in RUNAWAY_SCRIPTS {
        let mut spawned = spawn(shell(script)).await;
        let process = runaway(&mut spawned).await;
        assert!(lives(process), "{script}");
        drop(spawned);
        gone(process).await;
    }
}

#[tokio::test]
async fn killing_answers_when_everything_is_gone() {
    for script in RUNAWAY_SCRIPTS {
        let mut spawned = spawn(shell(script)).await;
        let process = runaway(&mut spawned).await;
        let supervisor = spawned.process.id().cast_signed();
        spawned.process.kill().await;
        assert!(!lives(process), "{script}");
        gone(supervisor).await;
    }
}

#[tokio::test]
async fn giving_up_on_a_start_leaves_nothing() {
    let mark = format!("{}-start", std::process::id());
    let launcher = launcher();
    for microseconds in [0, 50, 200, 500, 1000, 2000, 5000] {
        for _ in 0..5 {
            let mut wanted = shell("sleep 1000 & setsid sleep 1000 & wait");
            common::mark(&mut wanted, &mark);
            let patience = Duration::from_micros(microseconds);
            drop(tokio::time::timeout(patience, launcher.spawn(wanted)).await);
        }
    }
    // Supervisors that have just started may still start the command, to kill it at once.
    launcher.close().await;
    assert_eq!(marked(&mark), []);
}

/// The owner of the next test: it starts what it is told to and waits to be killed.
#[test]
#[ignore = "a program that the next test starts"]
fn owner_to_be_killed() {
    let script = std::env::var_os("SCRIPT_OF_OWNER").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut spawned = spawn(shell(script.to_str().unwrap())).await;
        let process = runaway(&mut spawned).await;
        let spawner = parent_of(spawned.process.id());
        let ids = format!("{process} {} {spawner}", spawned.process.id());
        std::fs::write(std::env::var_os("IDS_OF_OWNER").unwrap(), ids).unwrap();
        println!("ready");
        spawned.process.wait().await;
        std::future::pending::<()>().await;
    });
}

#[tokio::test]
async fn killed_owner_leaves_no_processes() {
    use tokio::io::AsyncBufReadExt as _;
    let (_guard, path) = folder();
    for script in RUNAWAY_SCRIPTS {
        let ids = path.join("ids");
        let mut owner = tokio::process::Command::new(std::env::current_exe().unwrap())
            .args(words(&[
                "owner_to_be_killed",
                "--exact",
                "--ignored",
                "--nocapture",
            ]))
            .env("SCRIPT_OF_OWNER", script)
            .env("IDS_OF_OWNER", &ids)
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let out = owner.stdout.take().unwrap();
        let mut lines = tokio::io::BufReader::new(out).lines();
        while !lines.next_line().await.unwrap().unwrap().contains("ready") {}
        owner.start_kill().unwrap();
        owner.wait().await.unwrap();
        for process in text_of(&ids).split(' ') {
            gone(process.parse().unwrap()).await;
        }
    }
}

#[tokio::test]
async fn a_killed_supervisor_takes_its_command_along() {
    let mut spawned = spawn(shell("echo $$; exec sleep 1000")).await;
    let command = runaway(&mut spawned).await;
    let supervisor = rustix::process::Pid::from_raw(spawned.process.id().cast_signed()).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
    gone(command).await;
    assert_eq!(spawned.process.wait().await, ExitStatus::Signal(9));
}

#[tokio::test]
async fn a_killed_spawner_is_replaced_and_takes_nobody_along() {
    let launcher = launcher();
    let mut first = launcher
        .spawn(shell("echo $$; exec sleep 1000"))
        .await
        .unwrap();
    let command = runaway(&mut first).await;
    let spawner = parent_of(first.process.id());
    let spawner = rustix::process::Pid::from_raw(spawner).unwrap();
    rustix::process::kill_process(spawner, rustix::process::Signal::KILL).unwrap();
    gone(spawner.as_raw_pid()).await;
    assert!(lives(command));
    // What another test forks just now may hold the dead one's socket until it has become its program;
    // an order to it is lost, and told as such.
    let second = loop {
        match launcher.spawn(shell("sleep 1000 & exit 7")).await {
            Err(SpawnError::Supervisor(_)) => {}
            spawned => break spawned.unwrap(),
        }
    };
    assert_eq!(second.process.wait().await, ExitStatus::Code(7));
    first.process.kill().await;
    assert!(!lives(command));
    let spawner = parent_of(second.process.id());
    drop(second);
    launcher.close().await;
    assert!(!lives(spawner));
}

#[tokio::test]
async fn a_hundred_commands_run_side_by_side() {
    let tasks = (0..100).map(|number| {
        tokio::spawn(async move { texts(finish(shell(&format!("echo {number}"))).await).1 })
    });
    for (number, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), format!("{number}\n"));
    }
}
