#![expect(clippy::disallowed_methods, reason = "looks at what is on the disk, past the code under test")]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn it_does_what_every_sink_must() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.root");
    let create = || -> Result<Arc<dyn Sink>> { Ok(Arc::new(LocalSink::create(&path)?)) };
    crate::testing::check_sink(&create, &|| std::fs::read(&path).ok()).unwrap();
    assert_eq!(names(directory.path()), ["a.root"]);
}

#[test]
fn a_part_is_beside_the_file_until_it_has_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let sink = LocalSink::create(directory.path().join("a.root")).unwrap();
    assert_eq!(names(directory.path()), ["a.root.part"]);
    sink.publish(0).unwrap();
    assert_eq!(names(directory.path()), ["a.root"]);
    let sink = LocalSink::create(directory.path().join("b.root")).unwrap();
    drop(sink);
    assert_eq!(names(directory.path()), ["a.root"]);
}

#[test]
fn what_another_one_writes_is_refused_and_what_nobody_writes_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.root");
    let first = LocalSink::create(&path).unwrap();
    first.write_at(0, b"first").unwrap();
    let error = LocalSink::create(&path).unwrap_err().to_string();
    assert!(
        error.contains(
            "a.root.part: a process is writing it: close the file if this one is, else wait, or write to another name"
        ),
        "{error}"
    );
    // The loser has left the winner's part alone.
    first.publish(5).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"first");
    // A process that was killed leaves its part without a lock.
    std::fs::write(directory.path().join("a.root.part"), [9; 1000]).unwrap();
    let second = LocalSink::create(&path).unwrap();
    second.write_at(0, b"second").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"first");
    second.publish(6).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"second");
    assert_eq!(names(directory.path()), ["a.root"]);
}

#[test]
fn of_many_that_begin_at_the_same_time_one_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.root");
    for _ in 0..20 {
        std::fs::write(directory.path().join("a.root.part"), b"leftover").unwrap();
        let sinks: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| LocalSink::create(&path))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(sinks.iter().filter(|sink| sink.is_ok()).count(), 1);
        let winner = sinks.into_iter().find_map(Result::ok).unwrap();
        winner.publish(0).unwrap();
        assert_eq!(names(directory.path()), ["a.root"]);
    }
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (there, elsewhere) = (directory.path().join("there"), directory.path().join("elsewhere"));
    std::fs::create_dir(&there).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("b.root"), b"older").unwrap();
    for target in ["../elsewhere/b.root", "../elsewhere/new.root"] {
        let link = there.join("a.root");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        let sink = LocalSink::create(&link).unwrap();
        sink.write_at(0, b"newer").unwrap();
        assert_eq!(names(&there), ["a.root"]);
        sink.publish(5).unwrap();
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new(target));
        assert_eq!(std::fs::read(&link).unwrap(), b"newer");
    }
    assert_eq!(names(&elsewhere), ["b.root", "new.root"]);
    std::os::unix::fs::symlink("circle", directory.path().join("circle")).unwrap();
    LocalSink::create(directory.path().join("circle")).unwrap_err();
}

#[test]
fn what_cannot_be_a_file_is_refused_before_the_first_byte() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |path: &str, why: &str| {
        let error = LocalSink::create(path).unwrap_err();
        assert!(matches!(error, Error::Io { .. }));
        assert!(error.to_string().contains(why), "{error}");
    };
    refused(directory.path().to_str().unwrap(), "is a directory");
    refused("/dev/null", "not a regular file");
    refused("/", "is a directory");
    refused("", "");
    refused(directory.path().join("missing/a.root").to_str().unwrap(), "a.root.part: no such file or directory");
    assert!(names(directory.path()).is_empty());
}

#[test]
fn permissions_are_those_of_the_older_file_or_of_any_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let (path, part) = (directory.path().join("a.root"), directory.path().join("a.root.part"));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
    let other = directory.path().join("other");
    std::fs::write(&other, b"").unwrap();
    LocalSink::create(&path).unwrap().publish(0).unwrap();
    assert_eq!(mode(&path), mode(&other));
    // Neither less than any umask leaves nor more; and nobody else may read the part.
    for permissions in [0o600, 0o666] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(permissions)).unwrap();
        let sink = LocalSink::create(&path).unwrap();
        assert_eq!(mode(&part) & 0o7777, permissions);
        sink.publish(0).unwrap();
        assert_eq!(mode(&path) & 0o7777, permissions);
    }
}

#[test]
fn a_file_that_is_given_up_before_it_has_its_name_leaves_the_older_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.root");
    std::fs::write(&path, b"older").unwrap();
    let sink = LocalSink::create(&path).unwrap();
    sink.write_at(0, b"newer").unwrap();
    sink.secure(5).unwrap();
    sink.abort();
    assert!(matches!(sink.rename(), Err(Error::Ended { ending: Ending::Aborted, .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"older");
    assert_eq!(names(directory.path()), ["a.root"]);
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    // A limit of the size of files is as a full disk, and holds for a process: this one is started again for it.
    const CHILD: &str = "ARROWROOT_TEST_FULL_DISK";
    if let Ok(path) = std::env::var(CHILD) {
        let limit = rustix::process::Rlimit { current: Some(10_000), maximum: Some(10_000) };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
        let sink = LocalSink::create(path).unwrap();
        sink.write_at(0, &[1; 9000]).unwrap();
        let error = sink.write_at(9000, &[1; 9000]).unwrap_err();
        panic!("{error}");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.root");
    let name = "sink::local::tests::a_full_disk_is_an_error_that_says_so";
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(said.contains("a.root.part: file too large: write several files"), "{said}");
    assert!(names(directory.path()).is_empty());
    let full = std::io::Error::from(Errno::NOSPC);
    let error = failed("a.root", "cannot write 10 bytes at 0 of a.root.part")(full).to_string();
    assert!(error.contains("no space left on device: the disk is full; make room, or write to another one"), "{error}");
}

#[test]
fn what_a_killed_process_leaves_is_the_part_alone() {
    const CHILD: &str = "ARROWROOT_TEST_KILLED";
    if let Ok(path) = std::env::var(CHILD) {
        let sink = LocalSink::create(path).unwrap();
        sink.write_at(0, &[1; 100]).unwrap();
        std::process::abort();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.root");
    std::fs::write(&path, b"older").unwrap();
    let name = "sink::local::tests::what_a_killed_process_leaves_is_the_part_alone";
    let child =
        Command::new(std::env::current_exe().unwrap()).args(["--exact", name]).env(CHILD, &path).output().unwrap();
    assert!(!child.status.success());
    assert_eq!(names(directory.path()), ["a.root", "a.root.part"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"older");
    LocalSink::create(&path).unwrap().publish(0).unwrap();
    assert_eq!(names(directory.path()), ["a.root"]);
}
