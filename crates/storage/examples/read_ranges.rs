//! Opens a file and reads ranges spread over it, in one vector read or more, and says what each took.
//!
//!     read_ranges URL N_RANGES RANGE_BYTES [N_READS]
//!
//! Prints one JSON object: times in ns, and the sum of all bytes to compare with others.

use std::time::Instant;

use arrowroot_storage::{Options, Part, Speculation, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, url, n_ranges, range_bytes, more @ ..] = arguments.as_slice() else {
        return Err("usage: read_ranges URL N_RANGES RANGE_BYTES [N_READS]".into());
    };
    let (n_ranges, range_bytes): (u64, usize) = (n_ranges.parse()?, range_bytes.parse()?);
    let n_reads: usize = more.first().map_or(Ok(1), |text| text.parse())?;
    let speculation = Speculation { head_bytes: 4 << 10, tail_bytes: 256 << 10 };
    let begin = Instant::now();
    let source = open(url, &Options::default(), speculation)?.source;
    let open_ns = begin.elapsed().as_nanos();
    let stride = source.size_bytes() / n_ranges;
    let mut buffers = vec![vec![0_u8; range_bytes]; usize::try_from(n_ranges)?];
    // Their memory is there before the clock runs.
    buffers.iter_mut().for_each(|buffer| buffer.fill(1));
    let mut read_ns = Vec::new();
    for _ in 0..n_reads {
        let mut parts: Vec<_> =
            (0..).zip(&mut buffers).map(|(index, buffer)| Part { offset: index * stride, buffer }).collect();
        let begin = Instant::now();
        source.read_vector(&mut parts)?;
        read_ns.push(begin.elapsed().as_nanos());
    }
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let sum: u64 = buffers.iter().flatten().map(|&byte| u64::from(byte)).sum();
    let profile = source.access_profile();
    println!(
        "{{\"open_ns\": {open_ns}, \"read_ns\": {read_ns:?}, \"cpu_ns\": {}, \"sum\": {sum}, \"latency_ns\": {}, \
         \"bytes_per_second\": {:.0}}}",
        cpu.tv_sec * 1_000_000_000 + cpu.tv_nsec,
        profile.latency.as_nanos(),
        profile.bytes_per_second
    );
    Ok(())
}
