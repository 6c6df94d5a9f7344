//! Systems that do not report the process of a connection.

use super::{Peer, PeerVerdict};

/// Whether the user of a TCP connection of this machine is known.
pub(crate) const KNOWS_USERS: bool = false;

pub(super) fn verdicts(peers: &[Peer]) -> Vec<PeerVerdict> {
    vec![PeerVerdict::Free; peers.len()]
}
