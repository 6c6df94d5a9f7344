//! Files and folders, with the rights of the server itself: no sandbox, no approval.
//!
//! A slow one holds up nobody: each call runs where it may block.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    FsCopyParams, FsCopyResponse, FsCreateDirectoryParams, FsCreateDirectoryResponse,
    FsGetMetadataParams, FsGetMetadataResponse, FsReadDirectoryEntry, FsReadDirectoryParams,
    FsReadDirectoryResponse, FsReadFileParams, FsReadFileResponse, FsRemoveParams,
    FsRemoveResponse, FsWriteFileParams, FsWriteFileResponse,
};
use codex_file_system::{self as files, FileError};
use codex_protocol::AbsolutePathBuf;

use super::blocking;
use crate::connection::Responder;
use crate::failure::Failure;
use crate::gap::{Gap, Template};

/// A longer file is not read.
const READ_LIMIT: u64 = 512 * 1024 * 1024;

/// Bytes read at one go: a multiple of three, so that the pieces join up in base64.
const READ_SIZE: usize = 3 * 64 * 1024;
const SMALLEST_READ: usize = 3 * 1024;

pub(super) async fn read_file(params: FsReadFileParams, reply: Responder<method::FsReadFile>) {
    let draft = reply.draft(&FsReadFileResponse {
        data_base64: String::new(),
    });
    let read = blocking(move || {
        let path = absolute(&params.path)?;
        let template = Template::new(&draft, Gap::Text("dataBase64"));
        let template = template.ok_or_else(|| Failure::internal("the reply has no member"))?;
        let mut file = files::open(&path, READ_LIMIT).map_err(failure)?;
        // One more than it has shows at once that this was all.
        let expected = usize::try_from(file.length()).unwrap_or(0);
        let mut line = template.begin_base64(expected);
        let size = (expected + 1).clamp(SMALLEST_READ, READ_SIZE);
        let mut buffer = vec![0; size.next_multiple_of(3)];
        loop {
            let filled = file.fill(&mut buffer).map_err(failure)?;
            line.push_base64(&buffer[..filled]);
            if filled < buffer.len() {
                return Ok(line.finish());
            }
        }
    });
    match read.await {
        Ok(line) => reply.accept_line(line),
        Err(failure) => reply.refuse(failure),
    }
}

pub(super) async fn write_file(params: FsWriteFileParams, reply: Responder<method::FsWriteFile>) {
    let written = blocking(move || {
        let path = absolute(&params.path)?;
        let bytes = STANDARD.decode(params.data_base64).map_err(|error| {
            let message = format!("fs/writeFile requires valid base64 dataBase64: {error}");
            Failure::invalid(message)
        })?;
        files::write(&path, &bytes).map_err(failure)?;
        Ok(FsWriteFileResponse {})
    });
    reply.reply(written.await);
}

pub(super) async fn create_directory(
    params: FsCreateDirectoryParams,
    reply: Responder<method::FsCreateDirectory>,
) {
    let made = blocking(move || {
        let recursive = params.recursive.unwrap_or(true);
        files::create_folder(&absolute(&params.path)?, recursive).map_err(failure)?;
        Ok(FsCreateDirectoryResponse {})
    });
    reply.reply(made.await);
}

pub(super) async fn get_metadata(
    params: FsGetMetadataParams,
    reply: Responder<method::FsGetMetadata>,
) {
    let found = blocking(move || {
        let found = files::metadata(&absolute(&params.path)?).map_err(failure)?;
        Ok(FsGetMetadataResponse {
            is_directory: found.is_folder,
            is_file: found.is_file,
            is_symlink: Some(found.is_link),
            created_at_ms: found.created_ms,
            modified_at_ms: found.modified_ms,
        })
    });
    reply.reply(found.await);
}

pub(super) async fn read_directory(
    params: FsReadDirectoryParams,
    reply: Responder<method::FsReadDirectory>,
) {
    let listed = blocking(move || {
        let entries = files::list(&absolute(&params.path)?).map_err(failure)?;
        let entries = entries.into_iter().map(|entry| FsReadDirectoryEntry {
            file_name: entry.name,
            is_directory: entry.is_folder,
            is_file: entry.is_file,
        });
        Ok(FsReadDirectoryResponse {
            entries: entries.collect(),
        })
    });
    reply.reply(listed.await);
}

pub(super) async fn remove(params: FsRemoveParams, reply: Responder<method::FsRemove>) {
    let removed = blocking(move || {
        let path = absolute(&params.path)?;
        let recursive = params.recursive.unwrap_or(true);
        files::remove(&path, recursive, params.force.unwrap_or(true)).map_err(failure)?;
        Ok(FsRemoveResponse {})
    });
    reply.reply(removed.await);
}

pub(super) async fn copy(params: FsCopyParams, reply: Responder<method::FsCopy>) {
    let copied = blocking(move || {
        let source = absolute(&params.source_path)?;
        let destination = absolute(&params.destination_path)?;
        files::copy(&source, &destination, params.recursive).map_err(failure)?;
        Ok(FsCopyResponse {})
    });
    reply.reply(copied.await);
}

/// The path that a client means. It is to be absolute, and says so as if it could not be read.
pub(super) fn absolute(path: &AbsolutePathBuf) -> Result<PathBuf, Failure> {
    files::absolute(&path.0).ok_or_else(|| {
        Failure::invalid("Invalid request: AbsolutePathBuf deserialized without a base path")
    })
}

fn failure(error: FileError) -> Failure {
    let known = match &error {
        FileError::NeedsRecursive => {
            Some("fs/copy requires recursive: true when sourcePath is a directory")
        }
        FileError::IntoItself => {
            Some("fs/copy cannot copy a directory to itself or one of its descendants")
        }
        FileError::NotCopied => {
            Some("fs/copy only supports regular files, directories, and symlinks")
        }
        _ => None,
    };
    match known {
        Some(message) => Failure::invalid(message),
        None if error.is_invalid_input() => Failure::invalid(error.to_string()),
        None => Failure::internal(error.to_string()),
    }
}
