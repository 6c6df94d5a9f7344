//! Names of hosts and the addresses that were invented for them. The same name keeps its address.

use std::collections::HashMap;
use std::net::Ipv4Addr;

/// The first of the addresses, which networks use for tests of devices only.
const FIRST_ADDRESS: u32 = u32::from_be_bytes([198, 18, 1, 0]);

/// The most names of one command.
const MAX_NAMES: usize = 4096;

/// The names that a command has asked about.
#[derive(Debug, Default)]
pub(super) struct InventedAddresses {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl InventedAddresses {
    /// The address of a name; none if there are too many names.
    pub(super) fn address_of(&mut self, name: &str) -> Option<Ipv4Addr> {
        if let Some(number) = self.numbers.get(name) {
            return Some(Ipv4Addr::from(FIRST_ADDRESS + number));
        }
        let number = u32::try_from(self.names.len()).ok()?;
        if self.names.len() >= MAX_NAMES {
            return None;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(Ipv4Addr::from(FIRST_ADDRESS + number))
    }

    /// The name of an address, if it was invented.
    pub(super) fn name_of(&self, address: Ipv4Addr) -> Option<&str> {
        let number = u32::from(address).checked_sub(FIRST_ADDRESS)?;
        let name = self.names.get(usize::try_from(number).ok()?);
        name.map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invented_addresses_are_stable_and_limited() {
        let mut names = InventedAddresses::default();
        let first = names.address_of("a.test").unwrap();
        let second = names.address_of("b.test").unwrap();
        assert_ne!(first, second);
        assert_eq!(names.address_of("a.test"), Some(first));
        assert_eq!(names.name_of(second), Some("b.test"));
        for other in ["198.18.1.2", "198.18.0.2", "1.2.3.4", "255.255.255.255"] {
            assert_eq!(names.name_of(other.parse().unwrap()), None, "{other}");
        }
        for number in 2..MAX_NAMES {
            assert!(names.address_of(&format!("{number}.test")).is_some());
        }
        assert_eq!(names.address_of("one.more"), None);
        assert_eq!(names.address_of("b.test"), Some(second));
    }
}
