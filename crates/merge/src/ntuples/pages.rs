//! Pages: copied as they are, with the checksums behind them.

use std::ops::Range;

use ahash::{HashMap, HashMapExt};
use arrowroot::File;
use arrowroot_file::{format_error, read_parts, read_range};
use arrowroot_format as format;
use arrowroot_storage::Part;
use arrowroot_writer::FileWriter;
use arrowroot_writer::ntuple::CopiedNtuple;
use format::rntuple::{ColumnType, PAGE_CHECKSUM_BYTES, Page, check_page};

use crate::error::{Error, Result};
use crate::window::window_bytes;

/// Bytes between two pages that are read with them, at most: a key takes fewer, for example.
const MAX_GAP_BYTES: u64 = 4 << 10;

/// Bytes of a page in the file, with its checksum.
pub(super) fn bytes_of(page: &Page) -> u64 {
    page.stored_bytes.saturating_add(if page.has_checksum { PAGE_CHECKSUM_BYTES as u64 } else { 0 })
}

/// A page that is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) page: Page,
    /// Bytes before it was compressed.
    pub(super) n_bytes: usize,
}

/// Copies pages of an RNTuple of one input. A page that several columns or clusters share is copied once.
pub(super) struct Copier<'i> {
    input: &'i File,
    path: &'i str,
    /// By the offset in the input: bytes, and the offset in the output.
    placed: HashMap<u64, (u64, u64)>,
    /// Bytes that were copied.
    n_bytes: u64,
    /// Memory for pages; its content means nothing.
    buffer: &'i mut Vec<u8>,
}

impl<'i> Copier<'i> {
    pub(super) fn new(input: &'i File, path: &'i str, buffer: &'i mut Vec<u8>) -> Self {
        Copier { input, path, placed: HashMap::new(), n_bytes: 0, buffer }
    }

    /// The page where it is in the output.
    pub(super) fn placed(&self, page: &Page) -> Page {
        let offset = self.placed.get(&page.offset).map_or(0, |&(_, offset)| offset);
        Page { offset, ..*page }
    }

    /// Copies the pages of a cluster, in the order of the input.
    ///
    /// # Errors
    /// If a page is damaged, not in the file, or overlaps another one; errors of reading and writing.
    pub(super) fn copy(&mut self, mut wanted: Vec<Wanted>, out: &mut CopiedNtuple, file: &FileWriter) -> Result<()> {
        for Wanted { page, .. } in &wanted {
            if self.placed.get(&page.offset).is_some_and(|&(n_bytes, _)| ![0, n_bytes].contains(&bytes_of(page))) {
                return Err(overlap(self.input, self.path, page));
            }
        }
        wanted.retain(|wanted| !self.placed.contains_key(&wanted.page.offset));
        let wanted = arranged(self.input, self.path, wanted)?;
        for Wanted { page, .. } in &wanted {
            self.n_bytes = self.n_bytes.saturating_add(bytes_of(page));
            if self.n_bytes > self.input.size_bytes() {
                return Err(overlap(self.input, self.path, page));
            }
        }
        each_window(self.input, self.path, &wanted, self.buffer, |wanted, starts, buffer| {
            // Pages that lie one behind the other are one run.
            let mut runs: Vec<Range<usize>> = Vec::new();
            for (Wanted { page, .. }, &start) in wanted.iter().zip(starts) {
                let range = start..start + index(bytes_of(page));
                match runs.last_mut() {
                    Some(run) if run.end == range.start => run.end = range.end,
                    _ => runs.push(range),
                }
            }
            let runs: Vec<&[u8]> = runs.into_iter().map(|run| &buffer[run]).collect();
            let n_bytes = wanted.iter().fold(0, |sum: usize, wanted| sum.saturating_add(wanted.n_bytes));
            let mut offset = out.append(file, &runs, n_bytes)?;
            for Wanted { page, .. } in wanted {
                let n_bytes = bytes_of(page);
                self.placed.insert(page.offset, (n_bytes, offset));
                offset += n_bytes;
            }
            Ok(())
        })
    }
}

