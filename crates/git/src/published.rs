//! Copies repositories that others publish: their files at a branch, tag or commit, without their history.
//!
//! Only common protocols are used. Git runs no hook and no filter, writes no links, follows no submodules, and prompts for
//! nothing. What touches files reads no settings but those of the new repository: filters, hooks and monitors of the user are
//! made for other repositories. What reaches the remote has the user's settings for that and no others, and SSH keys. The
//! remote may be slow or never answer: each step has a time limit, and a transfer that has stopped ends earlier.

use std::path::Path;
use std::time::Duration;

use crate::network_settings::NetworkSettings;
use crate::program::{GitError, GitProgram};

/// The time limit of a step over the network.
const NETWORK_TIME: Duration = Duration::from_secs(120);
/// Against programs that the repository or an extension configures, against work in the background, and against transfers
/// that have stopped.
const OPTIONS: [&str; 24] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.symlinks=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "filter.lfs.smudge=",
    "-c",
    "filter.lfs.process=",
    "-c",
    "filter.lfs.required=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "http.lowSpeedLimit=1",
    "-c",
    "http.lowSpeedTime=20",
];

/// A repository that others publish, and which state of it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedRepository {
    /// Its address.
    pub url: String,
    /// The branch, tag or commit; by default the remote's own choice.
    pub reference: Option<String>,
    /// The only folders that are copied; all if there are none.
    pub sparse_paths: Vec<String>,
}

impl PublishedRepository {
    /// The commit that is published now.
    ///
    /// # Errors
    /// The repository cannot be reached, or has no such branch or tag.
    pub async fn revision(&self) -> Result<String, GitError> {
        if let Some(commit) = self.commit() {
            return Ok(commit.to_owned());
        }
        let wanted = self.reference.as_deref().unwrap_or("HEAD");
        let tagged = format!("{wanted}^{{}}");
        let git = self.network(&std::env::temp_dir()).await?;
        let answer = git
            .run(&arguments(&["ls-remote", "--", &self.url, wanted, &tagged]))
            .await?;
        let commit = commit_in(&String::from_utf8_lossy(&answer), wanted);
        commit.ok_or(GitError::NoAnswer(
            "the repository has no such branch or tag",
        ))
    }

    /// The reference, if it is the whole id of a commit.
    fn commit(&self) -> Option<&str> {
        let reference = self.reference.as_deref()?;
        let is_id = reference.len() >= 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then_some(reference)
    }

    /// Copies the files to a folder that exists and is empty. Returns the commit that they are of.
    ///
    /// # Errors
    /// The repository cannot be reached, has no such state, or cannot be written.
    pub async fn copy_to(&self, folder: &Path) -> Result<String, GitError> {
        let git = GitProgram::without_settings(folder, NETWORK_TIME);
        git.run(&arguments(&["init", "--quiet", "--template="]))
            .await?;
        self.fetch(&self.network(folder).await?).await?;
        if !self.sparse_paths.is_empty() {
            let paths = self.sparse_paths.iter().map(String::as_str);
            let set = ["sparse-checkout", "set", "--"].into_iter().chain(paths);
            git.run(&arguments(&set.collect::<Vec<_>>())).await?;
        }
        let checkout = ["checkout", "--quiet", "--detach", "FETCH_HEAD"];
        git.run(&arguments(&checkout)).await?;
        git.line(&arguments(&["rev-parse", "HEAD"])).await
    }

    /// Git with the settings of the user that are about reaching the remote.
    async fn network(&self, folder: &Path) -> Result<GitProgram, GitError> {
        let is_here = self.url.starts_with("file:") || Path::new(&self.url).is_absolute();
        let settings = if is_here {
            NetworkSettings::default()
        } else {
            NetworkSettings::of_user(&std::env::temp_dir()).await?
        };
        Ok(GitProgram::for_network(folder, NETWORK_TIME, &settings))
    }

    async fn fetch(&self, git: &GitProgram) -> Result<(), GitError> {
        let wanted = self.reference.as_deref().unwrap_or("HEAD");
        let fetch = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"];
        let source = ["--", &self.url, wanted];
        let shallow = [&fetch[..], &["--depth=1"], &source].concat();
        match git.run(&arguments(&shallow)).await {
            // Servers of plain files have the whole history only.
            Err(GitError::Failed { message, .. }) if message.contains("shallow") => {
                let whole = [&fetch[..], &source].concat();
                git.run(&arguments(&whole)).await.map(drop)
            }
            fetched => fetched.map(drop),
        }
    }
}

/// The commit of a reference in a list of references. Names that only end like it are listed, too.
fn commit_in(listed: &str, wanted: &str) -> Option<String> {
    let commit = |name: String| {
        let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
        lines.find_map(|(commit, found)| (found == name).then(|| commit.to_owned()))
    };
    // The commit that a tag with a message is of comes before the tag, and tags before branches.
    let names = [
        wanted.to_owned(),
        format!("refs/tags/{wanted}^{{}}"),
        format!("refs/tags/{wanted}"),
        format!("refs/heads/{wanted}"),
    ];
    names.into_iter().find_map(commit)
}

