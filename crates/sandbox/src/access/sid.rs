//! Security identifiers.

use std::fmt::{self, Display};
use std::path::Path;

use sha2::{Digest as _, Sha256};

const REVISION: u8 = 1;
/// Where the numbers start: after the revision, their count and the authority.
const HEADER: usize = 8;
const NUMBER: usize = size_of::<u32>();

/// A security identifier as the system stores it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sid(Vec<u8>);

impl Sid {
    fn new(authority: u8, numbers: &[u32]) -> Self {
        let count = u8::try_from(numbers.len()).unwrap_or(u8::MAX);
        let mut bytes = vec![REVISION, count, 0, 0, 0, 0, 0, authority];
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        Self(bytes)
    }

    pub(crate) fn everyone() -> Self {
        Self::new(1, &[0])
    }

    pub(crate) fn system() -> Self {
        Self::new(5, &[18])
    }

    /// The identifier of a writable root. Nobody has it but the tokens of commands that may write there.
    pub(crate) fn of_root(root: &Path) -> Self {
        Self::derived("root", root.to_string_lossy().to_lowercase().as_bytes())
    }

    /// The identifier of one command, for what it creates outside of files.
    pub(crate) fn of_command(number: u64) -> Self {
        Self::derived("command", &number.to_le_bytes())
    }

    /// In the form of accounts, with numbers that no domain has.
    fn derived(purpose: &str, name: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"codex sandbox ");
        hash.update(purpose);
        hash.update([0]);
        hash.update(name);
        let hash = hash.finalize();
        let (numbers, _) = hash.as_chunks::<NUMBER>();
        let mut all = vec![21];
        all.extend(numbers.iter().take(4).map(|it| u32::from_le_bytes(*it)));
        Self::new(5, &all)
    }

    /// The identifier at the start of `bytes`.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (&revision, count) = (bytes.first()?, bytes.get(1)?);
        let length = HEADER + usize::from(*count) * NUMBER;
        let sid = bytes.get(..length)?;
        (revision == REVISION).then(|| Self(sid.to_vec()))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// As users write it: `S-1-5-18`.
impl Display for Sid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (header, numbers) = self.0.split_at(HEADER);
        let authority = header[2..]
            .iter()
            .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        write!(formatter, "S-{REVISION}-{authority}")?;
        let (numbers, _) = numbers.as_chunks::<NUMBER>();
        for number in numbers {
            write!(formatter, "-{}", u32::from_le_bytes(*number))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_written_as_the_system_does() {
        assert_eq!(Sid::everyone().to_string(), "S-1-1-0");
        assert_eq!(Sid::system().to_string(), "S-1-5-18");
        assert_eq!(
            Sid::system().as_bytes(),
            [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0]
        );
    }

    #[test]
    fn roots_have_distinct_sids_in_any_letter_case() {
        let of_root = |path: &str| Sid::of_root(Path::new(path));
        assert_eq!(of_root(r"C:\Work"), of_root(r"c:\work"));
        assert_ne!(of_root(r"C:\Work"), of_root(r"C:\Work2"));
        assert!(of_root(r"C:\Work").to_string().starts_with("S-1-5-21-"));
        assert_ne!(Sid::of_command(1), Sid::of_command(2));
    }

    #[test]
    fn identifiers_are_read_from_longer_bytes() {
        let sid = Sid::of_command(7);
        let bytes = [sid.as_bytes(), &[9, 9]].concat();
        assert_eq!(Sid::read(&bytes), Some(sid));
        assert_eq!(Sid::read(&bytes[..20]), None);
        assert_eq!(Sid::read(&[2, 0, 0, 0, 0, 0, 0, 5]), None);
        assert_eq!(Sid::read(&[]), None);
    }
}
