//! The limit of reading an RNTuple: decompresses the pages of some fields and decodes their elements, and no more.
//!
//! `page_limit FILE NTUPLE REPETITIONS FIELD...` prints medians as one JSON object. One thread, the pages in memory, the
//! output touched before. Nothing is opened, planned, compared with a checksum or put together in the timed part. The
//! codecs and the kernels are those of the library; `campaigns/METHODOLOGY.md` says what that means for the figures.

use std::error::Error;
use std::ops::Range;
use std::time::Instant;

use arrowroot::File;
use arrowroot::format::codec::Decompressor;
use arrowroot::format::rntuple::{
    ANCHOR_CLASS, Anchor, Blob, ColumnId, ColumnType, Encoding, FieldId, Footer, PageList, Schema, kernels,
};
use arrowroot::storage::{LocalFile, Options, Source};
use rustix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A page in memory, and where its elements go.
struct Job {
    stored: Range<usize>,
    n_bytes: usize,
    n_elements: usize,
    encoding: Encoding,
    range: Range<usize>,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, repetitions, fields @ ..] = arguments.as_slice() else {
        return Err("page_limit FILE NTUPLE REPETITIONS FIELD...".into());
    };
    let (file, source) = (File::open_path(path, &Options::default())?, LocalFile::open(path)?);
    let object = file.read_object(&file.find(name)?.key)?;
    let anchor = Anchor::parse(&object, ANCHOR_CLASS)?;
    let mut schema = Schema::parse(&envelope(&source, &anchor.header)?)?;
    let footer = Footer::parse(&envelope(&source, &anchor.footer)?, &mut schema)?;
    let columns = columns_of(&schema, fields)?;
    let (mut stored, mut jobs, mut out_bytes) = (Vec::new(), Vec::new(), 0);
    for group in &footer.groups {
        let list = PageList::parse(&envelope(&source, &group.page_list.blob(anchor.max_key_bytes())?)?, &schema)?;
        for cluster in &list.columns {
            for column in &columns {
                let Some(pages) = cluster.get(column.0 as usize) else { continue };
                let column_type = schema.columns[column.0 as usize].column_type;
                for page in list.pages(pages) {
                    let bytes = read_range(&source, page.offset, page.stored_bytes)?;
                    let n_elements = page.n_elements as usize;
                    let n_out = n_elements * out_bits(column_type)? / 8 + 8;
                    jobs.push(Job {
                        stored: stored.len()..stored.len() + bytes.len(),
                        n_bytes: column_type.page_bytes(u64::from(page.n_elements)).ok_or("a page too large")?,
                        n_elements,
                        encoding: column_type.encoding.ok_or("a column of an unknown type")?,
                        range: out_bytes..out_bytes + n_out,
                    });
                    stored.extend_from_slice(&bytes);
                    out_bytes += n_out.next_multiple_of(64);
                }
            }
        }
    }
    let mut out = vec![1_u8; out_bytes];
    let mut samples = Vec::new();
    for _ in 0..repetitions.parse::<usize>()?.max(1) {
        samples.push(sample(&stored, &jobs, &mut out)?);
    }
    let median = |mut all: Vec<u128>| {
        all.sort_unstable();
        all[all.len() / 2]
    };
    println!(
        "{{\"wall_ns\": {}, \"cpu_ns\": {}, \"stored_bytes\": {}, \"values_bytes\": {}, \"n_pages\": {}}}",
        median(samples.iter().map(|(wall, _)| *wall).collect()),
        median(samples.iter().map(|(_, cpu)| *cpu).collect()),
        stored.len(),
        jobs.iter().map(|job| job.n_bytes).sum::<usize>(),
        jobs.len(),
    );
    Ok(())
}

fn read_range(source: &LocalFile, offset: u64, n_bytes: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(n_bytes)?];
    source.read_at(offset, &mut bytes)?;
    Ok(bytes)
}

