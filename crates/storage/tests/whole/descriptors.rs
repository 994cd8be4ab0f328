//! Descriptors are one pool for the process: hundreds of files are read where few may be open.
//!
//! Limits are of a process: what is tried is tried in a child, whose limit is small. Servers are in the parent.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrowroot_storage::testing::content;
use arrowroot_storage::{Opened, Options, Source, Speculation, Stack, Strategy};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::children::{check_child, child, role};
use crate::http::scripted::{self, Reply, Scripted, Then, right};
use crate::scratch::{self, Scratch};
use crate::xrootd::fake;

const PLACES: &str = "ARROWROOT_TEST_PLACES";
const LIMIT: u64 = 64;
const N_FILES: usize = 300;
/// Of a server without ranges less would come with the opening.
const SIZE: usize = 100_000;

/// Reads as a role says in a child whose limit is small. It must succeed.
fn run(role: &str, directory: &Path, places: &[String]) {
    let mut command = child("descriptors::few_descriptors", role, directory);
    check_child(&command.env(PLACES, places.join(" ")).output().unwrap());
}

/// Bytes of a file that no other one has.
fn content_of(number: usize) -> Vec<u8> {
    let mut bytes = content(SIZE);
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes.rotate_left(number % SIZE);
    bytes
}

fn write_files(directory: &Path, n_files: usize) -> Vec<PathBuf> {
    let paths: Vec<_> = (0..n_files).map(|number| directory.join(format!("f{number}"))).collect();
    for (number, path) in paths.iter().enumerate() {
        std::fs::write(path, content_of(number)).unwrap();
    }
    paths
}

/// Reads a little at each of some places, and compares.
fn check(number: usize, source: &dyn Source) {
    let content = content_of(number);
    for start in [0, SIZE / 2 + 7, SIZE - 100] {
        let mut buffer = [0; 100];
        source.read_at(start as u64, &mut buffer).unwrap_or_else(|error| panic!("file {number}: {error}"));
        assert!(buffer == content[start..start + 100], "file {number} at {start}");
    }
}

/// Reads all, by several threads that are at different files.
fn check_all(sources: &[Arc<dyn Source>]) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for turn in 0..2 * sources.len() {
                    let number = (turn * 7 + thread * 31) % sources.len();
                    check(number, sources[number].as_ref());
                }
            });
        }
    });
}

fn open(place: &str, options: &Options) -> Arc<dyn Source> {
    let nothing = Speculation { head_bytes: 0, tail_bytes: 0 };
    let Opened { source, .. } =
        arrowroot_storage::open(place, options, nothing).unwrap_or_else(|error| panic!("{error}"));
    source
}

fn n_open() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// All that the process may open, taken by somebody else but for so many.
fn outsider(n_left: usize) -> Vec<File> {
    let mut held: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    held.truncate(held.len().saturating_sub(n_left));
    held
}

