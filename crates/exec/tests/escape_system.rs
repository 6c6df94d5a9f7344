//! Attempts to reach the network, other processes and the kernel, and to outlive the owner.
//!
//! The attacks are functions of this program, which is started again inside the sandbox.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed expectation is the failed test"
)]

mod common;

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codex_exec::{Launch, SpawnedProcess};
use codex_sandbox::{
    ConfinementPolicy, EnforcementLevels, EngineFiles, Namespaces, NetworkMode, PolicyContext,
    ReadAccess, probe,
};
use common::confined::{TestProject, confine, levels, workspace};
use common::{
    finish, folder, gone, launch, launcher, lives, parent_of, shell, spawn, text_of, texts, words,
};

/// What the attacked process keeps in memory.
const SECRET: &[u8] = b"the secret of the victim";

/// System calls that libraries do not offer safely.
#[expect(unsafe_code, reason = "calls of the system")]
mod raw {
    use std::io;
    use std::os::fd::FromRawFd as _;
    use std::os::unix::net::UnixDatagram;

    fn result(value: libc::c_long) -> io::Result<libc::c_long> {
        if value < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(value)
        }
    }

    /// A call that is given numbers only.
    pub(super) fn call(number: libc::c_long, arguments: [usize; 4]) -> io::Result<libc::c_long> {
        let [a, b, c, d] = arguments;
        // SAFETY: the callers pass no addresses of memory that is ours, but numbers and null.
        result(unsafe { libc::syscall(number, a, b, c, d) })
    }

    /// A call at a path in the working folder.
    pub(super) fn at_path(
        number: libc::c_long,
        path: &std::ffi::CStr,
        rest: [usize; 3],
    ) -> io::Result<libc::c_long> {
        let [a, b, c] = rest;
        let here = libc::AT_FDCWD;
        // SAFETY: the path is a C string that the kernel only reads, the rest are numbers.
        result(unsafe { libc::syscall(number, here, path.as_ptr(), a, b, c) })
    }

    /// A pair of local sockets of any kind.
    pub(super) fn local_pair(kind: i32) -> io::Result<(UnixDatagram, UnixDatagram)> {
        let mut pair = [0; 2];
        // SAFETY: there is room for the two descriptors, which are new and ours.
        unsafe {
            let made = libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr());
            result(made.into())?;
            Ok(pair.map(|socket| UnixDatagram::from_raw_fd(socket)).into())
        }
    }

    /// Reads memory of another process at an address that is valid in this one.
    pub(super) fn read_memory_of(process: i32) -> io::Result<libc::c_long> {
        let mut buffer = [0_u8; 8];
        let local = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let remote = libc::iovec {
            iov_base: super::SECRET.as_ptr().cast_mut().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: the local part is a buffer of ours of that length; the remote one is only an
        // address in the other process.
        let read = unsafe {
            libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0)
        };
        result(read as libc::c_long)
    }

    /// `fork` in new namespaces; the child ends at once.
    pub(super) fn clone(flags: i32) -> io::Result<()> {
        // SAFETY: like `fork`; the child only ends.
        let child = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
        if child == 0 {
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        result(child).map(drop)
    }
}

/// Of Landlock: it keeps abstract sockets out of reach.
const FIRST_LANDLOCK_WITH_SCOPES: u32 = 6;

/// The libc crate does not name it for every architecture.
const FCHMODAT2: libc::c_long = 452;

