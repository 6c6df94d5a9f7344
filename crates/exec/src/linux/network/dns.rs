//! Answers questions about names, without asking anybody.
//!
//! Names have one IPv4 address. Questions about anything else get an empty answer, so there are neither IPv6 addresses nor keys
//! for encrypted names of servers. No question leaves the machine.

use std::net::Ipv4Addr;

use codex_host_policy::Host;

use super::names::InventedAddresses;

/// The longest question that is read. Real ones have one name and a few options.
pub(super) const LONGEST_QUESTION: usize = 1500;

const HEADER: usize = 12;
const TYPE_A: u16 = 1;
const CLASS_INTERNET: u16 = 1;

/// How long an answer may be kept, in seconds.
const TIME_TO_LIVE: u8 = 5;

const FORMAT_ERROR: u8 = 1;
const SERVER_FAILURE: u8 = 2;
const NO_SUCH_NAME: u8 = 3;
const NOT_IMPLEMENTED: u8 = 4;

/// The answer to a question; none if it is no question.
pub(super) fn answer(question: &[u8], names: &mut InventedAddresses) -> Option<Vec<u8>> {
    let header = question.first_chunk::<HEADER>()?;
    let is_question = header[2] & 0x80 == 0;
    if !is_question {
        return None;
    }
    let is_query = header[2] & 0x78 == 0;
    if !is_query {
        return Some(failure(question, NOT_IMPLEMENTED));
    }
    let one = header[4..6] == [0, 1];
    let Some((name, kind, end)) = parse_question(question).filter(|_| one) else {
        return Some(failure(question, FORMAT_ERROR));
    };
    let address = match resolve(&name, kind, names) {
        Ok(address) => address,
        Err(code) => return Some(reply(question, end, code, None)),
    };
    Some(reply(question, end, 0, address))
}

fn resolve(name: &str, kind: u16, names: &mut InventedAddresses) -> Result<Option<Ipv4Addr>, u8> {
    let Some(Host::Name(name)) = Host::parse(name) else {
        return Err(NO_SUCH_NAME);
    };
    if name == "localhost" {
        return Ok((kind == TYPE_A).then_some(Ipv4Addr::LOCALHOST));
    }
    if name.ends_with(".localhost") || name.ends_with(".arpa") {
        return Err(NO_SUCH_NAME);
    }
    if kind != TYPE_A {
        return Ok(None);
    }
    names.address_of(&name).map(Some).ok_or(SERVER_FAILURE)
}

/// The name, the kind, and where the question ends.
fn parse_question(question: &[u8]) -> Option<(String, u16, usize)> {
    let mut name = String::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*question.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        // Longer ones are references, which have no place in a question.
        let label = (length < 64).then(|| question.get(at..at + length))??;
        if !name.is_empty() {
            name.push('.');
        }
        // A label with a dot or other bytes is no name of a host.
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'.';
        if !label.iter().all(is_plain) {
            name.push('?');
        }
        name.push_str(&String::from_utf8_lossy(label));
        at += length;
    }
    let kind = u16::from_be_bytes(question.get(at..at + 2)?.try_into().ok()?);
    let class = u16::from_be_bytes(question.get(at + 2..at + 4)?.try_into().ok()?);
    (class == CLASS_INTERNET).then_some((name, kind, at + 4))
}

fn failure(question: &[u8], code: u8) -> Vec<u8> {
    let mut answer = reply(question, HEADER.min(question.len()), code, None);
    if let Some(count) = answer.get_mut(4..6) {
        count.fill(0);
    }
    answer
}

fn reply(question: &[u8], end: usize, code: u8, address: Option<Ipv4Addr>) -> Vec<u8> {
    let mut answer = question[..end].to_vec();
    // An authoritative answer; recursion as it was asked for, and available.
    answer[2] = 0x84 | (answer[2] & 1);
    answer[3] = 0x80 | code;
    answer[6..12].fill(0);
    if let Some(address) = address {
        answer[7] = 1;
        // The name of the question, an address of the internet.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, TIME_TO_LIVE, 0, 4]);
        answer.extend(address.octets());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str, kind: u16) -> Vec<u8> {
        let mut bytes = vec![7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.').filter(|label| !label.is_empty()) {
            bytes.push(u8::try_from(label.len()).unwrap());
            bytes.extend(label.as_bytes());
        }
        bytes.push(0);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1]);
        bytes
    }

    /// The code, and the address if there is one.
    fn ask(name: &str, kind: u16, names: &mut InventedAddresses) -> (u8, Option<[u8; 4]>) {
        let answer = answer(&question(name, kind), names).unwrap();
        let address = (answer[7] == 1).then(|| *answer.last_chunk().unwrap());
        (answer[3] & 0xf, address)
    }

    #[test]
    fn names_have_an_ipv4_address_and_nothing_else() {
        let mut names = InventedAddresses::default();
        let (code, address) = ask("A.test", 1, &mut names);
        assert_eq!(code, 0);
        let name = names.name_of(address.unwrap().into());
        assert_eq!(name, Some("a.test"));
        assert_eq!(ask("a.TEST", 1, &mut names), (0, address));
        // AAAA, HTTPS, TXT.
        for kind in [28, 65, 16] {
            assert_eq!(ask("a.test", kind, &mut names), (0, None));
        }
        assert_eq!(ask("localhost", 1, &mut names), (0, Some([127, 0, 0, 1])));
        for name in [
            "1.2.3.4",
            "1.0.18.198.in-addr.arpa",
            "x.localhost",
            "a b.test",
            "*",
        ] {
            assert_eq!(ask(name, 1, &mut names), (NO_SUCH_NAME, None), "{name}");
        }
    }

    #[test]
    fn dns_label_with_a_dot_is_one_label() {
        let mut names = InventedAddresses::default();
        let mut bytes = vec![7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 6];
        bytes.extend(b"a.test\0\0\x01\0\x01");
        let answer = answer(&bytes, &mut names).unwrap();
        assert_eq!(answer[3] & 0xf, NO_SUCH_NAME);
    }

    #[test]
    fn malformed_dns_question_is_a_format_error() {
        let mut names = InventedAddresses::default();
        let whole = question("a.test", 1);
        for cut in 0..whole.len() {
            let answered = answer(&whole[..cut], &mut names);
            assert!(
                answered.is_none_or(|answer| answer[3] & 0xf == FORMAT_ERROR),
                "{cut}"
            );
        }
        let mut reply = whole.clone();
        reply[2] |= 0x80;
        assert_eq!(answer(&reply, &mut names), None);
        let mut reference = whole.clone();
        reference[HEADER] = 0xc0;
        assert_eq!(
            answer(&reference, &mut names).unwrap()[3] & 0xf,
            FORMAT_ERROR
        );
        let mut seed: u32 = 1;
        for _ in 0..20_000 {
            let mut noise = whole.clone();
            for byte in &mut noise {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if seed >> 28 == 0 {
                    *byte = (seed >> 16) as u8;
                }
            }
            answer(&noise, &mut names);
        }
    }
}
