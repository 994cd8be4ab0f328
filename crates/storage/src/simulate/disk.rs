//! A local disk in virtual time: one head, the kernel's read-ahead, and the page cache.
//!
//! Bytes come from the page cache, at once, or from the disk. The disk does one command after the other. A command that does not
//! begin where the last one ended costs a seek; its bytes then come at one speed. The file lies on the disk in one piece.
//! Whatever was read stays in the page cache.
//!
//! The kernel reads ahead as Linux does (`mm/readahead.c` of 6.6, `ondemand_readahead`): reads that follow each other open a
//! window that doubles or quadruples up to its greatest size, and the next window is asked for when the reader comes to the
//! marked page of the last one. A read elsewhere brings its own pages only. Not modelled: what lies between two reads is never
//! taken away from the cache, a device's own read-ahead, and reads larger than the window that a device takes whole
//! (`io_pages`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

use super::link::{Event, Line, Number, RequestId};

const PAGE_BYTES: u64 = 4096;

/// The properties of a line to a local disk that others do not have. The latency of the line is that of a seek.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    /// The kernel's window is not larger (`/sys/block/*/queue/read_ahead_kb`); 0: it does not read ahead.
    pub read_ahead_bytes: u64,
    /// True if the page cache has the whole file, as after it was read once.
    pub is_cached: bool,
}

/// The work that the disk did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DiskWork {
    pub(crate) n_seeks: u64,
    /// Bytes that left the disk.
    pub(crate) n_bytes: u64,
}

/// Pages that one command brings, one after the other.
#[derive(Debug, Clone, Copy)]
struct Coming {
    end: u64,
    /// When the first byte leaves the disk.
    begin: f64,
}

/// The kernel's state of an open file (`struct file_ra_state`), in pages.
#[derive(Debug, Clone, Copy, Default)]
struct KernelWindow {
    start: u64,
    size: u64,
    /// When this many pages of the window are left, the next one is asked for.
    async_size: u64,
    /// Last page of the read before; `None`: there was none.
    previous: Option<u64>,
}

/// The disk with what is under way. Times in seconds since its making.
#[derive(Debug)]
pub(crate) struct DiskQueue {
    seek: f64,
    page_seconds: f64,
    max_pages: u64,
    is_cached: bool,
    file_bytes: u64,
    now: f64,
    /// When the disk has done all that it was asked.
    free_at: f64,
    /// Page after the last that it read.
    head: Option<u64>,
    /// Pages in the cache or on the way, by their first.
    pages: BTreeMap<u64, Coming>,
    /// Pages at which the kernel asks for the next window.
    markers: BTreeSet<u64>,
    window: KernelWindow,
    finished: Vec<f64>,
    unreported: BinaryHeap<Reverse<(Number, RequestId)>>,
    work: DiskWork,
}

impl DiskQueue {
    pub(crate) fn new(line: &Line, disk: &Disk, file_bytes: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let page_seconds = PAGE_BYTES as f64 / line.bytes_per_second;
        DiskQueue {
            seek: line.latency.as_secs_f64(),
            page_seconds,
            max_pages: disk.read_ahead_bytes / PAGE_BYTES,
            is_cached: disk.is_cached,
            file_bytes,
            now: 0.0,
            free_at: 0.0,
            head: None,
            pages: BTreeMap::new(),
            markers: BTreeSet::new(),
            window: KernelWindow::default(),
            finished: Vec::new(),
            unreported: BinaryHeap::new(),
            work: DiskWork::default(),
        }
    }

