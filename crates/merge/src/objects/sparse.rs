//! Histograms that store their filled bins alone (`THnSparse`): a bin is that of the same coordinates.
//!
//! Source: `THnSparse`, `THnSparseArrayChunk`, `THnBase::Merge` (ROOT 6.40).

use ahash::{HashMap, HashMapExt};
use arrowroot::format::streamer::{ObjectSlot, ObjectSlots, object_base};
use arrowroot::format::{Cursor, Error as FormatError, Output as Bytes, Result as FormatResult};
use arrowroot::{File, FileKey};

use super::add::Sum;
use super::classes::array_of;
use super::layout::Number;
use super::numbers::{add_numbers, as_f64};
use super::worker::Worker;
use crate::error::Result;
use crate::merging::{Merged, Merging, Names, Origin, Output};
use crate::rules::Rule;

const CHUNK: &str = "THnSparseArrayChunk";
const CHUNK_VERSION: u16 = 1;
const SQUARES: &str = "TArrayD";
/// The list of the chunks.
const CHUNKS: &str = "fBinContent";
/// The sum of squares of weights, which is this one if there are no errors.
const SUM_OF_SQUARES: &str = "fTsumw2";
const NO_ERRORS: f64 = -1.0;
/// The bins of a chunk unless a user says otherwise. Source: `THnSparse::THnSparse` (ROOT 6.40).
const MIN_ROOM: usize = 1 << 14;

/// Begins a sum, of which an input has the first.
pub(crate) fn begin(key: &FileKey) -> Box<dyn Merging> {
    Box::new(Sparse { names: Names::of(key), sum: None, staged: None, n_inputs: 0 })
}

/// A sum of histograms.
struct Sparse {
    names: Names,
    sum: Option<(Sum, Bins)>,
    staged: Option<(Sum, Bins)>,
    n_inputs: u64,
}

/// The filled bins of a histogram, in the order in which they came.
struct Bins {
    /// The array of their contents, and its numbers.
    class: String,
    number: Number,
    /// The bytes of the coordinates of a bin; 0 if there is none.
    n_bytes: usize,
    coordinates: Vec<u8>,
    contents: Vec<u8>,
    squares: Option<Vec<u8>>,
    /// The most bins for which a chunk has room.
    room: usize,
    /// Where bins are, by their coordinates: of the sum alone.
    places: HashMap<Vec<u8>, usize>,
}

impl Bins {
    /// The bins of an object whose layout is known.
    fn of(sum: &Sum) -> FormatResult<Bins> {
        let class = sum.key.class_name.strip_prefix("THnSparseT<").and_then(|rest| rest.strip_suffix('>'));
        let class = class.unwrap_or_default().to_owned();
        let number = array_of(&class).ok_or_else(|| FormatError::unsupported(0, format!("an array {class}")))?;
        let has_errors = sum_of_squares(sum) >= 0.0;
        let (contents, coordinates) = (Vec::new(), Vec::new());
        let squares = has_errors.then(Vec::new);
        let places = HashMap::new();
        let mut bins = Bins { class, number, n_bytes: 0, coordinates, contents, squares, room: 0, places };
        let mut cursor = Cursor::at(&sum.object, chunks_at(sum)?);
        let mut slots = ObjectSlots::new(sum.key.key_bytes.into());
        let n_chunks = cursor.count(4)?;
        cursor.skip(4)?; // the lower bound
        for _ in 0..n_chunks {
            bins.read_chunk(&mut cursor, &mut slots)?;
        }
        if cursor.remaining() > 0 {
            return Err(FormatError::unsupported(cursor.position(), "members behind the bins of a THnSparse"));
        }
        Ok(bins)
    }

