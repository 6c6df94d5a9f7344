//! Releases of clients, in order, and since when, or until when, a member of a type is part of the protocol.

use std::fmt;

/// A release of the protocol that clients are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Release(u16);

impl Release {
    /// The first release that is spoken here; what has no other mark is as old as this one.
    pub const FIRST: Self = Self(117);
    /// The newest release that is known.
    pub const NEWEST: Self = Self(171);
    /// What this program has beside every release: newer than all of them.
    pub const OWN: Self = Self(u16::MAX);

    /// Reads `0.140`, or `own`; none if it is neither.
    pub const fn parse(text: &str) -> Option<Self> {
        let digits = match text.as_bytes() {
            b"own" => return Some(Self::OWN),
            [b'0', b'.', digits @ ..] => digits,
            _ => return None,
        };
        if digits.is_empty() || digits.len() > 4 {
            return None;
        }
        let mut minor = 0;
        let mut at = 0;
        while at < digits.len() {
            if !digits[at].is_ascii_digit() {
                return None;
            }
            minor = minor * 10 + (digits[at] - b'0') as u16;
            at += 1;
        }
        Some(Self(minor))
    }

    /// Reads the release of a client: that of a program that others release.
    pub fn parse_client(text: &str) -> Result<Self, UnknownRelease> {
        Self::parse(text)
            .filter(|release| (Self::FIRST..Self::OWN).contains(release))
            .ok_or_else(|| UnknownRelease(text.to_owned()))
    }

    /// Reads the release of a mark. A mark that names no release does not compile.
    #[expect(clippy::panic, reason = "only evaluated by the compiler")]
    pub const fn of_mark(text: &str) -> Self {
        match Self::parse(text) {
            Some(release) => release,
            None => panic!("expected a release such as `0.140`, or `own`"),
        }
    }
}

/// A text that names no release of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRelease(String);

impl fmt::Display for UnknownRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(
            f,
            "`{text}` is no release of a client; expected one from {} on, such as `{}`",
            Release::FIRST,
            Release::NEWEST
        )
    }
}

impl std::error::Error for UnknownRelease {}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OWN => f.write_str("own"),
            Self(minor) => write!(f, "0.{minor}"),
        }
    }
}

/// The releases that have something: from one, to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Releases {
    /// The first one.
    pub since: Release,
    /// The last one; none if it was not removed.
    pub until: Option<Release>,
}

impl Releases {
    /// Those of what has no mark.
    pub const ALL: Self = Self {
        since: Release::FIRST,
        until: None,
    };

    /// Whether a release has it. This program has everything.
    pub fn contain(self, release: Release) -> bool {
        self.since <= release
            && (release == Release::OWN || self.until.is_none_or(|last| release <= last))
    }
}

/// A member or variant of a type that not every release has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleasedPart {
    /// What it is a part of.
    pub place: PartPlace,
    /// Which releases have it.
    pub releases: Releases,
}

/// Where a part of a type stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartPlace {
    /// A member of an object, by its name on the wire.
    Member(&'static str),
    /// A member of one variant: the variant, the member.
    VariantMember(&'static str, &'static str),
    /// A variant, by its name on the wire.
    Variant(&'static str),
    /// A variant that has no name on the wire, by its place among all.
    Branch(usize),
    /// A member that this program does not read, and that the schema of the type does not have.
    Unread(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_ordered_up_to_this_program() {
        let parse = |text| Release::parse(text).unwrap();
        assert!(parse("0.99") < parse("0.117") && parse("0.171") < parse("own"));
        assert_eq!(parse("0.140").to_string(), "0.140");
        for wrong in ["", "0.", "0.x", "1.2", "140", "0.140.0", "0.99999", "0.+1"] {
            assert_eq!(Release::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn client_releases_exclude_this_program() {
        assert_eq!(Release::parse_client("0.117"), Ok(Release::FIRST));
        assert!(Release::parse_client("0.999").is_ok());
        for wrong in ["own", "0.116", "0.171.0", "171", ""] {
            let error = Release::parse_client(wrong).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{wrong}` is no release")),
                "{error}"
            );
        }
    }

    #[test]
    fn removed_feature_belongs_to_earlier_releases() {
        let parse = |text| Release::parse(text).unwrap();
        let removed = Releases {
            since: parse("0.140"),
            until: Some(parse("0.170")),
        };
        let has = |release| removed.contain(parse(release));
        assert!(!has("0.117") && has("0.140") && has("0.170") && !has("0.171") && has("own"));
    }
}
