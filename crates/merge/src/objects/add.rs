//! Histograms, profiles and parameters that are added: numbers in the bytes of one object are added to those of another.

use std::sync::Arc;

use arrowroot::format::container::Key;
use arrowroot::{File, FileKey};
use arrowroot_file::format_error;

use super::categories::{self, AXES, Width};
use super::classes::is_poly;
use super::layout::{Group, Layout, MemberSpan, Number, Role};
use super::numbers::{add_numbers, add_weights, as_f64, is_negative, join_numbers, numbers};
use super::references::references;
use super::room;
use super::walk::inside;
use super::worker::Worker;
use crate::error::Result;
use crate::merging::{Merged, Merging, Names, Origin, Output};
use crate::rules::Rule;

/// Sums of squares of weights that have no numbers where all weights were 1, and what they are then. Source: `TH1::Sumw2`,
/// `TProfileHelper::Sumw2`, `THn::GetBinError2` (ROOT 6.40).
const SUMS_OF_SQUARES: [(&str, &str); 3] =
    [("fSumw2", "contents"), ("fBinSumw2", "fBinEntries"), ("fSumw2.fData", DENSE_CONTENTS)];
/// The bins of a `THn`, of which none is stored before the first fill.
const DENSE_CONTENTS: &str = "fArray.fData";
/// The sum of squares of all weights of a `THn`, below 0 if none are counted; beside the squares of its bins.
const DENSE_SQUARES: (&str, &str) = ("fSumw2.fData", "fTsumw2");
/// `TParameter::kIsConst`: all that were merged had one value.
const IS_CONSTANT: u32 = 1 << 21;
/// The number of the cells of a histogram, which follows from its axes.
const N_CELLS: &str = "fNcells";
/// The statistics. They are 0 where bins were set, not filled, and ROOT computes them of the bins when asked for.
const STATISTICS: &str = "fTsum";
/// The first of them, and the numbers of bins that they are computed of.
const SUM_OF_WEIGHTS: &str = "fTsumw";
const OF_BINS: [&str; 2] = ["contents", "fBinEntries"];

/// Begins a sum, of which an input has the first.
pub(crate) fn begin(key: &FileKey) -> Box<dyn Merging> {
    Box::new(Added { names: Names::of(key), sum: None, staged: None, n_inputs: 0 })
}

/// A sum of histograms.
struct Added {
    names: Names,
    sum: Option<Sum>,
    staged: Option<Staged>,
    n_inputs: u64,
}

/// The object that was read last.
enum Staged {
    /// It is stored just as the sum.
    Like(Vec<u8>),
    Other(Sum),
    /// It has sums of squares or labels that the sum lacked, which has them here.
    Grown(Box<(Sum, Sum)>),
}

/// An object: its bytes, and where its numbers are.
pub(crate) struct Sum {
    /// The key in its input; references count from its start.
    pub(crate) key: Key,
    pub(crate) object: Vec<u8>,
    pub(crate) layout: Arc<Layout>,
    /// The longest axes of those that it is a sum of, where they differed in labels.
    pub(super) widest: [Option<Width>; 3],
}

impl Sum {
    pub(crate) fn of(input: &File, key: &FileKey, mut object: Vec<u8>, worker: &mut Worker) -> Result<Sum> {
        let infos = input.streamer_infos()?;
        let (key, path) = (&key.key, key.path());
        let layout = worker.layouts.of(&key.class_name, &object, key.key_bytes.into(), infos);
        let layout = layout.map_err(|error| {
            let error = error.placed(key.object_place()).remedied(|| remedy(&path));
            format_error(input.source().as_ref(), &path, error)
        })?;
        // ROOT would make the bins of a sum anew of the fills of one input.
        for &at in &layout.copied_fills {
            if let Some(n_fills) = object.get_mut(at..at + 8) {
                n_fills.fill(0);
            }
        }
        Ok(Sum { key: key.clone(), object, layout, widest: [None; 3] })
    }

