use super::*;

/// A noisy image, which does not compress well.
fn image(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let pixel = |x: u32, y: u32| image::Rgb([x as u8, y as u8, (x * y) as u8]);
    let image = DynamicImage::ImageRgb8(image::RgbImage::from_fn(width, height, pixel));
    let mut bytes = Vec::new();
    image
        .write_to(&mut Cursor::new(&mut bytes), format)
        .unwrap();
    bytes
}

#[track_caller]
fn size(prepared: &PreparedImage) -> (u32, u32) {
    let image = image::load_from_memory(&prepared.bytes).unwrap();
    (image.width(), image.height())
}

const KEPT_FORMATS: [(ImageFormat, &str); 3] = [
    (ImageFormat::Png, "image/png"),
    (ImageFormat::Jpeg, "image/jpeg"),
    (ImageFormat::WebP, "image/webp"),
];

#[test]
fn images_within_the_limits_are_unchanged() {
    for (format, mime) in KEPT_FORMATS {
        for (width, height) in [(1, 1), (MAX_WIDTH, 2), (3, MAX_HEIGHT)] {
            let bytes = image(width, height, format);
            let expected = PreparedImage {
                mime,
                bytes: bytes.clone(),
            };
            assert_eq!(prepare(bytes).unwrap(), expected);
        }
    }
}

#[test]
fn large_images_are_scaled_in_their_format() {
    for (format, mime) in KEPT_FORMATS {
        for ((width, height), expected) in [
            ((3000, 30), (2048, 20)),
            ((40, 1600), (19, 768)),
            ((MAX_WIDTH + 1, 4), (2048, 4)),
        ] {
            let bytes = image(width, height, format);
            let scaled = prepare(bytes).unwrap();
            assert_eq!((scaled.mime, size(&scaled)), (mime, expected));
        }
    }
}

#[test]
fn a_gif_becomes_a_png() {
    for (width, expected) in [(1, (1, 9)), (3000, (2048, 6))] {
        let made = prepare(image(width, 9, ImageFormat::Gif)).unwrap();
        assert_eq!((made.mime, size(&made)), ("image/png", expected));
    }
}

#[test]
fn damaged_images_are_refused() {
    let whole = image(40, 40, ImageFormat::Png);
    for bytes in [&b""[..], b"some text", b"BM", &whole[..60], b"GIF89a"] {
        assert!(prepare(bytes.to_vec()).is_err(), "{bytes:?}");
    }
    // A damaged file must not panic.
    for position in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[position] ^= 0x55;
        let _ = prepare(damaged);
        let _ = prepare(whole[..position].to_vec());
    }
}

/// A small file that declares this size.
fn promise(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = image(8, 8, ImageFormat::Png);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let sum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// The checksum of a PNG chunk.
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
    !bytes
        .iter()
        .fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[test]
fn oversized_image_header_allocates_nothing() {
    assert!(prepare(promise(8, 8)).is_ok());
    for (width, height) in [(60_000, 60_000), (30_000, 30_000), (u32::MAX, 1)] {
        let error = prepare(promise(width, height)).unwrap_err();
        assert!(error.to_string().contains("limit"), "{error}");
    }
}
