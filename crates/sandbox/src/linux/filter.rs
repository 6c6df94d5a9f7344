//! The system call filter.
//!
//! With a network by host, sockets are of the command's own namespace, and connecting is reported instead of refused.
//!
//! Always refused: calls that access other processes, create namespaces or mounts, or use kernel interfaces with a history
//! of vulnerabilities. With a restricted network, calls that create or connect sockets are refused too; pairs of connected
//! local stream sockets remain, because many programs use them as pipes. Unknown system call conventions are refused
//! entirely: a filter for one of them would not cover the others.
//!
//! Modes that grant the owner's or group's rights to whoever runs a file, and creating devices, are refused too
//! (`file_modes`).

mod file_modes;
mod program;

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use seccompiler::sock_filter;

use self::program::{ArgumentCheck, FilterProgram};
use super::error::{ConfineError, ConfineStep, WithStep as _};
use super::sys;
use crate::network_mode::NetworkMode;

/// The kernel's identifier of the architecture.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// x86-64 has a second numbering of the same calls, marked by a bit. The architecture identifier is the same.
#[cfg(target_arch = "x86_64")]
const FIRST_OF_SECOND_NUMBERING: Option<u32> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const FIRST_OF_SECOND_NUMBERING: Option<u32> = None;

/// Calls that take flags and modes from memory, which a filter cannot read. They fail as if the kernel did not have them,
/// so programs and libraries fall back to older calls.
const AS_IF_MISSING: &[libc::c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

// Calls that the libc crate does not name, or not for every architecture. Their numbers are the same on all architectures.
const SYS_FCHMODAT2: libc::c_long = 452;
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_OPEN_TREE_ATTR: libc::c_long = 467;
const SYS_FILE_SETATTR: libc::c_long = 469;

const ALWAYS_REFUSED_CALLS: &[libc::c_long] = &[
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
    // The user's session keyring.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Broad kernel interfaces. Request rings would also bypass this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    // The whole machine.
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

/// Changes of permissions, owners, times and attributes, which Landlock does not limit. Refused only if there are no
/// read-only mounts, which would limit them by path.
const METADATA: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
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

/// Requests that change file attributes through a descriptor.
const METADATA_REQUESTS: [u32; 3] = [FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR];
const FS_IOC_SETFLAGS: u32 = 0x4008_6602;
const FS_IOC32_SETFLAGS: u32 = 0x4004_6602;
const FS_IOC_FSSETXATTR: u32 = 0x401c_5820;

const NAMESPACE_FLAGS: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET)
    .cast_unsigned();

/// Socket pairs may have the types 1 (stream) and 5 (sequenced packets), which are connected. Every other type, also
/// raw, creates datagram sockets, which can send to any address. The low four bits are the type, the others are flags.
/// The mask ignores the one bit in which the two types differ.
const SOCKET_TYPE_MASK: u32 = 0xf & !(libc::SOCK_STREAM ^ libc::SOCK_SEQPACKET).cast_unsigned();
const CONNECTED_TYPE: u32 = libc::SOCK_STREAM.cast_unsigned();

/// The socket families that are allowed with network access. Others connect to something other than the network, such as
/// the host of a virtual machine or devices nearby, or use rarely tested parts of the kernel.
const FAMILIES: [u32; 4] = [
    libc::AF_UNIX.cast_unsigned(),
    libc::AF_INET.cast_unsigned(),
    libc::AF_INET6.cast_unsigned(),
    libc::AF_NETLINK.cast_unsigned(),
];

/// The socket families whose sockets belong to the network namespace, for commands that have one of their own. Sockets with
/// paths do not belong to it: a command could connect to one of a service, whatever address the launcher has seen.
const OF_NAMESPACE: [u32; 3] = [
    libc::AF_INET.cast_unsigned(),
    libc::AF_INET6.cast_unsigned(),
    libc::AF_NETLINK.cast_unsigned(),
];

/// Whether permissions, owners, times and attributes of files may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metadata {
    Changeable,
    Fixed,
}

