//! Attempts to write, or read, what the sandbox forbids.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use codex_exec::{StreamSetup, TerminalSize};
use codex_sandbox::{
    ConfinementPolicy, Enforcement, EngineFiles, Grants, LaunchPlanError, NetworkMode,
    PolicyContext, ReadAccess, WorkspaceWrite, plan, probe,
};
use common::confined::{TestProject, confine, levels, names, workspace};
use common::{finish, shell, text_of, texts};

#[tokio::test]
async fn at_least_one_level_is_tried_here() {
    let plan = plan(
        &ConfinementPolicy::read_only(),
        &PolicyContext::in_folder("/"),
        probe(),
    )
    .unwrap();
    println!("{:?}", plan.enforcement());
    assert_ne!(plan.enforcement(), Enforcement::Nothing);
    assert!(!levels().is_empty());
}

#[tokio::test]
async fn a_workspace_can_be_worked_in() {
    let project = TestProject::new();
    for script in [
        "echo a > new && test \"$(cat new)\" = a && rm new",
        "mkdir d && echo a > d/x && mv d/x src/y && ln src/y z && rm -r src/y z d",
        "echo a > /dev/null && head -c 4 /dev/urandom | wc -c && echo a > /dev/stderr",
        "chmod 600 file && touch file && chmod 644 file",
        "cat .git/config && ls /etc && test -d /proc/self",
        "sh -c 'echo a | cat' && (sleep 0 & wait)",
        "mkdir sub && mkdir sub/.git && rmdir sub/.git sub",
        "cat /proc/self/status > /dev/null && sh -c 'exit 0'",
    ] {
        project.allowed(&workspace(), script).await;
    }
    project.assert_untouched();
}

#[tokio::test]
async fn writing_outside_by_path_fails() {
    let project = TestProject::new();
    for script in [
        "echo x > $OUT/new",
        "echo x > ../outside/new",
        "echo x > src/../../outside/file",
        "echo x >> $OUT/file",
        ": > $OUT/file",
        "truncate -s 0 $OUT/file",
        "rm $OUT/file",
        "mkdir $OUT/folder",
        "ln -s x $OUT/link",
        "mkfifo $OUT/pipe",
        "echo x > /etc/new",
        "echo x > $HOME/new",
        "cd / && echo x > new",
        "chmod 777 $OUT/file",
        "touch -d 2001-01-01 $OUT/file",
        "chown 1:1 $OUT/file",
    ] {
        let script = format!("OUT={}; {script}", project.outside.display());
        project.refused(&workspace(), &script).await;
        project
            .refused(&ConfinementPolicy::read_only(), &script)
            .await;
        project.assert_untouched();
    }
}

#[tokio::test]
async fn reading_only_means_not_even_the_working_folder() {
    let project = TestProject::new();
    for script in [
        "echo x > new",
        "echo x > file",
        "rm file",
        "mv file file2",
        "chmod 777 file",
        "ln file file2",
        "echo x > /tmp/escape-of-read-only",
    ] {
        project
            .refused(&ConfinementPolicy::read_only(), script)
            .await;
    }
    project
        .allowed(&ConfinementPolicy::read_only(), "cat file > /dev/null")
        .await;
    assert_eq!(text_of(&project.root.join("file")), "original");
    project.assert_untouched();
}

#[tokio::test]
async fn writing_through_a_link_fails() {
    let project = TestProject::new();
    symlink(&project.outside, project.root.join("old")).unwrap();
    for script in [
        "echo x > old/new",
        "echo x > old/file",
        "ln -s ../outside fresh && echo x > fresh/new",
        "ln -s ../outside/file fresh2; echo x > fresh2",
        "cd old && echo x > new",
        "echo x > /proc/self/cwd/../outside/new",
        "echo x > /proc/self/root$PWD/old/new",
        "echo x > /proc/1/root$PWD/old/new",
    ] {
        project.refused(&workspace(), script).await;
        project.assert_untouched();
    }
}

#[tokio::test]
async fn hard_links_and_renames_do_not_escape_the_roots() {
    let project = TestProject::new();
    for script in [
        "ln ../outside/file inside && echo x > inside",
        "ln file ../outside/link",
        "mv file ../outside/moved",
        "mv ../outside/file taken",
        "mv ../outside taken2",
        "mv src ../outside/src",
        "ln .git/config config && echo x > config",
        "mv .git/config config",
    ] {
        project.refused(&workspace(), script).await;
        project.assert_untouched();
    }
    assert_eq!(text_of(&project.root.join("file")), "original");
}

