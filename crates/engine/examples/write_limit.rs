//! The limit of writing a table: compresses the payloads of its baskets or pages, and no more.
//!
//! `write_limit FILE TABLE SETTING N_THREADS REPETITIONS` prints the least of its passes as one JSON object: `wall_ns` and `cpu_ns`
//! are of compressing alone, `with_pass_*` have one pass of swapping before, from values in memory to payloads. The payloads are
//! those of the table as FILE has it, uncompressed; SETTING is ROOT's number, as 505. Each thread has its compressor and its
//! buffers, which were touched before. Without compression the pass fills memory as large as all payloads, touched before, and
//! is all there is. Nothing is put together or written. Codecs and kernels are those of the library.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use arrowroot::File;
use arrowroot::format::Cursor;
use arrowroot::format::codec::{CompressionSetting, Compressor, Decompressor};
use arrowroot::format::container::Key;
use arrowroot::format::decode::Writes;
use arrowroot::format::decode::kernels::copy_swapped;
use arrowroot::format::rntuple::{
    ANCHOR_CLASS, Anchor, Blob, ColumnType, Encoding, Footer, PageList, Schema, encode, kernels,
};
use arrowroot::storage::{LocalFile, Options, Source};
use rustix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Where the first record of a file is.
const BEGIN: u64 = 100;

/// Bytes of every number of a tree that is measured.
const TREE_WIDTH: usize = 4;

/// A basket or a page: what is compressed, and what it is made of.
struct Piece {
    payload: Vec<u8>,
    values: Values,
}

/// Values in the order of the machine.
enum Values {
    /// Numbers that are swapped.
    Swapped(Vec<u8>),
    /// Numbers that are copied.
    Plain { values: Vec<u8>, width: usize },
    /// Numbers whose bytes are split; of signed ones the sign moves before.
    Split { values: Vec<u8>, width: usize, is_zigzag: bool },
    /// Where lists begin, and where the last one ends.
    Ends { offsets: Vec<i64>, is_delta: bool },
    /// Alternatives of variants, as they are stored.
    Switches(Vec<u8>),
}

impl Values {
    /// Makes the payload of them.
    fn encode(&self, out: &mut [u8], writes: Writes) {
        match self {
            Values::Swapped(values) => swap(values, out, writes),
            Values::Plain { values, width } => kernels::copy_plain(values, &(0..values.len() / width), *width, out),
            Values::Split { values, width, is_zigzag: false } => {
                encode::split(values, *width, out, values.len() / width, 0);
            }
            Values::Split { values, width, .. } => {
                encode::split_zigzag(values, *width, out, values.len() / width, 0);
            }
            Values::Ends { offsets, is_delta: true } => encode::split_ends(offsets, 0, out, offsets.len() - 1, 0),
            Values::Ends { offsets, .. } => encode::ends(offsets, 0, out, 0),
            Values::Switches(values) => out.copy_from_slice(values),
        }
    }

    /// The values of a basket whose numbers all have four bytes, as the offsets of its entries have. What is around objects is
    /// swapped with them: it takes as long.
    fn of_basket(payload: &[u8]) -> Values {
        let mut values = vec![0; payload.len()];
        swap(payload, &mut values, Writes::Cached);
        Values::Swapped(values)
    }

    fn of_page(page: &[u8], column_type: ColumnType, n: usize) -> Result<Values> {
        let mut values = vec![0; page.len()];
        Ok(match column_type.encoding {
            Some(Encoding::Plain(primitive)) => {
                Values::Plain { values: page.to_vec(), width: primitive.stored_bytes() }
            }
            Some(Encoding::Split(primitive)) => {
                kernels::unsplit(page, n, &(0..n), primitive.stored_bytes(), &mut values);
                Values::Split { values, width: primitive.stored_bytes(), is_zigzag: false }
            }
            Some(Encoding::ZigZag(primitive)) => {
                kernels::unsplit_zigzag(page, n, &(0..n), primitive.stored_bytes(), &mut values);
                Values::Split { values, width: primitive.stored_bytes(), is_zigzag: true }
            }
            Some(Encoding::Index { width: 8, is_delta }) => {
                if is_delta {
                    kernels::unsplit(page, n, &(0..n), 8, &mut values);
                } else {
                    values.copy_from_slice(page);
                }
                let mut ends = Vec::new();
                kernels::index_values(&values, 8, is_delta, &mut ends);
                let ends = ends.into_iter().map(|end| Ok(i64::try_from(end)?));
                let offsets = std::iter::once(Ok(0)).chain(ends).collect::<Result<_>>()?;
                Values::Ends { offsets, is_delta }
            }
            Some(Encoding::Switch) => Values::Switches(page.to_vec()),
            _ => return Err(format!("pages of type {} have no limit yet", column_type.name()).into()),
        })
    }
}

