use std::fs;

use super::*;
use crate::policy::{Grants, WorkspaceWrite};

fn workspace() -> (tempfile::TempDir, PathBuf) {
    // Not below `/tmp`, which some tests make writable: links there are not followed then.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dunce::canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn no_temp() -> ConfinementPolicy {
    ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        slash_tmp: false,
        tmpdir: false,
        ..WorkspaceWrite::default()
    })
}

fn rules(policy: &ConfinementPolicy, policy_context: &PolicyContext) -> FileRules {
    FileRules::from_policy(policy, policy_context).unwrap()
}

#[test]
fn open_policies_have_no_rules() {
    let here = PolicyContext::in_folder("/");
    assert_eq!(
        FileRules::from_policy(&ConfinementPolicy::DangerFullAccess, &here),
        None
    );
    let network = NetworkMode::Restricted;
    assert_eq!(
        FileRules::from_policy(&ConfinementPolicy::External { network }, &here),
        None
    );
}

#[test]
fn the_working_folder_is_writable_but_not_its_metadata() {
    let (_guard, root) = workspace();
    let rules = rules(&no_temp(), &PolicyContext::in_folder(&root));
    assert!(rules.may_write(&root.join("src/a")));
    for name in PROTECTED_NAMES {
        assert!(!rules.may_write(&root.join(name)));
        assert!(!rules.may_write(&root.join(name).join("hooks/x")));
    }
    assert!(rules.may_write(&root.join("sub/.git/config")));
    assert!(!rules.may_write(root.parent().unwrap()));
    assert!(!rules.may_write(Path::new("/etc/passwd")));
}

#[test]
fn project_root_above_the_working_folder_is_protected() {
    let (_guard, root) = workspace();
    let cwd = root.join("project/a/b");
    fs::create_dir_all(&cwd).unwrap();
    fs::create_dir_all(root.join("project/.git")).unwrap();
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        writable_roots: vec![root.clone()],
        slash_tmp: false,
        ..WorkspaceWrite::default()
    });
    let rules = rules(&policy, &PolicyContext::in_folder(cwd));
    assert!(!rules.may_write(&root.join("project/.git/config")));
    assert!(rules.may_write(&root.join("project/x")));
    for absent in [".codex", "project/.codex", "project/a/.agents", ".git"] {
        let path = root.join(absent);
        let entry = rules.protected.iter().find(|entry| entry.path == path);
        assert_eq!(entry.unwrap().when_absent, WhenAbsent::KeepAbsent);
    }
}

fn with_engine(cwd: &Path, engine: EngineFiles) -> PolicyContext {
    PolicyContext {
        engine: std::sync::Arc::new(engine),
        ..PolicyContext::in_folder(cwd)
    }
}

#[test]
fn the_engines_home_is_protected_as_a_whole() {
    let (_guard, root) = workspace();
    let home = root.join("home");
    for folder in ["memories", "rules", "shared", "worktrees/1"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    fs::write(home.join("auth.json"), "secret").unwrap();
    let of = |cwd: &Path, more: &[&str]| {
        let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: more.iter().map(PathBuf::from).collect(),
            slash_tmp: false,
            ..WorkspaceWrite::default()
        });
        rules(&policy, &with_engine(cwd, EngineFiles::of_home(&home)))
    };
    let around = of(&root, &["home/memories", "home/rules", "home/shared"]);
    assert!(around.may_write(&root.join("x")));
    assert!(around.may_write(&home.join("shared/x")));
    for file in [
        "config.toml",
        "rules/default.rules",
        "memories/x",
        "auth.json",
        "new",
    ] {
        assert!(!around.may_write(&home.join(file)), "{file}");
    }
    assert!(around.hides(&home.join("auth.json")));
    assert!(!of(&home, &[]).may_write(&home.join("config.toml")));
    assert!(!of(&home.join("rules"), &[]).may_write(&home.join("rules/x")));
    let worktree = home.join("worktrees/1");
    assert!(of(&worktree, &[]).may_write(&worktree.join("x")));
    assert!(!of(&worktree, &[]).may_write(&home.join("config.toml")));
}

