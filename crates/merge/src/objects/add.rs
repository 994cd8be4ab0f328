//! Histograms, profiles and parameters that are added: numbers in the bytes of one object are added to those of another.

use ahash::HashMap;
use arrowroot::format::container::Key;
use arrowroot::{File, FileKey};
use arrowroot_file::format_error;

use super::layout::{Layout, MemberSpan, Number, Role, layout_of};
use crate::error::Result;
use crate::merging::{Merged, Merging, Names, Output};
use crate::rules::Rule;

/// `fSumw2` has no numbers where all weights were 1: it is the contents then.
const SUMS_OF_SQUARES: &str = "fSumw2";
const CONTENTS: &str = "contents";
const N_ENTRIES: &str = "fEntries";
/// The statistics. They are 0 where bins were set, not filled, and ROOT computes them of the bins when asked for.
const STATISTICS: &str = "fTsum";
const SUM_OF_WEIGHTS: &str = "fTsumw";

/// Begins a sum, of which an input has the first.
pub(crate) fn begin(key: &FileKey) -> Box<dyn Merging> {
    Box::new(Added { names: Names::of(key), sum: None, staged: None, n_inputs: 0 })
}

/// A sum of histograms.
struct Added {
    names: Names,
    sum: Option<Sum>,
    /// The object that was read last, and whether it is stored just as the sum.
    staged: Option<(Sum, bool)>,
    n_inputs: u64,
}

/// An object: its bytes, and where its numbers are.
pub(crate) struct Sum {
    /// The key in its input; references count from its start.
    pub(crate) key: Key,
    pub(crate) object: Vec<u8>,
    pub(crate) layout: Layout,
}

impl Sum {
    pub(crate) fn of(input: &File, key: &FileKey, object: Vec<u8>) -> Result<Sum> {
        let (key, path) = (&key.key, key.path());
        let layout = layout_of(&key.class_name, &object, input.streamer_infos()?)
            .map_err(|error| format_error(input.source().as_ref(), &path, error.placed(key.object_place())))?;
        Ok(Sum { key: key.clone(), object, layout })
    }

    fn span(&self, path: &str) -> Option<&MemberSpan> {
        self.layout.span(path)
    }

    /// True if bytes are those of an object that is stored in the same way, and has the same axes.
    fn is_like(&self, object: &[u8]) -> bool {
        self.object.len() == object.len()
            && self
                .layout
                .spans
                .iter()
                .filter(|span| matches!(span.role, Role::Structure | Role::Same))
                .all(|span| self.object[span.range.clone()] == object[span.range.clone()])
    }

    /// Checks that another one can be added, or says why not.
    fn check(&self, other: &Sum) -> Result<(), String> {
        let by_path: HashMap<&str, &MemberSpan> =
            other.layout.spans.iter().map(|span| (span.path.as_str(), span)).collect();
        for span in &self.layout.spans {
            let found = by_path.get(span.path.as_str()).map(|found| &other.object[found.range.clone()]);
            let own = &self.object[span.range.clone()];
            match span.role {
                Role::Same if found.is_some_and(|found| found != own) => {
                    return Err(format!("{} differs from that of the inputs before: it cannot be added", span.path));
                }
                Role::Add(_) if found.is_none_or(|found| found.len() != own.len()) && span.path != SUMS_OF_SQUARES => {
                    return Err(format!("it has other {} than the inputs before: it cannot be added", span.path));
                }
                _ => {}
            }
        }
        // Spans of no bytes are not listed.
        match other.layout.spans.iter().find(|span| span.role == Role::Same && self.span(&span.path).is_none()) {
            Some(span) => Err(format!("{} is not there in the inputs before: it cannot be added", span.path)),
            None => Ok(()),
        }
    }

    /// Adds another one. `is_like`: it is stored in the same way, and its layout is not known.
    fn add(&mut self, other: &Sum, is_like: bool) {
        let Sum { object, layout, .. } = self;
        let of_other = if is_like { &*layout } else { &other.layout };
        let has_fills = number(object, layout, N_ENTRIES) > 0.0 && number(&other.object, of_other, N_ENTRIES) > 0.0;
        let statistics_of_bins =
            has_fills && lacks_statistics(object, layout) != lacks_statistics(&other.object, of_other);
        for span in &layout.spans {
            let MemberSpan { range, role: Role::Add(number), path } = span else { continue };
            let from = if is_like { Some(range) } else { of_other.span(path).map(|span| &span.range) };
            let own = &mut object[range.clone()];
            if statistics_of_bins && path.starts_with(STATISTICS) {
                own.fill(0);
            } else if let Some(from) = from {
                add_numbers(*number, own, &other.object[from.clone()]);
            } else if path == SUMS_OF_SQUARES
                && let Some(contents) = contents(&other.object, of_other)
            {
                add_numbers(Number::Float64, own, &contents);
            }
        }
    }
}

