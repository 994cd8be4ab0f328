//! Axes that differ: a bin is that of a label, wherever it is on the axis of another histogram, or lies in one of an axis that
//! holds both.
//!
//! Source: `TH1Merger::LabelMerge`, `TH1Merger::DifferentAxesMerge`, `TAxis::FindBin`, `TH1::LabelsInflate`, `TList::Streamer` (ROOT 6.40).

use ahash::{HashMap, HashSet};
use arrowroot::format::streamer::{ObjectSlot, ObjectSlots, object_base};
use arrowroot::format::{Cursor, Output, Result};

use super::add::Sum;
use super::classes::{is_histogram, n_axes};
use super::layout::Role;
use super::numbers::add_numbers;
use super::walk::EMPTY_LIST_BYTES;

/// The axes of a histogram, by their members.
pub(super) const AXES: [&str; 3] = ["fXaxis", "fYaxis", "fZaxis"];
/// Numbers of all bins, those beyond the axes, too.
const OF_BINS: [&str; 4] = ["contents", "fSumw2", "fBinEntries", "fBinSumw2"];
/// `TAxis::kAlphanumeric`.
const IS_ALPHANUMERIC: u16 = 1 << 0;
/// `TAxis::kCanExtend`.
const CAN_EXTEND: u16 = 1 << 1;
/// `TAxis::kAxisRange`: a part of the axis is shown. The bits of a `TObject` lie behind its version and number.
const IN_PART: u32 = 1 << 11;
const BITS_AT: usize = 6;
/// `TH1::kAutoBinPTwo`.
const AUTO_BINNED: u32 = 1 << 20;
/// Numbers of bins that differ by less are the same. Source: `AlmostInteger` of `TH1.cxx`.
const SAME_NUMBER: f64 = 1e-8;
/// The version of a list, and of a `TObjString`.
const LIST_VERSION: u16 = 5;
const TEXT_VERSION: u16 = 1;
/// Bytes of a pointer to nothing.
const NULL_BYTES: usize = 4;
/// At most so many bins: four arrays of them have to fit into an object, which has at most 1 GiB.
const MAX_BINS: usize = 1 << 24;
/// Widths of bins that differ by less than this part are the same. Source: `TH1::RecomputeAxisLimits`.
const SAME_WIDTH: f64 = 1e-10;

/// The bins of an axis that all inputs had room for: their number, and the end of the last one.
pub(super) type Width = (usize, f64);

/// Two histograms with the same axes, of two that differ in their labels.
pub(super) struct Alike {
    /// The bytes of both.
    pub(super) own: Vec<u8>,
    pub(super) other: Vec<u8>,
    /// The longest axes of all inputs: bins are added to these.
    pub(super) widest: [Option<Width>; 3],
}

#[derive(Debug, Clone, PartialEq)]
struct Axis {
    n_bins: usize,
    min: f64,
    max: f64,
    /// As they are stored, if bins differ in width.
    edges: Vec<u8>,
    bits: u16,
    labels: Option<Vec<Label>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Label {
    text: Vec<u8>,
    bin: usize,
}

/// A histogram whose bins are looked at.
struct Bins<'a> {
    sum: &'a Sum,
    axes: Vec<Axis>,
    /// Which of its bins have something.
    occupied: Vec<bool>,
    is_empty: bool,
}