    pub(super) fn span(&self, path: &str) -> Option<&MemberSpan> {
        self.layout.span(path)
    }

    /// The bytes of a span.
    pub(super) fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.object.get(self.span(path)?.range.clone())
    }

    /// Where the array of a member begins, which is its length.
    pub(super) fn array_at(&self, path: &str) -> Option<usize> {
        let empty = || self.layout.empty.iter().find(|(known, _)| known == path).map(|(_, at)| *at);
        self.span(path).map(|span| span.range.start).or_else(empty)?.checked_sub(4)
    }

    /// An object of the same key with other bytes; `None` if they are not understood.
    fn with_object(&self, object: Vec<u8>, input: &File, worker: &mut Worker) -> Option<Sum> {
        let (class, key_bytes) = (&self.key.class_name, self.key.key_bytes.into());
        let layout = worker.layouts.of(class, &object, key_bytes, input.streamer_infos().ok()?).ok()?;
        Some(Sum { key: self.key.clone(), object, layout, widest: self.widest })
    }

    /// The sum and another one with the same axes, if they differed in labels, or why they cannot be added.
    fn alike(&self, other: &Sum, what: String, input: &File, worker: &mut Worker) -> Result<(Sum, Sum), String> {
        let Some(alike) = categories::alike(self, other)? else { return Err(what) };
        let mut made = |sum: &Sum, object| sum.with_object(object, input, worker);
        let (Some(own), Some(other)) = (made(self, alike.own), made(other, alike.other)) else { return Err(what) };
        let own = Sum { widest: alike.widest, ..own };
        own.check(&other)?;
        Ok((own, other))
    }

    /// Has room for its place in a file that may grow large, as far as what refers to what before a place in it is known.
    pub(super) fn make_room(&mut self, output: &Output, end: usize) -> Result<()> {
        if room::may_grow_large(output)? {
            let pointers = &self.layout.pointers;
            let pointers = &pointers[..pointers.partition_point(|pointer| pointer.at < end)];
            if let Some(key) = room::enlarged(&self.key, &mut self.object, pointers) {
                self.key = key;
            }
        }
        Ok(())
    }

    /// The same object with other bytes, as another file stores it now.
    pub(crate) fn pack(&mut self, output: &Output, worker: &mut Worker) -> Result<()> {
        let object = std::mem::take(&mut self.object);
        self.key.head.object_bytes = u32::try_from(object.len()).unwrap_or(u32::MAX);
        self.object = output.file.pack_again(object, &mut worker.compressor)?;
        Ok(())
    }

    /// True if nothing of it is added: a list of other objects.
    fn is_constant(&self) -> bool {
        self.layout.groups.iter().all(|group| group.sums.is_empty())
    }

    /// True if bytes are those of an object that is stored in the same way, and has the same axes.
    fn is_like(&self, object: &[u8]) -> bool {
        self.layout.fits(&self.object, object) && self.layout.is_same(&self.object, object)
    }

    /// Checks that another one can be added, or says why not.
    pub(super) fn check(&self, other: &Sum) -> Result<(), String> {
        self.check_members(other)?;
        let differs = |path: &str| format!("{path} differs from that of the inputs before: it cannot be added");
        // The number of all cells, which comes before the axis that has other bins.
        let mut cells = None;
        for span in &self.layout.spans {
            let found = other.bytes(&span.path);
            let own = &self.object[span.range.clone()];
            match span.role {
                Role::Joined(..) if found.is_none_or(|found| found.len() != own.len()) => {
                    return Err(differs(&span.path));
                }
                Role::Same if found.is_some_and(|found| found != own) && !self.has_same_labels(other, &span.path) => {
                    if !span.path.ends_with(N_CELLS) {
                        return Err(differs(&span.path));
                    }
                    cells = cells.or(Some(&span.path));
                }
                Role::Add(_) if found.is_none() && may_be_empty(&span.path) => {}
                Role::Add(_) if cells.is_none() && found.is_none_or(|found| found.len() != own.len()) => {
                    return Err(format!("it has other {} than the inputs before: it cannot be added", span.path));
                }
                _ => {}
            }
        }
        if let Some(path) = cells {
            return Err(differs(path));
        }
        let polygons = self.layout.members.iter().filter(|(_, class)| is_poly(class));
        let mut squares = polygons.map(|(path, _)| inside(path, SUMS_OF_SQUARES[0].0));
        if squares.any(|squares| self.span(&squares).is_some() != other.span(&squares).is_some()) {
            return Err("it or the inputs before have no sums of squares of weights (Sumw2), and the others have: it cannot be \
                 added"
                .to_owned());
        }
        // Spans of no bytes are not listed.
        if let Some(span) =
            other.layout.spans.iter().find(|span| span.role == Role::Same && self.span(&span.path).is_none())
        {
            return Err(format!("{} is not there in the inputs before: it cannot be added", span.path));
        }
        Ok(())
    }

    /// True if a path is that of labels, which are the same in another one. Their bytes may say where classes are.
    fn has_same_labels(&self, other: &Sum, path: &str) -> bool {
        let labels = |sum: &Sum| {
            let at = sum.span(path).filter(|_| path.ends_with("fLabels"))?.range.start;
            categories::read_labels(&sum.object, at, sum.key.key_bytes.into()).ok()
        };
        labels(self).is_some_and(|own| Some(own) == labels(other))
    }

    /// Checks that another one holds the same objects.
    fn check_members(&self, other: &Sum) -> Result<(), String> {
        let (own, others) = (&self.layout.members, &other.layout.members);
        if own == others {
            return Ok(());
        }
        let number = own.iter().zip(others).take_while(|(own, other)| own == other).count();
        let at = |members: &[(String, String)]| match members.get(number) {
            Some((path, class)) if path.is_empty() => format!("a {class}"),
            Some((path, class)) => format!("a {class} at {path}"),
            None => format!("{number} objects to add"),
        };
        Err(format!(
            "it holds {}, and the inputs before {}: it cannot be added (a rule, first or all, takes it as it is)",
            at(others),
            at(own)
        ))
    }

    /// Adds an object that is stored in the same way.
    fn add_like(&mut self, other: &[u8]) {
        let Sum { object, layout, .. } = self;
        for group in &layout.groups {
            let of_bins = has_statistics_of_bins((object, layout, group), (other, layout, group));
            for span in group.sums.iter().map(|&index| &layout.spans[index]) {
                let own = &mut object[span.range.clone()];
                add_span(span, of_bins, own, &other[span.range.clone()]);
            }
        }
        layout.means.iter().for_each(|mean| mean.update(object));
    }

    /// Adds an object that was checked.
    pub(super) fn add(&mut self, other: &Sum) {
        let Sum { object, layout, .. } = self;
        for (own_group, group) in layout.groups.iter().zip(&other.layout.groups) {
            let of_bins = has_statistics_of_bins((object, layout, own_group), (&other.object, &other.layout, group));
            for span in own_group.sums.iter().map(|&index| &layout.spans[index]) {
                let own = &mut object[span.range.clone()];
                if let Some(others) = other.bytes(&span.path) {
                    add_span(span, of_bins, own, others);
                } else if let Some(squares) = other.squares(&span.path).filter(|_| !other.has_squares(&span.path)) {
                    add_numbers(Number::Float64, own, &squares);
                }
            }
        }
        layout.means.iter().for_each(|mean| mean.update(object));
    }

    /// True if an object has sums of squares of weights at a path. Those of a `THn` may all be 0, and not stored.
    fn has_squares(&self, path: &str) -> bool {
        let (of_bins, of_all) = DENSE_SQUARES;
        let marked = holder(path, of_bins).and_then(|holder| self.bytes(&format!("{holder}{of_all}")));
        self.span(path).is_some() || marked.is_some_and(|number| !is_negative(number))
    }

    /// The sums of squares of weights that are all 1, made of the numbers of bins.
    fn squares(&self, path: &str) -> Option<Vec<u8>> {
        let span = self.span(&stands_for(path)?)?;
        let Role::Add(number) = span.role else { return None };
        let bins = self.object[span.range.clone()].chunks_exact(number.n_bytes());
        Some(bins.flat_map(|bin| as_f64(number, bin).abs().to_be_bytes()).collect())
    }

    /// The same with the arrays that another one has and it lacks: sums of squares, bins of a `THn`; `None` if there are none.
    ///
    /// # Errors
    /// If there are some, and it cannot have them.
    fn grown(&self, other: &Sum, input: &File, worker: &mut Worker) -> Result<Option<Sum>, String> {
        let missing = |(path, at): &(String, usize)| Some((*at, self.missing(path, other)?));
        let arrays: Vec<(usize, Vec<u8>)> = self.layout.empty.iter().filter_map(missing).collect();
        if arrays.is_empty() {
            return Ok(None);
        }
        let made = self.with_arrays(arrays).and_then(|object| self.with_object(object, input, worker));
        made.map(Some).ok_or_else(|| {
            "it has sums of squares of weights (Sumw2), which the inputs before lack, and these have functions or other \
             objects behind: it is not added yet, unless it comes first"
                .to_owned()
        })
    }

    /// An array that has no numbers, with those that it needs for another object to be added.
    fn missing(&self, path: &str, other: &Sum) -> Option<Vec<u8>> {
        let others = other.span(path);
        let zeros = |span: &MemberSpan| vec![0; span.range.len()];
        if stands_for(path).is_none() {
            let span = others.filter(|_| may_be_empty(path))?;
            let Role::Add(number) = span.role else { return None };
            return array(number, &zeros(span));
        }
        let numbers = match (self.has_squares(path), other.has_squares(path)) {
            (false, false) => None,
            // All of its own are 0.
            (true, _) => others.map(zeros).or_else(|| Some(vec![0; other.squares(path)?.len()])),
            (false, true) => self.squares(path).or_else(|| others.map(zeros)),
        };
        array(Number::Float64, &numbers?)
    }

    /// Its bytes with other arrays in place of those that end at some places; `None` if what follows may refer to what moves.
    fn with_arrays(&self, arrays: Vec<(usize, Vec<u8>)>) -> Option<Vec<u8>> {
        let from = arrays.iter().map(|(at, _)| *at).min()?;
        let references = references(&self.layout.pointers, &self.object, self.key.key_bytes.into(), from)?;
        let replaced = arrays.into_iter().map(|(at, array)| Some((at.checked_sub(4)?..at, array)));
        self.layout.spliced(&self.object, replaced.collect::<Option<_>>()?, &references)
    }

    /// Forgets that a parameter had the same value in all inputs, if another one has another value.
    fn compare_constants(&mut self, other: &[u8], layout: &Layout) {
        let value = |layout: &Layout| layout.span("fVal").map(|span| span.range.clone());
        let (Some(own), Some(others), Some(&at)) = (value(&self.layout), value(layout), self.layout.bits.first())
        else {
            return;
        };
        if self.object.get(own) != other.get(others)
            && let Some(bytes) = self.object.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>())
        {
            *bytes = (u32::from_be_bytes(*bytes) & !IS_CONSTANT).to_be_bytes();
        }
    }
}

