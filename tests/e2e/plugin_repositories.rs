//! Marketplaces behind Git: copied, brought up to date, removed, and repositories that never answer.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use codex_test_support::{copy_executable, write_executable};
use serde_json::{Value, json};

use crate::git::git;
use crate::plugin_commands::answer;
use crate::plugin_folders::MarketplaceFolder;
use crate::serving::Serving;

/// A repository with a marketplace that has one plugin.
struct Published {
    folder: MarketplaceFolder,
}

impl Published {
    fn new(serving: &Serving) -> Self {
        let root = serving.home.path().join("published");
        let published = Self {
            folder: MarketplaceFolder::new(&root, "team"),
        };
        git(&root, &["init", "-q", "-b", "main"]);
        published
    }

    fn commit(&mut self, plugin: &str) -> String {
        self.folder
            .add(plugin, &json!({ "name": plugin }), &json!({}));
        let root = &self.folder.root;
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", plugin]);
        git(root, &["rev-parse", "HEAD"])
    }

    fn address(&self) -> String {
        format!("file://{}", self.folder.root.display())
    }
}

fn copy_of(serving: &Serving) -> PathBuf {
    serving.home.path().join(".tmp/marketplaces/team")
}

fn plugins_in(list: &Value) -> Vec<&str> {
    let marketplaces = list["marketplaces"].as_array().unwrap().iter();
    let plugins = marketplaces.flat_map(|marketplace| marketplace["plugins"].as_array().unwrap());
    plugins
        .map(|plugin| plugin["id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn repository_is_cloned_updated_and_removed() {
    let mut serving = Serving::start().await;
    let mut published = Published::new(&serving);
    published.commit("one");
    let copy = copy_of(&serving);
    let source = json!({ "source": published.address() });
    let added = serving.result("marketplace/add", source.clone()).await;
    let expected =
        json!({ "alreadyAdded": false, "installedRoot": copy, "marketplaceName": "team" });
    assert_eq!(added, expected);
    let again = serving.result("marketplace/add", source).await;
    assert_eq!(again["alreadyAdded"], true);
    let other = json!({ "source": published.address(), "refName": "main" });
    serving
        .refused(
            "marketplace/add",
            other,
            -32600,
            "already added from a different source",
        )
        .await;
    let config = fs::read_to_string(serving.home.path().join("config.toml")).unwrap();
    let config: toml::Table = config.parse().unwrap();
    let entry = config["marketplaces"]["team"].as_table().unwrap();
    assert_eq!(entry["source_type"].as_str(), Some("git"));
    assert_eq!(entry["source"].as_str(), Some(published.address().as_str()));

    let list = serving.result("plugin/list", json!({})).await;
    assert_eq!(plugins_in(&list), ["one@team"]);
    let file = copy.join(".agents/plugins/marketplace.json");
    let install = json!({ "marketplacePath": file, "pluginName": "one" });
    serving.result("plugin/install", install).await;
    let installed = serving.result("plugin/installed", json!({})).await;
    assert_eq!(plugins_in(&installed), ["one@team"]);

    let unchanged = serving.result("marketplace/upgrade", json!({})).await;
    let expected = json!({ "selectedMarketplaces": ["team"], "upgradedRoots": [], "errors": [] });
    assert_eq!(unchanged, expected);
    published.commit("two");
    let named = json!({ "marketplaceName": "team" });
    let upgraded = serving.result("marketplace/upgrade", named).await;
    assert_eq!(upgraded["upgradedRoots"], json!([copy]));
    let list = serving.result("plugin/list", json!({})).await;
    assert_eq!(plugins_in(&list), ["one@team", "two@team"]);

    // A repository that is gone leaves the copy.
    fs::rename(&published.folder.root, serving.home.path().join("gone")).unwrap();
    let failed = serving.result("marketplace/upgrade", json!({})).await;
    let error = &failed["errors"][0];
    assert_eq!(error["marketplaceName"], "team");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("git ls-remote failed: "),
        "{error}"
    );
    assert!(file.exists());

    let removed = json!({ "marketplaceName": "team" });
    let removed = serving.result("marketplace/remove", removed).await;
    assert_eq!(removed["installedRoot"], json!(copy));
    assert!(!copy.exists());
    assert_eq!(
        serving.result("plugin/list", json!({})).await["marketplaces"],
        json!([])
    );
    let unknown = json!({ "marketplaceName": "team" });
    serving
        .refused(
            "marketplace/upgrade",
            unknown,
            -32600,
            "is not configured as a Git marketplace",
        )
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn pinned_commit_is_not_updated() {
    let mut serving = Serving::start().await;
    let mut published = Published::new(&serving);
    let first = published.commit("one");
    published.commit("two");
    let source = json!({ "source": format!("{}#{first}", published.address()) });
    serving.result("marketplace/add", source).await;
    let list = serving.result("plugin/list", json!({})).await;
    assert_eq!(plugins_in(&list), ["one@team"]);
    published.commit("three");
    let unchanged = serving.result("marketplace/upgrade", json!({})).await;
    assert_eq!(unchanged["upgradedRoots"], json!([]));
    serving.finish().await;
}

#[tokio::test]
async fn failed_clone_leaves_no_files() {
    let mut serving = Serving::start().await;
    let empty = serving.home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "-q"]);
    fs::write(empty.join("file"), "x").unwrap();
    git(&empty, &["add", "-A"]);
    git(&empty, &["commit", "-qm", "x"]);
    let empty = format!("file://{}", empty.display());
    for (params, code, problem) in [
        (
            json!({ "source": empty }),
            -32600,
            "does not contain a supported manifest",
        ),
        (
            json!({ "source": empty, "refName": "none" }),
            -32603,
            "git fetch failed",
        ),
        (
            json!({ "source": empty, "refName": "--upload-pack=x" }),
            -32600,
            "not the name of a branch",
        ),
        (
            json!({ "source": empty, "sparsePaths": ["a\u{0}"] }),
            -32600,
            "sparse paths",
        ),
        (
            json!({ "source": "file:///not/there" }),
            -32603,
            "git fetch failed",
        ),
        (
            json!({ "source": "ext::sh -c x" }),
            -32600,
            "invalid marketplace source format",
        ),
        (json!({ "source": "" }), -32600, "must not be empty"),
    ] {
        serving
            .refused("marketplace/add", params, code, problem)
            .await;
    }
    assert!(
        !serving.home.path().join("config.toml").exists() || {
            let config = fs::read_to_string(serving.home.path().join("config.toml")).unwrap();
            !config.contains("marketplaces")
        }
    );
    let staging = serving.home.path().join(".tmp/marketplaces/.staging");
    assert_eq!(fs::read_dir(staging).unwrap().count(), 0);
    serving.finish().await;
}

