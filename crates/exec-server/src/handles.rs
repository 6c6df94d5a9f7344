//! Open files of a connection, read and written in blocks.
//!
//! What is written is collected in a file without a name, and takes the place of what was there when the handle is closed. If the
//! connection is lost before, the file is as it was.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::file_operation::perform_confined;
use crate::file_uri::FileUri;
use crate::files::{Block, OPEN_TO_WRITE, READ_BLOCK_OF_PATH, block_of, open_to_write};
use crate::machine::LocalMachine;
use crate::policy::RequestedSandbox;
use crate::refusal::Refusal;
use crate::requests::{Base64, OpenFile, OpenMode, ReadBlock, WriteBlock};

/// How many files a connection may have open.
const MAX_HANDLES: usize = 128;

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
    Write {
        target: File,
        collected: Collected,
    },
    /// Read by path in a confined process, each block anew.
    ConfinedRead(FileUri, Box<RequestedSandbox>),
    /// Written in a confined process when it is closed.
    ConfinedWrite(FileUri, Box<RequestedSandbox>, Collected),
}

/// Blocks that are written when their handle is closed.
#[derive(Debug)]
struct Collected {
    file: File,
    /// Whether there is a block that it does not have.
    has_hole: bool,
}

impl Collected {
    /// In this folder if that takes files, because there is room for the file there.
    fn in_folder(folder: Option<&Path>) -> std::io::Result<Self> {
        let there = folder.and_then(|folder| tempfile::tempfile_in(folder).ok());
        let file = match there {
            Some(file) => file,
            None => tempfile::tempfile()?,
        };
        Ok(Self {
            file,
            has_hole: false,
        })
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.has_hole {
            let problem = "a block could not be written, so the file was left as it was";
            return Err(Refusal::failed(problem));
        }
        Ok(())
    }
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
        if self.open.len() >= MAX_HANDLES {
            return Err(Refusal::invalid(format!(
                "{MAX_HANDLES} files are open already"
            )));
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
                    let target = open_to_write(&path)?;
                    let collected = Collected::in_folder(path.parent())?;
                    Ok(Handle::Write { target, collected })
                };
                blocking(opening).await?
            }
            (OpenMode::Read, Some(sandbox)) => {
                confined_block(machine, &path, &sandbox, 0, 1).await?;
                Handle::ConfinedRead(path, Box::new(sandbox))
            }
            (OpenMode::Replace, Some(sandbox)) => {
                // Whether it may be written is found out before anything is sent.
                let params = json!({ "path": path });
                perform_confined(machine, &sandbox, OPEN_TO_WRITE, &params).await?;
                Handle::ConfinedWrite(path, Box::new(sandbox), Collected::in_folder(None)?)
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
            Handle::Write { .. } | Handle::ConfinedWrite(..) => {
                Err(Refusal::failed("the handle is open for writing"))
            }
        }
    }

    pub(crate) async fn write(&mut self, params: WriteBlock) -> Result<Value, Refusal> {
        let (collected, longest) = match self.get_mut(&params.handle_id)? {
            Handle::Write { collected, .. } => (collected, u64::MAX),
            Handle::ConfinedWrite(_, _, collected) => (collected, LONGEST_CONFINED),
            Handle::Read(_) | Handle::ConfinedRead(..) => {
                return Err(Refusal::failed("the handle is open for reading"));
            }
        };
        let written = write_block(&collected.file, params, longest).await;
        collected.has_hole |= written.is_err();
        written?;
        Ok(json!({}))
    }

    /// Closes a file, and answers the same when it is closed already.
    pub(crate) async fn close(
        &mut self,
        machine: &LocalMachine,
        id: &str,
    ) -> Result<Value, Refusal> {
        match self.open.remove(id) {
            Some(Handle::Write { target, collected }) => {
                collected.check()?;
                blocking(move || Ok(replace(target, collected.file)?)).await?;
            }
            Some(Handle::ConfinedWrite(path, sandbox, collected)) => {
                collected.check()?;
                let reading = move || block_of(&collected.file, 0, LONGEST_CONFINED);
                let block = blocking(reading).await?;
                let params = json!({ "path": path, "dataBase64": Base64(block.bytes) });
                perform_confined(machine, &sandbox, "fs/writeFile", &params).await?;
            }
            Some(Handle::Read(_) | Handle::ConfinedRead(..)) | None => {}
        }
        Ok(json!({}))
    }

    fn get(&self, id: &str) -> Result<&Handle, Refusal> {
        self.open.get(id).ok_or_else(|| not_open(id))
    }

    fn get_mut(&mut self, id: &str) -> Result<&mut Handle, Refusal> {
        self.open.get_mut(id).ok_or_else(|| not_open(id))
    }
}

fn not_open(id: &str) -> Refusal {
    Refusal::not_found(format!("no handle `{id}` is open"))
}

async fn write_block(file: &File, params: WriteBlock, longest: u64) -> Result<(), Refusal> {
    let end = params.offset.saturating_add(params.chunk.0.len() as u64);
    if end > longest {
        return Err(Refusal::invalid(format!(
            "a file of more than {longest} bytes cannot be written in a sandbox"
        )));
    }
    let mut file = file.try_clone()?;
    let writing = move || {
        file.seek(SeekFrom::Start(params.offset))?;
        Ok(file.write_all(&params.chunk.0)?)
    };
    blocking(writing).await
}

/// Gives a file the content of another one.
fn replace(mut target: File, mut content: File) -> std::io::Result<()> {
    content.rewind()?;
    target.set_len(0)?;
    std::io::copy(&mut content, &mut target)?;
    Ok(())
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

/// Does on another thread what may wait for a file system.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(Refusal::failed("the operation ended unexpectedly")))
}