    fn read_chunk<'a>(&mut self, cursor: &mut Cursor<'a>, slots: &mut ObjectSlots<'a>) -> FormatResult<()> {
        let start = cursor.position();
        let strange = |what: &str| FormatError::unsupported(start, format!("a {CHUNK} {what}"));
        let ObjectSlot::Object { class, end: Some(end), .. } = slots.read(cursor)? else {
            return Err(strange("that is not there"));
        };
        if class != CHUNK.as_bytes() || cursor.version()?.version != CHUNK_VERSION {
            return Err(strange("of another class or version"));
        }
        object_base(cursor)?;
        let n_bytes = cursor.count(0)?;
        let n_coordinates = cursor.count(1)?;
        let is_there = cursor.u8()? != 0;
        let coordinates = cursor.take(if is_there { n_coordinates } else { 0 })?;
        if n_bytes == 0 || coordinates.len() % n_bytes != 0 || self.n_bytes != 0 && self.n_bytes != n_bytes {
            return Err(strange("with other coordinates"));
        }
        let n_bins = coordinates.len() / n_bytes;
        self.n_bytes = n_bytes;
        self.coordinates.extend_from_slice(coordinates);
        let mut room = 0;
        let mut numbers = |class: &str, number: Number| -> FormatResult<Option<&'a [u8]>> {
            let slot = slots.read(cursor)?;
            match slot.class_name() {
                None => Ok(None),
                Some(found) if found == class => {
                    let n_numbers = cursor.count(number.n_bytes())?;
                    room = room.max(n_numbers);
                    let bytes = cursor.take(n_numbers * number.n_bytes())?;
                    bytes.get(..n_bins * number.n_bytes()).map(Some).ok_or_else(|| strange("that lacks contents"))
                }
                Some(_) => Err(strange("with other contents")),
            }
        };
        let (contents, squares) = (numbers(&self.class, self.number)?, numbers(SQUARES, Number::Float64)?);
        self.room = self.room.max(room);
        self.contents.extend_from_slice(contents.ok_or_else(|| strange("without contents"))?);
        match (&mut self.squares, squares) {
            (Some(own), Some(squares)) => own.extend_from_slice(squares),
            (None, None) => {}
            _ => return Err(strange("with and without errors")),
        }
        if cursor.position() != end {
            return Err(FormatError::corrupt(cursor.position(), format!("a {CHUNK} that ends at {end}")));
        }
        Ok(())
    }

    fn n_bins(&self) -> usize {
        self.coordinates.len() / self.n_bytes.max(1)
    }

    /// Finds its bins, of those of a sum.
    fn index(&mut self) {
        let n_bytes = self.n_bytes.max(1);
        let bins = self.coordinates.chunks_exact(n_bytes).enumerate();
        self.places = bins.map(|(place, coordinates)| (coordinates.to_vec(), place)).collect();
    }

    /// Has squares of weights, which were all 1 where there were none. Source: `THnSparse::GetBinError2` (ROOT 6.40).
    fn need_squares(&mut self) {
        let (number, contents) = (self.number, &self.contents);
        self.squares.get_or_insert_with(|| {
            contents.chunks_exact(number.n_bytes()).flat_map(|bin| as_f64(number, bin).to_be_bytes()).collect()
        });
    }

    /// Adds the bins of another one of the same axes.
    fn add(&mut self, other: &Bins) {
        self.n_bytes = self.n_bytes.max(other.n_bytes);
        self.room = self.room.max(other.room);
        let n_bytes = self.number.n_bytes();
        for (bin, coordinates) in other.coordinates.chunks_exact(self.n_bytes.max(1)).enumerate() {
            let next = self.n_bins();
            let place = match self.places.get(coordinates) {
                Some(&place) => place,
                None => {
                    self.places.insert(coordinates.to_vec(), next);
                    self.coordinates.extend_from_slice(coordinates);
                    self.contents.resize((next + 1) * n_bytes, 0);
                    if let Some(squares) = &mut self.squares {
                        squares.resize((next + 1) * 8, 0);
                    }
                    next
                }
            };
            add_bin(self.number, (&mut self.contents, place), (&other.contents, bin));
            if let (Some(own), Some(others)) = (&mut self.squares, &other.squares) {
                add_bin(Number::Float64, (own, place), (others, bin));
            }
        }
    }

    /// The list of chunks, from its number on. `at`: where it is, from the start of the key on; `chunk_size`: bins of a chunk.
    fn stored(&self, at: usize, chunk_size: usize) -> FormatResult<Vec<u8>> {
        let mut output = Bytes::new(at);
        let n_bytes = self.n_bytes.max(1);
        let n_chunks = self.n_bins().div_ceil(chunk_size);
        output.count(n_chunks)?;
        output.u32(0); // the lower bound
        for (chunk, coordinates) in self.coordinates.chunks(chunk_size.saturating_mul(n_bytes)).enumerate() {
            let (object, _) = output.begin_object(CHUNK)?;
            let frame = output.begin(CHUNK_VERSION);
            output.object_base(0);
            output.count(n_bytes)?;
            output.count(coordinates.len())?;
            output.u8(1);
            output.raw(coordinates);
            for (class, number, numbers) in [
                (self.class.as_str(), self.number, Some(&self.contents)),
                (SQUARES, Number::Float64, self.squares.as_ref()),
            ] {
                let Some(numbers) = numbers else {
                    output.null();
                    continue;
                };
                let (array, _) = output.begin_object(class)?;
                let numbers =
                    numbers.chunks(chunk_size.saturating_mul(number.n_bytes())).nth(chunk).unwrap_or_default();
                // As ROOT has them: with room for the bins that a chunk takes.
                output.count(chunk_size)?;
                output.raw(numbers);
                output.zeros((chunk_size * number.n_bytes()).saturating_sub(numbers.len()));
                output.end(array)?;
            }
            output.end(frame)?;
            output.end(object)?;
        }
        Ok(output.into_bytes())
    }
}

