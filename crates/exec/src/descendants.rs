//! Which processes belong to a command, from lists of all processes.
//!
//! For systems where orphans are adopted by the first process of the system instead of by the supervisor. A process
//! belongs to a command if it is in its session, if its parent belongs to the command, or if it did in an earlier list. So a
//! process that leaves the session is known as long as a list is read before its parent ends.

use std::collections::HashMap;

/// A process in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedProcess {
    pub(crate) id: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// Distinguishes processes that have the same number one after the other.
    pub(crate) started: (u64, u64),
}

/// The processes of one command.
#[derive(Debug)]
pub(crate) struct Descendants {
    session: i32,
    known: HashMap<i32, (u64, u64)>,
}

impl Descendants {
    /// The processes of the command that leads this session.
    pub(crate) fn of_session(session: i32) -> Self {
        Self {
            session,
            known: HashMap::new(),
        }
    }

    /// Takes a list of all processes. Returns the processes of the command that were not in the last list.
    pub(crate) fn update(&mut self, list: &[ListedProcess]) -> Vec<i32> {
        let mut members: HashMap<i32, (u64, u64)> = list
            .iter()
            .filter(|process| self.is_known(process) || process.session == self.session)
            .map(|process| (process.id, process.started))
            .collect();
        loop {
            let children: Vec<_> = list
                .iter()
                .filter(|process| members.contains_key(&process.parent))
                .filter(|process| !members.contains_key(&process.id))
                .collect();
            if children.is_empty() {
                break;
            }
            members.extend(children.iter().map(|child| (child.id, child.started)));
        }
        let before = std::mem::replace(&mut self.known, members);
        let is_new =
            |(id, started): (&i32, &(u64, u64))| (before.get(id) != Some(started)).then_some(*id);
        self.known.iter().filter_map(is_new).collect()
    }

    /// The processes of the last list.
    pub(crate) fn processes(&self) -> impl Iterator<Item = i32> {
        self.known.keys().copied()
    }

    fn is_known(&self, process: &ListedProcess) -> bool {
        self.known.get(&process.id) == Some(&process.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: i32, parent: i32, session: i32) -> ListedProcess {
        ListedProcess {
            id,
            parent,
            session,
            started: (id.cast_unsigned().into(), 0),
        }
    }

    fn sorted(ids: impl IntoIterator<Item = i32>) -> Vec<i32> {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn command_tree_has_its_session_and_children() {
        let mut tree = Descendants::of_session(10);
        let list = [
            process(1, 0, 1),
            process(10, 5, 10),
            process(11, 10, 10),
            // Listed before its parent, in a session of its own.
            process(13, 12, 13),
            process(12, 11, 12),
            process(20, 1, 20),
        ];
        assert_eq!(sorted(tree.update(&list)), [10, 11, 12, 13]);
        assert_eq!(tree.update(&list), [0; 0]);
    }

    #[test]
    fn observed_orphans_and_their_children_are_tracked() {
        let mut tree = Descendants::of_session(10);
        tree.update(&[process(10, 5, 10), process(12, 10, 12)]);
        let new = tree.update(&[process(12, 1, 12), process(15, 12, 15)]);
        assert_eq!(new, [15]);
        assert_eq!(sorted(tree.processes()), [12, 15]);
    }

    #[test]
    fn another_process_with_a_known_number_does_not_belong() {
        let mut tree = Descendants::of_session(10);
        tree.update(&[process(10, 5, 10), process(12, 10, 12)]);
        let other = ListedProcess {
            started: (99, 0),
            ..process(12, 1, 12)
        };
        assert_eq!(tree.update(&[other]), [0; 0]);
        assert_eq!(tree.processes().count(), 0);
    }
}
