//! The limit of writing a table: compresses the payloads of its baskets or pages, and no more.
//!
//! `write_limit FILE TABLE SETTING N_THREADS REPETITIONS` prints medians as one JSON object. The payloads are those of the table
//! as FILE has it, uncompressed, in memory; SETTING is ROOT's number, as 505. Each thread has its compressor and one buffer, which
//! was touched before; nothing is encoded, put together or written. The codecs are those of the library.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use arrowroot::File;
use arrowroot::format::Cursor;
use arrowroot::format::codec::{CompressionSetting, Compressor, Decompressor};
use arrowroot::format::container::Key;
use arrowroot::format::rntuple::{ANCHOR_CLASS, Anchor, Blob, Footer, PageList, Schema};
use arrowroot::storage::{LocalFile, Options, Source};
use rustix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Where the first record of a file is.
const BEGIN: u64 = 100;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, setting, n_threads, repetitions] = arguments.as_slice() else {
        return Err("write_limit FILE TABLE SETTING N_THREADS REPETITIONS".into());
    };
    let (file, source) = (File::open_path(path, &Options::default())?, LocalFile::open(path)?);
    let key = file.find(name)?.key;
    let payloads = if key.class_name == ANCHOR_CLASS {
        pages(&source, &Anchor::parse(&file.read_object(&key)?, ANCHOR_CLASS)?)?
    } else {
        baskets(&source, name.rsplit('/').next().unwrap_or(name))?
    };
    let (setting, n_threads) = (CompressionSetting(setting.parse()?), n_threads.parse::<usize>()?.max(1));
    let mut samples = Vec::new();
    for _ in 0..repetitions.parse::<usize>()?.max(1) {
        samples.push(sample(&payloads, setting, n_threads)?);
    }
    let median = |of: fn(&Sample) -> u128| {
        let mut all: Vec<u128> = samples.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    println!(
        "{{\"wall_ns\": {}, \"cpu_ns\": {}, \"payload_bytes\": {}, \"stored_bytes\": {}, \"n_pieces\": {}}}",
        median(|sample| sample.wall_ns),
        median(|sample| sample.cpu_ns),
        payloads.iter().map(Vec::len).sum::<usize>(),
        samples.first().map_or(0, |sample| sample.stored_bytes),
        payloads.len(),
    );
    Ok(())
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

/// The payloads of the baskets of a tree: the records of the file are walked.
fn baskets(source: &LocalFile, tree: &str) -> Result<Vec<Vec<u8>>> {
    let (mut payloads, mut decompressor) = (Vec::new(), Decompressor::new());
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
                payloads.push(unpacked(stored, key.object_bytes as usize, &mut decompressor)?);
            }
        }
        offset += u64::from(size.unsigned_abs());
    }
    Ok(payloads)
}

fn envelope(source: &LocalFile, blob: &Blob) -> Result<Vec<u8>> {
    let stored = read_range(source, blob.offset, blob.stored_bytes)?;
    unpacked(stored, usize::try_from(blob.uncompressed_bytes)?, &mut Decompressor::new())
}

/// The payloads of the pages of an RNTuple.
fn pages(source: &LocalFile, anchor: &Anchor) -> Result<Vec<Vec<u8>>> {
    let (mut payloads, mut decompressor) = (Vec::new(), Decompressor::new());
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
                    payloads.push(unpacked(stored, n_bytes, &mut decompressor)?);
                }
            }
        }
    }
    Ok(payloads)
}

/// One time of compressing all.
struct Sample {
    wall_ns: u128,
    cpu_ns: u128,
    stored_bytes: usize,
}

fn sample(payloads: &[Vec<u8>], setting: CompressionSetting, n_threads: usize) -> Result<Sample> {
    let largest = payloads.iter().map(Vec::len).max().unwrap_or(0);
    let (next, stored_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |mut buffer: Vec<u8>| -> std::result::Result<(), String> {
        let mut compressor = Compressor::new();
        while let Some(payload) = payloads.get(next.fetch_add(1, Relaxed)) {
            buffer.clear();
            compressor.compress(setting, payload, &mut buffer).map_err(|error| error.to_string())?;
            stored_bytes.fetch_add(buffer.len(), Relaxed);
        }
        Ok(())
    };
    let buffers: Vec<Vec<u8>> = (0..n_threads).map(|_| vec![1; largest + 64]).collect();
    let (wall, cpu) = (Instant::now(), cpu_ns());
    std::thread::scope(|scope| {
        let threads: Vec<_> = buffers.into_iter().map(|buffer| scope.spawn(|| work(buffer))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("it panicked".to_owned())))
    })?;
    let (wall_ns, cpu_ns) = (wall.elapsed().as_nanos(), cpu_ns() - cpu);
    Ok(Sample { wall_ns, cpu_ns, stored_bytes: stored_bytes.into_inner() })
}

/// CPU time of the process, all threads.
fn cpu_ns() -> u128 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u128::from(time.tv_sec.unsigned_abs()) * 1_000_000_000 + u128::from(time.tv_nsec.unsigned_abs())
}
