//! Graphs: the points of all inputs in a row.

use std::ops::Range;
use std::sync::Arc;

use arrowroot::{File, FileKey};

use super::add::Sum;
use super::layout::Role;
use super::references::references;
use super::worker::Worker;
use crate::error::{Error, Result};
use crate::merging::{Merged, Merging, Names, Origin, Output};
use crate::rules::Rule;

/// The number of points.
const N_POINTS: &str = "fNpoints";
/// The name of the histogram of the axes, which is there once these were asked for.
const AXES_NAME: &str = "fHistogram.fName";
/// `TGraph::kResetHisto`: the axes are to be fitted to the points, and keep their titles.
const RESET_AXES: u32 = 1 << 17;

/// Begins a graph, of which an input has the first.
pub(crate) fn begin(key: &FileKey) -> Box<dyn Merging> {
    Box::new(Graph { names: Names::of(key), parts: Vec::new(), staged: None, whole: None })
}

/// The graphs of all inputs so far.
struct Graph {
    names: Names,
    parts: Vec<Sum>,
    staged: Option<Sum>,
    /// All points, as they are stored.
    whole: Option<Sum>,
}

impl Merging for Graph {
    fn needs_object(&self) -> bool {
        true
    }

    fn read(&mut self, input: &File, key: &FileKey, stored: &[u8], worker: &mut Worker) -> Result<()> {
        let object = input.unpack_by(&mut worker.decompressor, &key.key, stored)?;
        let part = Sum::of(input, key, object, worker)?;
        if let Some(first) = self.parts.iter().find(|part| has_points(part))
            && has_points(&part)
        {
            let paths = |part: &Sum| -> Vec<String> {
                let points = part.layout.spans.iter().filter(|span| span.role == Role::Points);
                points.map(|span| span.path.clone()).collect()
            };
            if paths(first) != paths(&part) {
                return Err(self.names.mismatch(input, "its points have other errors than in the inputs before"));
            }
        }
        if self.parts.first().is_some_and(|first| references_of(first).is_none()) {
            let what = "what the inputs before keep with its axes (fHistogram) is not known: it is not put together with \
                        others yet, the rules first, all and drop take it";
            return Err(self.names.unsupported(input, what));
        }
        self.staged = Some(part);
        Ok(())
    }

    fn copy(&mut self, _input: &File, _output: &Output) -> Result<()> {
        self.parts.extend(self.staged.take());
        Ok(())
    }

    fn forget(&mut self) {
        self.staged = None;
    }

    fn pack(&mut self, output: &Output, worker: &mut Worker) -> Result<()> {
        let Some(first) = self.parts.first_mut() else { return Ok(()) };
        first.make_room(output, usize::MAX)?;
        let Some(first) = self.parts.first() else { return Ok(()) };
        let object = joined(&self.parts).ok_or_else(|| Error::InvalidRequest {
            what: format!("{}: its points take 1 GiB or more: the rules first, all and drop take it", self.names.path),
        })?;
        let (key, layout) = (first.key.clone(), Arc::clone(&first.layout));
        let mut whole = Sum { key, object, layout, widest: [None; 3] };
        whole.pack(output, worker)?;
        self.whole = Some(whole);
        Ok(())
    }

    fn finish(self: Box<Self>, output: &Output, _origins: &[Origin]) -> Result<Merged> {
        let Graph { names, parts, whole, .. } = *self;
        if let Some(Sum { key, object, .. }) = whole {
            let directory = names.directory_in(output)?;
            output.file.write_stored(directory, &key, &object, 0)?;
        }
        Ok(Merged {
            path: names.path,
            class_name: names.class_name,
            rule: Rule::Concatenate.name(),
            n_inputs: parts.len() as u64,
            ..Merged::default()
        })
    }
}

/// The first of some graphs with the points of all, not compressed; `None` if that is too large.
fn joined(parts: &[Sum]) -> Option<Vec<u8>> {
    let first = parts.first()?;
    if parts.len() == 1 {
        return Some(first.object.clone());
    }
    let with_points = parts.iter().find(|part| has_points(part)).unwrap_or(first);
    let mut replaced = Vec::new();
    for path in with_points.layout.spans.iter().filter(|span| span.role == Role::Points).map(|span| &span.path) {
        let points = parts.iter().flat_map(|part| part.bytes(path).unwrap_or_default());
        let empty = || first.layout.empty.iter().find(|(known, _)| known == path);
        replaced.push(match first.span(path) {
            Some(span) => (span.range.clone(), points.copied().collect()),
            // Behind a byte that says that there are some.
            None => empty().map(|(_, at)| (at - 1..*at, [&1].into_iter().chain(points).copied().collect()))?,
        });
    }
    let n_points = parts.iter().map(|part| number(part.bytes(N_POINTS))).fold(0, u32::saturating_add);
    let mut replace = |range: Range<usize>, number: u32| replaced.push((range, number.to_be_bytes().to_vec()));
    replace(first.span(N_POINTS)?.range.clone(), n_points);
    if first.span(AXES_NAME).is_some() && n_points > number(first.bytes(N_POINTS)) {
        let at = *first.layout.bits.first()?;
        replace(at..at + 4, number(first.object.get(at..)) | RESET_AXES);
    }
    first.layout.spliced(&first.object, replaced, &references_of(first)?)
}

/// See [`references`]; nothing is moved before the number of points.
fn references_of(part: &Sum) -> Option<Vec<(usize, usize)>> {
    let from = part.span(N_POINTS)?.range.start;
    references(&part.layout.pointers, &part.object, part.key.key_bytes.into(), from)
}

fn has_points(part: &Sum) -> bool {
    part.layout.spans.iter().any(|span| span.role == Role::Points)
}

/// The number at the beginning of bytes; 0 if there is none.
fn number(bytes: Option<&[u8]>) -> u32 {
    bytes.and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