#[tokio::test]
async fn the_repository_stays_as_it_is() {
    let project = TestProject::new();
    for script in [
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/config",
        "rm .git/config",
        "rm -rf .git; mkdir .git/hooks/x",
        "mv .git git && mkdir .git",
        "mv .git/hooks .git/hooks2",
        "chmod 777 .git/config",
        "ln -s .git g && echo x > g/config",
        "cd .git && echo x > new",
        "mv ../project ../project2",
        "cd .. && mv project project2",
    ] {
        project.refused(&workspace(), script).await;
        project.assert_untouched();
    }
}

#[tokio::test]
async fn missing_protected_paths_cannot_be_created() {
    let project = TestProject::new();
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    for name in [".git", ".codex", ".agents"] {
        for script in [
            "mkdir NAME && echo x > NAME/config",
            "rmdir NAME; mkdir NAME && echo x > NAME/config",
            "mkdir made && echo x > made/config && mv -T made NAME",
            "mv NAME away",
            "rm -rf NAME; ln -s src NAME",
            "echo x > NAME",
            "echo x > NAME/config",
        ] {
            let script = script.replace("NAME", name);
            project.refused(&workspace(), &script).await;
            assert!(!project.root.join(name).exists(), "{script}");
            fs::remove_dir_all(project.root.join("made")).ok();
        }
    }
    assert_eq!(names(&project.root), ["file", "src"]);
}

#[tokio::test]
async fn commands_side_by_side_keep_it_absent() {
    let project = TestProject::new();
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    let policy_context = PolicyContext::in_folder(&project.root);
    let script = "for i in 1 2 3 4 5 6 7 8; do mkdir .git/x 2>/dev/null && exit 0; done; exit 1";
    let tasks: Vec<_> = (0..20)
        .map(|_| confine(shell(script), &workspace(), &policy_context, probe()).unwrap())
        .map(|launch| tokio::spawn(async { texts(finish(launch).await) }))
        .collect();
    for task in tasks {
        let (code, out, error) = task.await.unwrap();
        assert_eq!(code, 1, "{out}{error}");
    }
    assert_eq!(names(&project.root), ["file", "src"]);
}

#[tokio::test]
async fn renaming_a_parent_does_not_free_the_path() {
    let project = TestProject::new();
    let deep = project.root.join("a/b");
    fs::create_dir_all(deep.join(".git")).unwrap();
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        writable_roots: vec![deep.clone()],
        slash_tmp: false,
        tmpdir: false,
        ..WorkspaceWrite::default()
    });
    for script in [
        "mv a c && mkdir -p a/b/.git && echo x > a/b/.git/config",
        "mv a/b a/c && mkdir -p a/b/.git && echo x > a/b/.git/config",
        "mv a/b/.git a/b/git",
        "rm -rf a; mkdir a/b/.git/x",
    ] {
        project.refused(&policy, script).await;
        assert_eq!(names(&deep.join(".git")), [""; 0], "{script}");
        project.assert_untouched();
    }
    project
        .allowed(
            &policy,
            "echo x > a/b/new && echo x > a/new && rm a/new a/b/new",
        )
        .await;
}

#[tokio::test]
async fn a_linked_repository_is_protected_where_it_is() {
    let project = TestProject::new();
    let git = project.root.join(".git");
    fs::rename(&git, project.root.join("real")).unwrap();
    symlink("real", &git).unwrap();
    for script in [
        "echo x > .git/config",
        "echo x > real/config",
        "rm .git && mkdir .git && echo x > .git/config",
        "mv .git git",
        "mv real real2",
        "ln -sfn src .git",
    ] {
        project.refused(&workspace(), script).await;
        assert_eq!(
            fs::read_link(&git).unwrap().to_str(),
            Some("real"),
            "{script}"
        );
        assert_eq!(text_of(&project.root.join("real/config")), "original");
    }
}

#[tokio::test]
async fn a_work_trees_repository_is_protected_where_it_is() {
    let project = TestProject::new();
    let tree = project.root.join("tree");
    let git_dir = project.root.join(".git/worktrees/tree");
    fs::create_dir_all(&tree).unwrap();
    fs::create_dir_all(&git_dir).unwrap();
    // The main repository's folder is not below a root by a protected name.
    fs::rename(project.root.join(".git"), project.root.join("main.git")).unwrap();
    let git_dir = project.root.join("main.git/worktrees/tree");
    fs::write(git_dir.join("commondir"), "../..\n").unwrap();
    fs::write(
        tree.join(".git"),
        format!("gitdir: {}\n", git_dir.display()),
    )
    .unwrap();
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        writable_roots: vec![project.root.clone()],
        slash_tmp: false,
        tmpdir: false,
        ..WorkspaceWrite::default()
    });
    for script in [
        "echo x > .git",
        "rm .git",
        "mv .git git",
        "echo x > ../main.git/worktrees/tree/HEAD",
        "echo x > ../main.git/hooks/pre-commit",
        "mv ../main.git ../other.git",
    ] {
        let policy_context = PolicyContext::in_folder(&tree);
        for (code, ..) in project.attempts_in(&policy, &policy_context, script).await {
            assert_ne!(code, 0, "{script}");
        }
        assert_eq!(names(&git_dir), ["commondir"], "{script}");
        assert_eq!(names(&project.root.join("main.git/hooks")), [""; 0]);
    }
}

