//! Edits of every kind: afterwards the folder is as it was, or the checkpoint lists what is not.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::work::{Picture, Work, picture};

/// Commands with their names, so that a failure says which.
const EDITS: [(&str, &str); 51] = [
    (
        "replace in place",
        "sed -i.bak s/one/two/ src/a.rs && perl -pi -e s/fn/pub/ src/b.rs",
    ),
    (
        "heredoc",
        "cat > src/new.rs <<'X'\na\n\nb\nX\ncat <<'X' | tee -a src/a.rs > /dev/null\nmore\nX",
    ),
    (
        "without a last newline",
        "printf %s end >> src/a.rs && head -c -1 src/b.rs > t && cat t > src/b.rs",
    ),
    (
        "same size and old times",
        "touch -r src/a.rs ref && tr o O < src/a.rs > t && cat t > src/a.rs && touch -r ref src/a.rs && rm ref t",
    ),
    ("move over another", "mv src/a.rs src/b.rs"),
    (
        "swap",
        "mv src/a.rs t && mv src/b.rs src/a.rs && mv t src/b.rs",
    ),
    ("move a folder into another", "mv lib src/"),
    ("rename by case", "mv src SRC && mv README.md readme.md"),
    (
        "formatter",
        "python3 - <<'X'\nimport pathlib\nfor p in pathlib.Path('.').rglob('*.rs'):\n    t = p.with_suffix('.tmp'); t.write_text(p.read_text().replace('{}', '{\\n}')); t.replace(p)\nX",
    ),
    (
        "format by patch",
        "printf -- '--- a/src/a.rs\\n+++ b/src/a.rs\\n@@ -1,2 +1,2 @@\\n-fn one() {}\\n+fn two() {}\\n fn same() {}\\n' | patch -p1 -s",
    ),
    (
        "tar over itself",
        "tar czf t.tgz src && rm -r src && tar xzf t.tgz && rm t.tgz",
    ),
    (
        "tar with other modes",
        "chmod -R go-rwx src && tar cf t.tar src && chmod -R u+w src && rm -r src && tar xpf t.tar",
    ),
    (
        "zip",
        "python3 -m zipfile -c t.zip src lib && rm -r src lib && python3 -m zipfile -e t.zip .",
    ),
    (
        "modes of files",
        "chmod 600 src/a.rs && chmod 4755 src/b.rs && chmod -x run.sh && chmod 444 README.md",
    ),
    (
        "modes of folders",
        "chmod 711 src && chmod 1777 lib && chmod 2755 empty",
    ),
    ("mode of the folder itself", "chmod 751 ."),
    (
        "read only folder",
        "chmod u+w locked && echo x > locked/file && echo new > locked/new && chmod 555 locked",
    ),
    (
        "read only folder is removed",
        "chmod u+w locked && rm -r locked",
    ),
    (
        "new read only folder",
        "mkdir -p ro/in && echo x > ro/in/x && chmod 555 ro/in ro",
    ),
    (
        "links",
        "ln -s a.rs src/l2 && ln -sfn ../lib src/link && ln -s . self && ln -s nowhere gone",
    ),
    (
        "hard link",
        "ln src/a.rs hard && ln src/b.rs src/b2.rs && echo more >> src/b2.rs",
    ),
    ("hard links of before", "echo changed > pair1"),
    ("one of two hard links", "rm pair1 && echo other > pair1"),
    (
        "truncate",
        "truncate -s 0 src/a.rs && truncate -s 100 src/b.rs && : > README.md && truncate -s +5M sparse",
    ),
    (
        "remove and make again",
        "rm -r src && mkdir src && printf 'fn one() {}\\nfn same() {}\\n' > src/a.rs",
    ),
    ("remove everything", "rm -rf ./* .gitignore .hidden"),
    (
        "find and delete",
        "find . -type f -not -path './.git/*' -delete",
    ),
    ("stash", "git stash -q -u"),
    ("stash and pop", "git stash -q -u && git stash pop -q"),
    (
        "checkout of a branch",
        "git stash -q -u && git checkout -q side",
    ),
    (
        "checkout of files",
        "git checkout -q -- lib && git checkout -q side -- src",
    ),
    (
        "restore and switch",
        "git restore --staged --worktree . && git switch -q -c new && git rm -rq src",
    ),
    ("reset", "git reset -q --hard side"),
    ("clean", "git clean -fdxq"),
    (
        "merge and rebase",
        "git stash -q -u && git merge -q side -m merge && git reset -q --hard HEAD~1",
    ),
    (
        "gone from the object store",
        "git checkout -q --orphan o && git rm -rfq . && git commit -q --allow-empty -m o && git branch -q -D main side && rm -rf .git/logs && git gc -q --prune=now",
    ),
    (
        "odd names",
        "touch -- -n ' lead' 'trail ' 'a\tb' 'q\"uote' \"it's\" '*' '?' 'back\\slash' $'new\\nline' $'\\xff\\xfe' 'ünï' '#x' '~' '%41' && rm -- odd* && mkdir $'d\\xffir' && echo x > $'d\\xffir/f'",
    ),
    (
        "long name",
        "touch $(printf 'x%.0s' $(seq 255)) && mkdir -p $(printf 'd/%.0s' $(seq 60)) && echo x > $(printf 'd/%.0s' $(seq 60))x",
    ),
    (
        "empty folders",
        "mkdir -p e1 e2/e3 src/e4 && rmdir empty nested/empty nested",
    ),
    (
        "file becomes folder",
        "rm src/a.rs && mkdir -p src/a.rs/deep && echo x > src/a.rs/deep/x && rm README.md && mkdir README.md",
    ),
    (
        "folder becomes file",
        "rm -r src lib && echo x > src && : > lib",
    ),
    ("folder becomes link", "rm -r src && ln -s lib src"),
    (
        "moved folder becomes link",
        "mv src elsewhere && ln -s elsewhere src",
    ),
    (
        "link becomes folder",
        "rm dirlink && mkdir dirlink && echo x > dirlink/x && rm src/link && cp -r lib src/link",
    ),
    (
        "file becomes link",
        "mv src/a.rs kept && ln -s ../kept src/a.rs",
    ),
    ("large file is moved", "mv large src/larger"),
    ("large file is made", "head -c 12000000 /dev/zero > made"),
    ("large file is removed", "rm large && echo x > src/a.rs"),
    ("pipe", "mkfifo p && echo x > src/a.rs"),
    (
        "the folder itself",
        "d=$PWD && cd .. && mv work gone && mkdir work && cp -r gone/lib work/ && rm -rf gone && cd $d",
    ),
    (
        "new repositories",
        "git init -q sub && echo x > sub/x && git -C sub add -A && git -C sub commit -q -m 1 && rm -rf vendored/.git",
    ),
];

