//! Files of another machine.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
        let handle = self.open_file(path, OpenMode::Read, sandbox).await?;
        let mut content = Vec::new();
        let read = loop {
            let params = ReadBlock {
                handle_id: handle.clone(),
                offset: content.len() as u64,
                len: BLOCK as u64,
            };
            match self.request::<_, FileBlock>("fs/readBlock", &params).await {
                Ok(block) => {
                    let is_last = block.eof || block.chunk.0.is_empty();
                    content.extend_from_slice(&block.chunk.0);
                    if content.len() as u64 > limit {
                        break Err(too_long());
                    }
                    if is_last {
                        break Ok(());
                    }
                }
                Err(error) => break Err(error),
            }
        };
        let closed = self.close_file(handle).await;
        read?;
        closed?;
        Ok(content)
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
        let handle = self.open_file(path, OpenMode::Replace, sandbox).await?;
        let mut written = Ok(());
        for (number, block) in content.chunks(BLOCK).enumerate() {
            let params = WriteBlock {
                handle_id: handle.clone(),
                offset: (number * BLOCK) as u64,
                chunk: Base64(block.to_vec()),
            };
            let block = self.request::<_, Nothing>("fs/writeBlock", &params).await;
            written = block.map(drop);
            if written.is_err() {
                break;
            }
        }
        let closed = self.close_file(handle).await;
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
    ) -> Result<String, MachineError> {
        let handle_id = uuid::Uuid::new_v4().to_string();
        let params = OpenFile {
            handle_id: handle_id.clone(),
            path: path.clone(),
            mode,
            sandbox: sandbox.cloned(),
        };
        let _: serde_json::Value = self.request("fs/open", &params).await?;
        Ok(handle_id)
    }

    async fn close_file(&self, handle_id: String) -> Result<(), MachineError> {
        let _: Nothing = self.request("fs/close", &CloseFile { handle_id }).await?;
        Ok(())
    }
}
