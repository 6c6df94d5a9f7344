//! Access lists as the system stores them.

use super::sid::Sid;

const REVISION: u8 = 2;
const HEADER: usize = 8;
const ENTRY_HEADER: usize = 8;

const ACCESS_ALLOWED: u8 = 0;
const ACCESS_DENIED: u8 = 1;

const FOR_FILES_BELOW: u8 = 1;
const FOR_FOLDERS_BELOW: u8 = 2;
const ONLY_BELOW: u8 = 8;
const INHERITED_FLAG: u8 = 16;

const DELETE: u32 = 0x1_0000;
/// To read, write, execute and delete. Not to delete what is in a folder: each entry of it decides for itself.
const MODIFY: u32 = 0x13_01BF;
/// To write, delete, change the access list or the owner.
const CHANGE: u32 = 0xD_0156;
const ALL_RIGHTS: u32 = 0x1F_01FF;

/// An entry of an access list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessEntry {
    kind: u8,
    flags: u8,
    mask: u32,
    sid: Sid,
}

impl AccessEntry {
    /// Lets `sid` write in a root. The root itself can be neither deleted nor moved.
    pub(crate) fn of_root(sid: &Sid, is_folder: bool) -> Vec<Self> {
        let own = Self::new(ACCESS_ALLOWED, 0, MODIFY & !DELETE, sid);
        let below = FOR_FILES_BELOW | FOR_FOLDERS_BELOW | ONLY_BELOW;
        let below = is_folder.then(|| Self::new(ACCESS_ALLOWED, below, MODIFY, sid));
        std::iter::once(own).chain(below).collect()
    }

    /// Forbids to change a path and what is below.
    pub(crate) fn protecting(sid: &Sid, is_folder: bool) -> Self {
        let flags = if is_folder {
            FOR_FILES_BELOW | FOR_FOLDERS_BELOW
        } else {
            0
        };
        Self::new(ACCESS_DENIED, flags, CHANGE, sid)
    }

    /// Forbids to delete or move a folder. What is below is not affected.
    pub(crate) fn preventing_moves(sid: &Sid) -> Self {
        Self::new(ACCESS_DENIED, 0, DELETE, sid)
    }

    /// Allows everything.
    pub(crate) fn full(sid: &Sid) -> Self {
        Self::new(ACCESS_ALLOWED, 0, ALL_RIGHTS, sid)
    }

    /// Allows everything in generic terms, for objects of any kind.
    pub(crate) fn generic_full(sid: &Sid) -> Self {
        const GENERIC_ALL: u32 = 0x1000_0000;
        Self::new(ACCESS_ALLOWED, 0, GENERIC_ALL, sid)
    }

    /// Whether this denies all that `other` denies, to the same identifier.
    pub(super) fn denies_all_of(&self, other: &Self) -> bool {
        let both = [self, other]
            .iter()
            .all(|entry| entry.kind == ACCESS_DENIED);
        let (flags, mask) = (self.flags & other.flags, self.mask & other.mask);
        both && self.sid == other.sid && flags == other.flags && mask == other.mask
    }

    fn new(kind: u8, flags: u8, mask: u32, sid: &Sid) -> Self {
        Self {
            kind,
            flags,
            mask,
            sid: sid.clone(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let sid = self.sid.as_bytes();
        // At most 15 numbers are in an identifier.
        let size = u16::try_from(ENTRY_HEADER + sid.len()).unwrap_or(u16::MAX);
        let mut bytes = vec![self.kind, self.flags];
        bytes.extend(size.to_le_bytes());
        bytes.extend(self.mask.to_le_bytes());
        bytes.extend(sid);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (header, sid) = bytes.split_first_chunk::<ENTRY_HEADER>()?;
        let [kind, flags, _, _, mask @ ..] = *header;
        matches!(kind, ACCESS_ALLOWED | ACCESS_DENIED).then_some(())?;
        Some(Self {
            kind,
            flags,
            mask: u32::from_le_bytes(mask),
            sid: Sid::read(sid)?,
        })
    }
}

/// The entries of an access list, as bytes: some are of kinds that are not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessList(Vec<Vec<u8>>);

impl AccessList {
    /// With only these entries.
    pub(crate) fn from_entries(entries: &[AccessEntry]) -> Self {
        Self(entries.iter().map(AccessEntry::encode).collect())
    }

    /// What no access list means.
    pub(crate) fn open() -> Self {
        let flags = FOR_FILES_BELOW | FOR_FOLDERS_BELOW;
        let entry = AccessEntry::full(&Sid::everyone());
        Self::from_entries(&[AccessEntry { flags, ..entry }])
    }

    /// None if the bytes are not an access list.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let count = bytes
            .get(4..6)?
            .first_chunk()
            .map(|it| u16::from_le_bytes(*it))?;
        let mut rest = bytes.get(HEADER..)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let size = rest
                .get(2..4)?
                .first_chunk()
                .map(|it| u16::from_le_bytes(*it))?;
            let (entry, tail) = rest.split_at_checked(usize::from(size))?;
            (entry.len() >= 4).then_some(())?;
            entries.push(entry.to_vec());
            rest = tail;
        }
        Some(Self(entries))
    }

    /// None if the list is longer than the system allows.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let size = HEADER + self.0.iter().map(Vec::len).sum::<usize>();
        let size = u16::try_from(size).ok()?;
        let count = u16::try_from(self.0.len()).ok()?;
        let mut bytes = vec![self.revision(), 0];
        bytes.extend(size.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(self.0.iter().flatten());
        Some(bytes)
    }