/// The pages that have bytes, each once, in the order of the file.
///
/// # Errors
/// If a page is not in the file, or overlaps another one.
pub(super) fn arranged(input: &File, path: &str, mut wanted: Vec<Wanted>) -> Result<Vec<Wanted>> {
    wanted.retain(|wanted| bytes_of(&wanted.page) > 0);
    for Wanted { page, .. } in &wanted {
        page.check_place().map_err(|error| fault(input, path, error, page))?;
    }
    wanted.sort_unstable_by_key(|wanted| (wanted.page.offset, bytes_of(&wanted.page)));
    wanted.dedup_by_key(|wanted| (wanted.page.offset, bytes_of(&wanted.page)));
    let mut end = 0;
    for Wanted { page, .. } in &wanted {
        let n_bytes = bytes_of(page);
        if page.offset < end {
            return Err(overlap(input, path, page));
        }
        end = page.offset.saturating_add(n_bytes);
        if end > input.size_bytes() {
            // The error of the read says what is wrong.
            read_range(input.source().as_ref(), page.offset, n_bytes)?;
        }
    }
    Ok(wanted)
}

/// Reads [arranged] pages, as many at a time as fit into a window, and compares their checksums. `take`: gets the pages, where
/// each begins in the buffer, and this.
///
/// # Errors
/// If a page is damaged; errors of reading, and of `take`.
pub(super) fn each_window(
    input: &File,
    path: &str,
    wanted: &[Wanted],
    buffer: &mut Vec<u8>,
    mut take: impl FnMut(&[Wanted], &[usize], &[u8]) -> Result<()>,
) -> Result<()> {
    let window_bytes = window_bytes(input);
    let mut rest = wanted;
    while !rest.is_empty() {
        let mut n_bytes = 0;
        let fits = |wanted: &&Wanted| {
            n_bytes += bytes_of(&wanted.page);
            n_bytes <= window_bytes
        };
        let n = rest.iter().take_while(fits).count().max(1);
        let (now, later) = rest.split_at(n);
        let starts = read_window(input, path, now, buffer)?;
        take(now, &starts, buffer)?;
        rest = later;
    }
    Ok(())
}

/// Reads pages that fit into memory. Returns where each begins in the buffer.
fn read_window(input: &File, path: &str, wanted: &[Wanted], buffer: &mut Vec<u8>) -> Result<Vec<usize>> {
    // Spans of the input, and for each page where it begins in the buffer.
    let mut spans: Vec<(u64, u64)> = Vec::new();
    let mut starts = Vec::with_capacity(wanted.len());
    let mut before = 0_u64;
    for Wanted { page, .. } in wanted {
        let end = page.offset + bytes_of(page);
        match spans.last_mut() {
            Some(span) if page.offset - span.1 <= MAX_GAP_BYTES => span.1 = end,
            last => {
                before += last.map_or(0, |span| span.1 - span.0);
                spans.push((page.offset, end));
            }
        }
        let begin = spans.last().map_or(0, |span| span.0);
        starts.push(index(before + page.offset - begin));
    }
    let n_bytes = index(spans.iter().map(|span| span.1 - span.0).sum());
    if buffer.len() < n_bytes {
        buffer.resize(n_bytes, 0);
    }
    let mut parts = Vec::with_capacity(spans.len());
    let mut rest = buffer.as_mut_slice();
    for (start, end) in spans {
        let (buffer, later) = rest.split_at_mut(index(end - start));
        parts.push(Part { offset: start, buffer });
        rest = later;
    }
    read_parts(input.source().as_ref(), &mut parts)?;
    for (Wanted { page, .. }, &start) in wanted.iter().zip(&starts).filter(|(wanted, _)| wanted.page.has_checksum) {
        let stored = &buffer[start..start + index(bytes_of(page))];
        check_page(stored).map_err(|error| fault(input, path, error, page))?;
    }
    Ok(starts)
}

fn fault(input: &File, path: &str, error: format::Error, page: &Page) -> Error {
    format_error(input.source().as_ref(), path, error.at(page.offset)).into()
}

fn overlap(input: &File, path: &str, page: &Page) -> Error {
    fault(input, path, format::Error::corrupt(0, "a page that overlaps another one"), page)
}

/// A size of what is in a window, or to be.
fn index(n_bytes: u64) -> usize {
    usize::try_from(n_bytes).unwrap_or(usize::MAX)
}

/// Bytes of a page before it was compressed.
pub(super) fn n_bytes(column_type: ColumnType, page: &Page) -> usize {
    column_type.page_bytes(page.n_elements.into()).unwrap_or(usize::MAX)
}
