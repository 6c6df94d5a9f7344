//! Operations on files: here, or in a process that is confined as the request asks.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codex_file_system::FileError;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::file_uri::uri;
use crate::policy::RequestedSandbox;
use crate::refusal::Refusal;
use crate::requests::{
    AtPath, Base64, CopyParams, CreateDirectory, ReadBlockOfPath, Remove, WalkParams, WriteFile,
};
use crate::walk::walk;

/// The largest file that one reply has.
const READ_LIMIT: u64 = 512 * 1024 * 1024;

/// An operation on files, with its params.
#[derive(Clone, Debug)]
pub(crate) enum FileOperation {
    Read(AtPath),
    Write(WriteFile),
    CreateDirectory(CreateDirectory),
    Metadata(AtPath),
    List(AtPath),
    Remove(Remove),
    Copy(CopyParams),
    Canonicalize(AtPath),
    Walk(WalkParams),
    ReadBlock(ReadBlockOfPath),
    OpenToWrite(AtPath),
}

/// The method of a block by path. It is no method of the wire: only a confined process is asked for it.
pub(crate) const READ_BLOCK_OF_PATH: &str = "readBlockOfPath";

/// Opens a file as for writing, and leaves it as it is. No method of the wire either.
pub(crate) const OPEN_TO_WRITE: &str = "openToWrite";

impl FileOperation {
    /// The operation of a method; none if the method is about something else.
    pub(crate) fn parse(method: &str, params: &Value) -> Result<Option<Self>, Refusal> {
        Ok(Some(match method {
            "fs/readFile" => Self::Read(typed(params)?),
            "fs/writeFile" => Self::Write(typed(params)?),
            "fs/createDirectory" => Self::CreateDirectory(typed(params)?),
            "fs/getMetadata" => Self::Metadata(typed(params)?),
            "fs/readDirectory" => Self::List(typed(params)?),
            "fs/remove" => Self::Remove(typed(params)?),
            "fs/copy" => Self::Copy(typed(params)?),
            "fs/canonicalize" => Self::Canonicalize(typed(params)?),
            "fs/walk" => Self::Walk(typed(params)?),
            READ_BLOCK_OF_PATH => Self::ReadBlock(typed(params)?),
            OPEN_TO_WRITE => Self::OpenToWrite(typed(params)?),
            _ => return Ok(None),
        }))
    }

    /// Does it, with the rights of this process. Blocks.
    pub(crate) fn perform(&self) -> Result<Value, Refusal> {
        match self {
            Self::Read(params) => read(params.path.path()),
            Self::Write(params) => {
                let bytes = STANDARD.decode(&params.data_base64);
                let bytes =
                    bytes.map_err(|error| Refusal::invalid(format!("no base64: {error}")))?;
                codex_mounts::check(params.path.path()).map_err(std::io::Error::from)?;
                codex_file_system::write(params.path.path(), &bytes).map_err(in_the_way)?;
                Ok(json!({}))
            }
            Self::CreateDirectory(params) => {
                codex_mounts::check(params.path.path()).map_err(std::io::Error::from)?;
                let recursive = params.recursive.unwrap_or(true);
                codex_file_system::create_folder(params.path.path(), recursive)?;
                Ok(json!({}))
            }
            Self::Metadata(params) => metadata(params.path.path()),
            Self::List(params) => list(params.path.path()),
            Self::Remove(params) => {
                let path = params.path.path();
                codex_mounts::check_below(path).map_err(std::io::Error::from)?;
                let recursive = params.recursive.unwrap_or(true);
                let removed =
                    codex_file_system::remove(path, recursive, params.force.unwrap_or(true));
                removed.map_err(in_the_way)?;
                Ok(json!({}))
            }
            Self::Copy(params) => {
                let (from, to) = (params.source_path.path(), params.destination_path.path());
                codex_mounts::check_below(from).map_err(std::io::Error::from)?;
                codex_mounts::check(to).map_err(std::io::Error::from)?;
                codex_file_system::copy(from, to, params.recursive)?;
                Ok(json!({}))
            }
            Self::Canonicalize(params) => {
                let real = codex_mounts::canonicalize(params.path.path())?;
                Ok(json!({ "path": uri(&real) }))
            }
            Self::Walk(params) => walk(params.path.path(), params.options),
            Self::ReadBlock(params) => read_block(params),
            Self::OpenToWrite(params) => {
                open_to_write(params.path.path())?;
                Ok(json!({}))
            }
        }
    }
}

/// The params of a method as their type.
pub(crate) fn typed<T: DeserializeOwned>(params: &Value) -> Result<T, Refusal> {
    T::deserialize(params).map_err(|error| Refusal::params(error.to_string()))
}

/// The sandbox that a request on files names.
pub(crate) fn sandbox_of(params: &Value) -> Result<Option<RequestedSandbox>, Refusal> {
    match params.get("sandbox") {
        None => Ok(None),
        Some(sandbox) => typed(sandbox),
    }
}

/// A folder that is in the way is no mistake of the request.
fn in_the_way(error: FileError) -> Refusal {
    match &error {
        FileError::System(system) if system.kind() == std::io::ErrorKind::NotFound => error.into(),
        _ => Refusal::failed(error.to_string()),
    }
}

fn read(path: &Path) -> Result<Value, Refusal> {
    if codex_mounts::metadata(path)?.is_dir() {
        return Err(Refusal::invalid("a folder cannot be read as a file"));
    }
    let mut reader = codex_file_system::open(path, READ_LIMIT)?;
    let mut bytes = Vec::new();
    let mut block = vec![0; 64 * 1024];
    loop {
        let read = reader.fill(&mut block)?;
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&block[..read]);
    }
    Ok(json!({ "dataBase64": STANDARD.encode(bytes) }))
}

fn metadata(path: &Path) -> Result<Value, Refusal> {
    let found = codex_file_system::metadata(path)?;
    let size = codex_mounts::metadata(path)?.len();
    Ok(json!({
        "isDirectory": found.is_folder,
        "isFile": found.is_file,
        "isSymlink": found.is_link,
        "size": size,
        "createdAtMs": found.created_ms,
        "modifiedAtMs": found.modified_ms,
    }))
}

fn list(path: &Path) -> Result<Value, Refusal> {
    let entries = codex_file_system::list(path)?;
    let entries: Vec<_> = entries
        .into_iter()
        .map(|entry| {
            json!({
                "fileName": entry.name,
                "isDirectory": entry.is_folder,
                "isFile": entry.is_file,
            })
        })
        .collect();
    Ok(json!({ "entries": entries }))
}

fn read_block(params: &ReadBlockOfPath) -> Result<Value, Refusal> {
    let file = codex_regular_file::open(params.path.path())?;
    let block = block_of(&file, params.offset, params.len)?;
    Ok(json!({ "chunk": Base64(block.bytes), "eof": block.is_last }))
}

/// Opens a file for writing, which is made if there is none. What is in it stays.
pub(crate) fn open_to_write(path: &Path) -> Result<std::fs::File, Refusal> {
    codex_mounts::check(path).map_err(std::io::Error::from)?;
    let mut options = std::fs::File::options();
    options.write(true).create(true).truncate(false);
    Ok(codex_regular_file::open_with(&mut options, path)?)
}

/// A block of a file.
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_last: bool,
}

/// Reads a block. At its end a file is asked once more, so that a growing one is not cut.
pub(crate) fn block_of(file: &std::fs::File, offset: u64, length: u64) -> Result<Block, Refusal> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = file;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length + 1).read_to_end(&mut bytes)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let is_last = bytes.len() <= length;
    bytes.truncate(length);
    Ok(Block { bytes, is_last })
}