    /// Reads ranges one after the other, from a time on that is not before the last one.
    pub(crate) fn submit(&mut self, at: f64, ranges: &[Range<u64>]) -> RequestId {
        self.advance_to(at);
        let mut time = self.now;
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            time = self.read(time, range);
        }
        let id = RequestId(self.finished.len());
        self.finished.push(time);
        self.unreported.push(Reverse((Number(time), id)));
        id
    }

    pub(crate) fn step(&mut self, limit: f64) -> Event {
        match self.unreported.peek() {
            Some(&Reverse((Number(time), id))) if time <= limit.max(self.now) => {
                self.unreported.pop();
                self.now = self.now.max(time);
                Event::Finished(id)
            }
            _ => Event::Nothing,
        }
    }

    pub(crate) fn advance_to(&mut self, time: f64) {
        self.now = self.now.max(time);
    }

    pub(crate) fn now(&self) -> f64 {
        self.now
    }

    pub(crate) fn finished(&self, id: RequestId) -> Option<f64> {
        self.finished.get(id.0).copied().filter(|&time| time <= self.now)
    }

    pub(crate) fn work(&self) -> DiskWork {
        self.work
    }

    /// Reads a range; returns when its last page is there.
    fn read(&mut self, mut time: f64, range: &Range<u64>) -> f64 {
        let (mut page, last) = (range.start / PAGE_BYTES, (range.end - 1) / PAGE_BYTES);
        while !self.is_cached && page <= last {
            match self.coming(page) {
                Some((first, coming)) => {
                    let end = coming.end.min(last + 1);
                    if let Some(&marker) = self.markers.range(page..end).next() {
                        self.markers.remove(&marker);
                        time = time.max(self.there(first, &coming, marker));
                        self.ask_ahead(time, marker, last + 1 - marker);
                    }
                    time = time.max(self.there(first, &coming, end - 1));
                    page = end;
                }
                None => self.ask(time, page, last + 1 - page),
            }
        }
        self.window.previous = Some(last);
        time
    }

    /// The pages among which a page is, if it is in the cache or on the way, and their first.
    fn coming(&self, page: u64) -> Option<(u64, Coming)> {
        let (&first, &coming) = self.pages.range(..=page).next_back()?;
        (page < coming.end).then_some((first, coming))
    }

    /// When a page is in the cache that comes with others, of which `first` is the first.
    fn there(&self, first: u64, coming: &Coming, page: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "pages of a file are below 2^53")]
        let n_pages = (page + 1 - first) as f64;
        coming.begin + n_pages * self.page_seconds
    }

    /// A page that is not there is needed, and `n_wanted` from it on (`page_cache_sync_ra`).
    fn ask(&mut self, time: f64, page: u64, n_wanted: u64) {
        let KernelWindow { start, size, previous, .. } = self.window;
        let max = self.max_pages;
        if max == 0 {
            return self.fetch(time, page..page + n_wanted);
        }
        let follows = previous.is_some_and(|previous| page == previous || page == previous + 1);
        if size > 0 && page == start + size && follows {
            self.next_window();
        } else if page == 0 || follows || n_wanted > max {
            let size = first_size(n_wanted, max);
            let async_size = if size > n_wanted { size - n_wanted } else { size };
            self.window = KernelWindow { start: page, size, async_size, previous };
        } else {
            let n_before = self.n_cached_before(page);
            if n_before <= n_wanted {
                // A read elsewhere: the window stays where it is.
                return self.fetch(time, page..page + n_wanted);
            }
            let n_history = if n_before >= page { 2 * n_before } else { n_before };
            self.window = KernelWindow { start: page, size: (n_history + n_wanted).min(max), async_size: 1, previous };
        }
        self.fetch_window(time, page);
    }

    /// The reader has come to a marked page (`page_cache_async_ra`).
    fn ask_ahead(&mut self, time: f64, page: u64, n_wanted: u64) {
        let KernelWindow { start, size, async_size, previous } = self.window;
        if size > 0 && page == start + size - async_size {
            self.next_window();
        } else {
            // That of another reader of the file: it goes on behind what is there.
            let mut hole = page;
            while let Some((_, coming)) = self.coming(hole) {
                hole = coming.end;
            }
            if hole - page > self.max_pages {
                return;
            }
            let size = next_size(hole - page + n_wanted, self.max_pages);
            self.window = KernelWindow { start: hole, size, async_size: size, previous };
        }
        self.fetch_window(time, page);
    }

    fn next_window(&mut self) {
        let KernelWindow { start, size, previous, .. } = self.window;
        let next = next_size(size, self.max_pages);
        self.window = KernelWindow { start: start + size, size: next, async_size: next, previous };
    }

    fn fetch_window(&mut self, time: f64, page: u64) {
        let KernelWindow { start, size, async_size, .. } = self.window;
        // The read would come to the mark that it makes: the next window is taken at once.
        if page == start && size == async_size {
            let more = next_size(size, self.max_pages);
            let (size, async_size) =
                if size + more <= self.max_pages { (size + more, more) } else { (self.max_pages, self.max_pages / 2) };
            self.window = KernelWindow { size, async_size, ..self.window };
        }
        let KernelWindow { start, size, async_size, .. } = self.window;
        self.fetch(time, start..start + size);
        if async_size > 0 {
            self.markers.insert(start + size - async_size);
        }
    }

    /// Asks the disk for the pages of a range that are not there, up to the end of the file.
    fn fetch(&mut self, time: f64, mut pages: Range<u64>) {
        pages.end = pages.end.min(self.file_bytes.div_ceil(PAGE_BYTES));
        while pages.start < pages.end {
            if let Some((_, coming)) = self.coming(pages.start) {
                pages.start = coming.end;
                continue;
            }
            let next = self.pages.range(pages.start..pages.end).next().map_or(pages.end, |(&first, _)| first);
            let is_away = self.head != Some(pages.start);
            let begin = self.free_at.max(time) + if is_away { self.seek } else { 0.0 };
            let coming = Coming { end: next, begin };
            self.free_at = self.there(pages.start, &coming, next - 1);
            self.head = Some(next);
            self.work.n_seeks += u64::from(is_away);
            self.work.n_bytes += next.saturating_mul(PAGE_BYTES).min(self.file_bytes) - pages.start * PAGE_BYTES;
            self.pages.insert(pages.start, coming);
            pages.start = next;
        }
    }

    /// Pages without a gap before this one that are in the cache, at most as many as a window has.
    fn n_cached_before(&self, page: u64) -> u64 {
        let mut first = page;
        while page - first < self.max_pages
            && let Some((start, _)) = first.checked_sub(1).and_then(|before| self.coming(before))
        {
            first = start;
        }
        (page - first).min(self.max_pages)
    }
}

/// Size of the first window for so many pages (`get_init_ra_size`).
fn first_size(n_wanted: u64, max: u64) -> u64 {
    let size = n_wanted.next_power_of_two();
    if size <= max / 32 {
        size * 4
    } else if size <= max / 4 {
        size * 2
    } else {
        max
    }
}

/// Size of the window after one of so many pages (`get_next_ra_size`).
fn next_size(size: u64, max: u64) -> u64 {
    if size < max / 16 {
        size * 4
    } else if size <= max / 2 {
        size * 2
    } else {
        max
    }
}

#[cfg(test)]
mod tests;
