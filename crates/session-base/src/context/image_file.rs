//! An image file for the model: as it is, or scaled down.

use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use codex_image::prepare;

/// The maximum size of an image file.
pub const IMAGE_LIMIT: u64 = 20 * 1024 * 1024;

/// MIME types by file extension.
const KINDS: [(&str, &str); 10] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("webp", "image/webp"),
    ("gif", "image/gif"),
    ("bmp", "image/bmp"),
    ("tiff", "image/tiff"),
    ("svg", "image/svg+xml"),
    ("pdf", "application/pdf"),
    ("txt", "text/plain"),
];

/// Why a file cannot be used as an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageProblem {
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// Its MIME type by the file extension.
    #[error("unsupported image `{0}`")]
    Unsupported(&'static str),
    #[error("{0}")]
    Invalid(String),
}

/// Reads an image file as a data URL; none if it cannot be used.
pub async fn image_data_url(path: &Path) -> Option<String> {
    data_url(path).await.ok()
}

/// The data URL of an image whose content is here already. `name` is only looked at for its extension.
pub async fn data_url_of(bytes: Vec<u8>, name: &str) -> Result<String, ImageProblem> {
    let name = name.to_owned();
    let url = tokio::task::spawn_blocking(move || encoded(bytes, Path::new(&name)));
    let undecodable = |_| Err(ImageProblem::Invalid("it cannot be decoded".to_owned()));
    url.await.unwrap_or_else(undecodable)
}

fn encoded(bytes: Vec<u8>, file: &Path) -> Result<String, ImageProblem> {
    let image = prepare(bytes).map_err(|unusable| match kind_of(file) {
        Some(kind) => ImageProblem::Unsupported(kind),
        None => ImageProblem::Invalid(unusable.to_string()),
    })?;
    let data = STANDARD.encode(image.bytes);
    Ok(format!("data:{};base64,{data}", image.mime))
}

/// Reads an image file as a data URL.
pub async fn data_url(path: &Path) -> Result<String, ImageProblem> {
    let file = path.to_owned();
    let url = tokio::task::spawn_blocking(move || {
        let bytes = codex_regular_file::read(&file, IMAGE_LIMIT)?;
        encoded(bytes, &file)
    });
    let undecodable = |_| Err(ImageProblem::Invalid("it cannot be decoded".to_owned()));
    url.await.unwrap_or_else(undecodable)
}

fn kind_of(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    let mut kinds = KINDS.iter();
    let found = kinds.find(|(known, _)| known.eq_ignore_ascii_case(extension));
    found.map(|(_, kind)| *kind)
}