fn write(work: &Work) {
    work.write("src/a.rs", "fn one() {}\nfn same() {}\n");
    work.write("src/b.rs", "fn b() {}\n");
    work.write("src/deep/er/c.rs", "fn c() {}\n");
    work.write("lib/d.rs", "fn d() {}\n");
    work.write("README.md", "one\n");
    work.write(".hidden", "hidden\n");
    work.write("run.sh", "#!/bin/sh\n");
    work.write("locked/file", "locked\n");
    work.write(".gitignore", "*.log\nlarge\n");
    work.person("ln -s a.rs src/link && ln -s lib dirlink && chmod 755 run.sh");
}

/// What is in no commit.
fn write_rest(work: &Work) {
    work.write("lib/d.rs", "fn modified() {}\n");
    work.write("untracked", "untracked\n");
    work.write("x.log", "ignored\n");
    work.write("pair1", "pair\n");
    work.write("large", vec![b'l'; 11 * 1024 * 1024]);
    work.write("vendored/file", "v\n");
    work.person(
        "mkdir -p empty nested/empty && ln pair1 pair2 && chmod 555 locked && git init -q vendored",
    );
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff\nname");
    fs::write(work.folder.join(odd), "odd").unwrap();
}

fn folder(in_repository: bool) -> Work {
    let work = Work::new();
    write(&work);
    if in_repository {
        work.commit();
        work.person(
            "git checkout -q -b side && echo side > lib/side.rs && sed -i s/one/side/ src/a.rs \
             && git add -A && git commit -q -m side && git checkout -q main",
        );
    }
    write_rest(&work);
    work
}

/// The paths at which two pictures differ.
fn differences(one: &Picture, other: &Picture) -> Vec<PathBuf> {
    let differs = |path: &&PathBuf| one.get(*path) != other.get(*path);
    let mut found: Vec<PathBuf> = one
        .keys()
        .chain(other.keys())
        .filter(differs)
        .cloned()
        .collect();
    found.sort();
    found.dedup();
    found
}

fn mode_of(work: &Work) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(&work.folder).unwrap().permissions().mode()
}

/// Answers what is wrong after going back.
async fn problems(work: &Work, edit: &str) -> Vec<String> {
    let before = (picture(&work.folder), mode_of(work));
    work.run("t", edit).await;
    let after = picture(&work.folder);
    let Some(checkpoint) = work.end("t").await else {
        let is_same = before.0 == after && before.1 == mode_of(work);
        return if is_same {
            Vec::new()
        } else {
            vec!["nothing recorded".to_owned()]
        };
    };
    let report = work.restore(&checkpoint.id);
    let mut found: Vec<String> = report
        .conflicts
        .iter()
        .map(|it| format!("conflict: {it:?}"))
        .collect();
    let is_listed = |path: &PathBuf| {
        let mut listed = report.not_kept.iter().map(|it| &it.path);
        listed.any(|listed| path.starts_with(listed) || (path.is_dir() && listed.starts_with(path)))
    };
    let unlisted = differences(&before.0, &picture(&work.folder))
        .into_iter()
        .filter(|path| !is_listed(path));
    found.extend(unlisted.map(|path| format!("differs and is not listed: {}", path.display())));
    if mode_of(work) != before.1 {
        found.push("the mode of the folder differs".to_owned());
    }
    if let Some(undo) = report.undo_checkpoint {
        let undone = work.restore(&undo);
        found.extend(
            undone
                .conflicts
                .iter()
                .map(|it| format!("conflict of undo: {it:?}")),
        );
        let is_listed = |path: &PathBuf| {
            let mut listed = undone.not_kept.iter().chain(&report.not_kept);
            listed.any(|it| path.starts_with(&it.path) || it.path.starts_with(path))
        };
        let unlisted = differences(&after, &picture(&work.folder))
            .into_iter()
            .filter(|path| !is_listed(path));
        found.extend(unlisted.map(|path| format!("after undo: {}", path.display())));
    }
    found
}

async fn check_all(in_repository: bool) {
    let mut failed = Vec::new();
    for (name, edit) in EDITS
        .iter()
        .filter(|(_, edit)| in_repository || !edit.contains("git "))
    {
        let work = folder(in_repository);
        for problem in problems(&work, edit).await {
            failed.push(format!("{name}: {problem}"));
        }
        work.person("chmod -R u+rwx .");
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edit_in_a_repository_is_restored_or_listed() {
    check_all(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edit_without_a_repository_is_restored_or_listed() {
    check_all(false).await;
}
