//! Layer: capability. Images as models take them.
//!
//! What a model takes passes byte for byte: PNG, JPEG and WebP that fit [`MOST_WIDTH`] times
//! [`MOST_HEIGHT`]. Larger images are scaled down to fit, a GIF becomes a PNG of its first picture. An
//! image is decoded, and so checked, in any case. How much memory that takes is bounded, whatever the
//! file promises.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, ImageReader, Limits};

/// Wider images are scaled down.
pub const MOST_WIDTH: u32 = 2048;
/// Higher images are scaled down.
pub const MOST_HEIGHT: u32 = 768;

/// A JPEG is written with this quality.
const QUALITY: u8 = 85;

/// Nobody's screen or camera makes more; decoding takes no more memory than twice this.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
const LONGEST_SIDE: u32 = 32 * 1024;

/// An image that a model takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What it is: `image/png`, for instance.
    pub mime: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Why something is no such image.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// These bytes are in no format that is known here, or damaged, or too large.
    #[error("it cannot be decoded: {0}")]
    Undecodable(String),
    /// A scaled image could not be written.
    #[error("it cannot be scaled: {0}")]
    Unwritable(String),
}

/// Makes a file one that a model takes.
///
/// # Errors
/// The file is no image that can be decoded.
pub fn picture(bytes: Vec<u8>) -> Result<Picture, Unusable> {
    let (format, decoded) = decode(&bytes)?;
    let fits = decoded.width() <= MOST_WIDTH && decoded.height() <= MOST_HEIGHT;
    if fits && keeps(format) {
        let mime = format.to_mime_type();
        return Ok(Picture { mime, bytes });
    }
    let scaled = if fits {
        decoded
    } else {
        decoded.resize(MOST_WIDTH, MOST_HEIGHT, FilterType::Triangle)
    };
    let (format, bytes) = encode(&scaled, format).map_err(|error| {
        let reason = error.to_string();
        Unusable::Unwritable(reason)
    })?;
    let mime = format.to_mime_type();
    Ok(Picture { mime, bytes })
}

/// Whether models know a format.
fn keeps(format: ImageFormat) -> bool {
    matches!(
        format,
        ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP
    )
}

fn decode(bytes: &[u8]) -> Result<(ImageFormat, DynamicImage), Unusable> {
    let undecodable = |error: image::ImageError| Unusable::Undecodable(error.to_string());
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| Unusable::Undecodable(error.to_string()))?;
    let unknown = || Unusable::Undecodable("its format is not known".to_owned());
    let format = reader.format().ok_or_else(unknown)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(LONGEST_SIDE);
    limits.max_image_height = Some(LONGEST_SIDE);
    limits.max_alloc = Some(MOST_BYTES);
    reader.limits(limits);
    Ok((format, reader.decode().map_err(undecodable)?))
}

/// Writes an image in its own format, or as a PNG if that is not one to write.
fn encode(
    image: &DynamicImage,
    format: ImageFormat,
) -> Result<(ImageFormat, Vec<u8>), image::ImageError> {
    let mut bytes = Vec::new();
    match format {
        ImageFormat::Jpeg => {
            let rgb = DynamicImage::ImageRgb8(image.to_rgb8());
            rgb.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY))?;
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
#[allow(clippy::unwrap_used)]
mod tests;
