//! Reading a trace again under any options, from a line in virtual time.

use std::collections::HashSet;
use std::ops::Range;

use crate::block_cache::BLOCK_BYTES;
use crate::coalesce::{CoalesceLimits, coalesce};
use crate::error::{Error, Result};
use crate::excess::Excess;
use crate::options::Options;
use crate::readahead::{ReadAheadWindow, Step};
use crate::requests::Protocol;
use crate::segments::Segmented;
use crate::simulate::link::{Event, Line, RequestId};
use crate::simulate::way::Way;
use crate::strategy::{Reading, StrategyLayer};
use crate::windows::{Grouping, Planner, ReadStyle, Wanted, Window, clusters_of};

/// Memory that windows share, as in a scan that was not told otherwise.
const MEMORY_BUDGET_BYTES: u64 = 256_000_000;

/// No basket is larger: its length is a signed number of 32 bits.
const MAX_READ_BYTES: u64 = i32::MAX as u64;
/// Larger numbers are no size of a file, and not exact in virtual time.
const MAX_FILE_BYTES: u64 = 1 << 53;
/// No store cuts what is large into requests of less than this.
const LEAST_CUT_BYTES: u64 = 2 << 20;
/// A trace that leads to more requests, besides two for each of its reads, is refused: each of them takes some memory, and
/// little is needed to write down large reads.
const MAX_MORE_REQUESTS: u64 = 1 << 22;

/// What the format asked for: a basket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogicalRead {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub n_bytes: u64,
    /// First entry in it.
    pub first_entry: u64,
    /// Number of its branch.
    pub branch: u32,
    /// What was done with it before the next one was needed, in ns.
    pub think_ns: u64,
}

/// A scan as it was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// In the order of need.
    pub reads: Vec<LogicalRead>,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Round trips before the first of them.
    pub n_open_requests: u64,
    /// What came with the opening, half-open offsets in bytes: the store is not asked for it.
    pub kept: Vec<Range<u64>>,
}

/// What it would have cost. Times in ns of virtual time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// From opening to the end.
    pub wall_ns: u64,
    /// Of it, without anything to do.
    pub wait_ns: u64,
    /// Of it, at work.
    pub think_ns: u64,
    /// Requests to the store, those of opening among them.
    pub n_requests: u64,
    /// Ranges in them; each request of opening counts as one.
    pub n_ranges: u64,
    /// Bytes that the store sent, without those of opening.
    pub read_bytes: u64,
    /// Bytes that the format asked for.
    pub payload_bytes: u64,
    /// Bytes that the store sent and nobody needed, or sent again.
    pub overhead_bytes: u64,
    /// Most bytes of windows and buffers at a time.
    pub peak_buffer_bytes: u64,
    /// Seeks of a disk; 0 of a network.
    pub n_seeks: u64,
    /// Bytes that left a disk, read ahead or not; 0 of a network.
    pub device_bytes: u64,
    /// The requests in the order in which they were made, without those of opening: half-open offsets in bytes.
    pub requests: Vec<Vec<Range<u64>>>,
}