/// What children do; without a role it does nothing.
#[test]
fn few_descriptors() {
    let Some((role, directory)) = role() else { return };
    let limit = Rlimit { current: Some(LIMIT), maximum: getrlimit(Resource::Nofile).maximum };
    setrlimit(Resource::Nofile, limit).unwrap();
    let places: Vec<String> = std::env::var(PLACES).unwrap().split_whitespace().map(str::to_owned).collect();
    let mut options = Options::default();
    for (name, text) in [("timeout", "30"), ("deadline", "120"), ("retries", "3")] {
        options.set(name, text, "test").unwrap();
    }
    let opened = |places: &[String]| places.iter().map(|place| open(place, &options)).collect::<Vec<_>>();
    match role.as_str() {
        "many" => {
            let sources = opened(&places);
            // Half of the descriptors are for others in the process.
            assert!(n_open() <= LIMIT as usize / 2 + 10, "{} are open", n_open());
            let _others: Vec<_> = (0..20).map(|_| File::open("/dev/null").unwrap()).collect();
            check_all(&sources);
        }
        "outsider" => {
            let sources = opened(&places[..20]);
            let held = outsider(0);
            check_all(&sources);
            let more = opened(&places[20..]);
            drop(held);
            check_all(&[sources, more].concat());
        }
        "nothing" => {
            let _held = outsider(0);
            let nothing = Speculation { head_bytes: 0, tail_bytes: 0 };
            let error = arrowroot_storage::open(&places[0], &options, nothing).unwrap_err().to_string();
            assert!(error.contains("too many open files") && error.contains("ulimit -n"), "{error}");
            assert!(error.contains("may have 64 files"), "{error}");
        }
        "changed" => {
            let sources = opened(&places);
            let path = |number: usize| directory.join(format!("f{number}"));
            // Those that were opened first are closed by now.
            std::fs::rename(path(200), path(0)).unwrap();
            let error = sources[0].read_at(0, &mut [0; 10]).unwrap_err().to_string();
            assert!(error.contains("changed") && error.contains("another file has its name"), "{error}");
            std::fs::write(path(1), content(SIZE + 1)).unwrap();
            let error = sources[1].read_at(0, &mut [0; 10]).unwrap_err().to_string();
            assert!(error.contains("it had 100000 bytes and has 100001"), "{error}");
            std::fs::remove_file(path(2)).unwrap();
            let error = sources[2].read_at(0, &mut [0; 10]).unwrap_err().to_string();
            assert!(error.contains("cannot be opened again") && error.contains("no such file"), "{error}");
            check(3, sources[3].as_ref());
        }
        "gone" => {
            // What is gone before others are opened cannot be found again, and stays open.
            let first = opened(&places[..5]);
            (0..5).for_each(|number| std::fs::remove_file(directory.join(format!("f{number}"))).unwrap());
            let others = opened(&places[5..]);
            check_all(&[first, others].concat());
        }
        "relative" => {
            std::env::set_current_dir(&directory).unwrap();
            let names: Vec<_> = (0..places.len()).map(|number| format!("f{number}")).collect();
            let sources = opened(&names);
            std::env::set_current_dir("/").unwrap();
            check_all(&sources);
        }
        "downloads" => {
            let mut shared = options.clone();
            shared.strategy = Strategy::LazyDownload;
            shared.cache_bytes = Some(30_000);
            for download_directory in [Some(directory.clone()), None] {
                let options = Options { download_directory, ..shared.clone() };
                let scans: Vec<_> = (0..80)
                    .map(|number| {
                        let content = content_of(number);
                        let source = scratch::far_away_version(&content, &number.to_string());
                        let opened =
                            Opened { source, preloaded: Vec::new(), ledgers: arrowroot_storage::Ledgers::default() };
                        Stack::new(opened, &options).unwrap().scan(false).source
                    })
                    .collect();
                check_all(&scans);
                drop(scans);
                let left: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
                assert!(left.is_empty(), "{left:?}");
            }
        }
        role => panic!("no role {role}"),
    }
}

fn local(role: &str) {
    let scratch = Scratch::new(role);
    let paths = write_files(scratch.path(), N_FILES);
    let places: Vec<_> = paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    run(role, scratch.path(), &places);
}

#[test]
fn many_local_files_are_read_where_few_may_be_open() {
    local("many");
}

#[test]
fn descriptors_that_others_hold_are_made_up_for() {
    local("outsider");
}

#[test]
fn where_there_is_nothing_to_give_back_the_error_says_what_can_be_done() {
    local("nothing");
}

#[test]
fn a_file_that_became_another_one_while_it_was_closed_is_an_error() {
    local("changed");
}

#[test]
fn a_file_that_cannot_be_found_again_stays_open() {
    local("gone");
}

#[test]
fn a_file_is_found_again_from_another_working_directory() {
    local("relative");
}

#[test]
fn copies_are_closed_and_found_again() {
    run("downloads", Scratch::new("downloads").path(), &[]);
}

#[test]
fn idle_connections_to_many_http_servers_are_given_back() {
    let servers: Vec<_> =
        (0..120).map(|number| Scripted::start(move |request| right(&content_of(number), request))).collect();
    run("many", Scratch::new("http").path(), &servers.iter().map(Scripted::url).collect::<Vec<_>>());
}

#[test]
fn copies_of_files_of_servers_without_ranges_are_given_back() {
    let whole = |number| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\nETag: \"{number}\"\r\n\r\n");
        move |_: &scripted::Request| Reply::new([head.as_bytes(), &content_of(number)].concat(), Then::Close)
    };
    let servers: Vec<_> = (0..100).map(|number| Scripted::start(whole(number))).collect();
    let scratch = Scratch::new("whole");
    run("many", scratch.path(), &servers.iter().map(Scripted::url).collect::<Vec<_>>());
}

#[test]
fn idle_connections_to_many_xrootd_servers_are_given_back() {
    let serve = |number: usize| {
        let (port, _) = fake::start(move |mut client, _| {
            client.greet("")?;
            client.serve(&content_of(number), &[]).map(drop)
        });
        format!("root://127.0.0.1:{port}//f")
    };
    run("many", Scratch::new("xrootd").path(), &(0..120).map(serve).collect::<Vec<_>>());
}
