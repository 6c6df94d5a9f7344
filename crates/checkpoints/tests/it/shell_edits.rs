//! What commands change goes back as it was, or is listed.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use codex_checkpoints::{CheckpointKind, Coverage, NotKeptReason};

use crate::work::{Work, full_picture, picture};

/// Commands as models write them.
const EDITS: [&str; 26] = [
    "sed -i s/one/two/ src/a.rs",
    "cat > src/new.rs <<'X'\nfn new() {}\nX",
    "cat >> src/a.rs <<'X'\nmore\nX",
    "mv src/a.rs src/moved.rs",
    "mv src other",
    "rm -r src",
    "rm untracked.txt ignored.log",
    "mkdir -p deep/er/folder && touch deep/er/folder/empty",
    "mkdir nothing-in-it",
    "chmod +x src/a.rs untracked.txt",
    "chmod 700 src",
    "ln -sf b.rs src/link && ln -s /nowhere dangling",
    "rm src/link && echo file > src/link",
    "rm src/a.rs && mkdir src/a.rs && echo x > src/a.rs/inside",
    "rm -r src && echo now a file > src",
    "git checkout -q -b other && git rm -q src/b.rs && git commit -q -m gone",
    "git checkout -q side",
    "git stash -q -u",
    "git reset -q --hard side && git clean -fdxq",
    "tar cf all.tar src && rm -r src && tar xf all.tar",
    "printf 'same length!\\n' > src/same; for i in 1 2 3; do printf \"same length$i\\n\" > src/same; done",
    "find . -name '*.rs' -not -path './.git/*' -exec sed -i s/fn/pub\\ fn/ {} +",
    "for i in $(seq 300); do echo $i > src/gen$i.rs; done",
    "cp src/crlf.txt x && tr -d '\\r' < x > src/crlf.txt",
    "truncate -s 0 src/b.rs",
    "python3 - <<'X'\nimport os\nos.replace('src/b.rs', 'src/a.rs')\nopen(b'na\\xffme', 'w').write('x')\nX",
];

fn files(work: &Work) {
    work.write("src/a.rs", "fn one() {}\nfn same() {}\n");
    work.write("src/b.rs", "fn b() {}\n");
    work.write("src/same", "same length?\n");
    work.write("src/crlf.txt", "a\r\nb\r\n");
    work.write("src/empty", "");
    work.write("lib/c.rs", "fn c() {}\n");
    std::os::unix::fs::symlink("a.rs", work.path("src/link")).unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff\nname");
    fs::write(work.folder.join(odd), "odd").unwrap();
    work.write(".gitignore", "*.log\nbuilt/\n");
}

/// A repository with clean, modified, staged, untracked and ignored files, and another branch.
fn repository(work: &Work) {
    files(work);
    work.commit();
    work.person(
        "git checkout -q -b side && echo side > lib/side.rs && sed -i s/one/side/ src/a.rs \
         && git add -A && git commit -q -m side && git checkout -q main",
    );
    untidy(work);
    work.write("lib/c.rs", "fn modified() {}\n");
    work.write("staged", "staged\n");
    work.person("git add staged");
}

fn untidy(work: &Work) {
    work.write("untracked.txt", "untracked\n");
    work.write("ignored.log", "ignored\n");
    work.write("built/out/x", "built\n");
}