/// The rules for an object that cannot be added.
fn remedy(path: &str) -> String {
    format!("the rules first, all or drop take it, as --rule '{path}=first'")
}

/// Where the numbers are that sums of squares at a path are where all weights are 1; `None` for another path.
fn stands_for(path: &str) -> Option<String> {
    SUMS_OF_SQUARES.iter().find_map(|(squares, from)| Some(format!("{}{from}", holder(path, squares)?)))
}

/// The beginning of the path of a member: nothing, or the object that holds it, and a point. `None` if it is another member.
fn holder<'a>(path: &'a str, member: &str) -> Option<&'a str> {
    path.strip_suffix(member).filter(|holder| holder.is_empty() || holder.ends_with('.'))
}

/// True for arrays that lack numbers in some objects, which others have.
fn may_be_empty(path: &str) -> bool {
    stands_for(path).is_some() || holder(path, DENSE_CONTENTS).is_some()
}

/// Numbers as an array has them, behind how many there are.
fn array(number: Number, numbers: &[u8]) -> Option<Vec<u8>> {
    let n_numbers = u32::try_from(numbers.len() / number.n_bytes()).ok().filter(|n_numbers| *n_numbers > 0)?;
    Some([&n_numbers.to_be_bytes(), numbers].concat())
}

/// A histogram in bytes.
type Histogram<'a> = (&'a [u8], &'a Layout, &'a Group);

