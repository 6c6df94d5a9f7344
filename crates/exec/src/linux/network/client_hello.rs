//! The name of the server in the first bytes of a TLS connection.

/// What the first bytes of a connection are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FirstBytes {
    /// It takes more bytes to know.
    Incomplete,
    /// Not TLS.
    Other,
    /// TLS that names the server, or does not.
    Tls(Option<String>),
    /// It begins as TLS and goes on as nothing known.
    Malformed,
}

/// More than clients send, also with large keys.
pub(super) const LONGEST_HELLO: usize = 16 * 1024;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
const RECORD_HEADER: usize = 5;

/// Reads what the bytes are, as far as they are there.
pub(super) fn read(bytes: &[u8]) -> FirstBytes {
    match bytes {
        [] => return FirstBytes::Incomplete,
        [HANDSHAKE] => return FirstBytes::Incomplete,
        [HANDSHAKE, 3, ..] => {}
        _ => return FirstBytes::Other,
    }
    let Some(handshake) = handshake(bytes) else {
        return FirstBytes::Malformed;
    };
    let Some(header) = handshake.first_chunk::<4>() else {
        return FirstBytes::Incomplete;
    };
    let [kind, length @ ..] = *header;
    if kind != CLIENT_HELLO {
        return FirstBytes::Malformed;
    }
    let length =
        usize::from(length[0]) << 16 | usize::from(length[1]) << 8 | usize::from(length[2]);
    if length > LONGEST_HELLO {
        return FirstBytes::Malformed;
    }
    match handshake.get(4..4 + length) {
        Some(hello) => server_name(hello).map_or(FirstBytes::Malformed, FirstBytes::Tls),
        None => FirstBytes::Incomplete,
    }
}

/// The content of all records, as far as it is there. A message may be cut into several records.
fn handshake(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    while let Some(header) = bytes.first_chunk::<RECORD_HEADER>() {
        if header[0] != HANDSHAKE {
            // What follows the message.
            return complete(&content).then_some(content);
        }
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if length == 0 {
            return None;
        }
        let rest = &bytes[RECORD_HEADER..];
        content.extend_from_slice(&rest[..length.min(rest.len())]);
        bytes = rest.get(length..).unwrap_or_default();
    }
    Some(content)
}

fn complete(content: &[u8]) -> bool {
    let Some([_, a, b, c]) = content.first_chunk::<4>() else {
        return false;
    };
    content.len() >= 4 + (usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c))
}

/// The name in a message; none at all if the message is malformed.
fn server_name(hello: &[u8]) -> Option<Option<String>> {
    let mut reader = Reader(hello);
    // The version and random bytes.
    reader.take(2 + 32)?;
    // The session, the ciphers, the compressions.
    reader.block(1)?;
    reader.block(2)?;
    reader.block(1)?;
    if reader.0.is_empty() {
        return Some(None);
    }
    let mut extensions = Reader(reader.block(2)?);
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let content = extensions.block(2)?;
        if kind != usize::from(SERVER_NAME) {
            continue;
        }
        let mut entries = Reader(Reader(content).block(2)?);
        let is_host = entries.number(1)? == usize::from(HOST_NAME);
        let host = entries.block(2)?;
        // A second name would be read by some servers and not by others.
        if !is_host || !entries.0.is_empty() || name.is_some() {
            return None;
        }
        name = Some(String::from_utf8(host.to_vec()).ok()?);
    }
    Some(name)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        let number = self.take(bytes)?.iter();
        Some(number.fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// Bytes behind their length.
    fn block(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let length = self.number(bytes)?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message in records of at most `record` bytes.
    fn hello(names: &[&str], record: usize) -> Vec<u8> {
        let mut extensions = vec![0, 43, 0, 3, 2, 3, 4];
        for name in names {
            let length = u16::try_from(name.len()).unwrap();
            extensions.extend([0, 0]);
            extensions.extend((length + 5).to_be_bytes());
            extensions.extend((length + 3).to_be_bytes());
            extensions.push(0);
            extensions.extend(length.to_be_bytes());
            extensions.extend(name.as_bytes());
        }
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
        body.extend(extensions);
        let mut message = vec![1, 0];
        message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        message.extend(body);
        let mut bytes = Vec::new();
        for part in message.chunks(record) {
            bytes.extend([22, 3, 1]);
            bytes.extend(u16::try_from(part.len()).unwrap().to_be_bytes());
            bytes.extend(part);
        }
        bytes
    }

    #[test]
    fn the_name_is_read_however_the_message_is_cut() {
        for record in [1, 7, 40, 4000] {
            let bytes = hello(&["a.test"], record);
            for cut in 0..bytes.len() {
                assert_eq!(
                    read(&bytes[..cut]),
                    FirstBytes::Incomplete,
                    "{record} {cut}"
                );
            }
            assert_eq!(read(&bytes), FirstBytes::Tls(Some("a.test".to_owned())));
        }
        assert_eq!(read(&hello(&[], 4000)), FirstBytes::Tls(None));
    }

    #[test]
    fn other_protocols_are_known_by_their_first_bytes() {
        for bytes in [
            &b"GET / HTTP/1.1"[..],
            b"SSH-2.0-x",
            b"\0\0\0\x08",
            b"\x16\x02",
            b"x",
        ] {
            assert_eq!(read(bytes), FirstBytes::Other);
        }
    }

    #[test]
    fn unusual_client_hellos_are_malformed() {
        assert_eq!(
            read(&hello(&["a.test", "b.test"], 4000)),
            FirstBytes::Malformed
        );
        let mut server = hello(&["a.test"], 4000);
        server[5] = 2;
        assert_eq!(read(&server), FirstBytes::Malformed);
        let mut long = hello(&["a.test"], 4000);
        long[6] = 1;
        assert_eq!(read(&long), FirstBytes::Malformed);
        // Records of something else in the middle, and empty ones.
        let mut cut = hello(&["a.test"], 20)[..25].to_vec();
        cut.extend([23, 3, 3, 0, 1, 0]);
        assert_eq!(read(&cut), FirstBytes::Malformed);
        assert_eq!(read(&[22, 3, 1, 0, 0]), FirstBytes::Malformed);
    }
}