#[tokio::test]
async fn the_machine_cannot_be_changed() {
    let project = TestProject::new();
    let disks = fs::read_dir("/sys/block").into_iter().flatten();
    let disks = disks.map(|disk| format!("/dev/{}", disk.unwrap().file_name().display()));
    for disk in disks.take(2) {
        // Nothing is written even if it can be opened.
        project
            .refused(&workspace(), &format!(": >> {disk} && test -b {disk}"))
            .await;
    }
    for script in [
        "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern",
        "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness",
        "echo 0 > /proc/self/oom_score_adj",
        "echo h > /proc/sysrq-trigger",
        "mknod device b 254 0",
        "mount -t tmpfs none src",
        "mount -o remount,rw /",
        "umount .git",
        "umount -l /proc",
        "unshare -U true",
        "unshare -r true",
        "unshare -m true",
        "chroot / true",
        "hostname other",
    ] {
        project.refused(&workspace(), script).await;
    }
    project.assert_untouched();
}

#[tokio::test]
async fn no_privilege_is_left() {
    let project = TestProject::new();
    let script = "grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status";
    for (_, out, _) in project.attempts(&workspace(), script).await {
        let value = |name: &str| {
            let line = out.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().to_owned()
        };
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(value(set), "0000000000000000", "{out}");
        }
        assert_eq!((&*value("NoNewPrivs"), &*value("Seccomp:")), ("1", "2"));
    }
}

#[tokio::test]
async fn a_terminal_changes_nothing() {
    let project = TestProject::new();
    let policy_context = PolicyContext::in_folder(&project.root);
    for level in levels() {
        let script = "echo x > .git/config; echo x > ../outside/new; echo here > /dev/stdout; \
                      echo there > /dev/tty; test -t 0";
        let Some(mut launch) = confine(shell(script), &workspace(), &policy_context, level) else {
            continue;
        };
        launch.streams = StreamSetup::Terminal(TerminalSize::default());
        let (code, out, _) = texts(finish(launch).await);
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("here\r\nthere\r\n"), "{level:?}: {out}");
        project.assert_untouched();
    }
}

#[tokio::test]
async fn limited_reading_hides_contents() {
    let project = TestProject::new();
    let policy = ConfinementPolicy::ReadOnly {
        read: ReadAccess::Restricted {
            platform_defaults: true,
            roots: vec![],
            denied: Vec::new(),
        },
        network: NetworkMode::Restricted,
    };
    project.refused(&policy, "cat ../outside/file").await;
    project.refused(&policy, "ls ../outside").await;
    project
        .refused(&policy, "ln -s ../outside/file l; cat l")
        .await;
    project
        .allowed(&policy, "cat file && ls /usr > /dev/null")
        .await;
}

#[tokio::test]
async fn hidden_paths_can_neither_be_read_nor_written() {
    let project = TestProject::new();
    let hidden = project.root.join("src");
    fs::write(hidden.join("secret"), "secret").unwrap();
    let policy_context = PolicyContext {
        hidden: vec![hidden, project.root.join("file")],
        ..PolicyContext::in_folder(&project.root)
    };
    for script in [
        "cat src/secret",
        "ls src",
        "echo x > src/new",
        "test -s file",
        "echo x > file",
        "mv src src2",
        "rm -f file",
    ] {
        for (code, ..) in project
            .attempts_in(&workspace(), &policy_context, script)
            .await
        {
            assert_ne!(code, 0, "{script}");
        }
    }
    assert_eq!(text_of(&project.root.join("src/secret")), "secret");
    assert_eq!(text_of(&project.root.join("file")), "original");
}