/// A number of an object; 0 if it has none.
fn number(object: &[u8], layout: &Layout, path: &str) -> f64 {
    let bytes = layout.span(path).and_then(|span| object.get(span.range.clone())?.first_chunk::<8>());
    bytes.map_or(0.0, |bytes| f64::from_be_bytes(*bytes))
}

/// True if the bins of a histogram were set and not filled, so that it has no statistics.
fn lacks_statistics(object: &[u8], layout: &Layout) -> bool {
    number(object, layout, SUM_OF_WEIGHTS) == 0.0
}

/// The contents of the bins as `fSumw2` has them.
fn contents(object: &[u8], layout: &Layout) -> Option<Vec<u8>> {
    let span = layout.span(CONTENTS)?;
    let Role::Add(number) = span.role else { return None };
    let bins = object[span.range.clone()].chunks_exact(number.n_bytes());
    Some(bins.flat_map(|bin| as_f64(number, bin).to_be_bytes()).collect())
}

impl Merging for Added {
    fn read(&mut self, input: &File, key: &FileKey) -> Result<()> {
        let object = input.read_object(&key.key)?;
        let read = match &self.sum {
            Some(sum) if sum.is_like(&object) => {
                (Sum { key: key.key.clone(), object, layout: Layout::default() }, true)
            }
            Some(sum) => {
                let other = Sum::of(input, key, object)?;
                sum.check(&other).map_err(|what| self.names.mismatch(input, what))?;
                if sum.span(SUMS_OF_SQUARES).is_none() && other.span(SUMS_OF_SQUARES).is_some() {
                    let what = "it has sums of squares of weights (Sumw2), and the inputs before have none: it is not added \
                                yet, unless it comes first";
                    return Err(self.names.unsupported(input, what));
                }
                (other, false)
            }
            None => (Sum::of(input, key, object)?, true),
        };
        self.staged = Some(read);
        Ok(())
    }

    fn copy(&mut self, _input: &File, _output: &Output) -> Result<()> {
        let Some((other, is_like)) = self.staged.take() else { return Ok(()) };
        match &mut self.sum {
            Some(sum) => sum.add(&other, is_like),
            None => self.sum = Some(other),
        }
        self.n_inputs += 1;
        Ok(())
    }

    fn forget(&mut self) {
        self.staged = None;
    }

    fn finish(self: Box<Self>, output: &Output) -> Result<Merged> {
        let Added { names, sum, n_inputs, .. } = *self;
        if let Some(Sum { key, object, .. }) = sum {
            let directory = names.directory_in(output)?;
            output.file.write_again(directory, &key, &object)?;
        }
        Ok(Merged {
            path: names.path,
            class_name: names.class_name,
            rule: Rule::Add.name(),
            n_inputs,
            ..Merged::default()
        })
    }
}

/// Adds numbers, which are big-endian in a file; integers stop at their limits, as ROOT's bins do.
fn add_numbers(number: Number, own: &mut [u8], other: &[u8]) {
    macro_rules! add {
        ($type:ty, $n_bytes:literal, $add:expr) => {
            for (own, other) in own.as_chunks_mut::<$n_bytes>().0.iter_mut().zip(other.as_chunks::<$n_bytes>().0) {
                *own = $add(<$type>::from_be_bytes(*own), <$type>::from_be_bytes(*other)).to_be_bytes();
            }
        };
    }
    match number {
        Number::Int8 => add!(i8, 1, i8::saturating_add),
        Number::Int16 => add!(i16, 2, i16::saturating_add),
        Number::Int32 => add!(i32, 4, i32::saturating_add),
        Number::Int64 => add!(i64, 8, i64::saturating_add),
        Number::Float32 => add!(f32, 4, |a: f32, b: f32| a + b),
        Number::Float64 => add!(f64, 8, |a: f64, b: f64| a + b),
    }
}

/// A number of a bin.
#[expect(clippy::cast_precision_loss, reason = "as ROOT does: GetBinContent is a double")]
fn as_f64(number: Number, bin: &[u8]) -> f64 {
    let read = || {
        Some(match number {
            Number::Int8 => f64::from(i8::from_be_bytes(*bin.first_chunk()?)),
            Number::Int16 => f64::from(i16::from_be_bytes(*bin.first_chunk()?)),
            Number::Int32 => f64::from(i32::from_be_bytes(*bin.first_chunk()?)),
            Number::Int64 => i64::from_be_bytes(*bin.first_chunk()?) as f64,
            Number::Float32 => f64::from(f32::from_be_bytes(*bin.first_chunk()?)),
            Number::Float64 => f64::from_be_bytes(*bin.first_chunk()?),
        })
    };
    read().unwrap_or_default()
}
