//! Open files of a connection, read and written in blocks.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};

use serde_json::{Value, json};

use crate::file_operation::perform_confined;
use crate::file_uri::FileUri;
use crate::files::{Block, READ_BLOCK_OF_PATH, block_of};
use crate::machine::LocalMachine;
use crate::policy::RequestedSandbox;
use crate::refusal::Refusal;
use crate::requests::{Base64, OpenFile, OpenMode, ReadBlock, WriteBlock};

/// How many files a connection may have open.
const MOST: usize = 128;

/// The longest block.
const LONGEST_BLOCK: u64 = 1024 * 1024;

/// The longest file that is written through a sandbox: it is written at once, when it is closed.
const LONGEST_CONFINED: u64 = 256 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Handles {
    open: HashMap<String, Handle>,
}

#[derive(Debug)]
enum Handle {
    Read(File),
    Write(File),
    /// Read by path in a confined process, each block anew.
    ConfinedRead(FileUri, Box<RequestedSandbox>),
    /// Collected in a file without a name, and written in a confined process when it is closed.
    ConfinedWrite(FileUri, Box<RequestedSandbox>, File),
}

impl Handles {
    pub(crate) async fn open(
        &mut self,
        machine: &LocalMachine,
        params: OpenFile,
    ) -> Result<Value, Refusal> {
        let id = params.handle_id;
        if self.open.contains_key(&id) {
            return Err(Refusal::invalid(format!("the handle `{id}` is open")));
        }
        if self.open.len() >= MOST {
            return Err(Refusal::invalid(format!("{MOST} files are open already")));
        }
        let path = params.path;
        let handle = match (params.mode, params.sandbox) {
            (OpenMode::Read, None) => {
                let path = path.0;
                Handle::Read(blocking(move || Ok(codex_regular_file::open(&path)?)).await?)
            }
            (OpenMode::Replace, None) => {
                let path = path.0;
                let opening = move || {
                    codex_mounts::check(&path).map_err(std::io::Error::from)?;
                    let mut options = File::options();
                    options.write(true).create(true).truncate(true);
                    Ok(codex_regular_file::open_with(&mut options, &path)?)
                };
                Handle::Write(blocking(opening).await?)
            }
            (OpenMode::Read, Some(sandbox)) => {
                confined_block(machine, &path, &sandbox, 0, 1).await?;
                Handle::ConfinedRead(path, Box::new(sandbox))
            }
            (OpenMode::Replace, Some(sandbox)) => {
                // Whether it may be written is found out before anything is sent.
                confined_write(machine, &path, &sandbox, &[]).await?;
                Handle::ConfinedWrite(path, Box::new(sandbox), tempfile::tempfile()?)
            }
        };
        let reply = json!({ "handleId": id });
        self.open.insert(id, handle);
        Ok(reply)
    }

    pub(crate) async fn read(
        &mut self,
        machine: &LocalMachine,
        params: &ReadBlock,
    ) -> Result<Value, Refusal> {
        if !(1..=LONGEST_BLOCK).contains(&params.len) {
            return Err(Refusal::invalid(format!(
                "a block has 1 to {LONGEST_BLOCK} bytes"
            )));
        }
        match self.get(&params.handle_id)? {
            Handle::Read(file) => {
                let (file, offset, length) = (file.try_clone()?, params.offset, params.len);
                let block = blocking(move || block_of(&file, offset, length)).await?;
                let Block { bytes, is_last } = block;
                Ok(json!({ "chunk": Base64(bytes), "eof": is_last }))
            }
            Handle::ConfinedRead(path, sandbox) => {
                confined_block(machine, path, sandbox, params.offset, params.len).await
            }
            Handle::Write(_) | Handle::ConfinedWrite(..) => {
                Err(Refusal::failed("the handle is open for writing"))
            }
        }
    }

    pub(crate) async fn write(&mut self, params: WriteBlock) -> Result<Value, Refusal> {
        let file = match self.get(&params.handle_id)? {
            Handle::Write(file) => file,
            Handle::ConfinedWrite(_, _, file) => {
                let end = params.offset.saturating_add(params.chunk.0.len() as u64);
                if end > LONGEST_CONFINED {
                    return Err(Refusal::invalid(format!(
                        "a file of more than {LONGEST_CONFINED} bytes cannot be written in a sandbox"
                    )));
                }
                file
            }
            Handle::Read(_) | Handle::ConfinedRead(..) => {
                return Err(Refusal::failed("the handle is open for reading"));
            }
        };
        let mut file = file.try_clone()?;
        let writing = move || {
            file.seek(SeekFrom::Start(params.offset))?;
            Ok(file.write_all(&params.chunk.0)?)
        };
        blocking(writing).await?;
        Ok(json!({}))
    }

    /// Closes a file, and answers the same when it is closed already.
    pub(crate) async fn close(
        &mut self,
        machine: &LocalMachine,
        id: &str,
    ) -> Result<Value, Refusal> {
        if let Some(Handle::ConfinedWrite(path, sandbox, file)) = self.open.remove(id) {
            let block = blocking(move || block_of(&file, 0, LONGEST_CONFINED)).await?;
            confined_write(machine, &path, &sandbox, &block.bytes).await?;
        }
        Ok(json!({}))
    }

    fn get(&self, id: &str) -> Result<&Handle, Refusal> {
        let handle = self.open.get(id);
        handle.ok_or_else(|| Refusal::not_found(format!("no handle `{id}` is open")))
    }
}

async fn confined_block(
    machine: &LocalMachine,
    path: &FileUri,
    sandbox: &RequestedSandbox,
    offset: u64,
    length: u64,
) -> Result<Value, Refusal> {
    let params = json!({ "path": path, "offset": offset, "len": length });
    perform_confined(machine, sandbox, READ_BLOCK_OF_PATH, &params).await
}

async fn confined_write(
    machine: &LocalMachine,
    path: &FileUri,
    sandbox: &RequestedSandbox,
    bytes: &[u8],
) -> Result<Value, Refusal> {
    let params = json!({ "path": path, "dataBase64": Base64(bytes.to_owned()) });
    perform_confined(machine, sandbox, "fs/writeFile", &params).await
}

/// Does on another thread what may wait for a file system.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(Refusal::failed("the operation ended unexpectedly")))
}
