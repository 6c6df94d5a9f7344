//! Enforcement on macOS: the system's sandbox launcher runs the command, with a profile that [`seatbelt`](crate::seatbelt)
//! writes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use codex_host_policy::HostPolicy;

use crate::enforcement::EnforcementLevels;
use crate::file_rules::FileRules;
use crate::network_mode::NetworkMode;
use crate::plan_error::LaunchPlanError;
use crate::same_names::without_case;
pub use crate::seatbelt::SeatbeltProfile as Confinement;
pub use crate::unix::temporary_folder;
pub(crate) use crate::unix::{OWN_DENIAL_MESSAGES, SHARED_TEMPORARY_FOLDER, changed, set_up, user};

/// The path in a form that is equal for the same file: case makes no difference.
pub(crate) fn comparable(path: &Path) -> Cow<'_, Path> {
    Cow::Owned(without_case(path))
}

/// The name of the sandbox in metadata of turns.
pub const SANDBOX_NAME: &str = "seatbelt";

/// The folders of programs and libraries.
pub(crate) const PLATFORM_DEFAULTS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/etc",
    "/dev",
    "/System",
    "/Library",
    "/Applications/Xcode.app",
    "/opt/homebrew",
    "/nix/store",
    "/private/var/db/timezone",
    "/private/var/select",
];

pub(crate) fn probe() -> EnforcementLevels {
    EnforcementLevels {
        seatbelt: Path::new(crate::seatbelt::LAUNCHER).exists(),
        ..EnforcementLevels::default()
    }
}

pub(crate) fn limits_processes(_: EnforcementLevels) -> bool {
    false
}

pub(crate) fn confine(
    rules: FileRules,
    network: NetworkMode,
    _: Option<HostPolicy>,
    levels: EnforcementLevels,
) -> Result<Confinement, LaunchPlanError> {
    if levels.seatbelt {
        Ok(Confinement::new(&rules, network))
    } else {
        Err(LaunchPlanError::Seatbelt)
    }
}

/// The path as the file system spells it, which ignores case. Without links it stays the same path.
pub(crate) fn as_stored(path: PathBuf) -> PathBuf {
    dunce::canonicalize(&path).unwrap_or(path)
}