/// An attack: what it is called, and what it does. It succeeds if it returns `Ok`.
type Attack = (&'static str, fn(&Target) -> io::Result<()>);

/// What there is to attack.
struct Target {
    victim: i32,
    tcp_port: u16,
    abstract_name: String,
    socket_path: String,
    datagram_path: String,
}

const NETWORK: &[Attack] = &[
    ("tcp", |target| {
        TcpStream::connect(("127.0.0.1", target.tcp_port)).map(drop)
    }),
    ("tcp6", |_| TcpListener::bind("[::1]:0").map(drop)),
    ("listen", |_| TcpListener::bind("127.0.0.1:0").map(drop)),
    ("udp", |target| {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket
            .send_to(b"x", ("127.0.0.1", target.tcp_port))
            .map(drop)
    }),
    ("abstract", |target| {
        let address = SocketAddr::from_abstract_name(&target.abstract_name)?;
        UnixStream::connect_addr(&address).map(drop)
    }),
    ("listen-abstract", |target| {
        let name = format!("{}-own", target.abstract_name);
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?).map(drop)
    }),
    ("unix", |target| {
        UnixStream::connect(&target.socket_path).map(drop)
    }),
    ("datagram", |target| {
        let socket = UnixDatagram::unbound()?;
        socket.send_to(b"x", &target.datagram_path).map(drop)
    }),
    ("datagram-of-pair", |target| {
        let (socket, _other) = UnixDatagram::pair()?;
        socket.send_to(b"x", &target.datagram_path).map(drop)
    }),
    // Kinds of which the kernel makes datagram sockets too.
    ("datagram-of-raw-pair", |target| {
        let (socket, _other) = raw::local_pair(libc::SOCK_RAW)?;
        socket.send_to(b"x", &target.datagram_path).map(drop)
    }),
    ("datagram-of-raw-pair-with-flags", |target| {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let (socket, _other) = raw::local_pair(kind)?;
        socket.send_to(b"x", &target.datagram_path).map(drop)
    }),
    ("netlink", |_| {
        let raw = libc::SOCK_RAW as usize;
        raw::call(libc::SYS_socket, [libc::AF_NETLINK as usize, raw, 0, 0]).map(drop)
    }),
    ("packet", |_| {
        let raw = libc::SOCK_RAW as usize;
        raw::call(libc::SYS_socket, [libc::AF_PACKET as usize, raw, 0, 0]).map(drop)
    }),
    ("vsock", |_| {
        let stream = libc::SOCK_STREAM as usize;
        raw::call(libc::SYS_socket, [libc::AF_VSOCK as usize, stream, 0, 0]).map(drop)
    }),
    // The second numbering of the same calls.
    #[cfg(target_arch = "x86_64")]
    ("x32-socket", |_| {
        let number = 0x4000_0000 + libc::SYS_socket;
        let stream = libc::SOCK_STREAM as usize;
        raw::call(number, [libc::AF_INET as usize, stream, 0, 0]).map(drop)
    }),
];

const PROCESSES: &[Attack] = &[
    ("ptrace", |target| {
        let victim = target.victim as usize;
        raw::call(
            libc::SYS_ptrace,
            [libc::PTRACE_SEIZE as usize, victim, 0, 0],
        )
        .map(drop)
    }),
    ("ptrace-own-child", |_| {
        raw::call(libc::SYS_ptrace, [libc::PTRACE_TRACEME as usize, 0, 0, 0]).map(drop)
    }),
    ("read-memory", |target| {
        raw::read_memory_of(target.victim).map(drop)
    }),
    ("open-memory", |target| {
        let path = format!("/proc/{}/mem", target.victim);
        std::fs::OpenOptions::new().write(true).open(path).map(drop)
    }),
    ("open-memory-of-first", |_| {
        std::fs::OpenOptions::new()
            .read(true)
            .open("/proc/1/mem")
            .map(drop)
    }),
    ("environment", |target| {
        std::fs::read(format!("/proc/{}/environ", target.victim)).map(drop)
    }),
    ("descriptor", |target| {
        std::fs::read_link(format!("/proc/{}/fd/1", target.victim)).map(drop)
    }),
    ("root-of-victim", |target| {
        std::fs::read_dir(format!("/proc/{}/root/", target.victim)).map(drop)
    }),
    ("signal", |target| {
        raw::call(libc::SYS_kill, [target.victim as usize, 0, 0, 0]).map(drop)
    }),
    ("kill", |target| {
        let signal = libc::SIGKILL as usize;
        raw::call(libc::SYS_kill, [target.victim as usize, signal, 0, 0]).map(drop)
    }),
];