/// Reads a trace again.
///
/// One thread decodes; windows are fetched up to `n_ahead` before the one that is decoded, as the engine does. A block cache
/// is empty at the beginning. Takes time proportional to the number of reads and its logarithm.
///
/// # Errors
/// [`Error::PastEnd`] if the trace reads after the end of its file; [`Error::Option`] for a line that brings nothing, and for a
/// trace of more requests than can be simulated.
pub fn replay(trace: &Trace, options: &Options, line: &Line) -> Result<Outcome> {
    line.check()?;
    trace.check()?;
    let reading = Reading::new(options, line.access_profile());
    let style = match reading.layer {
        StrategyLayer::Background(style) => style,
        _ => reading.style,
    };
    let style = style.within(MEMORY_BUDGET_BYTES);
    let wanted = trace.wanted();
    let needs_clusters = matches!(style.grouping, Grouping::TreeCache { .. });
    let clusters = if needs_clusters { clusters_of(&wanted) } else { Vec::new() };
    let windows = Planner::new(style, &clusters).plan(&wanted);
    let layers = Layers::new(reading.layer, style, options, line, trace);
    let mut simulation = Simulation {
        way: Way::new(line, trace.file_bytes),
        layers,
        protocol: line.protocol,
        max_requests: MAX_MORE_REQUESTS + 2 * trace.reads.len() as u64,
        is_too_much: false,
        excess: Excess::default(),
        outcome: Outcome::default(),
    };
    #[expect(clippy::cast_precision_loss, reason = "few")]
    let opened = line.latency.as_secs_f64() * trace.n_open_requests as f64;
    simulation.way.advance_to(opened);
    let time = if style.n_ahead == 0 {
        simulation.read_in_turn(&windows, &trace.reads, opened)
    } else {
        simulation.read_ahead(&windows, &trace.reads, style.n_ahead, opened)
    };
    let Simulation { way, mut outcome, mut excess, max_requests, is_too_much, .. } = simulation;
    if is_too_much {
        let what = format!("read in this way, it takes more than {max_requests} requests");
        return Err(Error::Option { option: "trace".to_owned(), what });
    }
    trace.reads.iter().for_each(|read| excess.need(read.offset..read.offset + read.n_bytes));
    outcome.overhead_bytes = excess.n_bytes();
    let disk = way.disk_work();
    (outcome.n_seeks, outcome.device_bytes) = (disk.n_seeks, disk.n_bytes);
    outcome.n_requests += trace.n_open_requests;
    outcome.n_ranges += trace.n_open_requests;
    outcome.think_ns = trace.reads.iter().fold(0, |sum, read| sum.saturating_add(read.think_ns));
    outcome.payload_bytes = trace.reads.iter().fold(0, |sum, read| sum.saturating_add(read.n_bytes));
    outcome.wall_ns = nanoseconds(time).max(outcome.think_ns);
    outcome.wait_ns = outcome.wall_ns - outcome.think_ns;
    Ok(outcome)
}

impl Trace {
    fn check(&self) -> Result<()> {
        let is_inside = |read: &&LogicalRead| {
            let end = read.offset.checked_add(read.n_bytes);
            end.is_some_and(|end| end <= self.file_bytes) && read.n_bytes <= MAX_READ_BYTES
        };
        if self.file_bytes > MAX_FILE_BYTES {
            let what = format!("a file of {} bytes", self.file_bytes);
            return Err(Error::Option { option: "trace".to_owned(), what });
        }
        match self.reads.iter().find(|read| !is_inside(read)) {
            None => Ok(()),
            Some(read) => Err(Error::PastEnd {
                url: "trace".to_owned(),
                offset: read.offset,
                n_bytes: read.n_bytes,
                size_bytes: self.file_bytes,
            }),
        }
    }

    /// What was needed, as a plan takes it.
    pub fn wanted(&self) -> Vec<Wanted> {
        let wanted = self.reads.iter().map(|read| Wanted {
            range: read.offset..read.offset + read.n_bytes,
            first_entry: read.first_entry,
            branch: read.branch,
            is_fetched: true,
        });
        wanted.collect()
    }
}

/// The state of the layers between the engine and the store, without bytes.
struct Layers {
    between: Memory,
    /// What came with the opening, sorted, without overlap.
    kept: Vec<Range<u64>>,
    blocks: Option<LocalSegments>,
    /// Each piece is a request.
    is_each: bool,
}

enum Memory {
    Nothing,
    ReadAhead(ReadAheadWindow),
    Download(LocalSegments),
}

/// Pieces of a file that are on a local disk.
struct LocalSegments {
    file: Segmented,
    present: HashSet<u64>,
}

impl LocalSegments {
    fn new(file_bytes: u64, piece_bytes: u64) -> Self {
        LocalSegments { file: Segmented { file_bytes, piece_bytes }, present: HashSet::new() }
    }

    /// Pieces of some ranges that are not there, sorted; from now on they are.
    fn take_missing(&mut self, ranges: &[Range<u64>]) -> Vec<u64> {
        let touched = ranges.iter().flat_map(|range| self.file.touched(range));
        let mut missing: Vec<u64> = touched.filter(|&piece| self.present.insert(piece)).collect();
        missing.sort_unstable();
        missing
    }
}

impl Layers {
    fn new(between: StrategyLayer, style: ReadStyle, options: &Options, line: &Line, trace: &Trace) -> Self {
        let file_bytes = trace.file_bytes;
        let touching = CoalesceLimits { max_gap_bytes: 0, max_span_bytes: u64::MAX };
        let has_cache = options.block_cache_of(line.access_profile()).is_some();
        Layers {
            between: match between {
                StrategyLayer::ReadAhead(bytes) => Memory::ReadAhead(ReadAheadWindow::new(bytes, file_bytes)),
                StrategyLayer::LazyDownload(bytes) => Memory::Download(LocalSegments::new(file_bytes, bytes)),
                StrategyLayer::Nothing | StrategyLayer::Background(_) => Memory::Nothing,
            },
            kept: coalesce(&trace.kept, touching).into_iter().map(|span| span.range).collect(),
            blocks: has_cache.then(|| LocalSegments::new(file_bytes, BLOCK_BYTES)),
            is_each: style.limits.is_none(),
        }
    }