fn envelope(source: &LocalFile, blob: &Blob) -> Result<Vec<u8>> {
    if blob.max_key_bytes > 0 && blob.stored_bytes > blob.max_key_bytes {
        return Err("an envelope in several keys".into());
    }
    let stored = read_range(source, blob.offset, blob.stored_bytes)?;
    let mut envelope = vec![0; usize::try_from(blob.uncompressed_bytes)?];
    Decompressor::new().decompress(&stored, &mut envelope)?;
    Ok(envelope)
}

/// The physical columns of fields: their own, those of their parts, and the ends of the lists that they are in.
fn columns_of(schema: &Schema, paths: &[String]) -> Result<Vec<ColumnId>> {
    let members = schema.members();
    let mut found = Vec::new();
    for path in paths {
        let member = members.iter().find(|member| member.path() == path).ok_or_else(|| format!("no field {path}"))?;
        let mut waiting = vec![member.field()];
        while let Some(id) = waiting.pop() {
            let field = schema.at(id);
            found.extend(field.columns());
            waiting.extend(field.children());
        }
        let around = |id: &FieldId| schema.at(*id).parent();
        for id in std::iter::successors(around(&member.field()), around) {
            found.extend(schema.at(id).columns());
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Bits of an element in memory.
fn out_bits(column_type: ColumnType) -> Result<usize> {
    Ok(match column_type.encoding.ok_or("a column of an unknown type")? {
        Encoding::Bit => 1,
        Encoding::Plain(primitive) | Encoding::Split(primitive) | Encoding::ZigZag(primitive) => {
            primitive.stored_bytes() * 8
        }
        Encoding::Half { .. } | Encoding::Truncated { .. } | Encoding::Quantized { .. } | Encoding::Index { .. } => 32,
        Encoding::Switch => return Err("variants have no limit yet".into()),
    })
}

/// Wall and CPU time in ns of decoding all pages once.
fn sample(stored: &[u8], jobs: &[Job], out: &mut [u8]) -> Result<(u128, u128)> {
    let mut decompressor = Decompressor::new();
    let largest = jobs.iter().map(|job| job.n_bytes).max().unwrap_or(0);
    let (mut scratch, mut words, mut values) = (vec![0; largest], vec![0; largest], Vec::new());
    let (wall, cpu) = (Instant::now(), cpu_ns());
    for job in jobs {
        let bytes = &stored[job.stored.clone()];
        let page = if bytes.len() == job.n_bytes {
            bytes
        } else {
            decompressor.decompress(bytes, &mut scratch[..job.n_bytes])?;
            &scratch[..job.n_bytes]
        };
        let (n, all, out) = (job.n_elements, 0..job.n_elements, &mut out[job.range.clone()]);
        match job.encoding {
            Encoding::Bit => kernels::copy_bits(page, &all, out, 0),
            Encoding::Plain(primitive) => kernels::copy_plain(page, &all, primitive.stored_bytes(), out),
            Encoding::Split(primitive) => kernels::unsplit(page, n, &all, primitive.stored_bytes(), out),
            Encoding::ZigZag(primitive) => kernels::unsplit_zigzag(page, n, &all, primitive.stored_bytes(), out),
            Encoding::Half { is_split } => kernels::halves(page, n, &all, is_split, out),
            Encoding::Truncated { bits } => kernels::truncated(page, &all, bits, out),
            Encoding::Quantized { bits, min, max } => kernels::quantized(page, &all, bits, (min, max), out),
            Encoding::Index { width, is_delta } => {
                let words = &mut words[..n * width];
                if is_delta {
                    kernels::unsplit(page, n, &all, width, words);
                } else {
                    kernels::copy_plain(page, &all, width, words);
                }
                kernels::index_values(words, width, is_delta, &mut values);
                kernels::shifted_ends(&values, 0, u64::MAX, 0, &mut out[..n * 4]);
            }
            Encoding::Switch => {}
        }
    }
    let cpu = cpu_ns() - cpu;
    Ok((wall.elapsed().as_nanos(), cpu))
}

fn cpu_ns() -> u128 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u128::from(time.tv_sec.unsigned_abs()) * 1_000_000_000 + u128::from(time.tv_nsec.unsigned_abs())
}