/// True if one of two histograms with fills lacks statistics, so that the sum has none.
fn has_statistics_of_bins(own: Histogram<'_>, other: Histogram<'_>) -> bool {
    let has_fills = |(object, layout, group): Histogram<'_>| number(object, layout, group.n_entries) > 0.0;
    has_fills(own) && has_fills(other) && lacks_statistics(own) != lacks_statistics(other)
}

/// True if bins were set, and not filled. Fills outside of all bins have no statistics either, and those that cancel have
/// some: these are not missing.
fn lacks_statistics((object, layout, group): Histogram<'_>) -> bool {
    let is_0 = |span: &MemberSpan| match span.role {
        Role::Add(number) => numbers(number, &object[span.range.clone()]).all(|number| number == 0.0),
        _ => true,
    };
    let statistics = group.sums.iter().map(|&index| &layout.spans[index]).filter(|span| is_statistic(&span.path));
    number(object, layout, group.sum_of_weights) == 0.0
        && statistics.into_iter().all(is_0)
        && has_bins_in_range((object, layout, group)).unwrap_or(true)
}

/// True if a bin of a histogram that is no underflow or overflow is not 0; `None` if it is not known where the bins are.
fn has_bins_in_range((object, layout, group): Histogram<'_>) -> Option<bool> {
    let holder = holder(&layout.spans.get(group.sum_of_weights?)?.path, SUM_OF_WEIGHTS)?;
    let span = |member: &str| layout.spans.iter().find(|span| span.path.strip_prefix(holder) == Some(member));
    let n_bins = |axis: &str| {
        let bytes = object.get(span(&format!("{axis}.fNbins"))?.range.clone())?;
        usize::try_from(u32::from_be_bytes(*bytes.first_chunk()?)).ok()
    };
    let cells_of = |member: &str| {
        let found = span(member)?;
        let Role::Add(number) = found.role else { return None };
        Some((number, object.get(found.range.clone())?))
    };
    let (number, contents) = cells_of(OF_BINS[0])?;
    let n_cells = contents.len() / number.n_bytes();
    // Axes that a histogram does not use have a single bin.
    let (mut sizes, mut n_before) = (Vec::new(), 1_usize);
    for axis in AXES {
        if n_before < n_cells {
            let size = n_bins(axis)?.checked_add(2)?;
            n_before = n_before.checked_mul(size)?;
            sizes.push(size);
        }
    }
    let is_in_range = |cell: usize| {
        let mut rest = cell;
        sizes.iter().all(|size| {
            let place = rest % size;
            rest /= size;
            (1..size - 1).contains(&place)
        })
    };
    Some(OF_BINS.iter().filter_map(|member| cells_of(member)).any(|(number, bytes)| {
        numbers(number, bytes).enumerate().any(|(cell, content)| content != 0.0 && is_in_range(cell))
    }))
}