#[tokio::test]
async fn a_grant_opens_its_path_and_nothing_else() {
    let project = TestProject::new();
    let policy_context = PolicyContext {
        grants: Grants {
            write: vec![project.root.join("src")],
            ..Grants::default()
        },
        ..PolicyContext::in_folder(&project.root)
    };
    let script = "echo x > src/new && rm src/new && ! echo x > new && ! mkdir src/.git/x";
    let policy = ConfinementPolicy::read_only();
    for (code, out, error) in project.attempts_in(&policy, &policy_context, script).await {
        assert_eq!(code, 0, "{out}{error}");
    }
    project.assert_untouched();
    assert_eq!(names(&project.root.join("src")), [""; 0]);
}

/// Everything above the working folder may be written, the home folder of the engine and a project that
/// it trusts among it.
struct Engine {
    project: TestProject,
    policy_context: PolicyContext,
    policy: ConfinementPolicy,
}

impl Engine {
    fn new() -> Self {
        let project = TestProject::new();
        for folder in [
            "home/memories",
            "home/rules",
            "home/shared",
            "trusted/src",
            "project/src/deep",
        ] {
            fs::create_dir_all(project.base.join(folder)).unwrap();
        }
        fs::write(project.base.join("home/config.toml"), "original").unwrap();
        fs::write(project.base.join("home/auth.json"), "secret").unwrap();
        let engine = EngineFiles {
            trusted_projects: [project.base.join("trusted")].into_iter().collect(),
            ..EngineFiles::of_home(project.base.join("home"))
        };
        let policy_context = PolicyContext {
            engine: Arc::new(engine),
            ..PolicyContext::in_folder(project.root.join("src/deep"))
        };
        let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: ["", "home/memories", "home/shared"]
                .map(|root| project.base.join(root))
                .into(),
            slash_tmp: false,
            tmpdir: false,
            ..WorkspaceWrite::default()
        });
        Self {
            project,
            policy_context,
            policy,
        }
    }

    async fn outcomes(&self, script: &str) -> Vec<(i32, String, String)> {
        let script = format!("cd {}; {script}", self.project.base.display());
        self.project
            .attempts_in(&self.policy, &self.policy_context, &script)
            .await
    }
}

#[tokio::test]
async fn engine_files_cannot_be_changed() {
    let engine = Engine::new();
    let base = &engine.project.base;
    for script in [
        "mkdir project/src/.codex",
        "mkdir -p project/.codex && echo x > project/.codex/config.toml",
        "mkdir made && echo x > made/config.toml && mv -T made .codex",
        "ln -s project/src .codex",
        "mkdir .git",
        "echo x > .git",
        "mkdir project/src/.agents",
        "mkdir trusted/.codex",
        "mv trusted elsewhere && mkdir -p trusted/.codex",
        "ln -s ../project/src trusted/.codex",
        "echo x > home/config.toml",
        "echo x > home/new",
        "rm home/config.toml",
        "mv home elsewhere && mkdir home",
        "echo x > home/rules/default.rules",
        "echo x > home/memories/memory_summary.md",
        "cat home/auth.json",
        "rm -f home/auth.json && test ! -e home/auth.json",
    ] {
        for (code, out, error) in engine.outcomes(script).await {
            assert_ne!(code, 0, "{script}: {out}{error}");
        }
        fs::remove_dir_all(base.join("made")).ok();
        assert_eq!(
            text_of(&base.join("home/config.toml")),
            "original",
            "{script}"
        );
        assert_eq!(text_of(&base.join("home/auth.json")), "secret", "{script}");
        assert_eq!(names(&base.join("home/rules")), [""; 0], "{script}");
        assert_eq!(names(&base.join("trusted")), ["src"], "{script}");
        assert_eq!(
            names(base),
            ["home", "outside", "project", "trusted"],
            "{script}"
        );
    }
    let script = "echo x > home/shared/x && rm home/shared/x && echo x > trusted/src/x && \
                  rm trusted/src/x && echo x > x && rm x && mkdir -p project/other/.codex && \
                  rm -r project/other && cat home/config.toml";
    for (code, out, error) in engine.outcomes(script).await {
        assert_eq!(code, 0, "{out}{error}");
    }
}

#[tokio::test]
async fn working_folder_replaced_by_a_link_grants_no_access() {
    let project = TestProject::new();
    let inner = project.root.join("src");
    let policy_context = PolicyContext::in_folder(&inner);
    let plan_now = || plan(&workspace(), &policy_context, probe());
    plan_now().unwrap();
    // What a command of another thread can do, whose working folder is around this one.
    let script = "mv src moved && ln -s ../outside src";
    let around = PolicyContext::in_folder(&project.root);
    let launch = confine(shell(script), &workspace(), &around, probe()).unwrap();
    assert_eq!(texts(finish(launch).await).0, 0);
    assert_eq!(plan_now(), Err(LaunchPlanError::WorkingFolder));
    let fresh = plan(&workspace(), &PolicyContext::in_folder(&inner), probe());
    assert_eq!(
        fresh,
        Err(LaunchPlanError::WorkingFolder),
        "a thread that is opened later"
    );
    fs::remove_file(&inner).unwrap();
    fs::rename(project.root.join("moved"), &inner).unwrap();
    assert!(plan_now().is_ok());
}

