//! What is asked of an exporter, and what it answers.

/// How much of the vocabulary to describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// What a client may use without opting in.
    Stable,
    /// Everything.
    Experimental,
}

/// The release of the clients that the vocabulary is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// This one and 0.169: all methods and members, also those of 0.169 that this program does not use.
    Current,
    /// This program alone.
    Own,
    /// 0.117: without what came later.
    V0_117,
}

/// A file to be written, with its path below the folder that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Relative, with `/` between its parts.
    pub path: String,
    /// The whole content.
    pub text: String,
}