/// Swaps numbers of four bytes, and copies what is left.
fn swap(from: &[u8], to: &mut [u8], writes: Writes) {
    let n_bytes = from.len() - from.len() % TREE_WIDTH;
    copy_swapped(&from[..n_bytes], &mut to[..n_bytes], TREE_WIDTH, writes);
    to[n_bytes..].copy_from_slice(&from[n_bytes..]);
}

/// The times of a pass in ns.
#[derive(Clone, Copy)]
struct Times {
    wall: u128,
    cpu: u128,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, setting, n_threads, repetitions] = arguments.as_slice() else {
        return Err("write_limit FILE TABLE SETTING N_THREADS REPETITIONS".into());
    };
    let (file, source) = (File::open_path(path, &Options::default())?, LocalFile::open(path)?);
    let key = file.find(name)?.key;
    let pieces = if key.class_name == ANCHOR_CLASS {
        pages(&source, &Anchor::parse(&file.read_object(&key)?, ANCHOR_CLASS)?)?
    } else {
        baskets(&source, name.rsplit('/').next().unwrap_or(name))?
    };
    for Piece { payload, values } in &pieces {
        let mut made = vec![0; payload.len()];
        values.encode(&mut made, Writes::Cached);
        if made != *payload {
            return Err("the pass does not make the payload".into());
        }
    }
    let (setting, n_threads) = (CompressionSetting(setting.parse()?), n_threads.parse::<usize>()?.max(1));
    let is_plain = setting.algorithm()?.is_none();
    let mut memory = vec![1; if is_plain { pieces.iter().map(|piece| piece.payload.len()).sum() } else { 0 }];
    let (mut compressing, mut with_pass) = (Vec::new(), Vec::new());
    for _ in 0..repetitions.parse::<usize>()?.max(1) {
        if is_plain {
            with_pass.push(encoding_times(&pieces, &mut memory, n_threads)?);
        } else {
            compressing.push(compressing_times(&pieces, setting, n_threads, false)?);
            with_pass.push(compressing_times(&pieces, setting, n_threads, true)?);
        }
    }
    let compressing = if is_plain { &with_pass } else { &compressing };
    println!(
        "{{\"wall_ns\": {}, \"cpu_ns\": {}, \"with_pass_wall_ns\": {}, \"with_pass_cpu_ns\": {}, \"n_pieces\": {}}}",
        least(compressing, |times| times.wall),
        least(compressing, |times| times.cpu),
        least(&with_pass, |times| times.wall),
        least(&with_pass, |times| times.cpu),
        pieces.len(),
    );
    Ok(())
}

fn least(samples: &[Times], of: impl Fn(&Times) -> u128) -> u128 {
    samples.iter().map(of).min().unwrap_or_default()
}

fn read_range(source: &LocalFile, offset: u64, n_bytes: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(n_bytes)?];
    source.read_at(offset, &mut bytes)?;
    Ok(bytes)
}

fn unpacked(stored: Vec<u8>, n_bytes: usize, decompressor: &mut Decompressor) -> Result<Vec<u8>> {
    if stored.len() == n_bytes {
        return Ok(stored);
    }
    let mut payload = vec![0; n_bytes];
    decompressor.decompress(&stored, &mut payload)?;
    Ok(payload)
}

/// The baskets of a tree: the records of the file are walked.
fn baskets(source: &LocalFile, tree: &str) -> Result<Vec<Piece>> {
    let (mut pieces, mut decompressor) = (Vec::new(), Decompressor::new());
    let mut offset = BEGIN;
    while offset + 4 <= source.size_bytes() {
        let size = i32::from_be_bytes(read_range(source, offset, 4)?.try_into().unwrap_or_default());
        if size == 0 {
            break;
        }
        if size > 0 {
            let record = read_range(source, offset, u64::from(size.unsigned_abs()))?;
            let key = Key::parse(&mut Cursor::new(&record))?;
            if key.class_name == "TBasket" && key.title == tree {
                let stored = record[usize::from(key.key_bytes)..].to_vec();
                let payload = unpacked(stored, key.object_bytes as usize, &mut decompressor)?;
                pieces.push(Piece { values: Values::of_basket(&payload), payload });
            }
        }
        offset += u64::from(size.unsigned_abs());
    }
    Ok(pieces)
}