const KERNEL: &[Attack] = &[
    ("io_uring", |_| {
        // With a valid size and no parameters: EFAULT if it were allowed.
        allowed_but_faulty(raw::call(libc::SYS_io_uring_setup, [8, 0, 0, 0]))
    }),
    ("bpf", |_| {
        allowed_but_faulty(raw::call(libc::SYS_bpf, [0, 0, 64, 0]))
    }),
    ("userfaultfd", |_| {
        raw::call(libc::SYS_userfaultfd, [libc::O_CLOEXEC as usize, 0, 0, 0]).map(drop)
    }),
    ("perf", |_| {
        allowed_but_faulty(raw::call(libc::SYS_perf_event_open, [0, 0, 0, 0]))
    }),
    ("keyctl", |_| {
        // The identifier of the session's keyring.
        raw::call(libc::SYS_keyctl, [0, usize::MAX - 2, 0, 0]).map(drop)
    }),
    ("unshare", |_| {
        raw::call(libc::SYS_unshare, [libc::CLONE_NEWUSER as usize, 0, 0, 0]).map(drop)
    }),
    ("clone", |_| raw::clone(libc::CLONE_NEWUSER)),
    ("clone-mounts", |_| {
        raw::clone(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)
    }),
    ("clone3", |_| {
        // A valid size and no structure: EFAULT if it were allowed.
        allowed_but_faulty(raw::call(libc::SYS_clone3, [0, 64, 0, 0]))
    }),
    ("setuid", |_| {
        raw::call(libc::SYS_setuid, [12345, 0, 0, 0]).map(drop)
    }),
    ("reboot", |_| {
        raw::call(libc::SYS_reboot, [0, 0, 0, 0]).map(drop)
    }),
];

/// Ways to a file that lends the rights of who owns it.
const LENDING_FILES: &[Attack] = &[
    ("chmod", |_| {
        std::fs::write("made", "")?;
        let mode = std::fs::Permissions::from_mode(0o4755);
        std::fs::set_permissions("made", mode).ok();
        lends("made")
    }),
    ("chmod-group", |_| {
        std::fs::write("made", "")?;
        let mode = std::fs::Permissions::from_mode(0o2755);
        std::fs::set_permissions("made", mode).ok();
        lends("made")
    }),
    ("chmod-open", |_| {
        let mode = std::fs::Permissions::from_mode(0o4755);
        std::fs::File::create("made")?.set_permissions(mode).ok();
        lends("made")
    }),
    ("chmodat", |_| {
        std::fs::write("made", "")?;
        raw::at_path(libc::SYS_fchmodat, c"made", [0o6755, 0, 0]).ok();
        lends("made")
    }),
    ("chmodat2", |_| {
        std::fs::write("made", "")?;
        raw::at_path(FCHMODAT2, c"made", [0o4755, 0, 0]).ok();
        lends("made")
    }),
    ("open-with-mode", |_| {
        let mut options = std::fs::OpenOptions::new();
        options
            .write(true)
            .create(true)
            .mode(0o4755)
            .open("made")
            .ok();
        lends("made")
    }),
    ("open2-with-mode", |_| {
        let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
        let mode = rustix::fs::Mode::from_raw_mode(0o4755);
        let resolve = rustix::fs::ResolveFlags::empty();
        rustix::fs::openat2(rustix::fs::CWD, "made", flags, mode, resolve).ok();
        lends("made")
    }),
    ("temporary-file-with-mode", |_| {
        let flags = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::WRONLY;
        let file = rustix::fs::open(".", flags, rustix::fs::Mode::from_raw_mode(0o4755))?;
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        let follow = rustix::fs::AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(rustix::fs::CWD, name, rustix::fs::CWD, "made", follow)?;
        lends("made")
    }),
    ("node-with-mode", |_| {
        let mode = (libc::S_IFREG | 0o4755) as usize;
        raw::at_path(libc::SYS_mknodat, c"made", [mode, 0, 0]).ok();
        lends("made")
    }),
    ("device", |_| {
        let null = (libc::S_IFCHR | 0o666) as usize;
        raw::at_path(libc::SYS_mknodat, c"made", [null, 0x103, 0]).map(drop)
    }),
];