/// Gives two histograms the same axes, if they differ in labels: labels that the first lacks come behind its own, in the order of
/// the bins of the second that have something. `None` if they differ otherwise.
///
/// # Errors
/// Why bins of these labels cannot be found, or would be lost in ROOT.
pub(super) fn alike(own: &Sum, other: &Sum) -> Result<Option<Alike>, String> {
    if !is_histogram(&own.key.class_name) {
        return Ok(None);
    }
    let (Some(own), Some(other)) = (Bins::of(own), Bins::of(other)) else { return Ok(None) };
    let Some(by_label) = labelled_axes(&own, &other)? else { return joined(&own, &other).map(Some) };
    let mut axes = own.axes.clone();
    for &number in &by_label {
        let axis = &mut axes[number];
        let without = axis.labels.as_ref().map_or(0, Vec::len) + 1..=axis.n_bins;
        if own.cells().any(|cell| without.contains(&cell[number])) {
            return Err(without_label(number));
        }
        if !other.is_empty {
            axis.bits |= IS_ALPHANUMERIC | CAN_EXTEND;
            axis.labels.get_or_insert_default();
        }
    }
    let found = find_bins(&other, &mut axes, &by_label)?;
    let mut widest = own.sum.widest;
    for &number in &by_label {
        let (ours, theirs, axis) = (&own.axes[number], &other.axes[number], &mut axes[number]);
        let known = widest[number].unwrap_or((ours.n_bins, ours.max));
        let (mut n_bins, mut max) = if theirs.n_bins > known.0 { (theirs.n_bins, theirs.max) } else { known };
        widest[number] = Some((n_bins, max));
        while n_bins < axis.labels.as_ref().map_or(0, Vec::len) {
            (n_bins, max) = (n_bins.saturating_mul(2), axis.min + 2.0 * (max - axis.min));
        }
        if n_bins != ours.n_bins && (own.has_fills_beyond(number) || other.has_fills_beyond(number)) {
            return Err(format!(
                "{}: it gets other bins, and there are fills below or above them, which ROOT loses",
                AXES[number]
            ));
        }
        (axis.n_bins, axis.max) = (n_bins, max);
    }
    if n_cells(&axes) > MAX_BINS {
        return Err("its labels make too many bins".to_owned());
    }
    let by_place = |cell: &[usize; 3]| {
        let moved = |number: usize| match (cell[number], own.axes.get(number)) {
            (bin, Some(axis)) if bin > axis.n_bins => axes[number].n_bins + 1,
            (bin, _) => bin,
        };
        [moved(0), moved(1), moved(2)]
    };
    let by_found = |cell: &[usize; 3]| {
        let moved = |number: usize| match (cell[number], found.get(number)) {
            (bin, Some(_)) if bin > other.axes[number].n_bins => axes[number].n_bins + 1,
            (bin, Some(Some(bins))) => bins.get(&bin).copied().unwrap_or(bin),
            (bin, _) => bin,
        };
        [moved(0), moved(1), moved(2)]
    };
    let labels = labels_of(&own, &axes).map_err(|error| error.to_string())?;
    let too_large = || "its labels make it too large".to_owned();
    let ours = own.rewritten(&axes, &labels, by_place).ok_or_else(too_large)?;
    let theirs = other.rewritten(&axes, &labels, by_found).ok_or_else(too_large)?;
    if ours.len() != own.sum.object.len() && own.has_objects_behind() {
        return Err("it has functions, and other labels than the inputs before: it is not added yet".to_owned());
    }
    Ok(Some(Alike { own: ours, other: theirs, widest }))
}

