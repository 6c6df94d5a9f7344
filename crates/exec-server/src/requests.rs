//! The params of methods, with paths of this machine.

use codex_environments::wire::{self, InheritedVariables, VariablePolicy};
use codex_exec::{EnvironmentPolicy, InheritMode, NamePattern};
use serde::{Deserialize, Serialize};

use crate::file_uri::FileUri;
use crate::policy::RequestedSandbox;

pub(crate) use codex_environments::wire::{
    Base64, CloseFile, Initialize, OpenMode, ProcessRead, ProcessSignal, ProcessTerminate,
    ProcessWrite, ReadBlock, WalkOptions, WriteBlock,
};

pub(crate) type ProcessStart = wire::ProcessStart<FileUri, RequestedSandbox>;
pub(crate) type AtPath = wire::AtPath<FileUri>;
pub(crate) type WriteFile = wire::WriteFile<FileUri>;
pub(crate) type CreateDirectory = wire::CreateDirectory<FileUri>;
pub(crate) type Remove = wire::Remove<FileUri>;
pub(crate) type CopyParams = wire::CopyParams<FileUri>;
pub(crate) type WalkParams = wire::WalkParams<FileUri>;
pub(crate) type OpenFile = wire::OpenFile<FileUri, RequestedSandbox>;
pub(crate) type WatchMissing = wire::WatchMissing<FileUri>;

/// A block of a file by its path, for a confined process.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ReadBlockOfPath {
    pub(crate) path: FileUri,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// Which variables of the server a command gets.
pub(crate) fn variable_policy(asked: VariablePolicy) -> EnvironmentPolicy {
    let patterns = |texts: Vec<String>| texts.iter().map(|it| NamePattern::new(it)).collect();
    EnvironmentPolicy {
        inherit: match asked.inherit {
            InheritedVariables::All => InheritMode::All,
            InheritedVariables::Core => InheritMode::Core,
            InheritedVariables::None => InheritMode::None,
        },
        default_excludes: !asked.ignore_default_excludes,
        exclude: patterns(asked.exclude),
        set: (asked.set.into_iter())
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        include_only: patterns(asked.include_only),
    }
}