#[tokio::test]
async fn unresponsive_repository_delays_no_request() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut serving = Serving::start().await;
    let address = format!("http://{}/x.git", silent.local_addr().unwrap());
    let source = json!({ "source": address });
    serving
        .server
        .begin("marketplace/add", source)
        .await
        .unwrap();
    // Git has begun to ask.
    let _asking = silent.accept().unwrap();
    assert_eq!(
        serving.result("plugin/list", json!({})).await["marketplaces"],
        json!([])
    );
    serving.server.start_thread().await;
    serving.server.abandon().await.unwrap();
}

/// A copy of a plugin from its marketplace.
async fn install_one(serving: &mut Serving) {
    let marketplace = copy_of(serving).join(".agents/plugins/marketplace.json");
    let install = json!({ "marketplacePath": marketplace, "pluginName": "one" });
    serving.result("plugin/install", install).await;
}

/// What others may do something with.
#[cfg(unix)]
fn open_to_others(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    crate::private_files::open_to_others(folder, &mut found);
    found
}

#[cfg(unix)]
#[tokio::test]
async fn copies_are_private_also_those_of_older_releases() {
    use std::os::unix::fs::PermissionsExt as _;

    let mut serving = Serving::start().await;
    let mut published = Published::new(&serving);
    published.folder.write("one", "run.sh", "#!/bin/sh\n");
    let script = published.folder.root.join("plugins/one/run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    published.commit("one");
    let source = json!({ "source": published.address() });
    serving.result("marketplace/add", source).await;
    install_one(&mut serving).await;
    let [plugins, temporary] = ["plugins", ".tmp"].map(|name| serving.home.path().join(name));
    let copied = plugins.join("cache/team/one/local/run.sh");
    for copies in [&plugins, &temporary] {
        assert_eq!(open_to_others(copies), [""; 0]);
    }
    assert_eq!(
        copied.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
    // As an older release has left them.
    for copies in [&plugins, &temporary] {
        let changed = std::process::Command::new("chmod")
            .args(["-R", "a+rX"])
            .arg(copies)
            .status();
        assert!(changed.unwrap().success());
        assert_ne!(open_to_others(copies), [""; 0]);
    }
    serving.restart().await;
    let listed = serving.result("plugin/list", json!({})).await;
    assert_eq!(plugins_in(&listed), ["one@team"]);
    for copies in [&plugins, &temporary] {
        assert_eq!(open_to_others(copies), [""; 0]);
    }
    assert_eq!(
        copied.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
    serving.finish().await;
}

#[cfg(unix)]
#[tokio::test]
async fn programs_of_the_user_do_not_run_on_copies() {
    let mut serving = Serving::start().await;
    let mut published = Published::new(&serving);
    published.commit("one");
    let root = published.folder.root.clone();
    fs::write(root.join(".gitattributes"), "* filter=mine diff=mine\n").unwrap();
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", "attributes"]);
    let home = serving.home.path().join("person");
    fs::create_dir_all(&home).unwrap();
    let program = home.join("program");
    let ran = home.join("ran");
    write_executable(
        &program,
        format!("#!/bin/sh\necho x >> {}\ncat\n", ran.display()),
    )
    .unwrap();
    fs::create_dir(home.join("git-hooks")).unwrap();
    copy_executable(&program, &home.join("git-hooks/post-checkout")).unwrap();
    let program = program.display();
    let settings = format!(
        "[filter \"mine\"]\nsmudge = {program}\nclean = {program}\nrequired = true\n[core]\nfsmonitor = {program}\n\
         hooksPath = {}\n[uploadpack]\npackObjectsHook = {program}\n[diff \"mine\"]\ntextconv = {program}\n",
        home.join("git-hooks").display()
    );
    fs::write(home.join(".gitconfig"), settings).unwrap();
    let source = json!({ "source": published.address() });
    serving.result("marketplace/add", source).await;
    install_one(&mut serving).await;
    published.folder.write("one", "new.txt", "new");
    published.commit("two");
    serving.result("marketplace/upgrade", json!({})).await;
    assert!(copy_of(&serving).join("plugins/two").exists());
    assert!(!ran.exists());
    serving.finish().await;
}

/// Lists plugins until these are there.
async fn until_listed(serving: &mut Serving, ids: &[&str]) {
    let began = std::time::Instant::now();
    while plugins_in(&serving.result("plugin/list", json!({})).await) != ids {
        assert!(began.elapsed().as_secs() < 30, "{ids:?} are never listed");
    }
}

#[tokio::test]
async fn marketplace_updates_itself_if_configured() {
    let mut serving = Serving::start().await;
    let mut published = Published::new(&serving);
    published.commit("one");
    let config = |auto: bool| {
        let address = published.address();
        format!(
            "[marketplaces.team]\nsource_type = \"git\"\nsource = \"{address}\"\nauto_upgrade = {auto}\n"
        )
    };
    let (file, off, on) = (
        serving.home.path().join("config.toml"),
        config(false),
        config(true),
    );
    fs::write(&file, off).unwrap();
    serving.restart().await;
    assert!(plugins_in(&serving.result("plugin/list", json!({})).await).is_empty());
    fs::write(&file, on).unwrap();
    serving.restart().await;
    until_listed(&mut serving, &["one@team"]).await;
    let marketplace = copy_of(&serving).join(".agents/plugins/marketplace.json");
    let install = json!({ "marketplacePath": marketplace, "pluginName": "one" });
    serving.result("plugin/install", install).await;

    published.folder.write("one", "new.txt", "new");
    published.commit("two");
    serving.restart().await;
    until_listed(&mut serving, &["one@team", "two@team"]).await;
    let installed = serving.home.path().join("plugins/cache/team");
    let began = std::time::Instant::now();
    while !installed.join("one/local/new.txt").exists() {
        assert!(
            began.elapsed().as_secs() < 30,
            "the plugin is never installed again"
        );
        tokio::task::yield_now().await;
    }
    assert!(
        !installed.join("two").exists(),
        "nothing is installed by itself"
    );
    serving.finish().await;
}

/// A marketplace with plugins that are in a repository, and a folder with that repository.
fn team_with_repository(serving: &Serving) -> (MarketplaceFolder, String) {
    let home = serving.home.path();
    let tools = MarketplaceFolder::new(&home.join("tools"), "tools");
    tools.write(
        "part",
        ".codex-plugin/plugin.json",
        r#"{"name": "part", "version": "2"}"#,
    );
    tools.skill("part", "hi", "Say hi.");
    let root = tools.root.clone();
    fs::create_dir(root.join(".codex-plugin")).unwrap();
    fs::write(
        root.join(".codex-plugin/plugin.json"),
        r#"{"name": "whole"}"#,
    )
    .unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", "first"]);
    let first = git(&root, &["rev-parse", "HEAD"]);
    tools.skill("part", "later", "Later.");
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-qm", "second"]);
    let url = format!("file://{}", root.display());
    let mut team = MarketplaceFolder::new(&home.join("team"), "team");
    team.add("near", &json!({ "name": "near" }), &json!({}));
    team.add_source("whole", &json!({ "source": "url", "url": url }));
    let part = json!({
        "source": "git-subdir", "url": url, "path": "./plugins/part", "ref": "main", "sha": first,
    });
    team.add_source("part", &part);
    let lost = json!({ "source": "git-subdir", "url": url, "path": "not/there" });
    team.add_source("lost", &lost);
    team.add_source(
        "gone",
        &json!({ "source": "url", "url": "file:///not/there" }),
    );
    team.add_source(
        "other",
        &json!({ "source": "git-subdir", "url": url, "path": "plugins/part" }),
    );
    for bad in [
        json!({ "source": "git-subdir", "url": url, "path": "../up" }),
        json!({ "source": "git-subdir", "url": url }),
        json!({ "source": "url", "url": "ext::sh -c x" }),
        json!({ "source": "url", "url": url, "ref": "--upload-pack=x" }),
        json!({ "source": "npm", "package": "x" }),
    ] {
        team.add_source("bad", &bad);
    }
    (team, first)
}

#[tokio::test]
async fn plugins_may_be_in_repositories_of_their_own() {
    let mut serving = Serving::start().await;
    let (team, first) = team_with_repository(&serving);
    let all = json!({ "cwds": [team.root] });
    let older = serving.result("plugin/list", all).await;
    assert_eq!(
        plugins_in(&older),
        ["near@team"],
        "0.117 does not know the others"
    );
    let newer = json!({ "cwds": [team.root], "marketplaceKinds": ["local"] });
    let list = serving.result("plugin/list", newer).await;
    let ids = ["near", "whole", "part", "lost", "gone", "other"].map(|name| format!("{name}@team"));
    assert_eq!(plugins_in(&list), ids);
    let told = list["marketplaceLoadErrors"][0]["message"]
        .as_str()
        .unwrap();
    for problem in ["its source has no `path`", "`npm` are not supported"] {
        assert!(told.contains(problem), "{told}");
    }
    let source = |list: &Value, at: usize| list["marketplaces"][0]["plugins"][at]["source"].clone();
    let url = format!(
        "file://{}",
        serving
            .home
            .path()
            .canonicalize()
            .unwrap()
            .join("tools")
            .display()
    );
    let whole = json!({ "type": "git", "url": url, "path": null, "refName": null, "sha": null });
    assert_eq!(source(&list, 1), whole);
    let part = json!({
        "type": "git", "url": url, "path": "plugins/part", "refName": "main", "sha": first,
    });
    assert_eq!(source(&list, 2), part);

    let unread = serving.result("plugin/read", team.params("part")).await;
    let unread = &unread["plugin"];
    assert!(
        unread["description"].as_str().unwrap().contains(&url),
        "{unread}"
    );
    assert_eq!(
        (&unread["skills"], &unread["summary"]["source"]),
        (&json!([]), &part)
    );
    for (plugin, code, problem) in [
        ("lost", -32600, "has no folder `not/there`"),
        ("gone", -32603, "failed to copy plugin: git fetch failed"),
        (
            "other",
            -32600,
            "`part` does not match marketplace plugin name `other`",
        ),
        (
            "bad",
            -32600,
            "plugin `bad` of marketplace `team` cannot be used: its path must stay within",
        ),
    ] {
        serving
            .refused("plugin/install", team.params(plugin), code, problem)
            .await;
    }
    for plugin in ["whole", "part"] {
        serving.result("plugin/install", team.params(plugin)).await;
    }
    let cache = serving.home.path().join("plugins/cache/team");
    assert!(cache.join("part/local/skills/hi/SKILL.md").is_file());
    assert!(
        !cache.join("part/local/skills/later").exists(),
        "the commit counts"
    );
    assert!(cache.join("whole/local/plugins/part").is_dir());
    assert!(!cache.join("whole/local/.git").exists());
    let read = serving.result("plugin/read", team.params("part")).await;
    assert_eq!(read["plugin"]["skills"][0]["name"], "part:hi");
    let summary = &read["plugin"]["summary"];
    assert_eq!(
        (&summary["localVersion"], &summary["installed"]),
        (&json!("2"), &json!(true))
    );
    let staging = serving.home.path().join(".tmp/marketplaces/.staging");
    assert_eq!(fs::read_dir(staging).unwrap().count(), 0);
    serving.finish().await;
}

#[test]
fn repositories_are_added_from_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let mut team = MarketplaceFolder::new(&home.join("published"), "team");
    team.add("one", &json!({ "name": "one" }), &json!({}));
    git(&team.root, &["init", "-q", "-b", "main"]);
    git(&team.root, &["add", "-A"]);
    git(&team.root, &["commit", "-qm", "x"]);
    let address = format!("file://{}", team.root.display());
    let added = answer(home, &["marketplace", "add", &address, "--ref", "main"]);
    assert!(
        added.starts_with("Added the marketplace 'team' at "),
        "{added}"
    );
    assert!(answer(home, &["list"]).contains("one@team"));
    let same = answer(home, &["marketplace", "upgrade"]);
    assert_eq!(same, "All copies of marketplaces are up to date.\n");
    team.add("two", &json!({ "name": "two" }), &json!({}));
    git(&team.root, &["add", "-A"]);
    git(&team.root, &["commit", "-qm", "y"]);
    let upgraded = answer(home, &["marketplace", "upgrade", "team"]);
    assert!(upgraded.starts_with("Upgraded "), "{upgraded}");
    answer(home, &["marketplace", "remove", "team"]);
}