/// Gives two histograms whose axes differ in more than labels the same ones, on which each bin lies in one of the sum.
///
/// # Errors
/// The axis for which ROOT has none, or on which it would lose fills.
fn joined(own: &Bins<'_>, other: &Bins<'_>) -> Result<Alike, String> {
    if own.is_autobinned() || other.is_autobinned() {
        return Err(
            "its axes are other ones, and TH1::kAutoBinPTwo is set, by which ROOT moves fills beyond them".to_owned()
        );
    }
    let mut axes = own.axes.clone();
    let is_by_label = axes.iter().all(|axis| axis.bits & CAN_EXTEND != 0);
    for (number, (axis, theirs)) in axes.iter_mut().zip(&other.axes).enumerate() {
        let refused = |what: &str| Err(format!("{}: {what}: it cannot be added", AXES[number]));
        let (ours, Some(both)) = (axis.clone(), axis.joined(theirs)) else {
            return refused("its bins do not lie in those of the inputs before, nor these in them");
        };
        let has_labels = ours.labels.is_some() || theirs.labels.is_some();
        if has_labels && (is_by_label || ours.labels != theirs.labels || both != ours) {
            return refused("it has labels, and an axis has other bins than in the inputs before");
        }
        for (bins, had) in [(own, &ours), (other, theirs)] {
            let (is_below, is_above) = bins.fills_beyond(number);
            let is_extended = (is_below || is_above) && ours.bits & CAN_EXTEND != 0;
            if is_extended || is_below && both.bin_at(had.centre(0)) > 0 || is_above && both.holds_behind(had) {
                return refused("fills below or above it, where the sum has bins");
            }
        }
        *axis = both;
    }
    if n_cells(&axes) > MAX_BINS {
        return Err("its axes make too many bins".to_owned());
    }
    let moved = |bins: &Bins<'_>, cell: &[usize; 3]| {
        let bin_of = |number: usize| match (bins.axes.get(number), axes.get(number)) {
            (Some(axis), Some(both)) if cell[number] > axis.n_bins => both.n_bins + 1,
            (Some(axis), Some(both)) if cell[number] > 0 => axis.found_on(both, cell[number]),
            _ => cell[number],
        };
        [bin_of(0), bin_of(1), bin_of(2)]
    };
    let labels = labels_of(own, &axes).map_err(|error| error.to_string())?;
    let too_large = || "its axes make it too large".to_owned();
    let ours = own.rewritten(&axes, &labels, |cell| moved(own, cell)).ok_or_else(too_large)?;
    let theirs = other.rewritten(&axes, &labels, |cell| moved(other, cell)).ok_or_else(too_large)?;
    if ours.len() != own.sum.object.len() && own.has_objects_behind() {
        return Err("it has functions, and other bins than the inputs before: it is not added yet".to_owned());
    }
    Ok(Alike { own: ours, other: theirs, widest: own.sum.widest })
}

/// The axes whose bins are found by label; `None` if axes differ in something else.
fn labelled_axes(own: &Bins<'_>, other: &Bins<'_>) -> Result<Option<Vec<usize>>, String> {
    let mut by_label = Vec::new();
    for (number, (ours, theirs)) in own.axes.iter().zip(&other.axes).enumerate() {
        let is_same = ours.n_bins == theirs.n_bins
            && (ours.min, ours.max) == (theirs.min, theirs.max)
            && ours.edges == theirs.edges;
        if is_same && (ours.labels == theirs.labels || other.is_empty) {
            continue;
        }
        if ours.labels.is_none() && theirs.labels.is_none() {
            return Ok(None);
        }
        let refused = |what: &str| Err(format!("{}: {what}: it cannot be added", AXES[number]));
        let width = |axis: &Axis| (axis.max - axis.min) / count_as_f64(axis.n_bins);
        let has_same_width = (width(ours) - width(theirs)).abs() <= SAME_WIDTH * width(ours).abs();
        if !(ours.edges.is_empty() && theirs.edges.is_empty() && ours.min == theirs.min && has_same_width) {
            return refused(
                "it has labels, and bins of another width or from another place on than in the inputs before",
            );
        }
        let can_extend = |axis: &Axis| axis.labels.is_some() && axis.bits & CAN_EXTEND != 0;
        if ours.labels.is_none() && !own.is_empty || theirs.labels.is_none() && !other.is_empty {
            return refused("it has labels in some inputs only, and ROOT would add it by the numbers of bins");
        }
        if !(own.is_empty && ours.labels.is_none() || can_extend(ours)) || !(other.is_empty || can_extend(theirs)) {
            return refused(
                "other labels than in the inputs before, and it cannot be extended (TAxis::SetCanExtend), so that ROOT \
                 would add them by the numbers of bins",
            );
        }
        if number == 2 {
            return refused("other labels than in the inputs before, for which ROOT takes those of the Y axis");
        }
        by_label.push(number);
    }
    Ok(Some(by_label))
}