    /// The requests that a request of the engine leads to, one after the other.
    fn requests(&mut self, ranges: Vec<Range<u64>>) -> Vec<Vec<Range<u64>>> {
        let between = match &mut self.between {
            Memory::Nothing if self.is_each => ranges.into_iter().map(|range| vec![range]).collect(),
            Memory::Nothing => vec![ranges],
            Memory::ReadAhead(window) => {
                let steps = ranges.iter().flat_map(|range| window.read(range));
                let asked = steps.filter_map(|step| match step {
                    Step::Copy(_) => None,
                    Step::Refill(range) | Step::Direct(range) => Some(vec![range]),
                });
                asked.collect()
            }
            Memory::Download(pieces) => {
                let missing = pieces.take_missing(&ranges);
                missing.into_iter().map(|piece| vec![pieces.file.range_of(piece)]).collect()
            }
        };
        let missing = between.into_iter().map(|ranges| without(&self.kept, ranges));
        let asked: Vec<_> = match &mut self.blocks {
            None => missing.collect(),
            Some(blocks) => missing
                .map(|ranges| {
                    let missing = blocks.take_missing(&ranges);
                    blocks.file.runs(&missing)
                })
                .collect(),
        };
        asked.into_iter().filter(|ranges| !ranges.is_empty()).collect()
    }

    /// Memory that a layer holds whatever is read.
    fn buffer_bytes(&self) -> u64 {
        match &self.between {
            Memory::Nothing => 0,
            Memory::ReadAhead(window) => window.held().end - window.held().start,
            Memory::Download(pieces) => pieces.file.piece_bytes.min(pieces.file.file_bytes),
        }
    }
}

struct Simulation {
    way: Way,
    layers: Layers,
    protocol: Protocol,
    max_requests: u64,
    /// There would be more: none is made any more.
    is_too_much: bool,
    excess: Excess,
    outcome: Outcome,
}

impl Simulation {
    /// Asks the store for ranges together: it makes the requests that it would.
    fn submit(&mut self, time: f64, ranges: Vec<Range<u64>>) -> Vec<RequestId> {
        let n_at_most = ranges.len() as u64 + n_bytes(&ranges) / LEAST_CUT_BYTES;
        self.is_too_much |= self.outcome.n_requests.saturating_add(n_at_most) > self.max_requests;
        if self.is_too_much {
            return Vec::new();
        }
        let mut requests = Vec::with_capacity(1);
        for together in self.protocol.requests(ranges) {
            self.outcome.n_requests += 1;
            self.outcome.n_ranges += together.len() as u64;
            self.outcome.read_bytes += n_bytes(&together);
            requests.push(self.way.submit(time, &together));
            together.iter().for_each(|range| self.excess.come(range.clone()));
            self.outcome.requests.push(together);
        }
        requests
    }

    fn wait_for(&mut self, request: RequestId) -> f64 {
        loop {
            if let Some(time) = self.way.finished(request) {
                return time;
            }
            if self.way.step(f64::INFINITY) == Event::Nothing {
                return self.way.now();
            }
        }
    }

    fn hold(&mut self, window_bytes: u64) {
        let held_bytes = window_bytes.saturating_add(self.layers.buffer_bytes());
        self.outcome.peak_buffer_bytes = self.outcome.peak_buffer_bytes.max(held_bytes);
    }

    /// Each window, or each piece if it is a request, is read when the one before is decoded. Returns when all is done.
    fn read_in_turn(&mut self, windows: &[Window], reads: &[LogicalRead], mut time: f64) -> f64 {
        for window in windows {
            if self.layers.is_each {
                // A piece, and the work on it: a kernel reads ahead meanwhile.
                for span in &window.spans {
                    time = self.read_now(time, vec![span.range.clone()]) + work(&reads[span.members[0]]);
                }
            } else {
                time = self.read_now(time, ranges_of(window)) + think(window, reads);
            }
            self.hold(window_bytes(window));
        }
        time
    }

    /// Reads ranges that are asked for together. Returns when they are there.
    fn read_now(&mut self, mut time: f64, ranges: Vec<Range<u64>>) -> f64 {
        for ranges in self.layers.requests(ranges) {
            let asked = time;
            for request in self.submit(asked, ranges) {
                time = self.wait_for(request).max(time);
            }
        }
        time
    }

