//! The keyring of this system: the keychain of macOS, the credential manager of Windows. Others have none.

#[cfg_attr(any(windows, target_os = "macos"), path = "system_keyring/native.rs")]
#[cfg_attr(
    not(any(windows, target_os = "macos")),
    path = "system_keyring/none.rs"
)]
mod keyring;

pub(crate) use keyring::entries;