/// By axis: which bin of the sum is that of a bin of another histogram. Axes get the labels that they lack.
fn find_bins(
    other: &Bins<'_>,
    axes: &mut [Axis],
    by_label: &[usize],
) -> Result<Vec<Option<HashMap<usize, usize>>>, String> {
    let mut known: Vec<HashMap<Vec<u8>, usize>> = vec![HashMap::default(); axes.len()];
    let mut texts: Vec<HashMap<usize, &[u8]>> = vec![HashMap::default(); axes.len()];
    let mut found: Vec<Option<HashMap<usize, usize>>> = vec![None; axes.len()];
    for &number in by_label {
        let labels = axes[number].labels.as_deref().unwrap_or_default();
        known[number] = labels.iter().map(|label| (label.text.clone(), label.bin)).collect();
        let bins: HashSet<usize> = labels.iter().map(|label| label.bin).collect();
        let is_in_row = (1..=labels.len()).all(|bin| bins.contains(&bin));
        let theirs = other.axes[number].labels.as_deref().unwrap_or_default();
        texts[number] = theirs.iter().map(|label| (label.bin, &*label.text)).collect();
        let n_texts = theirs.iter().map(|label| &label.text).collect::<HashSet<_>>().len();
        if !is_in_row || known[number].len() != labels.len() || n_texts != theirs.len() {
            return Err(format!("{}: a label of two bins, or bins without one between others", AXES[number]));
        }
        found[number] = Some(HashMap::default());
    }
    for cell in other.cells() {
        for &number in by_label {
            let bin = cell[number];
            let (Some(found), Some(labels)) = (&mut found[number], &mut axes[number].labels) else { continue };
            if bin == 0 || bin > other.axes[number].n_bins || found.contains_key(&bin) {
                continue;
            }
            let Some(&text) = texts[number].get(&bin) else { return Err(without_label(number)) };
            let of_sum = *known[number].entry(text.to_vec()).or_insert_with(|| {
                labels.push(Label { text: text.to_vec(), bin: labels.len() + 1 });
                labels.len()
            });
            found.insert(bin, of_sum);
        }
    }
    Ok(found)
}

fn without_label(number: usize) -> String {
    format!("{}: it has labels, and fills in a bin without one", AXES[number])
}

/// The lists of labels as they are stored in the sum, at the places that they have then.
fn labels_of(own: &Bins<'_>, axes: &[Axis]) -> Result<Vec<Vec<u8>>> {
    let (mut lists, mut n_before, mut n_now) = (Vec::new(), 0, 0);
    for (name, axis) in AXES.iter().zip(axes) {
        let Some(span) = own.sum.span(&format!("{name}.fLabels")) else { continue };
        let at = usize::from(own.sum.key.key_bytes) + span.range.start + n_now - n_before;
        let list = match &axis.labels {
            Some(labels) => stored_labels(labels, at)?,
            None => vec![0; NULL_BYTES],
        };
        (n_before, n_now) = (n_before + span.range.len(), n_now + list.len());
        lists.push(list);
    }
    Ok(lists)
}

