//! Files and folders, with the rights of the server itself: no sandbox, no approval.
//!
//! A slow one holds up nobody: each call runs where it may block.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    FsCopyParams, FsCopyResponse, FsCreateDirectoryParams, FsCreateDirectoryResponse,
    FsGetMetadataParams, FsGetMetadataResponse, FsReadDirectoryEntry, FsReadDirectoryParams,
    FsReadDirectoryResponse, FsReadFileParams, FsReadFileResponse, FsRemoveParams,
    FsRemoveResponse, FsWriteFileParams, FsWriteFileResponse,
};
use codex_file_system::{self as files, FileError};
use codex_protocol::AbsolutePathBuf;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::blocking;
use super::call::{Call, Reply};
use crate::failure::Failure;
use crate::gap::{Gap, Template};

/// A longer file is not read.
const READ_LIMIT: u64 = 512 * 1024 * 1024;

/// Bytes read at one go: a multiple of three, so that the pieces join up in base64.
const READ_SIZE: usize = 3 * 64 * 1024;
const SMALLEST_READ: usize = 3 * 1024;

/// A file up to this length is read at once; longer ones have to share [`LARGE_READS`].
const SMALL_FILE: u64 = 128 * 1024;

/// KiB of large files that are held, until their replies are written. A larger one has all of it. It is
/// less than may wait for a client: whoever reads slowly gets them one after the other.
const LARGE_READS_KIB: u32 = 96 * 1024;
static LARGE_READS: Semaphore = Semaphore::const_new(LARGE_READS_KIB as usize);

pub(super) async fn read_file(
    _: Call,
    params: FsReadFileParams,
) -> Result<Reply<method::FsReadFile>, Failure> {
    Ok(Reply::by(|reply| async move {
        let draft = reply.draft(&FsReadFileResponse {
            data_base64: String::new(),
        });
        match read_line(params, draft).await {
            Ok(line) => reply.accept_line(line),
            Err(failure) => reply.refuse(failure),
        }
    }))
}

/// The reply with the file in it.
async fn read_line(params: FsReadFileParams, draft: Bytes) -> Result<Bytes, Failure> {
    let opened = blocking(move || {
        let path = absolute(&params.path)?;
        let template = Template::new(&draft, Gap::Text("dataBase64"));
        let template = template.ok_or_else(|| Failure::internal("the reply has no member"))?;
        let file = files::open(&path, READ_LIMIT).map_err(failure)?;
        Ok(match file.length() {
            0..=SMALL_FILE => Opened::Read(fill(&template, file)?),
            _ => Opened::Large(template, file),
        })
    });
    let (template, file) = match opened.await? {
        Opened::Read(line) => return Ok(line),
        Opened::Large(template, file) => (template, file),
    };
    // As base64 it is a third longer.
    let kib = u32::try_from(file.length() / 1024 / 3 * 4).unwrap_or(u32::MAX);
    let share = LARGE_READS.acquire_many(kib.min(LARGE_READS_KIB)).await;
    let share = share.map_err(|_| Failure::internal("no files are read any more"))?;
    blocking(move || {
        let line = fill(&template, file)?;
        Ok(Bytes::from_owner(LargeReply {
            line,
            _share: share,
        }))
    })
    .await
}

enum Opened {
    /// The whole reply.
    Read(Bytes),
    Large(Template, files::FileReader),
}

/// A reply that is counted for as long as it is held.
struct LargeReply {
    line: Bytes,
    _share: SemaphorePermit<'static>,
}

impl AsRef<[u8]> for LargeReply {
    fn as_ref(&self) -> &[u8] {
        &self.line
    }
}

fn fill(template: &Template, mut file: files::FileReader) -> Result<Bytes, Failure> {
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
}

pub(super) async fn write_file(
    _: Call,
    params: FsWriteFileParams,
) -> Result<FsWriteFileResponse, Failure> {
    let written = blocking(move || {
        let path = absolute(&params.path)?;
        let bytes = STANDARD.decode(params.data_base64).map_err(|error| {
            let message = format!("fs/writeFile requires valid base64 dataBase64: {error}");
            Failure::invalid(message)
        })?;
        files::write(&path, &bytes).map_err(failure)?;
        Ok(FsWriteFileResponse {})
    });
    written.await
}

pub(super) async fn create_directory(
    _: Call,
    params: FsCreateDirectoryParams,
) -> Result<FsCreateDirectoryResponse, Failure> {
    let made = blocking(move || {
        let recursive = params.recursive.unwrap_or(true);
        files::create_folder(&absolute(&params.path)?, recursive).map_err(failure)?;
        Ok(FsCreateDirectoryResponse {})
    });
    made.await
}

pub(super) async fn get_metadata(
    _: Call,
    params: FsGetMetadataParams,
) -> Result<FsGetMetadataResponse, Failure> {
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
    found.await
}

pub(super) async fn read_directory(
    _: Call,
    params: FsReadDirectoryParams,
) -> Result<FsReadDirectoryResponse, Failure> {
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
    listed.await
}

pub(super) async fn remove(_: Call, params: FsRemoveParams) -> Result<FsRemoveResponse, Failure> {
    let removed = blocking(move || {
        let path = absolute(&params.path)?;
        let recursive = params.recursive.unwrap_or(true);
        files::remove(&path, recursive, params.force.unwrap_or(true)).map_err(failure)?;
        Ok(FsRemoveResponse {})
    });
    removed.await
}

pub(super) async fn copy(_: Call, params: FsCopyParams) -> Result<FsCopyResponse, Failure> {
    let copied = blocking(move || {
        let source = absolute(&params.source_path)?;
        let destination = absolute(&params.destination_path)?;
        files::copy(&source, &destination, params.recursive).map_err(failure)?;
        Ok(FsCopyResponse {})
    });
    copied.await
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