    /// Up to `n_ahead` windows are under way, and none further than that from the one that is decoded.
    fn read_ahead(&mut self, windows: &[Window], reads: &[LogicalRead], n_ahead: usize, mut time: f64) -> f64 {
        let mut ahead = Ahead {
            n_ahead,
            next: 0,
            n_under_way: 0,
            owners: Vec::new(),
            n_missing: vec![0; windows.len()],
            held_bytes: 0,
        };
        self.way.advance_to(time);
        for (index, window) in windows.iter().enumerate() {
            ahead.fill(self, windows, index);
            while index >= ahead.next || ahead.n_missing[index] > 0 {
                if !ahead.step(self, f64::INFINITY) {
                    break;
                }
                ahead.fill(self, windows, index);
            }
            time = self.way.now().max(time) + think(window, reads);
            while ahead.step(self, time) {
                ahead.fill(self, windows, index);
            }
            self.way.advance_to(time);
            ahead.held_bytes -= window_bytes(window);
        }
        time
    }
}

/// The windows under way.
struct Ahead {
    n_ahead: usize,
    /// Window that is asked for next.
    next: usize,
    n_under_way: usize,
    /// The window of each request, by number; requests of opening have none.
    owners: Vec<Option<usize>>,
    /// For each window its requests that are not answered.
    n_missing: Vec<usize>,
    held_bytes: u64,
}

impl Ahead {
    /// Asks for as many windows as may be under way while `current` is wanted.
    fn fill(&mut self, simulation: &mut Simulation, windows: &[Window], current: usize) {
        while self.n_under_way < self.n_ahead && self.next < windows.len().min(current + 1 + self.n_ahead) {
            let ranges = ranges_of(&windows[self.next]);
            self.held_bytes += n_bytes(&ranges);
            simulation.hold(self.held_bytes);
            // One at most: no layer that asks several times is read ahead through.
            for ranges in simulation.layers.requests(ranges) {
                for request in simulation.submit(simulation.way.now(), ranges) {
                    self.owners.resize(request.0 + 1, None);
                    self.owners[request.0] = Some(self.next);
                    self.n_missing[self.next] += 1;
                }
            }
            self.n_under_way += usize::from(self.n_missing[self.next] > 0);
            self.next += 1;
        }
    }

    /// Lets time pass until something happens; `false` if nothing does before the limit.
    fn step(&mut self, simulation: &mut Simulation, limit: f64) -> bool {
        match simulation.way.step(limit) {
            Event::Nothing => return false,
            Event::Progress => {}
            Event::Finished(request) => {
                if let Some(window) = self.owners.get(request.0).copied().flatten() {
                    self.n_missing[window] -= 1;
                    self.n_under_way -= usize::from(self.n_missing[window] == 0);
                }
            }
        }
        true
    }
}

/// The parts of ranges that are not among `kept`, which is sorted and without overlap.
fn without(kept: &[Range<u64>], ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    if kept.is_empty() {
        return ranges;
    }
    let mut missing = Vec::with_capacity(ranges.len());
    for mut range in ranges {
        let first = kept.partition_point(|kept| kept.end <= range.start);
        for kept in kept[first..].iter().take_while(|kept| kept.start < range.end) {
            missing.extend((range.start < kept.start).then_some(range.start..kept.start));
            range.start = kept.end.min(range.end);
        }
        missing.extend((!range.is_empty()).then_some(range));
    }
    missing
}

fn ranges_of(window: &Window) -> Vec<Range<u64>> {
    window.spans.iter().map(|span| span.range.clone()).collect()
}

fn n_bytes(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// Bytes of the ranges of a window.
fn window_bytes(window: &Window) -> u64 {
    window.spans.iter().map(|span| span.range.end - span.range.start).sum()
}

/// Seconds of work on a piece.
fn work(read: &LogicalRead) -> f64 {
    std::time::Duration::from_nanos(read.think_ns).as_secs_f64()
}

/// Seconds of work on a window.
fn think(window: &Window, reads: &[LogicalRead]) -> f64 {
    let think_ns = reads[window.pieces.clone()].iter().fold(0_u64, |sum, read| sum.saturating_add(read.think_ns));
    std::time::Duration::from_nanos(think_ns).as_secs_f64()
}

fn nanoseconds(seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; casts of floats saturate")]
    let nanoseconds = (seconds * 1e9).round() as u64;
    nanoseconds
}