/// A filter that refuses nothing.
pub(super) const ALLOWING_ALL: [sock_filter; 1] = [sock_filter {
    code: (libc::BPF_RET | libc::BPF_K) as u16,
    jt: 0,
    jf: 0,
    k: libc::SECCOMP_RET_ALLOW,
}];

/// Whether there is a filter for this architecture.
pub(super) fn supported() -> bool {
    ARCHITECTURE.is_some()
}

/// Installs the filter for this thread permanently. With a network by host, returns the descriptor from which attempts to
/// connect are read.
pub(super) fn install(
    network: NetworkMode,
    metadata: Metadata,
) -> Result<Option<OwnedFd>, ConfineError> {
    try_install(network, metadata).with_step(|| ConfineStep::FilterSystemCalls)
}

fn try_install(network: NetworkMode, metadata: Metadata) -> Result<Option<OwnedFd>, Errno> {
    let filter = filter(network, metadata).ok_or(Errno::NOSYS)?;
    if network == NetworkMode::ByHost {
        return sys::install_with_listener(&filter).map(Some);
    }
    let applied = seccompiler::apply_filter(&filter);
    applied.map(|()| None).map_err(|error| match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
            Errno::from_io_error(&error).unwrap_or(Errno::INVAL)
        }
        _ => Errno::INVAL,
    })
}

/// The filter; none for an unsupported architecture.
fn filter(network: NetworkMode, metadata: Metadata) -> Option<Vec<sock_filter>> {
    let mut program = FilterProgram::of_architecture(ARCHITECTURE?);
    if let Some(first) = FIRST_OF_SECOND_NUMBERING {
        program.refuse_from(first, libc::ENOSYS);
    }
    program.refuse(AS_IF_MISSING.iter().copied(), libc::ENOSYS);
    let mut refused = vec![ALWAYS_REFUSED_CALLS, ON_THIS_ARCHITECTURE];
    if network == NetworkMode::Restricted {
        refused.push(WITHOUT_NETWORK);
    }
    if metadata == Metadata::Fixed {
        refused.extend([METADATA, OLD_METADATA]);
    }
    program.refuse(refused.into_iter().flatten().copied(), libc::EPERM);
    let namespaces = ArgumentCheck::any_bit(0, NAMESPACE_FLAGS, libc::EPERM);
    program.check(&[libc::SYS_clone], &namespaces);
    file_modes::check(&mut program);
    let local = libc::AF_UNIX.cast_unsigned();
    let pairs =
        || {
            ArgumentCheck::other_than(0, u32::MAX, local, libc::EPERM).and(
                ArgumentCheck::other_than(1, SOCKET_TYPE_MASK, CONNECTED_TYPE, libc::EPERM),
            )
        };
    match network {
        NetworkMode::Restricted => {
            program.check(&[libc::SYS_socketpair], &pairs());
            program.check(&[libc::SYS_sendto], &ArgumentCheck::address(4, libc::EPERM));
        }
        NetworkMode::Enabled => {
            let families = ArgumentCheck::none_of(0, &FAMILIES, libc::EAFNOSUPPORT);
            program.check(&[libc::SYS_socket, libc::SYS_socketpair], &families);
        }
        NetworkMode::ByHost => {
            program.check(&[libc::SYS_socketpair], &pairs());
            let families = ArgumentCheck::none_of(0, &OF_NAMESPACE, libc::EAFNOSUPPORT);
            program.check(&[libc::SYS_socket], &families);
            let routes = ArgumentCheck::other_than(2, u32::MAX, 0, libc::EPROTONOSUPPORT);
            let netlink = libc::AF_NETLINK.cast_unsigned();
            program.check(&[libc::SYS_socket], &routes.only_for_value(0, netlink));
            program.notify(libc::SYS_connect);
        }
    }
    if metadata == Metadata::Fixed {
        let requests = ArgumentCheck::any_of(1, &METADATA_REQUESTS, libc::EPERM);
        program.check(&[libc::SYS_ioctl], &requests);
    }
    Some(program.finish())
}

#[cfg(test)]
mod tests {
    use super::program::tests::verdict;
    use super::*;

    const ALLOWED_ACTION: u32 = libc::SECCOMP_RET_ALLOW;
    const REFUSED_ACTION: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    const MISSING_ACTION: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();