/// Adds the number of a bin to that of another one.
fn add_bin(number: Number, (own, place): (&mut [u8], usize), (others, bin): (&[u8], usize)) {
    let n_bytes = number.n_bytes();
    let own = own.get_mut(place * n_bytes..(place + 1) * n_bytes);
    if let (Some(own), Some(other)) = (own, others.get(bin * n_bytes..(bin + 1) * n_bytes)) {
        add_numbers(number, own, other);
    }
}

/// Where the number of chunks is.
fn chunks_at(sum: &Sum) -> FormatResult<usize> {
    let base = sum.span(&format!("{CHUNKS}.TObject"));
    let base = base.ok_or_else(|| FormatError::unsupported(0, "a THnSparse without bins"))?;
    let mut cursor = Cursor::at(&sum.object, base.range.end);
    cursor.string_bytes()?;
    Ok(cursor.position())
}

/// The sum of squares of weights; below 0 if no errors are kept.
fn sum_of_squares(sum: &Sum) -> f64 {
    let bytes = sum.bytes(SUM_OF_SQUARES).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(NO_ERRORS, |bytes| f64::from_be_bytes(*bytes))
}

impl Merging for Sparse {
    fn needs_object(&self) -> bool {
        true
    }

    fn read(&mut self, input: &File, key: &FileKey, stored: &[u8], worker: &mut Worker) -> Result<()> {
        let object = input.unpack_by(&mut worker.decompressor, &key.key, stored)?;
        let found = Sum::of(input, key, object, worker)?;
        let bins = Bins::of(&found).map_err(|error| self.names.unsupported(input, error.fault().what.clone()))?;
        if let Some((sum, known)) = &self.sum {
            sum.check(&found).map_err(|what| self.names.mismatch(input, what))?;
            let is_alike = known.n_bytes == bins.n_bytes || known.n_bytes == 0 || bins.n_bytes == 0;
            if !is_alike {
                let what = "it has coordinates of another size than in the inputs before: it is not added yet";
                return Err(self.names.unsupported(input, what));
            }
        }
        self.staged = Some((found, bins));
        Ok(())
    }

    fn copy(&mut self, _input: &File, _output: &Output) -> Result<()> {
        let Some((other, mut others)) = self.staged.take() else { return Ok(()) };
        self.n_inputs += 1;
        match &mut self.sum {
            None => {
                others.index();
                self.sum = Some((other, others));
            }
            Some((sum, bins)) => {
                if bins.squares.is_some() != others.squares.is_some() {
                    bins.need_squares();
                    others.need_squares();
                }
                sum.add(&other);
                bins.add(&others);
            }
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.staged = None;
    }

    fn pack(&mut self, output: &Output, worker: &mut Worker) -> Result<()> {
        let Some((sum, bins)) = &mut self.sum else { return Ok(()) };
        let too_large = || crate::error::Error::InvalidRequest {
            what: format!("{}: it is too large, or its chunks have other sizes than it says", self.names.path),
        };
        // Its chunks are written anew.
        sum.make_room(output, chunks_at(sum).unwrap_or_default())?;
        sum.object = with_bins(sum, bins).ok_or_else(too_large)?;
        (bins.coordinates, bins.contents, bins.squares, bins.places) = Default::default();
        sum.pack(output, worker)
    }

    fn finish(self: Box<Self>, output: &Output, _origins: &[Origin]) -> Result<Merged> {
        let Sparse { names, sum, n_inputs, .. } = *self;
        if let Some((Sum { key, object, .. }, _)) = sum {
            let directory = names.directory_in(output)?;
            output.file.write_stored(directory, &key, &object, 0)?;
        }
        let Names { path, class_name, .. } = names;
        Ok(Merged { path, class_name, rule: Rule::Add.name(), n_inputs, ..Merged::default() })
    }
}

/// The object of a sum with its bins; `None` if it would be too large.
fn with_bins(sum: &Sum, bins: &Bins) -> Option<Vec<u8>> {
    let start = chunks_at(sum).ok()?;
    let chunk_size = u32::from_be_bytes(*sum.bytes("fChunkSize")?.first_chunk()?);
    // Chunks of a file have this size: it makes no more memory than there was.
    let chunk_size = usize::try_from(chunk_size).ok().filter(|size| (1..=bins.room.max(MIN_ROOM)).contains(size))?;
    let list = bins.stored(usize::from(sum.key.key_bytes) + start, chunk_size).ok()?;
    let mut replaced = vec![
        (sum.span("fFilledBins")?.range.clone(), u64::try_from(bins.n_bins()).ok()?.to_be_bytes().to_vec()),
        (start..sum.object.len(), list),
    ];
    if bins.squares.is_none() {
        replaced.push((sum.span(SUM_OF_SQUARES)?.range.clone(), NO_ERRORS.to_be_bytes().to_vec()));
    }
    sum.layout.spliced(&sum.object, replaced, &[])
}