/// A number of an object; 0 if it has none.
fn number(object: &[u8], layout: &Layout, index: Option<usize>) -> f64 {
    let bytes = index.and_then(|index| object.get(layout.spans.get(index)?.range.clone())?.first_chunk::<8>());
    bytes.map_or(0.0, |bytes| f64::from_be_bytes(*bytes))
}

/// True for the statistics of a histogram.
fn is_statistic(path: &str) -> bool {
    path.rsplit('.').next().is_some_and(|name| name.starts_with(STATISTICS))
}

impl Merging for Added {
    fn needs_object(&self) -> bool {
        true
    }

    fn read(&mut self, input: &File, key: &FileKey, stored: &[u8], worker: &mut Worker) -> Result<()> {
        let object = input.unpack_by(&mut worker.decompressor, &key.key, stored)?;
        self.staged = Some(match &self.sum {
            Some(sum) if sum.is_like(&object) => Staged::Like(object),
            Some(sum) => {
                let mut other = Sum::of(input, key, object, worker)?;
                if sum.is_constant() && other.is_constant() {
                    self.staged = Some(Staged::Like(Vec::new()));
                    return Ok(());
                }
                let mut alike = None;
                if let Err(what) = sum.check(&other) {
                    let made = sum.alike(&other, what, input, worker);
                    let (own, moved) = made.map_err(|what| self.names.mismatch(input, what))?;
                    (alike, other) = (Some(own), moved);
                }
                let own = alike.as_ref().unwrap_or(sum);
                let grown = own.grown(&other, input, worker).map_err(|what| self.names.unsupported(input, what))?;
                match grown.or(alike) {
                    Some(grown) => Staged::Grown(Box::new((grown, other))),
                    None => Staged::Other(other),
                }
            }
            None => Staged::Other(Sum::of(input, key, object, worker)?),
        });
        Ok(())
    }

