//! Files of another machine.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::machine::RemoteMachine;
use crate::path::RemotePath;
use crate::state::MachineError;
use crate::wire::{
    AtPath, Base64, CloseFile, CreateDirectory, FileBlock, FileContent, FileFacts, OpenFile,
    OpenMode, ReadBlock, Remove, Sandbox, WriteBlock, WriteFile, code,
};

/// A longer file goes in blocks of this length.
const BLOCK: usize = 1024 * 1024;

/// How often something is done with a handle from the beginning, if the connection is lost that the handle belongs to.
const HANDLE_TRIES: usize = 5;

/// The longest file that goes in one message.
const WHOLE_FILE: u64 = 8 * 1024 * 1024;

/// A request on files, with the sandbox in which it is done; none for no confinement.
#[derive(Debug, Serialize)]
struct Confined<'a, P> {
    #[serde(flatten)]
    params: P,
    sandbox: Option<&'a Sandbox<RemotePath>>,
}

#[derive(Debug, Deserialize)]
struct Nothing {}

#[derive(Debug, Deserialize)]
struct RealPath {
    path: RemotePath,
}

impl RemoteMachine {
    /// What is at a path, links followed; none if there is nothing.
    ///
    /// # Errors
    /// As [`RemoteMachine::request`].
    pub async fn metadata(&self, path: &RemotePath) -> Result<Option<FileFacts>, MachineError> {
        let params = Confined {
            params: AtPath { path },
            sandbox: None,
        };
        match self.request("fs/getMetadata", &params).await {
            Ok(facts) => Ok(Some(facts)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The real path, links followed.
    ///
    /// # Errors
    /// As [`RemoteMachine::request`].
    pub async fn real_path(&self, path: &RemotePath) -> Result<RemotePath, MachineError> {
        let params = Confined {
            params: AtPath { path },
            sandbox: None,
        };
        let real: RealPath = self.request("fs/canonicalize", &params).await?;
        Ok(real.path)
    }

    /// The content of a file of `size` bytes, as its facts say. Of longer ones `limit` bytes are read at most.
    ///
    /// # Errors
    /// As [`RemoteMachine::request`]; the file has more than `limit` bytes.
    pub async fn read_file(
        &self,
        path: &RemotePath,
        size: u64,
        limit: u64,
        sandbox: Option<&Sandbox<RemotePath>>,
    ) -> Result<Vec<u8>, MachineError> {
        let too_long = || MachineError::Refused {
            code: code::FAILED,
            message: format!("`{path}` has more than {limit} bytes"),
            kind: None,
        };
        if size > limit {
            return Err(too_long());
        }
        if size <= WHOLE_FILE {
            let params = Confined {
                params: AtPath { path },
                sandbox,
            };
            let content: FileContent = self.request("fs/readFile", &params).await?;
            let content = content.data_base64.0;
            return if content.len() as u64 > limit {
                Err(too_long())
            } else {
                Ok(content)
            };
        }
        let mut read = Err(MachineError::Interrupted);
        for _ in 0..HANDLE_TRIES {
            read = self.read_blocks(path, limit, sandbox).await;
            if read != Err(MachineError::Interrupted) {
                break;
            }
        }
        match read? {
            Some(content) => Ok(content),
            None => Err(too_long()),
        }
    }

    /// Reads a file over one connection; none if it has more than `limit` bytes.
    async fn read_blocks(
        &self,
        path: &RemotePath,
        limit: u64,
        sandbox: Option<&Sandbox<RemotePath>>,
    ) -> Result<Option<Vec<u8>>, MachineError> {
        let handle = self.open_file(path, OpenMode::Read, sandbox).await?;
        let mut content = Vec::new();
        let read = loop {
            let params = ReadBlock {
                handle_id: handle.id.clone(),
                offset: content.len() as u64,
                len: BLOCK as u64,
            };
            match handle
                .request::<_, FileBlock>("fs/readBlock", &params)
                .await
            {
                Ok(block) => {
                    let is_last = block.eof || block.chunk.0.is_empty();
                    content.extend_from_slice(&block.chunk.0);
                    if content.len() as u64 > limit {
                        break Ok(None);
                    }
                    if is_last {
                        break Ok(Some(()));
                    }
                }
                Err(error) => break Err(error),
            }
        };
        // What was read is there, whatever becomes of the handle.
        let _ = handle.close().await;
        Ok(read?.map(|()| content))
    }

    /// Writes a file whole.
    ///
    /// # Errors
    /// As [`RemoteMachine::request`].
    pub async fn write_file(
        &self,
        path: &RemotePath,
        content: &[u8],
        sandbox: Option<&Sandbox<RemotePath>>,
    ) -> Result<(), MachineError> {
        if content.len() as u64 <= WHOLE_FILE {
            let params = Confined {
                params: WriteFile {
                    path,
                    data_base64: STANDARD.encode(content),
                },
                sandbox,
            };
            let _: Nothing = self.request("fs/writeFile", &params).await?;
            return Ok(());
        }
        let mut written = Err(MachineError::Interrupted);
        for _ in 0..HANDLE_TRIES {
            written = self.write_blocks(path, content, sandbox).await;
            if written != Err(MachineError::Interrupted) {
                break;
            }
        }
        written
    }

    /// Writes a file over one connection: a handle ends with it, and another one knows nothing of what was written.
    async fn write_blocks(
        &self,
        path: &RemotePath,
        content: &[u8],
        sandbox: Option<&Sandbox<RemotePath>>,
    ) -> Result<(), MachineError> {
        let handle = self.open_file(path, OpenMode::Replace, sandbox).await?;
        let mut written = Ok(());
        for (number, block) in content.chunks(BLOCK).enumerate() {
            let params = WriteBlock {
                handle_id: handle.id.clone(),
                offset: (number * BLOCK) as u64,
                chunk: Base64(block.to_vec()),
            };
            let block = handle.request::<_, Nothing>("fs/writeBlock", &params).await;
            written = block.map(drop);
            if written.is_err() {
                break;
            }
        }
        let closed = handle.close().await;
        written?;
        closed
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// As [`RemoteMachine::request`].
    pub async fn create_folder(
        &self,
        path: &RemotePath,
        sandbox: Option<&Sandbox<RemotePath>>,
    ) -> Result<(), MachineError> {
        let params = Confined {
            params: CreateDirectory {
                path,
                recursive: Some(true),
            },
            sandbox,
        };
        let _: Nothing = self.request("fs/createDirectory", &params).await?;
        Ok(())
    }

    /// Removes a file.
    ///
    /// # Errors
    /// As [`RemoteMachine::request`].
    pub async fn remove_file(
        &self,
        path: &RemotePath,
        sandbox: Option<&Sandbox<RemotePath>>,
    ) -> Result<(), MachineError> {
        let params = Confined {
            params: Remove {
                path,
                recursive: Some(false),
                // A repeated request finds nothing any more.
                force: Some(true),
            },
            sandbox,
        };
        let _: Nothing = self.request("fs/remove", &params).await?;
        Ok(())
    }

    async fn open_file(
        &self,
        path: &RemotePath,
        mode: OpenMode,
        sandbox: Option<&Sandbox<RemotePath>>,
    ) -> Result<FileHandle, MachineError> {
        let id = uuid::Uuid::new_v4().to_string();
        let params = OpenFile {
            handle_id: id.clone(),
            path: path.clone(),
            mode,
            sandbox: sandbox.cloned(),
        };
        let handle = FileHandle {
            machine: self.clone(),
            connection: self.connection().await?,
            id,
        };
        let _: serde_json::Value = handle.request("fs/open", &params).await?;
        Ok(handle)
    }
}

/// An open file. It belongs to a connection: another one does not know it, and still answers that it is closed.
#[derive(Debug)]
struct FileHandle {
    machine: RemoteMachine,
    connection: u64,
    id: String,
}

impl FileHandle {
    async fn request<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &P,
    ) -> Result<R, MachineError> {
        (self.machine)
            .request_on(self.connection, method, params)
            .await
    }

    async fn close(&self) -> Result<(), MachineError> {
        let handle_id = self.id.clone();
        let _: Nothing = self.request("fs/close", &CloseFile { handle_id }).await?;
        Ok(())
    }
}
