//! `fs/*`: files and folders, with the rights of the server: no sandbox, no approvals.
//!
//! Each call runs in a blocking task, so a slow one delays no other.

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
use codex_projection::dialect::Dialect;
use codex_projection::gap::{Gap, Template};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::blocking;
use super::call::{EarlyReply, RequestContext};
use crate::failure::Failure;
use crate::request_path::absolute;

/// Longer files are refused.
const READ_LIMIT: u64 = 512 * 1024 * 1024;

/// The number of bytes per read: a multiple of three, so that base64 chunks can be joined.
const READ_SIZE: usize = 3 * 64 * 1024;
const SMALLEST_READ: usize = 3 * 1024;

/// Longer files share [`LARGE_READS`]; files up to this length do not. A file that reports no length and is longer uses
/// all of it.
const SMALL_FILE: u64 = 128 * 1024;

/// The total size of large files in memory, in KiB, until their replies are written. A file above the limit uses all
/// of it. It is below the limit of an outbox, so a slow client gets large files one after the other.
const LARGE_READS_KIB: u32 = 96 * 1024;
static LARGE_READS: Semaphore = Semaphore::const_new(LARGE_READS_KIB as usize);

pub(super) async fn read_file(
    RequestContext { connection, .. }: RequestContext,
    params: FsReadFileParams,
) -> Result<EarlyReply<method::FsReadFile>, Failure> {
    Ok(EarlyReply::sent_by(|reply| async move {
        let draft = reply.draft(&FsReadFileResponse {
            data_base64: String::new(),
        });
        match read_line(params, draft, connection.dialect()).await {
            Ok(line) => reply.accept_line(line),
            Err(failure) => reply.refuse(failure),
        }
    }))
}

/// The encoded reply with the content of the file.
async fn read_line(
    params: FsReadFileParams,
    draft: Bytes,
    dialect: Dialect,
) -> Result<Bytes, Failure> {
    let opened = blocking(move || {
        let path = absolute(&params.path)?;
        let template = Template::new(&draft, Gap::Text("dataBase64"));
        let template = template.ok_or_else(|| Failure::internal("the reply has no member"))?;
        let file = files::open(&path, READ_LIMIT).map_err(|error| match error {
            // Releases name the reason differently.
            _ if dialect.refuses_folders_as_invalid() && codex_mounts::is_dir(&path) => {
                Failure::invalid(format!("path `{}` is not a file", path.display()))
            }
            error => failure(error),
        })?;
        let small = match file.length() {
            0 => match files::open(&path, SMALL_FILE).and_then(|file| fill(&template, file)) {
                // A virtual file, or one that grows.
                Err(FileError::TooLarge { .. }) => return Ok(FileRead::Large(template, file)),
                small => small,
            },
            1..=SMALL_FILE => fill(&template, file),
            _ => return Ok(FileRead::Large(template, file)),
        };
        small.map(FileRead::Read).map_err(failure)
    });
    let (template, file) = match opened.await? {
        FileRead::Read(line) => return Ok(line),
        FileRead::Large(template, file) => (template, file),
    };
    // Base64 is longer by one third.
    let kib = match file.length() {
        0 => LARGE_READS_KIB,
        length => u32::try_from(length / 1024 / 3 * 4).unwrap_or(u32::MAX),
    };
    let share = LARGE_READS.acquire_many(kib.min(LARGE_READS_KIB)).await;
    let share = share.map_err(|_| Failure::internal("the server no longer reads files"))?;
    blocking(move || {
        let line = fill(&template, file).map_err(failure)?;
        Ok(Bytes::from_owner(LargeReply {
            line,
            _share: share,
        }))
    })
    .await
}

enum FileRead {
    /// The whole reply.
    Read(Bytes),
    Large(Template, files::FileReader),
}

/// A reply that counts towards the limit until it is dropped.
struct LargeReply {
    line: Bytes,
    _share: SemaphorePermit<'static>,
}

impl AsRef<[u8]> for LargeReply {
    fn as_ref(&self) -> &[u8] {
        &self.line
    }
}

fn fill(template: &Template, mut file: files::FileReader) -> Result<Bytes, FileError> {
    // One extra byte shows the end of the file without another read.
    let expected = usize::try_from(file.length()).unwrap_or(0);
    let mut line = template.begin_base64(expected);
    let size = (expected + 1).clamp(SMALLEST_READ, READ_SIZE);
    let mut buffer = vec![0; size.next_multiple_of(3)];
    loop {
        let filled = file.fill(&mut buffer)?;
        line.push_base64(&buffer[..filled]);
        if filled < buffer.len() {
            return Ok(line.finish());
        }
    }
}

pub(super) async fn write_file(
    _: RequestContext,
    params: FsWriteFileParams,
) -> Result<FsWriteFileResponse, Failure> {
    let written = blocking(move || {
        let path = absolute(&params.path)?;
        let bytes = base64_simd::STANDARD.decode_to_vec(&params.data_base64);
        let bytes = bytes.map_err(|_| invalid_base64(&params.data_base64))?;
        files::write(&path, &bytes).map_err(failure)?;
        Ok(FsWriteFileResponse {})
    });
    written.await
}

/// Decodes again for the place of the error.
fn invalid_base64(data: &str) -> Failure {
    let reason = match STANDARD.decode(data) {
        Ok(_) => "the text is not in its shortest form".to_owned(),
        Err(error) => error.to_string(),
    };
    Failure::invalid(format!(
        "fs/writeFile requires valid base64 dataBase64: {reason}"
    ))
}

pub(super) async fn create_directory(
    _: RequestContext,
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
    _: RequestContext,
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
    _: RequestContext,
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

pub(super) async fn remove(
    _: RequestContext,
    params: FsRemoveParams,
) -> Result<FsRemoveResponse, Failure> {
    let removed = blocking(move || {
        let path = absolute(&params.path)?;
        let recursive = params.recursive.unwrap_or(true);
        files::remove(&path, recursive, params.force.unwrap_or(true)).map_err(failure)?;
        Ok(FsRemoveResponse {})
    });
    removed.await
}

pub(super) async fn copy(
    _: RequestContext,
    params: FsCopyParams,
) -> Result<FsCopyResponse, Failure> {
    let copied = blocking(move || {
        let source = absolute(&params.source_path)?;
        let destination = absolute(&params.destination_path)?;
        files::copy(&source, &destination, params.recursive).map_err(failure)?;
        Ok(FsCopyResponse {})
    });
    copied.await
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
