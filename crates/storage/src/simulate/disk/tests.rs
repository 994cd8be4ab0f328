use std::ops::Range;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::requests::Protocol;

const SEEK: f64 = 0.01;
/// A page takes a millisecond.
const BYTES_PER_SECOND: f64 = 4_096_000.0;
const PAGE_SECONDS: f64 = 0.001;

fn disk(read_ahead_pages: u64, n_pages: u64) -> DiskQueue {
    let disk = Disk { read_ahead_bytes: read_ahead_pages * PAGE_BYTES, is_cached: false };
    queue(disk, n_pages * PAGE_BYTES)
}

fn queue(disk: Disk, file_bytes: u64) -> DiskQueue {
    let line = Line {
        latency: Duration::from_millis(10),
        bytes_per_second: BYTES_PER_SECOND,
        n_streams: 1,
        interval: Duration::ZERO,
        protocol: Protocol::Plain { max_parallel: 1 },
        disk: Some(disk),
    };
    DiskQueue::new(&line, &disk, file_bytes)
}

fn pages(pages: Range<u64>) -> Range<u64> {
    pages.start * PAGE_BYTES..pages.end * PAGE_BYTES
}

/// Reads one range now, and returns how long that took.
fn read(disk: &mut DiskQueue, range: Range<u64>) -> f64 {
    let before = disk.now();
    let id = disk.submit(before, &[range]);
    while disk.finished(id).is_none() && disk.step(f64::INFINITY) != Event::Nothing {}
    disk.finished(id).unwrap() - before
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_read_elsewhere_costs_a_seek_and_its_own_pages() {
    let mut disk = disk(32, 10_000);
    assert!(is_near(read(&mut disk, pages(500..502)), SEEK + 2.0 * PAGE_SECONDS));
    assert!(is_near(read(&mut disk, pages(700..701)), SEEK + PAGE_SECONDS));
    assert_eq!(disk.work(), DiskWork { n_seeks: 2, n_bytes: 3 * PAGE_BYTES });
}

#[test]
fn a_part_of_a_page_is_a_page_and_no_seek_is_paid_where_the_last_command_ended() {
    let mut disk = disk(0, 10_000);
    assert!(is_near(read(&mut disk, 500 * PAGE_BYTES + 10..500 * PAGE_BYTES + 20), SEEK + PAGE_SECONDS));
    assert!(is_near(read(&mut disk, pages(501..503)), 2.0 * PAGE_SECONDS));
    assert_eq!(disk.work().n_seeks, 1);
}

#[test]
fn what_was_read_comes_from_the_page_cache() {
    let mut disk = disk(0, 10_000);
    read(&mut disk, pages(500..510));
    assert!(is_near(read(&mut disk, pages(503..508)), 0.0));
    // Only what lies around it is fetched.
    let time = read(&mut disk, pages(499..511));
    assert!(is_near(time, 2.0 * SEEK + 2.0 * PAGE_SECONDS), "{time}");
    let mut cached = queue(Disk { read_ahead_bytes: 1 << 17, is_cached: true }, 1 << 30);
    assert!(is_near(read(&mut cached, 5..1 << 20), 0.0));
    assert_eq!(cached.work(), DiskWork::default());
}

/// The pages that the kernel asked for at each read of a page after the other.
fn windows(max: u64, n_reads: u64) -> Vec<u64> {
    let mut disk = disk(max, 100_000);
    let mut asked = Vec::new();
    let mut before = 0;
    for page in 0..n_reads {
        read(&mut disk, pages(page..page + 1));
        let n_bytes = disk.work().n_bytes;
        if n_bytes > before {
            asked.push((n_bytes - before) / PAGE_BYTES);
        }
        before = n_bytes;
    }
    asked
}

#[test]
fn windows_grow_as_those_of_the_kernel_do() {
    // get_init_ra_size and get_next_ra_size: a mark at the first page of each that was read ahead.
    assert_eq!(windows(32, 60), [4, 8, 16, 32, 32]);
    assert_eq!(windows(1024, 60), [4, 16, 64, 128]);
}

#[test]
fn reading_on_is_one_seek_and_the_speed_of_the_disk() {
    let mut disk = disk(32, 4096);
    let total: f64 = (0..4096).map(|page| read(&mut disk, pages(page..page + 1))).sum();
    assert_eq!(disk.work(), DiskWork { n_seeks: 1, n_bytes: 4096 * PAGE_BYTES });
    assert!(is_near(total, SEEK + 4096.0 * PAGE_SECONDS), "{total}");
}

#[test]
fn work_between_reads_hides_what_is_read_ahead() {
    let mut disk = disk(32, 4096);
    let mut waited = 0.0;
    for page in 0..4096 {
        waited += read(&mut disk, pages(page..page + 1));
        disk.advance_to(disk.now() + 1.1 * PAGE_SECONDS);
    }
    assert!(waited < SEEK + 10.0 * PAGE_SECONDS, "{waited}");
}

#[test]
fn a_window_that_is_read_ahead_in_vain_keeps_the_disk_busy() {
    let mut disk = disk(1024, 100_000);
    read(&mut disk, pages(0..1));
    read(&mut disk, pages(1..2));
    // 4 and 16 pages were asked for; the head comes back when they are there.
    let time = read(&mut disk, pages(50_000..50_001));
    assert!(is_near(time, 18.0 * PAGE_SECONDS + SEEK + PAGE_SECONDS), "{time}");
}

#[test]
fn a_large_read_is_made_of_windows_without_a_seek_between() {
    let mut disk = disk(32, 100_000);
    let time = read(&mut disk, pages(1000..2000));
    assert_eq!(disk.work().n_seeks, 1);
    assert!(is_near(time, SEEK + 1000.0 * PAGE_SECONDS), "{time}");
}

#[test]
fn two_readers_in_one_file_are_told_apart_by_what_is_in_the_cache() {
    let mut disk = disk(32, 100_000);
    for step in 0..200 {
        read(&mut disk, pages(1000 + step..1001 + step));
        read(&mut disk, pages(50_000 + step..50_001 + step));
    }
    assert!(disk.work().n_seeks < 60, "{:?}: without a history, each of 400 reads would seek", disk.work());
}

proptest! {
    #[test]
    fn time_and_bytes_are_bounded_by_what_the_disk_did(
        max in prop_oneof![Just(0_u64), Just(1), 2_u64..600],
        reads in prop::collection::vec((0_u64..3000, 1_u64..200, 0_u64..2), 1..120),
    ) {
        let file_bytes = 3100 * PAGE_BYTES + 17;
        let run = || {
            let mut disk = queue(Disk { read_ahead_bytes: max * PAGE_BYTES, is_cached: false }, file_bytes);
            let mut next = 0;
            let mut needed = vec![false; 3400];
            for &(page, n_pages, goes_on) in &reads {
                let start = if goes_on == 1 { next } else { page * PAGE_BYTES + 5 };
                let end = (start + n_pages * PAGE_BYTES).min(file_bytes);
                next = if end < file_bytes { end } else { 0 };
                read(&mut disk, start..end);
                if start < end {
                    needed[usize::try_from(start / PAGE_BYTES).unwrap()..=usize::try_from((end - 1) / PAGE_BYTES).unwrap()].fill(true);
                }
            }
            (disk.now(), disk.work(), needed.iter().filter(|is_needed| **is_needed).count() as u64)
        };
        let (time, work, n_needed) = run();
        // No page leaves the disk twice, all that are needed do, and none that is not without read-ahead.
        prop_assert!(work.n_bytes <= file_bytes);
        prop_assert!(work.n_bytes + PAGE_BYTES > n_needed * PAGE_BYTES);
        prop_assert!(max > 0 || work.n_bytes <= n_needed * PAGE_BYTES);
        // Nobody waits longer than the disk works, nor less than for what is needed.
        let busy = work.n_seeks as f64 * SEEK + work.n_bytes.div_ceil(PAGE_BYTES) as f64 * PAGE_SECONDS;
        prop_assert!(time <= busy + 1e-9, "{} {}", time, busy);
        prop_assert!(time + 1e-9 >= SEEK + n_needed as f64 * PAGE_SECONDS);
        prop_assert_eq!(run(), (time, work, n_needed));
    }
}
