//! Why a policy cannot be enforced.

use codex_hidden_files::FindError;

/// Why a policy cannot be enforced. The command must not be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchPlanError {
    /// A path of the policy is on a file system that does not answer.
    #[error("a folder of the sandbox cannot be used: {0}")]
    Unanswered(#[from] codex_mounts::NoAnswer),
    /// Windows does not enforce restricted tokens, or the user did not choose them.
    #[error(
        "there is no sandbox: on Windows one is used if the setting `windows.sandbox` is `unelevated`, and if a \
         trial has shown that this system enforces it"
    )]
    RestrictedToken,
    /// A restricted token does not limit the network.
    #[error(
        "the sandbox of Windows cannot close the network without an administrator; it can enforce a policy that \
         allows the network"
    )]
    Network,
    /// A restricted token does not limit reading.
    #[error("the sandbox of Windows limits writing only, so reading cannot be limited")]
    WritingOnly,
    /// macOS's sandbox launcher does not exist.
    #[error("the launcher of macOS's sandbox, /usr/bin/sandbox-exec, does not exist")]
    Seatbelt,
    /// There are no system call filters to restrict the network.
    #[error("the kernel has no seccomp filters")]
    Seccomp,
    /// There are neither namespaces nor a sufficient version of Landlock.
    #[error("the kernel offers neither user namespaces nor Landlock version 3 to this process")]
    Files,
    /// Landlock alone cannot make a part of a writable folder read-only.
    #[error(
        "user namespaces are not available to this process, and without them `.git` and `.codex` \
         inside a writable folder cannot be kept read-only"
    )]
    ProtectedPaths,
    /// Landlock alone cannot hide a part of a readable folder.
    #[error(
        "user namespaces are not available to this process, and without them a path inside a \
         readable folder cannot be hidden"
    )]
    HiddenPaths,
    /// The working folder is reached through a link that a command may have created.
    #[error(
        "the working folder is reached through a link that a confined command may have made; use the \
         path that it leads to, if that is what you want"
    )]
    WorkingFolder,
    /// It is not known which files to hide.
    #[error("{0}")]
    HiddenFiles(#[from] FindError),
    /// There is no Landlock to limit reading.
    #[error("the kernel has no Landlock, so reading cannot be limited")]
    Reading,
}
