//! Paths of agents: the names that models give them, and references to them.

use codex_protocol::AgentPath;

/// The path of the thread that a tree grows from.
pub(super) const ROOT: &str = "/root";

/// Why a text names no agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("agent_name must not be empty")]
    Empty,
    #[error("agent_name `{0}` is reserved")]
    Reserved(String),
    #[error("agent_name must not contain `/`")]
    Slash,
    #[error("agent_name must use only lowercase letters, digits, and underscores")]
    Characters,
    #[error("agent path `{0}` must start with `/root`")]
    NotBelowRoot(String),
}

/// The path of the root.
pub(super) fn root_path() -> AgentPath {
    AgentPath(ROOT.to_owned())
}

/// The path of an agent that `parent` starts under this name.
pub fn child_path(parent: &AgentPath, name: &str) -> Result<AgentPath, PathError> {
    if name.contains('/') {
        return Err(PathError::Slash);
    }
    check_name(name)?;
    Ok(AgentPath(format!("{}/{name}", parent.0)))
}

/// The path of the agent that started this one; none for the root.
pub fn parent_path(path: &AgentPath) -> Option<AgentPath> {
    let (parent, _) = path.0.rsplit_once('/')?;
    (!parent.is_empty()).then(|| AgentPath(parent.to_owned()))
}

/// The path that `caller` means by an absolute or relative reference.
pub fn resolve_path(caller: &AgentPath, reference: &str) -> Result<AgentPath, PathError> {
    let relative = match reference.strip_prefix(ROOT) {
        Some("") => return Ok(root_path()),
        Some(below) if below.starts_with('/') => &below[1..],
        _ if reference.starts_with('/') => {
            return Err(PathError::NotBelowRoot(reference.to_owned()));
        }
        _ => {
            reference.split('/').try_for_each(check_name)?;
            return Ok(AgentPath(format!("{}/{reference}", caller.0)));
        }
    };
    relative.split('/').try_for_each(check_name)?;
    Ok(AgentPath(reference.to_owned()))
}

/// Whether a path is `top` or below it.
pub(super) fn is_within(path: &AgentPath, top: &AgentPath) -> bool {
    let rest = path.0.strip_prefix(&top.0);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check_name(name: &str) -> Result<(), PathError> {
    match name {
        "" => Err(PathError::Empty),
        "root" | "." | ".." => Err(PathError::Reserved(name.to_owned())),
        _ if name.bytes().all(is_allowed) => Ok(()),
        _ => Err(PathError::Characters),
    }
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AgentPath {
        AgentPath(text.to_owned())
    }

    #[test]
    fn names_become_paths_below_their_parent() {
        let kid = child_path(&root_path(), "kid_2").unwrap();
        assert_eq!(kid, path("/root/kid_2"));
        assert_eq!(child_path(&kid, "a"), Ok(path("/root/kid_2/a")));
        assert_eq!(parent_path(&kid), Some(root_path()));
        assert_eq!(parent_path(&root_path()), None);
        for (name, error) in [
            ("", PathError::Empty),
            ("root", PathError::Reserved("root".to_owned())),
            ("..", PathError::Reserved("..".to_owned())),
            ("a/b", PathError::Slash),
            ("Kid", PathError::Characters),
            ("a-b", PathError::Characters),
        ] {
            assert_eq!(child_path(&root_path(), name), Err(error), "{name}");
        }
    }

    #[test]
    fn references_are_absolute_or_relative_to_the_caller() {
        let caller = path("/root/a");
        for (reference, expected) in [
            ("/root", "/root"),
            ("/root/b", "/root/b"),
            ("b", "/root/a/b"),
            ("b/c", "/root/a/b/c"),
        ] {
            assert_eq!(resolve_path(&caller, reference), Ok(path(expected)));
        }
        for (reference, error) in [
            ("", "agent_name must not be empty"),
            ("/root/", "agent_name must not be empty"),
            ("/other", "agent path `/other` must start with `/root`"),
            (
                "/rootless",
                "agent path `/rootless` must start with `/root`",
            ),
            ("../b", "agent_name `..` is reserved"),
        ] {
            let found = resolve_path(&caller, reference).unwrap_err();
            assert_eq!(found.to_string(), error);
        }
        assert!(is_within(&path("/root/a/b"), &caller) && is_within(&caller, &caller));
        assert!(!is_within(&path("/root/ab"), &caller));
    }
}