    struct Filter(Vec<sock_filter>);

    impl Filter {
        fn new(network: NetworkMode, metadata: Metadata) -> Self {
            Self(filter(network, metadata).unwrap())
        }

        fn verdict(&self, call: libc::c_long, arguments: &[u64]) -> u32 {
            let mut all = [0; 6];
            all[..arguments.len()].copy_from_slice(arguments);
            verdict(&self.0, ARCHITECTURE.unwrap(), call, all)
        }
    }

    #[test]
    fn calls_are_refused_by_number() {
        let open = Filter::new(NetworkMode::Enabled, Metadata::Changeable);
        let closed = Filter::new(NetworkMode::Restricted, Metadata::Fixed);
        for call in ALWAYS_REFUSED_CALLS.iter().chain(ON_THIS_ARCHITECTURE) {
            assert_eq!(open.verdict(*call, &[]), REFUSED_ACTION, "{call}");
            assert_eq!(closed.verdict(*call, &[]), REFUSED_ACTION, "{call}");
        }
        for call in WITHOUT_NETWORK.iter().chain(METADATA).chain(OLD_METADATA) {
            let local = FAMILIES[0].into();
            assert_eq!(open.verdict(*call, &[local]), ALLOWED_ACTION, "{call}");
            assert_eq!(closed.verdict(*call, &[]), REFUSED_ACTION, "{call}");
        }
        for call in AS_IF_MISSING {
            assert_eq!(open.verdict(*call, &[]), MISSING_ACTION, "{call}");
        }
        for call in [libc::SYS_read, libc::SYS_execve, libc::SYS_futex] {
            assert_eq!(closed.verdict(call, &[]), ALLOWED_ACTION, "{call}");
        }
        if let Some(first) = FIRST_OF_SECOND_NUMBERING {
            assert_eq!(open.verdict(first.into(), &[]), MISSING_ACTION);
        }
    }