fn envelope(source: &LocalFile, blob: &Blob) -> Result<Vec<u8>> {
    let stored = read_range(source, blob.offset, blob.stored_bytes)?;
    unpacked(stored, usize::try_from(blob.uncompressed_bytes)?, &mut Decompressor::new())
}

/// The pages of an RNTuple. Those that columns share are compressed for each, as nobody knows before that they are equal.
fn pages(source: &LocalFile, anchor: &Anchor) -> Result<Vec<Piece>> {
    let (mut pieces, mut decompressor) = (Vec::new(), Decompressor::new());
    let mut schema = Schema::parse(&envelope(source, &anchor.header)?)?;
    let footer = Footer::parse(&envelope(source, &anchor.footer)?, &mut schema)?;
    for group in &footer.groups {
        let list = PageList::parse(&envelope(source, &group.page_list.blob(anchor.max_key_bytes())?)?, &schema)?;
        for cluster in &list.columns {
            for (column, pages) in schema.columns.iter().zip(cluster) {
                for page in list.pages(pages) {
                    let n_bytes =
                        column.column_type.page_bytes(u64::from(page.n_elements)).ok_or("a page too large")?;
                    let stored = read_range(source, page.offset, page.stored_bytes)?;
                    let payload = unpacked(stored, n_bytes, &mut decompressor)?;
                    let values = Values::of_page(&payload, column.column_type, page.n_elements as usize)?;
                    pieces.push(Piece { values, payload });
                }
            }
        }
    }
    Ok(pieces)
}

/// Compresses all pieces, encoding them before or not.
fn compressing_times(
    pieces: &[Piece],
    setting: CompressionSetting,
    n_threads: usize,
    with_pass: bool,
) -> Result<Times> {
    let largest = pieces.iter().map(|piece| piece.payload.len()).max().unwrap_or(0);
    let next = AtomicUsize::new(0);
    timed(n_threads, (vec![1; largest], vec![1; largest + 64]), |(mut encoded, mut buffer)| {
        let mut compressor = Compressor::new();
        while let Some(Piece { payload, values }) = pieces.get(next.fetch_add(1, Relaxed)) {
            let payload = if with_pass {
                values.encode(&mut encoded[..payload.len()], Writes::Cached);
                &encoded[..payload.len()]
            } else {
                payload
            };
            buffer.clear();
            compressor.compress(setting, payload, &mut buffer).map_err(|error| error.to_string())?;
        }
        Ok(())
    })
}

/// Encodes all pieces, each to its place in memory.
fn encoding_times(pieces: &[Piece], memory: &mut [u8], n_threads: usize) -> Result<Times> {
    let mut places = Vec::with_capacity(pieces.len());
    let mut rest = memory;
    for piece in pieces {
        let (place, behind) = rest.split_at_mut(piece.payload.len());
        places.push((piece, place));
        rest = behind;
    }
    let waiting = Mutex::new(places.into_iter());
    timed(n_threads, (), |()| {
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some((piece, place)) = next() {
            piece.values.encode(place, Writes::Streamed);
        }
        Ok(())
    })
}

/// The time in which threads do some work; each gets memory that was touched before.
fn timed<M: Clone + Send>(
    n_threads: usize,
    memory: M,
    work: impl Fn(M) -> std::result::Result<(), String> + Sync,
) -> Result<Times> {
    let memories = vec![memory; n_threads];
    let (wall, cpu) = (Instant::now(), cpu_ns());
    std::thread::scope(|scope| {
        let threads: Vec<_> = memories.into_iter().map(|memory| scope.spawn(|| work(memory))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("it panicked".to_owned())))
    })?;
    Ok(Times { wall: wall.elapsed().as_nanos(), cpu: cpu_ns() - cpu })
}

/// CPU time of the process, all threads.
fn cpu_ns() -> u128 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u128::from(time.tv_sec.unsigned_abs()) * 1_000_000_000 + u128::from(time.tv_nsec.unsigned_abs())
}