#[tokio::test]
async fn root_replaced_by_a_command_link_is_not_writable() {
    let project = TestProject::new();
    let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
        writable_roots: vec!["later".into()],
        slash_tmp: false,
        ..WorkspaceWrite::default()
    });
    let policy_context = PolicyContext {
        tmpdir: Some(project.root.join("tmp")),
        ..PolicyContext::in_folder(&project.root)
    };
    let first = "rm -f later tmp; ln -s ../outside later && ln -s ../outside tmp";
    for (code, out, error) in project.attempts_in(&policy, &policy_context, first).await {
        assert_eq!(code, 0, "{out}{error}");
    }
    for policy_context in [
        policy_context.clone(),
        PolicyContext {
            engine: Arc::default(),
            ..policy_context
        },
    ] {
        for script in [
            "echo x > later/new",
            "echo x > tmp/new",
            "echo x > ../outside/new",
        ] {
            for (code, ..) in project.attempts_in(&policy, &policy_context, script).await {
                assert_ne!(code, 0, "{script}");
            }
        }
    }
    project.assert_untouched();
}

#[tokio::test]
async fn files_created_at_a_placeholder_are_kept() {
    let project = TestProject::new();
    let git = project.root.join(".git");
    fs::remove_dir_all(&git).unwrap();
    let policy_context = PolicyContext::in_folder(&project.root);
    let mut wanted = shell("echo ready; read line; mkdir .git/x");
    wanted.streams = StreamSetup::InputAndOutput;
    let launch = confine(wanted, &workspace(), &policy_context, probe()).unwrap();
    let launcher = common::launcher();
    let mut spawned = launcher.spawn(launch).await.unwrap();
    spawned.output.next().await.unwrap();
    assert!(git.is_dir() && !codex_project_markers::has_marker(&project.root, ".git"));
    fs::create_dir(git.join("objects")).unwrap();
    assert!(codex_project_markers::has_marker(&project.root, ".git"));
    drop(spawned.input.take());
    assert_ne!(spawned.process.wait().await.code(), 0);
    launcher.close().await;
    assert_eq!(names(&git), ["objects"]);
}

#[tokio::test]
async fn placeholders_go_with_the_last_command() {
    let project = TestProject::new();
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    let policy_context = PolicyContext::in_folder(&project.root);
    let launcher = common::launcher();
    let mut running = Vec::new();
    for _ in 0..2 {
        let mut wanted = shell("echo ready; read line");
        wanted.streams = StreamSetup::InputAndOutput;
        let launch = confine(wanted, &workspace(), &policy_context, probe()).unwrap();
        let mut spawned = launcher.spawn(launch).await.unwrap();
        spawned.output.next().await.unwrap();
        running.push(spawned);
    }
    assert_eq!(
        names(&project.root),
        [".agents", ".codex", ".git", "file", "src"]
    );
    running.pop().unwrap().process.kill().await;
    let mut last = running.pop().unwrap();
    let script = "rmdir .git; mkdir .git/x; mv .git away";
    let launch = confine(shell(script), &workspace(), &policy_context, probe()).unwrap();
    assert_ne!(texts(finish(launch).await).0, 0);
    assert!(project.root.join(".git").is_dir());
    last.process.kill().await;
    // The launcher lives on; its helper removes them by itself.
    let deadline = std::time::Instant::now() + common::TEST_TIMEOUT;
    while names(&project.root) != ["file", "src"] {
        assert!(
            std::time::Instant::now() < deadline,
            "{:?}",
            names(&project.root)
        );
        tokio::task::yield_now().await;
    }
    launcher.close().await;
}

#[tokio::test]
async fn command_with_a_replaced_root_does_not_run() {
    let project = TestProject::new();
    let policy_context = PolicyContext::in_folder(&project.root);
    let launch = confine(shell("echo ran"), &workspace(), &policy_context, probe()).unwrap();
    // Between plan and launch somebody puts a link in the place of the root.
    fs::rename(&project.root, project.base.join("moved")).unwrap();
    symlink(&project.outside, &project.root).unwrap();
    let error = common::try_finish(launch).await.unwrap_err();
    assert!(error.to_string().starts_with("sandbox: "), "{error}");
    assert_eq!(names(&project.outside), ["file"]);
}