#[test]
fn trusted_projects_are_protected_wherever_they_are_writable() {
    let (_guard, root) = workspace();
    let project = root.join("a/project");
    fs::create_dir_all(&project).unwrap();
    let engine = EngineFiles {
        trusted_projects: [project.clone(), root.join("gone")].into_iter().collect(),
        ..EngineFiles::default()
    };
    let policy_context = with_engine(&root, engine);
    let before = rules(&no_temp(), &policy_context);
    assert!(!before.may_write(&project.join(".codex/config.toml")));
    assert!(before.may_write(&project.join("src/x")));
    let other = root.join("a/other");
    assert!(before.may_write(&other.join(".codex/config.toml")));
    // A session that starts later trusts another one.
    fs::create_dir(&other).unwrap();
    let later = policy_context.engine.for_another_session();
    later.trusted_projects.add(&[other.clone(), project]);
    let after = rules(&no_temp(), &policy_context);
    assert!(!after.may_write(&other.join(".codex/config.toml")));
}

#[test]
fn sockets_of_services_are_hidden_with_the_network_on() {
    let (_guard, root) = workspace();
    for folder in ["run/bus", "run/work"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let service_sockets = [root.join("run"), root.join("run/bus"), root.join("none")];
    let masked = |cwd: &Path, network| {
        let engine = EngineFiles {
            service_sockets: service_sockets.clone().into(),
            ..EngineFiles::default()
        };
        let policy = ConfinementPolicy::ReadOnly {
            read: ReadAccess::Full,
            network,
        };
        rules(&policy, &with_engine(cwd, engine)).masked
    };
    assert_eq!(
        masked(Path::new("/"), NetworkMode::Enabled),
        [root.join("run")]
    );
    let inside = masked(&root.join("run/work"), NetworkMode::Enabled);
    assert_eq!(inside, [root.join("run/bus")]);
    assert!(masked(Path::new("/"), NetworkMode::Restricted).is_empty());
}

#[test]
fn relinked_root_is_not_writable() {
    let (_guard, root) = workspace();
    for folder in ["work", "other"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        writable_roots: vec!["later".into()],
        slash_tmp: false,
        ..WorkspaceWrite::default()
    });
    let policy_context = PolicyContext::in_folder(root.join("work"));
    assert_eq!(
        rules(&policy, &policy_context).writable,
        [root.join("work")]
    );
    std::os::unix::fs::symlink("../other", root.join("work/later")).unwrap();
    let fresh = PolicyContext::in_folder(root.join("work"));
    for policy_context in [policy_context, fresh] {
        let rules = rules(&policy, &policy_context);
        assert_eq!(rules.writable, [root.join("work")]);
        assert_eq!(rules.untrusted, [root.join("work/later")]);
    }
}

#[test]
fn roots_are_joined_resolved_and_skipped_if_missing() {
    let (_guard, root) = workspace();
    fs::create_dir_all(root.join("work")).unwrap();
    fs::create_dir_all(root.join("target")).unwrap();
    std::os::unix::fs::symlink(root.join("target"), root.join("link")).unwrap();
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        writable_roots: vec!["../link".into(), "../none".into()],
        slash_tmp: false,
        ..WorkspaceWrite::default()
    });
    let rules = rules(&policy, &PolicyContext::in_folder(root.join("work")));
    assert_eq!(rules.writable, [root.join("work"), root.join("target")]);
}

#[test]
fn temporary_folders_follow_flags() {
    let (_guard, root) = workspace();
    let tmp = root.join("tmp");
    fs::create_dir(&tmp).unwrap();
    fs::set_permissions(&tmp, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
    let policy_context = PolicyContext {
        tmpdir: Some(tmp.clone()),
        ..PolicyContext::in_folder("/usr")
    };
    let with = rules(
        &ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default()),
        &policy_context,
    );
    assert!(with.may_write(Path::new("/tmp/x")) && with.may_write(&tmp.join("x")));
    let git = with
        .protected
        .iter()
        .find(|entry| entry.path == tmp.join(".git"));
    assert_eq!(git.unwrap().when_absent, WhenAbsent::Ignore);
    let without = rules(&no_temp(), &policy_context);
    assert!(!without.may_write(&tmp.join("x")));
}