    fn copy(&mut self, _input: &File, _output: &Output) -> Result<()> {
        match (&mut self.sum, self.staged.take()) {
            (_, None) => return Ok(()),
            (Some(sum), Some(Staged::Like(object))) => {
                if !sum.is_constant() {
                    sum.compare_constants(&object, &Arc::clone(&sum.layout));
                    sum.add_like(&object);
                }
            }
            (Some(sum), Some(Staged::Other(other))) => {
                sum.compare_constants(&other.object, &other.layout);
                sum.add(&other);
            }
            (Some(sum), Some(Staged::Grown(both))) => {
                let (grown, other) = *both;
                *sum = grown;
                sum.add(&other);
            }
            (None, Some(Staged::Other(first))) => self.sum = Some(first),
            (None, Some(Staged::Like(_) | Staged::Grown(_))) => {}
        }
        self.n_inputs += 1;
        Ok(())
    }

    fn forget(&mut self) {
        self.staged = None;
    }

    fn pack(&mut self, output: &Output, worker: &mut Worker) -> Result<()> {
        let Some(sum) = &mut self.sum else { return Ok(()) };
        sum.make_room(output, usize::MAX)?;
        sum.pack(output, worker)
    }

    fn finish(self: Box<Self>, output: &Output, _origins: &[Origin]) -> Result<Merged> {
        let Added { names, sum, n_inputs, .. } = *self;
        let is_constant = sum.as_ref().is_some_and(Sum::is_constant);
        if let Some(Sum { key, object, .. }) = sum {
            let directory = names.directory_in(output)?;
            output.file.write_stored(directory, &key, &object, 0)?;
        }
        let rule = if is_constant { Rule::First } else { Rule::Add };
        let Names { path, class_name, .. } = names;
        Ok(Merged { path, class_name, rule: rule.name(), n_inputs, ..Merged::default() })
    }
}

/// Adds a span of an object to that of another one. `of_bins`: the sum has no statistics.
fn add_span(span: &MemberSpan, of_bins: bool, own: &mut [u8], other: &[u8]) {
    match span.role {
        Role::Add(_) if of_bins && is_statistic(&span.path) => own.fill(0),
        Role::Add(number) => add_numbers(number, own, other),
        Role::Joined(number, manner) => join_numbers(number, manner, own, other),
        Role::Marked => match (is_negative(own), is_negative(other)) {
            (_, true) => {}
            (true, false) => own.copy_from_slice(other),
            (false, false) => add_numbers(Number::Float64, own, other),
        },
        _ => add_weights(own, other),
    }
}