    /// Entries about a type of object, which other programs may have added, need a later revision.
    fn revision(&self) -> u8 {
        const ABOUT_OBJECT_TYPES: u8 = 4;
        let later = self
            .0
            .iter()
            .any(|entry| matches!(entry[0], 5..=8 | 11 | 12));
        if later { ABOUT_OBJECT_TYPES } else { REVISION }
    }

    /// Whether the own entries for the identifiers in `entries` are exactly these.
    pub(crate) fn has(&self, entries: &[AccessEntry]) -> bool {
        let own =
            |entry: &AccessEntry| entry.flags & INHERITED_FLAG == 0 && mentions(entries, entry);
        let decoded = self.0.iter().filter_map(|bytes| AccessEntry::decode(bytes));
        let present: Vec<_> = decoded.filter(own).collect();
        present.len() == entries.len() && entries.iter().all(|entry| present.contains(entry))
    }

    /// Whether an entry is for this identifier.
    #[cfg(test)]
    pub(crate) fn mentions(&self, sid: &Sid) -> bool {
        let mut entries = self.0.iter().filter_map(|bytes| AccessEntry::decode(bytes));
        entries.any(|entry| entry.sid == *sid)
    }

    /// Replaces the own entries for the identifiers in `entries` by these, in the order in which the system reads: what is
    /// denied, what is allowed, what is inherited.
    pub(crate) fn set(&mut self, entries: &[AccessEntry]) {
        self.0.retain(|bytes| {
            bytes[1] & INHERITED_FLAG != 0
                || AccessEntry::decode(bytes).is_none_or(|entry| !mentions(entries, &entry))
        });
        for entry in entries {
            let is_later =
                |bytes: &Vec<u8>| bytes[1] & INHERITED_FLAG != 0 || bytes[0] != ACCESS_DENIED;
            let place = if entry.kind == ACCESS_DENIED {
                0
            } else {
                self.0.iter().position(is_later).unwrap_or(self.0.len())
            };
            self.0.insert(place, entry.encode());
        }
    }
}

fn mentions(entries: &[AccessEntry], entry: &AccessEntry) -> bool {
    entries.iter().any(|own| own.sid == entry.sid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(list: &AccessList) -> Vec<AccessEntry> {
        let entries = list.0.iter().map(|bytes| AccessEntry::decode(bytes));
        entries.map(Option::unwrap).collect()
    }

    #[test]
    fn entries_are_placed_in_the_order_of_the_system() {
        let (own, other) = (Sid::of_command(1), Sid::of_command(2));
        let inherited = AccessEntry {
            flags: INHERITED_FLAG,
            ..AccessEntry::full(&other)
        };
        let denied = AccessEntry::preventing_moves(&other);
        let allowed = AccessEntry::full(&other);
        let mut list =
            AccessList::from_entries(&[denied.clone(), allowed.clone(), inherited.clone()]);
        let protecting = AccessEntry::protecting(&own, true);
        let root = AccessEntry::full(&own);
        let entries = [root.clone(), protecting.clone()];
        assert!(!list.has(&entries));
        list.set(&entries);
        assert!(list.has(&entries));
        let expected = [
            protecting,
            denied.clone(),
            root,
            allowed.clone(),
            inherited.clone(),
        ];
        assert_eq!(decoded(&list), expected);
        list.set(&[AccessEntry::preventing_moves(&own)]);
        assert!(list.mentions(&own) && !list.mentions(&Sid::everyone()));
        assert!(!list.has(&entries));
        let expected = [
            AccessEntry::preventing_moves(&own),
            denied,
            allowed,
            inherited,
        ];
        assert_eq!(decoded(&list), expected);
    }

    #[test]
    fn lists_are_encoded_as_they_were() {
        let mut list = AccessList::from_entries(&AccessEntry::of_root(&Sid::everyone(), true));
        // An entry about a type of object.
        list.0.push(vec![5, 0, 8, 0, 1, 2, 3, 4]);
        let bytes = list.encode().unwrap();
        assert_eq!(bytes[..8], [4, 0, 56, 0, 3, 0, 0, 0]);
        assert_eq!(AccessList::decode(&bytes), Some(list));
        for cut in 0..bytes.len() {
            assert_eq!(AccessList::decode(&bytes[..cut]), None, "{cut}");
        }
        let endless = [2, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(AccessList::decode(&endless), None);
    }

    #[test]
    fn too_many_entries_are_not_encoded() {
        let entries: Vec<_> = (0..3000)
            .map(|n| AccessEntry::full(&Sid::of_command(n)))
            .collect();
        assert_eq!(AccessList::from_entries(&entries).encode(), None);
    }

    #[test]
    fn roots_cannot_be_moved_and_their_content_can() {
        let entries = AccessEntry::of_root(&Sid::everyone(), true);
        let masks: Vec<_> = entries
            .iter()
            .map(|it| (it.flags, it.mask & DELETE != 0))
            .collect();
        assert_eq!(masks, [(0, false), (11, true)]);
        assert_eq!(AccessEntry::of_root(&Sid::everyone(), false).len(), 1);
        assert_eq!(
            AccessEntry::generic_full(&Sid::everyone()).mask,
            0x1000_0000
        );
        assert!(AccessList::open().has(&[AccessEntry {
            flags: 3,
            ..AccessEntry::full(&Sid::everyone())
        }]));
    }
}