    #[test]
    fn pairs_are_local_and_connected() {
        let filter = Filter::new(NetworkMode::Restricted, Metadata::Changeable);
        let pair = |domain: i32, kind: u64| {
            let domain = domain.cast_unsigned().into();
            filter.verdict(libc::SYS_socketpair, &[domain, kind])
        };
        let flags = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK).cast_unsigned();
        for kind in 0..16 {
            let expected = if [1, 5].contains(&kind) {
                ALLOWED_ACTION
            } else {
                REFUSED_ACTION
            };
            assert_eq!(pair(libc::AF_UNIX, kind), expected, "{kind}");
            assert_eq!(
                pair(libc::AF_UNIX, kind | u64::from(flags)),
                expected,
                "{kind}"
            );
            // The kernel ignores the upper half.
            assert_eq!(pair(libc::AF_UNIX, kind | 1 << 40), expected, "{kind}");
            assert_eq!(pair(libc::AF_INET, kind), REFUSED_ACTION);
        }
        let send = |address| filter.verdict(libc::SYS_sendto, &[0, 0, 0, 0, address]);
        assert_eq!(send(0), ALLOWED_ACTION);
        for address in [1, 1 << 32, 0x7fff_0000_0000, u64::MAX] {
            assert_eq!(send(address), REFUSED_ACTION, "{address:#x}");
        }
    }

    #[test]
    fn allowed_network_permits_usual_socket_families() {
        let filter = Filter::new(NetworkMode::Enabled, Metadata::Changeable);
        let unknown = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT.cast_unsigned();
        for family in 0..64 {
            let expected = if FAMILIES.contains(&family) {
                ALLOWED_ACTION
            } else {
                unknown
            };
            for call in [libc::SYS_socket, libc::SYS_socketpair] {
                assert_eq!(
                    filter.verdict(call, &[family.into(), 1]),
                    expected,
                    "{family}"
                );
                // The kernel ignores the upper half.
                let family = u64::from(family) | 1 << 32;
                assert_eq!(filter.verdict(call, &[family, 1]), expected);
            }
        }
    }

    #[test]
    fn filter_of_network_by_host_reports_connections() {
        let filter = Filter::new(NetworkMode::ByHost, Metadata::Changeable);
        let error = |errno: i32| libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
        for family in 0..64 {
            let expected = if OF_NAMESPACE.contains(&family) {
                ALLOWED_ACTION
            } else {
                error(libc::EAFNOSUPPORT)
            };
            let socket = |protocol| filter.verdict(libc::SYS_socket, &[family.into(), 1, protocol]);
            assert_eq!(socket(0), expected, "{family}");
            if family == libc::AF_NETLINK.cast_unsigned() {
                assert_eq!(socket(1), error(libc::EPROTONOSUPPORT));
            }
            let pair = filter.verdict(libc::SYS_socketpair, &[family.into(), 1]);
            let local = libc::AF_UNIX.cast_unsigned();
            let expected = if family == local {
                ALLOWED_ACTION
            } else {
                REFUSED_ACTION
            };
            assert_eq!(pair, expected, "{family}");
        }
        assert_eq!(
            filter.verdict(libc::SYS_connect, &[3, 1, 16]),
            libc::SECCOMP_RET_USER_NOTIF
        );
        for call in ALWAYS_REFUSED_CALLS {
            assert_eq!(filter.verdict(*call, &[]), REFUSED_ACTION, "{call}");
        }
    }

    #[test]
    fn modes_that_grant_rights_are_refused_where_they_count() {
        let filter = Filter::new(NetworkMode::Enabled, Metadata::Changeable);
        let creating = [libc::O_CREAT, libc::O_TMPFILE].map(|it| u64::from(it.cast_unsigned()));
        for (mode, expected) in [
            (0o755, ALLOWED_ACTION),
            (0o1777, ALLOWED_ACTION),
            (0o4755, REFUSED_ACTION),
            (0o2755, REFUSED_ACTION),
        ] {
            assert_eq!(filter.verdict(libc::SYS_fchmod, &[3, mode]), expected);
            assert_eq!(filter.verdict(libc::SYS_fchmodat, &[3, 0, mode]), expected);
            assert_eq!(filter.verdict(SYS_FCHMODAT2, &[3, 0, mode]), expected);
            for flags in creating {
                assert_eq!(
                    filter.verdict(libc::SYS_openat, &[3, 0, flags, mode]),
                    expected
                );
            }
            // Without such a flag the kernel ignores the mode.
            let directory = u64::from(libc::O_DIRECTORY.cast_unsigned());
            assert_eq!(
                filter.verdict(libc::SYS_openat, &[3, 0, directory, mode]),
                ALLOWED_ACTION
            );
        }
        let node = |mode: u32| filter.verdict(libc::SYS_mknodat, &[3, 0, mode.into()]);
        assert_eq!(node(libc::S_IFIFO | 0o644), ALLOWED_ACTION);
        assert_eq!(node(libc::S_IFREG | 0o644), ALLOWED_ACTION);
        assert_eq!(node(libc::S_IFSOCK | 0o644), ALLOWED_ACTION);
        for mode in [libc::S_IFCHR, libc::S_IFBLK, libc::S_IFREG | 0o4000] {
            assert_eq!(node(mode), REFUSED_ACTION);
        }
    }

    #[test]
    fn namespaces_and_attributes_are_refused_by_argument() {
        let filter = Filter::new(NetworkMode::Enabled, Metadata::Fixed);
        let clone = |flags: i32| filter.verdict(libc::SYS_clone, &[flags.cast_unsigned().into()]);
        assert_eq!(
            clone(libc::CLONE_VM | libc::CLONE_THREAD | libc::SIGCHLD),
            ALLOWED_ACTION
        );
        assert_eq!(clone(libc::CLONE_NEWNET), REFUSED_ACTION);
        assert_eq!(clone(libc::CLONE_NEWUSER | libc::SIGCHLD), REFUSED_ACTION);
        for request in METADATA_REQUESTS {
            assert_eq!(
                filter.verdict(libc::SYS_ioctl, &[3, request.into()]),
                REFUSED_ACTION
            );
        }
        assert_eq!(
            filter.verdict(libc::SYS_ioctl, &[3, libc::TCGETS]),
            ALLOWED_ACTION
        );
    }
}
