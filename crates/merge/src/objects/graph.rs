//! Graphs: the points of all inputs in a row.

use std::sync::Arc;

use arrowroot::{File, FileKey};

use super::add::Sum;
use super::layout::Role;
use super::worker::Worker;
use crate::error::Result;
use crate::merging::{Merged, Merging, Names, Origin, Output};
use crate::rules::Rule;

/// The number of points.
const N_POINTS: &str = "fNpoints";
/// Byte counts have this bit, and 30 bits of a number.
const BYTE_COUNT: u32 = 1 << 30;

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
        let has_points = |part: &Sum| part.layout.spans.iter().any(|span| span.role == Role::Points);
        if let Some(first) = self.parts.iter().find(|first| has_points(first))
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
        // A graph without points lacks the places of others.
        let has_points = |part: &&Sum| part.layout.spans.iter().any(|span| span.role == Role::Points);
        let Some(first) = self.parts.iter().find(has_points).or(self.parts.first()) else { return Ok(()) };
        let (key, object, layout) = (first.key.clone(), joined(first, &self.parts), Arc::clone(&first.layout));
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

/// The bytes of a graph with the points of all.
fn joined(first: &Sum, parts: &[Sum]) -> Vec<u8> {
    if parts.len() == 1 {
        return first.object.clone();
    }
    let bytes_of = |part: &Sum, path: &str| {
        part.layout.span(path).map(|span| part.object[span.range.clone()].to_vec()).unwrap_or_default()
    };
    let n_points =
        |part: &Sum| bytes_of(part, N_POINTS).first_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    let mut object: Vec<u8> = Vec::new();
    // Where each byte of the first is now, and one past the last.
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for span in &first.layout.spans {
        moved.push((span.range.start, object.len()));
        match span.role {
            Role::Points => parts.iter().for_each(|part| object.extend(bytes_of(part, &span.path))),
            Role::Drawn => object.extend([0; 4]),
            _ if span.path == N_POINTS => {
                object.extend(parts.iter().map(n_points).fold(0, u32::saturating_add).to_be_bytes());
            }
            _ => object.extend(&first.object[span.range.clone()]),
        }
    }
    moved.push((first.object.len(), object.len()));
    // A count begins in structure, and ends where a span does.
    let now = |position: usize| {
        let index = moved.partition_point(|(before, _)| *before <= position).saturating_sub(1);
        moved.get(index).map_or(position, |(before, after)| after + (position - before))
    };
    for count in &first.layout.counts {
        let (start, end) = (now(count.start), now(count.end));
        let n_bytes = u32::try_from(end.saturating_sub(start + 4)).unwrap_or(u32::MAX);
        if let Some(bytes) = object.get_mut(start..start + 4) {
            bytes.copy_from_slice(&(n_bytes | BYTE_COUNT).to_be_bytes());
        }
    }
    object
}