/// Labels as a `THashList` of texts behind a pointer. `at`: where it is, from the start of its key on.
fn stored_labels(labels: &[Label], at: usize) -> Result<Vec<u8>> {
    let mut output = Output::new(at);
    let (list, _) = output.begin_object("THashList")?;
    let frame = output.begin(LIST_VERSION);
    output.object_base(0);
    output.string(b"")?;
    output.count(labels.len())?;
    for label in labels {
        let (object, _) = output.begin_object("TObjString")?;
        let text = output.begin(TEXT_VERSION);
        // A TObject whose number is that of the bin.
        output.u16(1);
        output.count(label.bin)?;
        output.u32(0);
        output.string(&label.text)?;
        output.end(text)?;
        output.end(object)?;
        output.u8(0); // how it is drawn
    }
    output.end(frame)?;
    output.end(list)?;
    Ok(output.into_bytes())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of bins are small")]
fn count_as_f64(count: usize) -> f64 {
    count as f64
}

/// The number of bins, those beyond the axes, too.
fn n_cells(axes: &[Axis]) -> usize {
    axes.iter().fold(1, |product: usize, axis| product.saturating_mul(axis.n_bins.saturating_add(2)))
}

/// Where a bin is among all.
fn index(axes: &[Axis], cell: &[usize; 3]) -> usize {
    axes.iter().zip(cell).rev().fold(0, |index, (axis, bin)| index * (axis.n_bins + 2) + bin)
}

impl<'a> Bins<'a> {
    /// `None` if it is stored in another way than expected.
    fn of(sum: &'a Sum) -> Option<Bins<'a>> {
        let names = AXES.get(..n_axes(&sum.key.class_name))?;
        let axes: Vec<Axis> = names.iter().map(|name| Axis::of(sum, name)).collect::<Option<_>>()?;
        let n_cells = n_cells(&axes);
        let mut occupied = vec![false; n_cells.min(sum.bytes("contents")?.len())];
        for span in sum.layout.spans.iter().filter(|span| OF_BINS.contains(&span.path.as_str())) {
            let Role::Add(number) = span.role else { return None };
            let numbers = sum.object.get(span.range.clone())?.chunks_exact(number.n_bytes());
            if numbers.len() != n_cells {
                return None;
            }
            occupied.iter_mut().zip(numbers).for_each(|(is, number)| *is |= number.iter().any(|&byte| byte != 0));
        }
        let has = |path: &str| sum.bytes(path).is_some_and(|bytes| bytes.iter().any(|&byte| byte != 0));
        let is_empty = !occupied.contains(&true) && !has("fEntries") && !has("fTsumw");
        Some(Bins { sum, axes, occupied, is_empty })
    }

    /// The bins that have something, along each axis.
    fn cells(&self) -> impl Iterator<Item = [usize; 3]> {
        let occupied = self.occupied.iter().enumerate().filter(|(_, is)| **is);
        occupied.map(|(index, _)| {
            let (mut rest, mut cell) = (index, [0; 3]);
            for (bin, axis) in cell.iter_mut().zip(&self.axes) {
                (*bin, rest) = (rest % (axis.n_bins + 2), rest / (axis.n_bins + 2));
            }
            cell
        })
    }

    /// True if there are fills below or above the bins of an axis.
    fn has_fills_beyond(&self, number: usize) -> bool {
        self.fills_beyond(number) != (false, false)
    }

    /// True twice if there are fills below the bins of an axis, and above them.
    fn fills_beyond(&self, number: usize) -> (bool, bool) {
        let n_bins = self.axes[number].n_bins;
        let ends = self.cells().map(|cell| (cell[number] == 0, cell[number] > n_bins));
        ends.fold((false, false), |(below, above), (is_below, is_above)| (below | is_below, above | is_above))
    }

    /// True if its axes were made of its first fills, in a way that others can be merged with.
    fn is_autobinned(&self) -> bool {
        let bits = self.sum.layout.bits.first().and_then(|&at| self.sum.object.get(at..)?.first_chunk());
        bits.is_some_and(|bits| u32::from_be_bytes(*bits) & AUTO_BINNED != 0)
    }

    /// True if objects that may refer to others are stored behind the axes.
    fn has_objects_behind(&self) -> bool {
        self.sum.layout.spans.iter().any(|span| {
            span.path.ends_with("fFunctions") && span.range.len() > EMPTY_LIST_BYTES
                || span.path.ends_with("fModLabs") && span.range.len() > NULL_BYTES
        })
    }

    /// Its bytes with other axes. `moved`: the place of a bin on them. `None` if it would be too large.
    fn rewritten(
        &self,
        axes: &[Axis],
        labels: &[Vec<u8>],
        moved: impl Fn(&[usize; 3]) -> [usize; 3],
    ) -> Option<Vec<u8>> {
        let (mut replaced, mut edges) = (Vec::new(), Vec::new());
        let mut replace = |path: String, bytes: Vec<u8>| {
            replaced.extend(self.sum.span(&path).map(|span| (span.range.clone(), bytes)));
        };
        let (n_cells, mut shown_whole) = (n_cells(axes), Vec::new());
        replace("fNcells".to_owned(), u32::try_from(n_cells).ok()?.to_be_bytes().into());
        for (((name, axis), labels), own) in AXES.iter().zip(axes).zip(labels).zip(&self.axes) {
            if axis.labels.is_none() && (axis.n_bins, axis.min, axis.max) != (own.n_bins, own.min, own.max) {
                shown_whole.extend(self.sum.span(&format!("{name}.TObject")).map(|span| span.range.start + BITS_AT));
            }
            replace(format!("{name}.fNbins"), u32::try_from(axis.n_bins).ok()?.to_be_bytes().into());
            replace(format!("{name}.fXmin"), axis.min.to_be_bytes().into());
            replace(format!("{name}.fXmax"), axis.max.to_be_bytes().into());
            replace(format!("{name}.fBits2"), axis.bits.to_be_bytes().into());
            replace(format!("{name}.fLabels"), labels.clone());
            if axis.edges != own.edges {
                let start = self.sum.array_at(&format!("{name}.fXbins"))?;
                let n_edges = u32::try_from(axis.edges.len() / 8).ok()?.to_be_bytes();
                edges.push((start..start + 4 + own.edges.len(), [&n_edges, &*axis.edges].concat()));
            }
        }
        replaced.append(&mut edges);
        for at in shown_whole {
            let bits = u32::from_be_bytes(*self.sum.object.get(at..)?.first_chunk()?) & !IN_PART;
            replaced.push((at..at + 4, bits.to_be_bytes().into()));
        }
        let places: Vec<(usize, usize)> =
            self.cells().map(|cell| (index(&self.axes, &cell), index(axes, &moved(&cell)))).collect();
        for path in OF_BINS {
            let Some(span) = self.sum.span(path) else { continue };
            let Role::Add(number) = span.role else { return None };
            let (n_bytes, numbers) = (number.n_bytes(), self.sum.object.get(span.range.clone())?);
            // Behind how many there are.
            let mut array = u32::try_from(n_cells).ok()?.to_be_bytes().to_vec();
            array.resize(4 + n_cells * n_bytes, 0);
            for (from, to) in &places {
                let from = numbers.get(from * n_bytes..(from + 1) * n_bytes)?;
                add_numbers(number, array.get_mut(4 + to * n_bytes..4 + (to + 1) * n_bytes)?, from);
            }
            replaced.push((span.range.start.checked_sub(4)?..span.range.end, array));
        }
        self.sum.layout.spliced(&self.sum.object, replaced, &[])
    }
}

impl Axis {
    fn of(sum: &Sum, name: &str) -> Option<Axis> {
        let bytes = |member: &str| sum.bytes(&format!("{name}.{member}"));
        let number = |member: &str| Some(f64::from_be_bytes(*bytes(member)?.first_chunk()?));
        let n_bins = u32::from_be_bytes(*bytes("fNbins")?.first_chunk()?);
        let bits = bytes("fBits2").and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u16::from_be_bytes(*bytes));
        let labels = sum.span(&format!("{name}.fLabels"))?.range.start;
        Some(Axis {
            n_bins: n_bins.try_into().ok().filter(|n_bins| (1..MAX_BINS).contains(n_bins))?,
            min: number("fXmin")?,
            max: number("fXmax")?,
            edges: bytes("fXbins").unwrap_or_default().to_vec(),
            bits,
            labels: read_labels(&sum.object, labels, sum.key.key_bytes.into()).ok()?,
        })
    }

    fn width(&self) -> f64 {
        (self.max - self.min) / count_as_f64(self.n_bins)
    }

    /// The axis of the bins of both, the wider ones if one has some in each of the other's; `None` if bins would be cut.
    ///
    /// Source: `TH1::SameLimitsAndNBins`, `TH1::RecomputeAxisLimits` (ROOT 6.40).
    fn joined(&self, other: &Axis) -> Option<Axis> {
        let (narrow, wide) = if self.width() < other.width() { (self, other) } else { (other, self) };
        if self.n_bins == other.n_bins && (0..self.n_bins).all(|bin| self.has_bin_of(other, bin)) {
            return Some(self.clone());
        }
        let (own, others) = (narrow.width(), wide.width());
        let is_whole = |number: f64| (number - number.round()).abs() < SAME_NUMBER;
        let is_plain = self.edges.is_empty() && other.edges.is_empty() && own > 0.0;
        if !(is_plain && is_whole(others / own) && is_whole((wide.min - narrow.min) / own)) {
            return None;
        }
        // The narrow bins at both ends lie in wide ones.
        let below = ((wide.min - narrow.min) / others - SAME_NUMBER).ceil().max(0.0);
        let above = ((narrow.max - wide.max) / others - SAME_NUMBER).ceil().max(0.0);
        let (min, max) = (end_of(wide.min, narrow.min, -below * others), end_of(wide.max, narrow.max, above * others));
        let n_bins = wide.n_bins.saturating_add(whole(below)).saturating_add(whole(above));
        Some(Axis { n_bins, min, max, ..self.clone() })
    }

    /// True if a bin, of those from 0 on, begins and ends where that of another axis does, but for a hair of its own width: that
    /// of others may be larger by any factor.
    fn has_bin_of(&self, other: &Axis, bin: usize) -> bool {
        let hair = SAME_WIDTH * (self.end(bin + 1) - self.end(bin));
        [bin, bin + 1].into_iter().all(|edge| (self.end(edge) - other.end(edge)).abs() <= hair)
    }

    /// Where a bin ends, the first of which is 1; that of 0 is where the axis begins.
    fn end(&self, bin: usize) -> f64 {
        let edge = self.edges.as_chunks::<8>().0.get(bin).map(|edge| f64::from_be_bytes(*edge));
        edge.unwrap_or_else(|| self.min + count_as_f64(bin) * self.width())
    }

    /// The middle of a bin.
    fn centre(&self, bin: usize) -> f64 {
        self.min + (count_as_f64(bin) - 0.5) * self.width()
    }

    /// The bin of a number: 0 for what is below, one more than there are for what is above.
    fn bin_at(&self, x: f64) -> usize {
        match x {
            x if x < self.min => 0,
            x if x >= self.max => self.n_bins + 1,
            x => 1 + whole(count_as_f64(self.n_bins) * (x - self.min) / (self.max - self.min)),
        }
    }

    /// True if it has bins behind the last one of another axis.
    fn holds_behind(&self, other: &Axis) -> bool {
        self.bin_at(other.centre(other.n_bins + 1)) <= self.n_bins
    }

    /// The bin of another axis that one of this lies in.
    fn found_on(&self, other: &Axis, bin: usize) -> usize {
        let has_same_bins = !(self.edges.is_empty() && other.edges.is_empty());
        if has_same_bins { bin } else { other.bin_at(self.centre(bin)) }
    }
}

/// An end of an axis that goes on by so much: that of the other one, if this has it.
fn end_of(wide: f64, narrow: f64, more: f64) -> f64 {
    let end = wide + more;
    let is_others = (end - narrow).abs() <= SAME_WIDTH * more.abs();
    if more == 0.0 {
        wide
    } else if is_others {
        narrow
    } else {
        end
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of bins, below 2^24")]
fn whole(number: f64) -> usize {
    number as usize
}

/// The labels behind a pointer; `None` if it points to nothing.
pub(super) fn read_labels(object: &[u8], at: usize, key_bytes: usize) -> Result<Option<Vec<Label>>> {
    let (mut cursor, mut slots) = (Cursor::at(object, at), ObjectSlots::new(key_bytes));
    let other = || arrowroot::format::Error::unsupported(at, "labels that are no list of texts");
    match slots.read(&mut cursor)? {
        ObjectSlot::Null => return Ok(None),
        slot if slot.class_name().is_some_and(|class| class == "THashList") => {}
        _ => return Err(other()),
    }
    cursor.version()?;
    object_base(&mut cursor)?;
    cursor.string_bytes()?;
    let n_labels = cursor.count(4)?;
    let mut labels = Vec::with_capacity(n_labels);
    for _ in 0..n_labels {
        let slot = slots.read(&mut cursor)?;
        if slot.class_name().is_none_or(|class| class != "TObjString") {
            return Err(other());
        }
        cursor.version()?;
        let mut number = cursor;
        number.version()?;
        let bin = number.count(0)?;
        object_base(&mut cursor)?;
        labels.push(Label { text: cursor.string_bytes()?.to_vec(), bin });
        cursor.string_bytes()?;
    }
    Ok(Some(labels))
}
