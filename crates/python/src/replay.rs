//! A trace read again in virtual time.

use std::time::Duration;

use arrowroot::storage::Error;
use arrowroot::storage::simulate::{Disk, Line, LogicalRead, Trace, replay as replay_trace};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ending::without_lock;
use crate::errors::to_python;
use crate::options::{OptionText, options_of};
use crate::protocol::PyProtocol;

#[pyfunction]
#[pyo3(signature = (offsets, lengths, entries, branches, think_ns, file_bytes, options, latency_s, bytes_per_second, n_streams, n_open_requests, protocol, interval_s = 0.0, kept = Vec::new(), disk = None))]
#[expect(
    clippy::too_many_arguments,
    reason = "one array for each property of a read, and one number for each of the line"
)]
pub(crate) fn replay<'py>(
    py: Python<'py>,
    offsets: PyReadonlyArray1<'py, u64>,
    lengths: PyReadonlyArray1<'py, u64>,
    entries: PyReadonlyArray1<'py, u64>,
    branches: PyReadonlyArray1<'py, u64>,
    think_ns: PyReadonlyArray1<'py, u64>,
    file_bytes: u64,
    options: Vec<OptionText>,
    latency_s: f64,
    bytes_per_second: f64,
    n_streams: usize,
    n_open_requests: u64,
    protocol: &PyProtocol,
    interval_s: f64,
    kept: Vec<(u64, u64)>,
    disk: Option<(u64, bool)>,
) -> PyResult<Bound<'py, PyDict>> {
    let wrong = |option: &str, what: String| to_python(Error::Option { option: option.to_owned(), what }.into());
    let columns = [&offsets, &lengths, &entries, &branches, &think_ns];
    let n_reads = offsets.len()?;
    if columns.iter().any(|column| column.as_array().len() != n_reads) {
        return Err(wrong("trace", "its arrays differ in length".to_owned()));
    }
    let columns = columns.map(|column| column.as_array());
    let read = |index: usize| {
        let [offset, n_bytes, first_entry, branch, think_ns] = columns.map(|column| column[index]);
        let branch = u32::try_from(branch).map_err(|_| wrong("trace", format!("branch number {branch}")))?;
        Ok(LogicalRead { offset, n_bytes, first_entry, branch, think_ns })
    };
    let reads = (0..n_reads).map(read).collect::<PyResult<Vec<_>>>()?;
    let kept = kept.into_iter().map(|(offset, n_bytes)| offset..offset.saturating_add(n_bytes)).collect();
    let trace = Trace { reads, file_bytes, n_open_requests, kept };
    let set = options_of(&options)?;
    let duration = |option: &str, seconds: f64| {
        let made = Duration::try_from_secs_f64(seconds);
        made.map_err(|_| wrong(option, format!("{seconds} is no number of seconds")))
    };
    let (latency, interval) = (duration("latency", latency_s)?, duration("interval", interval_s)?);
    let disk = disk.map(|(read_ahead_bytes, is_cached)| Disk { read_ahead_bytes, is_cached });
    let line = Line { latency, bytes_per_second, n_streams, interval, protocol: protocol.0, disk };
    let outcome = without_lock(py, || replay_trace(&trace, &set, &line))?.map_err(|error| to_python(error.into()))?;
    let dict = PyDict::new(py);
    for (name, value) in [
        ("wall_ns", outcome.wall_ns),
        ("wait_ns", outcome.wait_ns),
        ("think_ns", outcome.think_ns),
        ("n_requests", outcome.n_requests),
        ("n_ranges", outcome.n_ranges),
        ("read_bytes", outcome.read_bytes),
        ("payload_bytes", outcome.payload_bytes),
        ("overhead_bytes", outcome.overhead_bytes),
        ("peak_buffer_bytes", outcome.peak_buffer_bytes),
        ("n_seeks", outcome.n_seeks),
        ("device_bytes", outcome.device_bytes),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}
