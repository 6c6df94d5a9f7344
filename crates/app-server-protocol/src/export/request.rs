//! What is asked of an exporter, and what it answers.

use codex_protocol::Release;

/// How much of the vocabulary to describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// What a client may use without opting in.
    Stable,
    /// Everything.
    Experimental,
}

/// The vocabulary that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// With or without what clients must opt into.
    pub surface: Surface,
    /// The release of the clients; [`Release::OWN`] for all that this program has.
    pub release: Release,
    /// Whether schemas have what releases have and this program does not use.
    pub with_unused: bool,
    /// What the paths of TypeScript imports end with, for example `.js`.
    pub import_extension: &'a str,
}

impl Request<'_> {
    /// The vocabulary of this program, and what of other releases it does not use, marked as such.
    pub fn current(surface: Surface) -> Self {
        Self::of_release(surface, Release::OWN)
    }

    /// The vocabulary of a release.
    pub fn of_release(surface: Surface, release: Release) -> Self {
        Self {
            surface,
            release,
            with_unused: true,
            import_extension: "",
        }
    }
}

/// A file to be written, with its path below the folder that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Relative, with `/` between its parts.
    pub path: String,
    /// The whole content.
    pub text: String,
}
