//! Sockets of services that would bypass the sandbox.
//!
//! With network access commands may create and connect sockets, and a read-only mount does not prevent connections to a
//! local socket. Container services can mount the whole file system, the system and desktop buses start programs,
//! terminals accept input, agents use keys. The list contains known services; it cannot be complete.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::platform::user;

/// Sockets of the machine.
const OF_THE_SYSTEM: [&str; 33] = [
    // Containers and virtual machines.
    "/run/docker.sock",
    "/run/docker",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/k3s",
    "/run/buildkit",
    "/run/libvirt",
    "/run/lxd",
    "/run/incus",
    "/run/cri-dockerd.sock",
    "/var/run/docker.sock",
    "/var/lib/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    // Services that start programs.
    "/run/dbus",
    "/run/systemd/private",
    "/run/systemd/machine",
    "/run/systemd/journal/io.systemd.journal",
    "/run/snapd.socket",
    "/run/snapd-snap.socket",
    "/run/udev/control",
    "/run/acpid.socket",
    "/run/pcscd",
    "/run/tailscale",
    // Windows, from its subsystem for Linux.
    "/run/WSL",
    "/mnt/wslg",
    "/mnt/wsl/docker-desktop",
    // Terminals and displays.
    "/run/screen",
    "/tmp/screens",
    "/tmp/.X11-unix",
    "/tmp/.ICE-unix",
    "/tmp/.font-unix",
];

/// Sockets below the user's home folder.
const OF_THE_USER: [&str; 16] = [
    ".docker/run",
    ".docker/desktop",
    ".colima",
    ".lima",
    ".orbstack/run",
    ".rd",
    ".screen",
    // Agents for keys.
    ".1password/agent.sock",
    ".bitwarden-ssh-agent.sock",
    ".ssh/agent",
    ".ssh/agent.sock",
    ".local/share/containers/podman/machine",
    ".gnupg/S.gpg-agent",
    ".gnupg/S.gpg-agent.extra",
    ".gnupg/S.gpg-agent.ssh",
    ".gnupg/S.scdaemon",
];

/// Below the folder of the user's services, which stays visible as a whole where a writable root lies in it.
const OF_THE_SESSION: [&str; 12] = [
    "bus",
    "containerd",
    "dbus-1",
    "docker.sock",
    "emacs",
    "gnupg",
    "keyring",
    "openssh_agent",
    "podman",
    "ssh-agent.socket",
    "systemd",
    "wayland-0",
];

/// Variables that contain a socket, or a folder of sockets, in one of several formats.
const VARIABLES: [&str; 21] = [
    "ALACRITTY_SOCKET",
    "BUILDKIT_HOST",
    "CONTAINERD_ADDRESS",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "EMACS_SOCKET_NAME",
    "I3SOCK",
    "KITTY_LISTEN_ON",
    "NVIM",
    "PULSE_SERVER",
    "SSH_AUTH_SOCK",
    "SWAYSOCK",
    "TMUX",
    "VSCODE_GIT_IPC_HANDLE",
    "VSCODE_IPC_HOOK_CLI",
    "WAYLAND_DISPLAY",
    "WEZTERM_UNIX_SOCKET",
    "WSL_INTEROP",
    "ZELLIJ_SOCKET_DIR",
];

/// The known sockets for this user and these variables, whether they exist or not.
#[must_use]
pub fn known_service_sockets(
    user_home: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = OF_THE_SYSTEM.iter().map(PathBuf::from).collect();
    let user = user();
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let named = variable("XDG_RUNTIME_DIR");
    let named = named.and_then(|value| socket_in(value.to_str()?));
    for session in [usual].into_iter().chain(named) {
        paths.extend(OF_THE_SESSION.map(|name| session.join(name)));
        paths.push(session);
    }
    for of_the_user in ["tmux-", "emacs", "zellij-"] {
        paths.push(format!("/tmp/{of_the_user}{user}").into());
    }
    if let Some(folder) = variable("TMUX_TMPDIR") {
        paths.push(Path::new(&folder).join(format!("tmux-{user}")));
    }
    if let Some(home) = user_home {
        paths.extend(OF_THE_USER.iter().map(|path| home.join(path)));
    }
    for value in VARIABLES.into_iter().filter_map(&variable) {
        paths.extend(value.to_str().and_then(socket_in));
    }
    paths
}

/// The path in an address: `/path`, `unix:///path`, `unix:/path`, `unix:path=/path,guid=x`, `/path,1,2`.
fn socket_in(value: &str) -> Option<PathBuf> {
    let value = value.strip_prefix("unix:").unwrap_or(value);
    let value = value.strip_prefix("path=").unwrap_or(value);
    let path = value.split([',', ';']).next()?;
    let path = path.strip_prefix("//").unwrap_or(path);
    // A shorter path would hide much more than sockets.
    let path = Path::new(path);
    (path.is_absolute() && path.components().count() > 2).then(|| path.to_path_buf())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_paths_in_many_forms() {
        for address in [
            "/run/x/bus",
            "unix:///run/x/bus",
            "unix:/run/x/bus",
            "unix:path=/run/x/bus,guid=1",
            "/run/x/bus,12,0",
        ] {
            let expected = Some(PathBuf::from("/run/x/bus"));
            assert_eq!(socket_in(address), expected, "{address}");
        }
        for other in [
            "tcp://1.2.3.4:5",
            "unix:abstract=/x/y",
            "relative",
            "/",
            "/tmp",
            "",
        ] {
            assert_eq!(socket_in(other), None, "{other}");
        }
    }

    #[test]
    fn variables_and_the_user_count() {
        let variable = |name: &str| match name {
            "SSH_AUTH_SOCK" => Some("/tmp/ssh-x/agent".into()),
            "XDG_RUNTIME_DIR" => Some("/run/x/session".into()),
            _ => None,
        };
        let paths = known_service_sockets(Some(Path::new("/home/u")), variable);
        for expected in [
            "/tmp/ssh-x/agent",
            "/home/u/.docker/run",
            "/run/x/session",
            "/run/x/session/bus",
        ] {
            assert!(paths.contains(&PathBuf::from(expected)), "{expected}");
        }
    }
}
