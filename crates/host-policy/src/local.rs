//! Addresses that are not of the internet: this machine, its networks, and what only has a meaning there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of this machine or of a network nearby, or has no host of the internet: loopback, private,
/// link-local (where clouds serve their metadata), shared, multicast, reserved, and forms of IPv6 with such an address of IPv4
/// in them.
#[must_use]
pub fn is_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_local_v4(address),
        IpAddr::V6(address) => is_local_v6(address),
    }
}

fn is_local_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        // "This network", multicast, and everything above.
        || a == 0
        || a >= 224
        // Shared by customers of a provider; some clouds serve metadata there.
        || (a == 100 && (64..128).contains(&b))
        // Assignments for protocols, relays, and tests of networks.
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        // The metadata and the wire server of one cloud.
        || address == Ipv4Addr::new(168, 63, 129, 16)
}

fn is_local_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let [first, second, ..] = parts;
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_local_v4(Ipv4Addr::new(a, b, c, d))
    };
    let global = first & 0xe000 == 0x2000;
    let translated = parts[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
    if translated {
        return embedded(parts[6], parts[7]);
    }
    !global
        || (first == 0x2002 && embedded(second, parts[2]))
        // Tunnels, benchmarks, documentation.
        || (first == 0x2001 && (second == 0 || second == 2 || second == 0xdb8))
        || (first == 0x3fff && second < 0x1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_machine_and_its_networks_are_local() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.8.9.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.1",
            "224.0.0.1",
            "239.1.1.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:a00:1::1",
            "2001:db8::1",
            "2001::1",
            "fec0::1",
            "100::1",
        ] {
            assert!(is_local(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_not_local() {
        for text in [
            "1.1.1.1",
            "93.184.216.40",
            "100.63.0.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.167.0.1",
            "198.17.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ] {
            assert!(!is_local(text.parse().unwrap()), "{text}");
        }
    }
}