async fn goes_back(work: &Work, edit: &str) {
    let before = picture(&work.folder);
    work.run("t", edit).await;
    let after = picture(&work.folder);
    let checkpoint = work.end("t").await;
    if before == after {
        assert!(checkpoint.is_none(), "{edit}");
        return;
    }
    let checkpoint = checkpoint.unwrap_or_else(|| panic!("nothing recorded: {edit}"));
    assert_eq!(
        checkpoint.coverage,
        Coverage::Complete,
        "{edit}: {checkpoint:?}"
    );
    let git = full_picture(&work.path(".git"));
    let report = work.restore(&checkpoint.id);
    assert_eq!(report.conflicts, [], "{edit}");
    assert_eq!(report.not_kept, [], "{edit}");
    assert!(picture(&work.folder) == before, "{edit}");
    assert!(full_picture(&work.path(".git")) == git, "{edit}");
    // And the restore goes back, too.
    let undone = work.restore(&report.undo_checkpoint.unwrap());
    assert_eq!(undone.conflicts, [], "{edit}");
    assert!(picture(&work.folder) == after, "{edit}");
    let kinds = work.checkpoints().into_iter().map(|it| it.kind);
    let expected = [
        CheckpointKind::Turn,
        CheckpointKind::Restore,
        CheckpointKind::Restore,
    ];
    assert!(kinds.eq(expected), "{edit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_in_a_repository_go_back() {
    for edit in EDITS {
        let work = Work::new();
        repository(&work);
        goes_back(&work, edit).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_without_a_repository_go_back() {
    for edit in EDITS.iter().filter(|edit| !edit.contains("git ")) {
        let work = Work::new();
        files(&work);
        untidy(&work);
        fs::create_dir(work.path(".git")).unwrap();
        goes_back(&work, edit).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_turns_go_back_to_each_of_them() {
    let work = Work::new();
    repository(&work);
    let mut pictures = Vec::new();
    let mut ids = Vec::new();
    for (turn, edit) in [
        "sed -i s/one/two/ src/a.rs; echo 1 >> lib/c.rs",
        "rm lib/c.rs; echo new > lib/d.rs",
        "echo again > lib/c.rs; mv lib/d.rs lib/e.rs; git add -A; git commit -q -m all",
        "git checkout -q side",
    ]
    .into_iter()
    .enumerate()
    {
        let turn = format!("t{turn}");
        pictures.push(picture(&work.folder));
        work.run(&turn, "echo part > part").await;
        work.run(&turn, edit).await;
        ids.push(work.end(&turn).await.unwrap().id);
    }
    for (id, picture_then) in ids.iter().zip(&pictures).rev() {
        let report = work.restore(id);
        assert_eq!(report.conflicts, []);
        assert!(picture(&work.folder) == *picture_then);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_does_not_touch_the_repository() {
    let work = Work::new();
    repository(&work);
    let git = full_picture(&work.path(".git"));
    work.run("t", "rm -r src; echo x > untracked.txt").await;
    let id = work.end("t").await.unwrap().id;
    work.store
        .diff(crate::work::THREAD, &id, None, &[])
        .unwrap();
    work.restore(&id);
    assert!(full_picture(&work.path(".git")) == git);
}

#[tokio::test(flavor = "multi_thread")]
async fn converted_files_go_back_as_they_were() {
    let work = Work::new();
    files(&work);
    work.write(".gitattributes", "*.dat filter=rot\n*.id ident\n");
    work.write("x.dat", "uryyb");
    work.write("x.id", "$Id$\n");
    work.person("git init -q -b main . && git config core.autocrlf true");
    work.person("git config filter.rot.clean 'tr a-z n-za-m' && git add -A && git commit -q -m 1");
    // As a new checkout has them, with other ends of lines.
    work.person("git rm -q --cached -r . && git reset -q --hard && touch -d '1 hour ago' src/*");
    work.person("git update-index -q --refresh || true");
    assert_eq!(work.read("lib/c.rs"), "fn c() {}\r\n");
    goes_back(
        &work,
        "rm x.dat x.id; for f in src/*.rs lib/*; do echo x > $f; done",
    )
    .await;
}

/// What `git lfs` does, with its store of contents beside the repository.
const LFS: &str = r#"
git config filter.lfs.required true
git config filter.lfs.clean 'f=$(mktemp ../home/XXXXXX); cat > $f; h=$(sha256sum < $f | cut -c1-64); mv $f ../home/$h; printf "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n" $h $(stat -c %s ../home/$h)'
git config filter.lfs.smudge 'h=$(sed -n "s/^oid sha256://p"); cat ../home/$h'
"#;

#[tokio::test(flavor = "multi_thread")]
async fn files_that_git_has_as_pointers_go_back() {
    let work = Work::new();
    files(&work);
    work.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    work.write("a.bin", [0, 13, 10, 255].repeat(5_000));
    work.write("b.bin", [1, 2, 3].repeat(100));
    work.person(&format!(
        "git init -q -b main . && {LFS} git add -A && git commit -q -m 1"
    ));
    work.person("git show HEAD:a.bin | grep -q '^oid sha256:' && test ! -e .git/index.lock");
    // As after a checkout that fetched the one and not the other.
    work.person("rm *.bin && git checkout -q a.bin && git show HEAD:b.bin > b.bin");
    work.person("touch -d '1 hour ago' *.bin && git -c filter.lfs.clean=cat update-index -q --refresh || true");
    goes_back(&work, "rm a.bin b.bin").await;
    let other = Work::new();
    work.person(&format!("cp -a . {}", other.folder.display()));
    goes_back(
        &other,
        "echo x > a.bin && echo x >> b.bin && mv src/a.rs c.bin",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copied_repository_is_restored_alike() {
    let work = Work::new();
    files(&work);
    work.commit();
    // The index has the times of other files.
    work.person("cp -r . ../copy && rm -rf ./* .git .gitignore && cp -r ../copy/. .");
    goes_back(&work, "rm -r src lib").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_lists_files_it_did_not_keep() {
    let work = Work::new();
    work.write("large", vec![b'x'; 11 * 1024 * 1024]);
    work.write("linked", "one\n");
    fs::hard_link(work.path("linked"), work.home.join("other")).unwrap();
    work.person("mkfifo pipe");
    work.run("t", "echo >> large; echo >> linked; rm pipe; echo x > new")
        .await;
    let checkpoint = work.end("t").await.unwrap();
    assert_eq!(checkpoint.coverage, Coverage::Partial);
    let listed = checkpoint.not_kept.iter();
    let listed: Vec<_> = listed.map(|it| (it.path.clone(), it.reason)).collect();
    let expected = [
        (work.path("large"), NotKeptReason::TooLarge),
        (work.path("linked"), NotKeptReason::HardLink),
        (work.path("pipe"), NotKeptReason::Special),
    ];
    assert_eq!(listed, expected);
    let report = work.restore(&checkpoint.id);
    assert_eq!(report.changed.len(), 1);
    assert_eq!(report.not_kept, checkpoint.not_kept);
    assert!(!work.path("new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn background_command_changes_belong_to_the_waiting_turns() {
    let work = Work::new();
    work.write("a", "1");
    let mark = crate::work::mark("t1");
    let roots = [work.folder.clone()];
    let running = work.recorder.before_command(&mark, &roots).await;
    work.person("echo 2 > a");
    work.recorder.after_command(&mark, "call").await;
    work.person("echo 3 > b");
    let first = work.end("t1").await.unwrap();
    assert_eq!(first.changes.len(), 2);
    // Nobody knows whose change this is.
    work.person("echo 4 > a");
    assert!(work.end("t2").await.is_none());
    work.run("t3", "echo 5 > c").await;
    drop(running);
    work.person("echo 6 > d");
    let third = work.end("t3").await;
    let paths = third.unwrap().changes.into_iter().map(|it| it.path);
    // The command ran until then, so it may have been the one.
    assert!(paths.eq([work.path("c"), work.path("d")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_and_commands_of_one_turn_are_one_chain() {
    let work = Work::new();
    work.write("a", "1\n");
    let before = picture(&work.folder);
    work.run("t", "echo 2 > a").await;
    work.patch("t", &["a", "new", "new/b"], || {
        work.write("a", "3\n");
        work.write("new/b", "b\n");
    })
    .await;
    work.run("t", "echo 4 > a; echo c > new/b").await;
    let checkpoint = work.end("t").await.unwrap();
    assert_eq!(checkpoint.files(), 2);
    assert_eq!((checkpoint.insertions, checkpoint.deletions), (2, 1));
    let report = work.restore(&checkpoint.id);
    assert_eq!(report.conflicts, []);
    assert!(picture(&work.folder) == before);
}