#[test]
fn a_git_file_protects_where_it_leads() {
    let (_guard, root) = workspace();
    let tree = root.join("tree");
    let git_dir = root.join("main/.git/worktrees/tree");
    fs::create_dir_all(&tree).unwrap();
    fs::create_dir_all(&git_dir).unwrap();
    fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n").unwrap();
    fs::write(git_dir.join("commondir"), "../..\n").unwrap();
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        writable_roots: vec![root.clone()],
        slash_tmp: false,
        ..WorkspaceWrite::default()
    });
    let rules = rules(&policy, &PolicyContext::in_folder(&tree));
    assert!(!rules.may_write(&git_dir.join("HEAD")));
    assert!(!rules.may_write(&root.join("main/.git/hooks/pre-commit")));
    assert!(rules.may_write(&root.join("main/src")));
}

#[test]
fn a_link_protects_its_target_too() {
    let (_guard, root) = workspace();
    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join(".git")).unwrap();
    let rules = rules(&no_temp(), &PolicyContext::in_folder(&root));
    assert!(!rules.may_write(&root.join("real/config")));
    assert!(!rules.may_write(&root.join(".git")));
}

#[test]
fn grants_widen_by_exactly_their_paths() {
    let (_guard, root) = workspace();
    let extra = root.join("extra");
    fs::create_dir(&extra).unwrap();
    let policy_context = PolicyContext {
        grants: Grants {
            write: vec![extra.clone()],
            network: true,
            ..Grants::default()
        },
        ..PolicyContext::in_folder(&root)
    };
    let rules = rules(&ConfinementPolicy::read_only(), &policy_context);
    assert!(rules.may_write(&extra.join("a")));
    assert!(!rules.may_write(&root.join("a")));
    let network = effective_network(&ConfinementPolicy::read_only(), &policy_context, true);
    assert_eq!(network, NetworkMode::Enabled);
}

#[test]
fn restricted_read_policy_lists_readable_paths() {
    let (_guard, root) = workspace();
    let policy = ConfinementPolicy::ReadOnly {
        read: ReadAccess::Restricted {
            platform_defaults: true,
            roots: vec![],
            denied: Vec::new(),
        },
        network: NetworkMode::Restricted,
    };
    let ReadScope::Only(readable) = rules(&policy, &PolicyContext::in_folder(&root)).read else {
        panic!("reading is not restricted");
    };
    assert!(readable.contains(&root));
    assert!(readable.contains(&PathBuf::from("/usr")));
    assert!(!readable.contains(&PathBuf::from("/root")));
}

#[test]
fn a_policy_makes_exceptions_of_its_own() {
    let guard = tempfile::tempdir().unwrap();
    let root = dunce::canonicalize(guard.path()).unwrap();
    for folder in ["docs", "real", "secret"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        read: ReadAccess::Restricted {
            platform_defaults: true,
            roots: vec!["/".into()],
            denied: ["secret", "link/key", "later"].map(PathBuf::from).to_vec(),
        },
        read_only: vec!["docs".into(), "new/one".into(), root.join("link/x")],
        ..WorkspaceWrite::default()
    });
    let rules = FileRules::from_policy(&policy, &PolicyContext::in_folder(&root)).unwrap();
    for (path, writable) in [
        ("free", true),
        ("docs", false),
        ("docs/a", false),
        ("new/one", false),
        ("new/two", true),
        ("real/x", false),
        ("real/y", true),
        ("real/key", false),
        ("secret/a", false),
        ("later", false),
    ] {
        assert_eq!(rules.may_write(&root.join(path)), writable, "{path}");
    }
    assert!(rules.hides(&root.join("secret/a")));
    assert!(!rules.hides(&root.join("docs")));
}