fn arguments<'a>(question: &[&'a str]) -> Vec<&'a str> {
    OPTIONS
        .iter()
        .copied()
        .chain(question.iter().copied())
        .collect()
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    struct Remote {
        folder: tempfile::TempDir,
    }

    impl Remote {
        fn new() -> Self {
            let remote = Self {
                folder: tempfile::tempdir().unwrap(),
            };
            fs::create_dir(remote.path()).unwrap();
            remote.git(&["init", "-q", "-b", "main"]);
            remote.commit("a/one", "first");
            remote.git(&["tag", "-a", "v1", "-m", "x"]);
            remote.commit("b/two", "second");
            remote
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("remote")
        }

        fn git(&self, arguments: &[&str]) -> String {
            Self::git_in(&self.path(), arguments)
        }

        fn git_in(folder: &Path, arguments: &[&str]) -> String {
            let own = ["-c", "user.name=n", "-c", "user.email=e@x"];
            let ran = Command::new("git")
                .args(own)
                .args(arguments)
                .current_dir(folder)
                .output();
            let ran = ran.unwrap();
            assert!(ran.status.success(), "{ran:?}");
            String::from_utf8(ran.stdout).unwrap().trim().to_owned()
        }

        fn commit(&self, file: &str, text: &str) {
            let file = self.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
            self.git(&["add", "-A"]);
            self.git(&["commit", "-qm", text]);
        }

        fn repository(&self, reference: Option<&str>) -> PublishedRepository {
            PublishedRepository {
                url: format!("file://{}", self.path().display()),
                reference: reference.map(str::to_owned),
                sparse_paths: Vec::new(),
            }
        }

        async fn copied(
            &self,
            wanted: &PublishedRepository,
        ) -> Result<(String, PathBuf), GitError> {
            let to = tempfile::tempdir_in(self.folder.path()).unwrap().keep();
            Ok((wanted.copy_to(&to).await?, to))
        }
    }

    #[tokio::test]
    async fn branches_tags_and_commits_are_copied_shallowly() {
        let remote = Remote::new();
        let (head, first) = (
            remote.git(&["rev-parse", "HEAD"]),
            remote.git(&["rev-parse", "HEAD~"]),
        );
        for (reference, commit, has_second) in [
            (None, &head, true),
            (Some("main"), &head, true),
            (Some("v1"), &first, false),
            (Some(first.as_str()), &first, false),
        ] {
            let wanted = remote.repository(reference);
            assert_eq!(wanted.revision().await.unwrap(), *commit, "{reference:?}");
            let (copied, folder) = remote.copied(&wanted).await.unwrap();
            assert_eq!(copied, *commit, "{reference:?}");
            assert_eq!(fs::read_to_string(folder.join("a/one")).unwrap(), "first");
            assert_eq!(folder.join("b/two").exists(), has_second);
            let history = Remote::git_in(&folder, &["rev-list", "--count", "HEAD"]);
            assert_eq!(history, "1", "{reference:?}");
        }
        let mut wanted = remote.repository(None);
        wanted.sparse_paths = vec!["b".to_owned()];
        let (_, folder) = remote.copied(&wanted).await.unwrap();
        assert!(folder.join("b/two").exists() && !folder.join("a").exists());
    }

    #[test]
    fn repositories_with_equal_last_names_are_distinguished() {
        let listed =
            "1\trefs/heads/a/main\n2\trefs/heads/main\n3\trefs/tags/v\n4\trefs/tags/v^{}\n5\tHEAD";
        for (wanted, commit) in [("main", "2"), ("v", "4"), ("HEAD", "5"), ("a/main", "1")] {
            assert_eq!(commit_in(listed, wanted).as_deref(), Some(commit));
        }
        assert_eq!(commit_in(listed, "n"), None);
    }

    #[tokio::test]
    async fn missing_repository_is_an_error() {
        let remote = Remote::new();
        let missing = remote.repository(Some("none"));
        assert!(missing.revision().await.is_err());
        assert!(remote.copied(&missing).await.is_err());
        for url in [
            "file:///nowhere/at/all",
            "ext::sh -c 'touch /tmp/x'",
            "--upload-pack=x",
        ] {
            let wanted = PublishedRepository {
                url: url.to_owned(),
                ..remote.repository(None)
            };
            assert!(wanted.revision().await.is_err(), "{url}");
            assert!(remote.copied(&wanted).await.is_err(), "{url}");
        }
    }

    /// Whether a test of this name runs in this process.
    const CHILD: &str = "CODEX_TEST_GIT_COPY";

    /// The user's own programs are not for repositories of others. They come by settings of the user and the environment,
    /// so the copy is made by another process.
    #[test]
    fn no_program_of_the_user_runs_on_a_copy() {
        let remote = Remote::new();
        let home = remote.folder.path().join("home");
        fs::create_dir_all(home.join(".config/git")).unwrap();
        let ran = remote.folder.path().join("ran");
        let program = remote.folder.path().join("program");
        let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", ran.display());
        fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).unwrap();
        let hooks = remote.folder.path().join("hooks");
        fs::create_dir(&hooks).unwrap();
        for hook in [
            "post-checkout",
            "reference-transaction",
            "post-index-change",
        ] {
            fs::copy(&program, hooks.join(hook)).unwrap();
        }
        let program = program.display();
        let settings = format!(
            "[filter \"x\"]\nsmudge = {program}\nprocess = {program}\nclean = {program}\nrequired = true\n\
             [filter \"lfs\"]\nsmudge = {program}\nprocess = {program}\nrequired = true\n\
             [core]\nhooksPath = {}\nfsmonitor = {program}\nattributesFile = {}\n\
             alternateRefsCommand = {program}\npager = {program}\n\
             [hook \"x\"]\ncommand = {program}\nevent = post-checkout\n\
             [diff \"x\"]\ntextconv = {program}\n[uploadpack]\npackObjectsHook = {program}\n\
             [credential]\nhelper = !{program}\n[submodule]\nrecurse = true\n\
             [init]\ntemplateDir = {}\n",
            hooks.display(),
            remote.folder.path().join("attributes").display(),
            remote.folder.path().join("template").display(),
        );
        for name in [".gitconfig", ".config/git/config", "named"] {
            fs::write(home.join(name), &settings).unwrap();
        }
        fs::create_dir_all(remote.folder.path().join("template")).unwrap();
        fs::rename(&hooks, remote.folder.path().join("template/hooks")).unwrap();
        fs::create_dir(&hooks).unwrap();
        for name in ["home/.config/git/attributes", "attributes"] {
            let file = remote.folder.path().join(name);
            fs::write(file, "* filter=x diff=x\n").unwrap();
        }
        remote.commit(".gitattributes", "*.bin filter=x\n* filter=lfs\n");
        remote.commit("file.bin", "content");
        let _ = fs::remove_file(&ran);
        let copy = |more: &[(&str, String)]| {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child
                .args(["--exact", "published::tests::copy_of_another_process"])
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap())
                .env("HOME", &home)
                .env(CHILD, remote.path());
            let ended = child.envs(more.iter().cloned()).output().unwrap();
            assert!(ended.status.success(), "{ended:?}");
            assert_eq!(fs::read_to_string(&ran).unwrap_or_default(), "", "{more:?}");
        };
        let named = home.join("named").display().to_string();
        copy(&[]);
        copy(&[("GIT_CONFIG_GLOBAL", named.clone())]);
        copy(&[("GIT_CONFIG_SYSTEM", named)]);
        copy(&[
            ("GIT_CONFIG_COUNT", "1".to_owned()),
            ("GIT_CONFIG_KEY_0", "filter.x.smudge".to_owned()),
            ("GIT_CONFIG_VALUE_0", program.to_string()),
        ]);
        // An address that the user's settings lead here.
        let here = format!("file://{}", remote.path().display());
        copy(&[
            ("GIT_CONFIG_COUNT", "1".to_owned()),
            ("GIT_CONFIG_KEY_0", format!("url.{here}.insteadOf")),
            (
                "GIT_CONFIG_VALUE_0",
                "https://published.invalid/x".to_owned(),
            ),
            (
                "CODEX_TEST_GIT_URL",
                "https://published.invalid/x".to_owned(),
            ),
        ]);
    }

    /// Run by the test above.
    #[tokio::test]
    async fn copy_of_another_process() {
        let Some(remote) = std::env::var_os(CHILD) else {
            return;
        };
        let here = format!("file://{}", Path::new(&remote).display());
        let wanted = PublishedRepository {
            url: std::env::var("CODEX_TEST_GIT_URL").unwrap_or(here),
            reference: None,
            sparse_paths: vec!["a".to_owned()],
        };
        let folder = tempfile::tempdir().unwrap();
        wanted.revision().await.unwrap();
        wanted.copy_to(folder.path()).await.unwrap();
        let text = fs::read_to_string(folder.path().join("file.bin")).unwrap();
        assert_eq!(text, "content");
        assert!(!folder.path().join(".git/hooks").exists());
    }

    #[tokio::test]
    async fn links_become_files() {
        let remote = Remote::new();
        std::os::unix::fs::symlink("/etc/passwd", remote.path().join("link")).unwrap();
        remote.commit("c", "third");
        let (_, folder) = remote.copied(&remote.repository(None)).await.unwrap();
        assert!(!folder.join("link").symlink_metadata().unwrap().is_symlink());
        assert_eq!(
            fs::read_to_string(folder.join("link")).unwrap(),
            "/etc/passwd"
        );
    }
}