fn lends(path: &str) -> io::Result<()> {
    if std::fs::metadata(path)?.mode() & 0o6000 == 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

/// What is refused by the filter never gets to look at its arguments.
fn allowed_but_faulty(result: io::Result<libc::c_long>) -> io::Result<()> {
    match result {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Carries out one attack; its exit code says how it went.
#[test]
#[ignore = "a program that other tests start"]
fn attacker() {
    let name = std::env::var_os("ATTACK").unwrap();
    let variable = |name| std::env::var(name).unwrap();
    let target = Target {
        victim: variable("VICTIM").parse().unwrap(),
        tcp_port: variable("TCP_PORT").parse().unwrap(),
        abstract_name: variable("ABSTRACT_NAME"),
        socket_path: variable("SOCKET_PATH"),
        datagram_path: variable("DATAGRAM_PATH"),
    };
    let mut attacks = (NETWORK.iter().chain(PROCESSES)).chain(KERNEL.iter().chain(LENDING_FILES));
    let (_, attack) = attacks.find(|(attack, _)| *attack == name).unwrap();
    let outcome = attack(&target);
    println!("{name:?}: {outcome:?}");
    std::process::exit(if outcome.is_ok() { 0 } else { 42 });
}

/// Everything that there is to attack, and the processes that hold it.
struct AttackTargets {
    target: Target,
    victim: SpawnedProcess,
    _keep: (
        tempfile::TempDir,
        TcpListener,
        UnixListener,
        UnixListener,
        UnixDatagram,
    ),
}

impl AttackTargets {
    async fn new() -> Self {
        let (guard, path) = folder();
        let victim = spawn(shell("echo $$; exec sleep 1000")).await;
        let mut scene_victim = victim;
        let line = scene_victim.output.next().await.unwrap();
        let victim = String::from_utf8(line.bytes.to_vec()).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let abstract_name = format!("victim-{}-{}", std::process::id(), path.display());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let abstract_socket = UnixListener::bind_addr(&address).unwrap();
        let socket = UnixListener::bind(path.join("socket")).unwrap();
        let datagrams = UnixDatagram::bind(path.join("datagrams")).unwrap();
        Self {
            target: Target {
                victim: victim.trim().parse().unwrap(),
                tcp_port: tcp.local_addr().unwrap().port(),
                abstract_name,
                socket_path: path.join("socket").display().to_string(),
                datagram_path: path.join("datagrams").display().to_string(),
            },
            victim: scene_victim,
            _keep: (guard, tcp, abstract_socket, socket, datagrams),
        }
    }

    fn attack(&self, name: &str) -> Launch {
        let program = std::env::current_exe().unwrap();
        let mut launch = launch(&[
            program.to_str().unwrap(),
            "attacker",
            "--exact",
            "--ignored",
            "--nocapture",
        ]);
        let target = &self.target;
        let variables = [
            ("ATTACK", name.to_owned()),
            ("VICTIM", target.victim.to_string()),
            ("TCP_PORT", target.tcp_port.to_string()),
            ("ABSTRACT_NAME", target.abstract_name.clone()),
            ("SOCKET_PATH", target.socket_path.clone()),
            ("DATAGRAM_PATH", target.datagram_path.clone()),
        ];
        for (name, value) in variables {
            launch.environment.push((name.into(), value.into()));
        }
        launch
    }

    /// 0: the attack succeeded; 42: it failed.
    async fn outcome(
        &self,
        name: &str,
        policy: &ConfinementPolicy,
        level: EnforcementLevels,
    ) -> Option<i32> {
        let (_guard, path) = folder();
        let launch = confine(
            self.attack(name),
            policy,
            &PolicyContext::in_folder(path),
            level,
        )?;
        let (code, out, error) = texts(finish(launch).await);
        println!("{out}{error}");
        Some(code)
    }

    async fn all_fail(&self, attacks: &[Attack], policy: &ConfinementPolicy) {
        for (name, _) in attacks {
            for level in levels() {
                let code = self.outcome(name, policy, level).await;
                assert!(
                    matches!(code, None | Some(42)),
                    "{name} at {level:?}: {code:?}"
                );
            }
        }
    }
}

/// The attacks that are attacks anywhere: unconfined they succeed, so the others prove something.
#[tokio::test]
async fn the_attacks_are_real() {
    let scene = AttackTargets::new().await;
    for name in [
        "tcp",
        "listen",
        "udp",
        "abstract",
        "unix",
        "datagram",
        "datagram-of-pair",
        "datagram-of-raw-pair",
        "netlink",
        "read-memory",
        "open-memory",
        "environment",
        "root-of-victim",
        "signal",
        "ptrace",
        "io_uring",
        "bpf",
        "perf",
        "clone3",
        "kill",
    ] {
        let (code, out, error) = texts(finish(scene.attack(name)).await);
        // Not every system allows all of them to everybody.
        if code != 0 {
            println!("skipped: {out}{error}");
        }
        assert!(matches!(code, 0 | 42), "{name}: {code}");
    }
    let (code, ..) = texts(finish(scene.attack("abstract")).await);
    assert_eq!(code, 0);
    gone(scene.target.victim).await;
}

#[tokio::test]
async fn no_socket_leads_out() {
    let scene = AttackTargets::new().await;
    scene.all_fail(NETWORK, &workspace()).await;
    scene
        .all_fail(NETWORK, &ConfinementPolicy::read_only())
        .await;
}

#[tokio::test]
async fn the_network_can_be_allowed() {
    let scene = AttackTargets::new().await;
    let policy = ConfinementPolicy::ReadOnly {
        read: ReadAccess::Full,
        network: NetworkMode::Enabled,
    };
    for level in levels() {
        for name in ["tcp", "udp", "unix"] {
            let code = scene.outcome(name, &policy, level).await;
            assert!(matches!(code, None | Some(0)), "{name} at {level:?}");
        }
        if level.landlock >= FIRST_LANDLOCK_WITH_SCOPES {
            let code = scene.outcome("abstract", &policy, level).await;
            assert!(matches!(code, None | Some(42)), "abstract at {level:?}");
        }
    }
    scene.all_fail(PROCESSES, &policy).await;
}

#[tokio::test]
async fn service_sockets_are_unreachable_with_network_access() {
    let scene = AttackTargets::new().await;
    let policy = ConfinementPolicy::ReadOnly {
        read: ReadAccess::Full,
        network: NetworkMode::Enabled,
    };
    let service_sockets = [&scene.target.socket_path, &scene.target.datagram_path];
    let engine = EngineFiles {
        service_sockets: service_sockets.map(PathBuf::from).into(),
        ..EngineFiles::default()
    };
    let policy_context = PolicyContext {
        engine: Arc::new(engine),
        ..PolicyContext::in_folder("/")
    };
    for level in levels() {
        if level.namespaces == Namespaces::Unavailable {
            continue;
        }
        for name in ["unix", "datagram"] {
            let launch = confine(scene.attack(name), &policy, &policy_context, level).unwrap();
            let (code, out, error) = texts(finish(launch).await);
            assert_eq!(code, 42, "{name} at {level:?}: {out}{error}");
        }
    }
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let scene = AttackTargets::new().await;
    // Without own process ids and without Landlock nothing keeps signals back but the user.
    scene.all_fail(PROCESSES, &workspace()).await;
    scene
        .all_fail(PROCESSES, &ConfinementPolicy::read_only())
        .await;
    assert!(lives(scene.target.victim));
    assert_eq!(scene.victim.process.status(), None);
}

#[tokio::test]
async fn the_kernel_is_out_of_reach() {
    let scene = AttackTargets::new().await;
    scene.all_fail(KERNEL, &workspace()).await;
    scene
        .all_fail(KERNEL, &ConfinementPolicy::read_only())
        .await;
}

#[tokio::test]
async fn no_file_lends_the_rights_of_its_owner() {
    let scene = AttackTargets::new().await;
    scene.all_fail(LENDING_FILES, &workspace()).await;
    let project = TestProject::new();
    let script = "touch made && chmod 1755 made && chmod u+w,g-s made && mkdir -m 700 folder && \
                  rm -r made folder";
    project.allowed(&workspace(), script).await;
}

/// Starts processes until it cannot, and prints how many there were. All of them end by themselves.
const STORM_SCRIPT: &str = "use strict; my @all;
    while (@all < 6000) { my $pid = fork(); last unless defined $pid;
        if (!$pid) { sleep 60; exit } push @all, $pid }
    print scalar(@all), qq(\n); kill 9, @all;";

#[tokio::test]
#[ignore = "needs a system where a sandbox can limit processes; .ci/run runs it"]
async fn a_storm_of_processes_hits_a_limit() {
    let project = TestProject::new();
    let level = probe();
    assert!(codex_sandbox::limits_processes(level), "nothing here does");
    let policy_context = PolicyContext::in_folder(&project.root);
    let storm = launch(&["perl", "-e", STORM_SCRIPT]);
    let launch = confine(storm, &workspace(), &policy_context, level).unwrap();
    let (_, out, error) = texts(finish(launch).await);
    let started: usize = out
        .trim()
        .parse()
        .unwrap_or_else(|_| panic!("{out}{error}"));
    assert!((100..5000).contains(&started), "{started} processes");
}

#[tokio::test]
async fn pairs_of_local_sockets_still_work() {
    let project = TestProject::new();
    // What shells and tools do with their own pipes and pairs.
    project
        .allowed(&workspace(), "echo a | cat | grep -q a")
        .await;
}

#[tokio::test]
async fn own_processes_are_seen_and_signalled() {
    let project = TestProject::new();
    let script = "sleep 1000 & kill $! && wait $!; test $? -eq 143";
    project.allowed(&workspace(), script).await;
    if probe().namespaces == Namespaces::MountsAndProcesses {
        let policy_context = PolicyContext::in_folder(&project.root);
        let count = shell("ls -d /proc/[0-9]* | wc -l");
        let launch = confine(count, &workspace(), &policy_context, probe()).unwrap();
        let (_, out, _) = texts(finish(launch).await);
        assert!(out.trim().parse::<u32>().unwrap() <= 5, "{out}");
    }
}

/// The script prints a line once its runaway runs.
const RUNAWAY_SCRIPTS: [&str; 3] = [
    "setsid sh -c 'echo up; exec sleep 1000' & wait",
    "(sh -c '(setsid sh -c \"echo up; exec sleep 1000\" &)' &); exit 0",
    "setsid -f nohup sh -c 'trap \"\" HUP TERM INT; echo up; sleep 1000; :'; sleep 1000",
];

#[tokio::test]
async fn no_runaway_survives_its_owner() {
    let project = TestProject::new();
    let policy_context = PolicyContext::in_folder(&project.root);
    let launcher = launcher();
    for level in levels() {
        for (number, script) in RUNAWAY_SCRIPTS.iter().enumerate() {
            let mark = format!("{}-{number}", std::process::id());
            let mut wanted = shell(script);
            common::mark(&mut wanted, &mark);
            let Some(launch) = confine(wanted, &workspace(), &policy_context, level) else {
                continue;
            };
            let mut spawned = launcher.spawn(launch).await.unwrap();
            spawned.output.next().await.unwrap();
            let runaways = common::marked(&mark);
            assert!(!runaways.is_empty());
            spawned.process.kill().await;
            assert!(!runaways.iter().any(|process| lives(*process)), "{script}");
            assert_eq!(common::marked(&mark), []);
        }
    }
    launcher.close().await;
}

/// The owner of the next test: it starts what it is told to and waits to be killed.
#[test]
#[ignore = "a program that the next test starts"]
fn owner_to_be_killed() {
    let script = std::env::var_os("SCRIPT_OF_OWNER").unwrap();
    let variable = |name| std::env::var(name).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let policy_context = PolicyContext::in_folder(variable("ROOT_OF_OWNER"));
        let mut wanted = shell(script.to_str().unwrap());
        common::mark(&mut wanted, &variable("MARK_OF_OWNER"));
        let launch = confine(wanted, &workspace(), &policy_context, probe()).unwrap();
        let mut spawned = spawn(launch).await;
        spawned.output.next().await.unwrap();
        let spawner = parent_of(spawned.process.id());
        let ids = format!("{} {spawner}", spawned.process.id());
        std::fs::write(variable("IDS_OF_OWNER"), ids).unwrap();
        println!("ready");
        std::future::pending::<()>().await;
    });
}

#[tokio::test]
async fn killed_owner_leaves_no_confined_processes() {
    use tokio::io::AsyncBufReadExt as _;
    let project = TestProject::new();
    std::fs::remove_dir_all(project.root.join(".git")).unwrap();
    for (number, script) in RUNAWAY_SCRIPTS.iter().enumerate() {
        let mark = format!("{}-dead-{number}", std::process::id());
        let ids = project.base.join("ids");
        let mut owner = tokio::process::Command::new(std::env::current_exe().unwrap())
            .args(words(&[
                "owner_to_be_killed",
                "--exact",
                "--ignored",
                "--nocapture",
            ]))
            .env("SCRIPT_OF_OWNER", script)
            .env("MARK_OF_OWNER", &mark)
            .env("ROOT_OF_OWNER", &project.root)
            .env("IDS_OF_OWNER", &ids)
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let out = owner.stdout.take().unwrap();
        let mut lines = tokio::io::BufReader::new(out).lines();
        let ready = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line.contains("ready") {
                    return;
                }
            }
            panic!("the owner ended");
        };
        tokio::time::timeout(Duration::from_secs(30), ready)
            .await
            .unwrap();
        let runaways = common::marked(&mark);
        assert!(!runaways.is_empty());
        owner.start_kill().unwrap();
        owner.wait().await.unwrap();
        for process in runaways {
            gone(process).await;
        }
        for process in text_of(&ids).split(' ') {
            gone(process.parse().unwrap()).await;
        }
        // The spawner has also taken the placeholders along.
        assert!(!project.root.join(".git").exists());
    }
}
