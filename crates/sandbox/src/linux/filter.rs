//! The system call filter.
//!
//! Always refused: calls that reach into other processes, make namespaces or mounts, or talk to
//! parts of the kernel with a history of holes. With a restricted network also everything that
//! makes or connects a socket; pairs of connected local streams stay, because pipes of many
//! programs are made of them. Unnamed system call conventions are refused as a whole: a filter
//! that only knows one of them is no filter.
//!
//! No file gets a mode that lends its owner's or group's rights to whoever runs it, and no device is
//! made (`file_modes`).

mod file_modes;

use std::collections::BTreeMap;

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::error::{At as _, ConfineError, Step};
use crate::policy::Network;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<TargetArch> = Some(TargetArch::x86_64);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<TargetArch> = Some(TargetArch::aarch64);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<TargetArch> = None;

// Calls younger than the table of names; their numbers are the same on every architecture.
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_OPEN_TREE_ATTR: libc::c_long = 467;
const SYS_FILE_SETATTR: libc::c_long = 469;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

const ALWAYS: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_by_handle_at,
    // Keys of the user's session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Wide interfaces to the kernel. Rings of requests would also go round this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
];

#[cfg(target_arch = "x86_64")]
const ON_THIS_ARCHITECTURE: &[libc::c_long] =
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load];
#[cfg(not(target_arch = "x86_64"))]
const ON_THIS_ARCHITECTURE: &[libc::c_long] = &[];

const WITHOUT_NETWORK: &[libc::c_long] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// What Landlock does not limit: rights, owners, times and attributes of files. Only refused where
/// there are no read-only mounts to do it path by path.
const METADATA: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SYS_SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

#[cfg(target_arch = "x86_64")]
const OLD_METADATA: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_METADATA: &[libc::c_long] = &[];

/// Requests that change attributes of a file through its descriptor.
const METADATA_REQUESTS: [u64; 3] = [FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR];
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_IOC32_SETFLAGS: u64 = 0x4004_6602;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;

const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The low bits of a socket type name the kind, the rest are flags.
const SOCKET_KIND: u64 = 0xf;

/// The kinds of sockets that a pair may be made of. Every other kind, raw ones too, makes datagram
/// sockets, which send to whatever address they are given.
const CONNECTED_KINDS: [u64; 2] = [
    libc::SOCK_STREAM.cast_unsigned() as u64,
    libc::SOCK_SEQPACKET.cast_unsigned() as u64,
];

/// Whether rights, owners, times and attributes of files may be changed at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metadata {
    Changeable,
    Fixed,
}

/// Whether there is a filter for this architecture.
pub(super) fn supported() -> bool {
    ARCHITECTURE.is_some()
}

/// Filters the system calls of this thread for good.
pub(super) fn install(network: Network, metadata: Metadata) -> Result<(), ConfineError> {
    try_install(network, metadata).at(|| Step::FilterSystemCalls)
}

fn try_install(network: Network, metadata: Metadata) -> Result<(), Errno> {
    let program = program(network, metadata)?;
    seccompiler::apply_filter(&program).map_err(|error| match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
            Errno::from_io_error(&error).unwrap_or(Errno::INVAL)
        }
        _ => Errno::INVAL,
    })
}

fn program(network: Network, metadata: Metadata) -> Result<BpfProgram, Errno> {
    let mut rules = Rules::new();
    refuse(&mut rules, ALWAYS);
    refuse(&mut rules, ON_THIS_ARCHITECTURE);
    let mut new_namespace = Vec::new();
    for flag in NAMESPACE_FLAGS {
        let flag = u64::from(flag.cast_unsigned());
        new_namespace.push(rule(0, SeccompCmpOp::MaskedEq(flag), flag)?);
    }
    rules.insert(libc::SYS_clone, new_namespace);
    rules.extend(file_modes::rules()?);
    if network == Network::Restricted {
        refuse_network(&mut rules)?;
    }
    if metadata == Metadata::Fixed {
        refuse(&mut rules, METADATA);
        refuse(&mut rules, OLD_METADATA);
        let requests = METADATA_REQUESTS.map(|request| rule(1, SeccompCmpOp::Eq, request));
        rules.insert(
            libc::SYS_ioctl,
            requests.into_iter().collect::<Result<_, _>>()?,
        );
    }
    let architecture = ARCHITECTURE.ok_or(Errno::NOSYS)?;
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        architecture,
    );
    let refused = filter
        .and_then(BpfProgram::try_from)
        .map_err(|_| Errno::INVAL)?;
    Ok(as_if_missing().into_iter().chain(refused).collect())
}

fn refuse(rules: &mut Rules, calls: &[libc::c_long]) {
    rules.extend(calls.iter().map(|call| (*call, Vec::new())));
}

fn refuse_network(rules: &mut Rules) -> Result<(), Errno> {
    refuse(rules, WITHOUT_NETWORK);
    let local = u64::from(libc::AF_UNIX.cast_unsigned());
    let mut pairs = vec![rule(0, SeccompCmpOp::Ne, local)?];
    for kind in (0..=SOCKET_KIND).filter(|kind| !CONNECTED_KINDS.contains(kind)) {
        pairs.push(rule(1, SeccompCmpOp::MaskedEq(SOCKET_KIND), kind)?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    rules.insert(libc::SYS_sendto, vec![rule(4, SeccompCmpOp::Ne, 0)?]);
    Ok(())
}

/// Matches if argument number `argument` compares as told.
fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, Errno> {
    all_of(vec![condition(argument, operator, value)?])
}

/// Matches if all conditions hold.
fn all_of(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, Errno> {
    SeccompRule::new(conditions).map_err(|_| Errno::INVAL)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Errno> {
    let length = match operator {
        SeccompCmpOp::Ne if argument == 4 => SeccompCmpArgLen::Qword,
        _ => SeccompCmpArgLen::Dword,
    };
    SeccompCondition::new(argument, length, operator, value).map_err(|_| Errno::INVAL)
}

/// Instructions before the others, for what has to look as if the kernel did not have it:
///
/// - The newer `clone` and `openat` take flags and modes from memory, where a filter cannot look.
///   Programs and libraries fall back to the older ones.
/// - Processors of the x86-64 kind have a second numbering of the same calls, told by a bit. The
///   kernel's number for the architecture is the same, so the rest of the program would not see it.
fn as_if_missing() -> Vec<sock_filter> {
    #[cfg(target_arch = "x86_64")]
    const FIRST_OF_SECOND_NUMBERING: u32 = 0x4000_0000;
    #[cfg(not(target_arch = "x86_64"))]
    const FIRST_OF_SECOND_NUMBERING: u32 = u32::MAX;
    const NEWER_CLONE: u32 = libc::SYS_clone3 as u32;
    const NEWER_OPEN: u32 = libc::SYS_openat2 as u32;
    let instruction = |code: u32, skip_if_true, skip_if_false, k| sock_filter {
        code: code as u16,
        jt: skip_if_true,
        jf: skip_if_false,
        k,
    };
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    vec![
        // The number of the call is the first field of what a filter sees.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(
            libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
            2,
            0,
            FIRST_OF_SECOND_NUMBERING,
        ),
        instruction(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            1,
            0,
            NEWER_CLONE,
        ),
        instruction(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            NEWER_OPEN,
        ),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, missing),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_fit_the_kernels_limit() {
        const KERNEL_LIMIT: usize = 4096;
        for network in [Network::Restricted, Network::Enabled] {
            let program = program(network, Metadata::Fixed).unwrap();
            assert!(program.len() < KERNEL_LIMIT);
        }
    }
}
