//! Installs the bundled skills as files, so that the model can read them.

use std::io;
use std::path::Path;

/// Records which version of the bundled skills is installed.
const MARKER: &str = ".codex-system-skills.marker";

/// The path below the folder, and the content.
const FILES: [(&str, &str); 1] = [(
    "skill-creator/SKILL.md",
    include_str!("../bundled/skill-creator/SKILL.md"),
)];

/// Installs the bundled skills into the folder, or removes them.
///
/// # Errors
/// The folder cannot be written.
pub fn install_bundled(folder: &Path, wanted: bool) -> io::Result<()> {
    if !wanted {
        return match codex_mounts::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let marker = folder.join(MARKER);
    if codex_regular_file::read(&marker, 64).is_ok_and(|found| found == fingerprint().as_bytes()) {
        return Ok(());
    }
    install_bundled(folder, false)?;
    for (path, text) in FILES {
        let path = folder.join(path);
        codex_private_files::create_dir_all(path.parent().unwrap_or(folder))?;
        codex_private_files::write(&path, text.as_bytes())?;
    }
    // The marker is written last, so that an interrupted installation is repeated.
    codex_private_files::write(&marker, fingerprint().as_bytes())
}

/// A hash of all files.
fn fingerprint() -> String {
    // FNV-1a is sufficient to distinguish versions of this program.
    let texts = FILES.iter().flat_map(|(path, text)| [*path, *text]);
    let bytes = texts.flat_map(|text| text.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use codex_protocol::SkillScope;

    use super::*;
    use crate::load::{SkillRoot, load};

    #[test]
    fn bundled_skills_are_installed_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".system");
        install_bundled(&folder, true).unwrap();
        let root = SkillRoot {
            path: folder.clone(),
            scope: SkillScope::User,
            trusted: false,
            plugin: None,
        };
        let skills = load(std::slice::from_ref(&root), &[]);
        assert_eq!(skills.enabled().count(), FILES.len(), "{:?}", skills.errors);
        fs::write(folder.join("mine"), "x").unwrap();
        install_bundled(&folder, true).unwrap();
        assert!(folder.join("mine").exists(), "not written again");
        fs::write(folder.join(MARKER), "older").unwrap();
        install_bundled(&folder, true).unwrap();
        assert!(!folder.join("mine").exists());
        install_bundled(&folder, false).unwrap();
        install_bundled(&folder, false).unwrap();
        assert!(!folder.exists());
    }
}
