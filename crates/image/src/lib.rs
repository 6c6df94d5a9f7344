//! Layer: capability. Converts images to formats and sizes that models accept.
//!
//! PNG, JPEG and WebP files that fit [`MAX_WIDTH`] times [`MAX_HEIGHT`] stay unchanged. Larger images are scaled
//! down; a GIF becomes a PNG of its first frame. Every image is decoded, and thereby checked. The memory for that
//! is bounded, whatever size the file declares.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

/// Wider images are scaled down.
pub const MAX_WIDTH: u32 = 2048;
/// Higher images are scaled down.
pub const MAX_HEIGHT: u32 = 768;

/// The quality of JPEG files that are written.
const JPEG_QUALITY: u8 = 85;

/// The maximum size of a decoded image. Decoding takes at most twice this.
const MAX_DECODED_BYTES: u64 = 256 * 1024 * 1024;
const MAX_SIDE: u32 = 32 * 1024;

/// An image that models accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedImage {
    /// The MIME type.
    pub mime: &'static str,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// Why an image cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The format is not known, the file is damaged, or the image is too large.
    #[error("it cannot be decoded: {0}")]
    Undecodable(String),
    /// The scaled image cannot be encoded.
    #[error("it cannot be scaled: {0}")]
    Unwritable(String),
}

/// Converts a file to an image that models accept.
///
/// # Errors
/// The file cannot be decoded.
pub fn prepare(bytes: Vec<u8>) -> Result<PreparedImage, ImageError> {
    let (format, decoded) = decode(&bytes)?;
    let fits = decoded.width() <= MAX_WIDTH && decoded.height() <= MAX_HEIGHT;
    if fits && is_accepted(format) {
        let mime = format.to_mime_type();
        return Ok(PreparedImage { mime, bytes });
    }
    let scaled = if fits {
        decoded
    } else {
        decoded.resize(MAX_WIDTH, MAX_HEIGHT, FilterType::Triangle)
    };
    let (format, bytes) = encode(&scaled, format).map_err(|error| {
        let reason = error.to_string();
        ImageError::Unwritable(reason)
    })?;
    let mime = format.to_mime_type();
    Ok(PreparedImage { mime, bytes })
}

/// Whether models accept a format.
fn is_accepted(format: ImageFormat) -> bool {
    matches!(
        format,
        ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP
    )
}

fn decode(bytes: &[u8]) -> Result<(ImageFormat, DynamicImage), ImageError> {
    let undecodable = |error: image::ImageError| ImageError::Undecodable(error.to_string());
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| ImageError::Undecodable(error.to_string()))?;
    let unknown = || ImageError::Undecodable("its format is not known".to_owned());
    let format = reader.format().ok_or_else(unknown)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    Ok((format, reader.decode().map_err(undecodable)?))
}

/// Encodes an image in its own format, or as PNG if that format is not supported.
fn encode(
    image: &DynamicImage,
    format: ImageFormat,
) -> Result<(ImageFormat, Vec<u8>), image::ImageError> {
    let mut bytes = Vec::new();
    match format {
        ImageFormat::Jpeg => {
            let rgb = DynamicImage::ImageRgb8(image.to_rgb8());
            rgb.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
            Ok((format, bytes))
        }
        ImageFormat::WebP => {
            let rgba = DynamicImage::ImageRgba8(image.to_rgba8());
            rgba.write_with_encoder(WebPEncoder::new_lossless(&mut bytes))?;
            Ok((format, bytes))
        }
        _ => {
            image.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)?;
            Ok((ImageFormat::Png, bytes))
        }
    }
}

#[cfg(test)]
mod tests;
