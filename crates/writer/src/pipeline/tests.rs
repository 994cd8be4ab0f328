use arrow_buffer::Buffer;
use arrowroot_format::codec::{CompressionSetting, Compressor};
use arrowroot_format::streamer::Primitive;
use arrowroot_storage::testing::FullDisk;
use arrowroot_storage::{MemoryFile, MemorySink, Sink};
use proptest::prelude::*;

use super::*;
use crate::appender::Appender;
use crate::error::Error;
use crate::file::FileSettings;
use crate::settings::Flush;

/// A format of pieces of 100 entries: the number of its first entry, its length, and its values compressed. What does not fill
/// a piece at the end of a cluster is one as well.
#[derive(Debug, Default)]
struct Toy {
    placed: Vec<(u64, u64)>,
    /// Entries of the cluster that is being placed.
    n_cluster_entries: usize,
    is_bad_at: Option<u64>,
}

const SETTING: i32 = 505;

impl TableFormat for Toy {
    type Pieces = u64;

    fn tasks(&self, cluster: Arc<Cluster>) -> Result<Vec<EncodeTask<u64>>> {
        let starts = (0..cluster.n_entries).step_by(100);
        Ok(starts
            .map(|start| {
                let (cluster, is_bad_at) = (Arc::clone(&cluster), self.is_bad_at);
                let task: EncodeTask<u64> = Box::new(move |compressor: &mut Compressor| {
                    let range = start..(start + 100).min(cluster.n_entries);
                    let first = cluster.first_entry + start as u64;
                    if is_bad_at.is_some_and(|bad| (first..first + range.len() as u64).contains(&bad)) {
                        let what = "cannot be stored".to_owned();
                        return Err(Error::Value { column: "x".to_owned(), entry: first, what });
                    }
                    let mut values = Vec::new();
                    let mut before = 0;
                    for part in &cluster.columns[0] {
                        let inside = range.start.max(before)..range.end.min(before + part.len());
                        if let Stored::Numbers { values: part, .. } = part
                            && !inside.is_empty()
                        {
                            values.extend_from_slice(
                                &part.as_slice()[(inside.start - before) * 8..(inside.end - before) * 8],
                            );
                        }
                        before += part.len();
                    }
                    let mut bytes = first.to_be_bytes().to_vec();
                    compressor.compress(CompressionSetting(SETTING), &values, &mut bytes)?;
                    Ok(Encoded { bytes, pieces: first })
                });
                task
            })
            .collect())
    }

    fn place(
        &mut self,
        cluster: &Cluster,
        encoded: Vec<Encoded<u64>>,
        is_last: bool,
        appender: &mut Appender,
    ) -> Result<()> {
        assert!(cluster.columns.is_empty());
        for piece in encoded {
            self.placed.push((piece.pieces, appender.append(&[&piece.bytes])?));
            self.n_cluster_entries += 100;
        }
        if is_last {
            assert!((0..100).contains(&(self.n_cluster_entries - cluster.n_entries)));
            self.n_cluster_entries = 0;
        }
        Ok(())
    }

    fn finish(&mut self, file: &FileWriter) -> Result<()> {
        let list: Vec<u8> = self
            .placed
            .iter()
            .flat_map(|(first, offset)| [first.to_be_bytes(), offset.to_be_bytes()].concat())
            .collect();
        file.with_appender(|appender| appender.append(&[&list]).map(drop))
    }
}

fn column(values: std::ops::Range<u64>) -> Vec<Stored> {
    let values: Vec<u64> = values.map(|value| value * value % 1000).collect();
    vec![Stored::Numbers { primitive: Primitive::UInt64, values: Buffer::from_vec(values) }]
}

fn file(sink: Arc<dyn Sink>, n_threads: usize, buffer_bytes: usize) -> Arc<FileWriter> {
    let compression = CompressionSetting(SETTING);
    let settings = FileSettings { name: "toy".to_owned(), compression, is_reproducible: true, n_threads, buffer_bytes };
    FileWriter::create(sink, settings).unwrap()
}

fn settings(flush: Flush) -> TableSettings {
    TableSettings { flush, ..TableSettings::default() }
}

/// Two tables that are written in turns, in batches of some sizes; the bytes of the file.
fn written(n_threads: usize, buffer_bytes: usize, batches: &[u64], flush: Flush) -> (Vec<u8>, Written) {
    let index = MemoryFile::default();
    let file = file(Arc::new(MemorySink::create("toy", &index)), n_threads, buffer_bytes);
    let mut first = TablePipeline::new(&file, Toy::default(), 1, &settings(flush));
    let mut second = TablePipeline::new(&file, Toy::default(), 1, &settings(flush));
    let mut start = 0;
    for size in batches {
        first.append(column(start..start + size), usize::try_from(*size).unwrap(), &mut Manner::helping()).unwrap();
        start += size;
    }
    for (index, start) in (0..start).step_by(700).enumerate() {
        second.append(column(start..start + 700), 700, &mut Manner::helping()).unwrap();
        if index == 3 {
            file.directory("some/where").unwrap();
        }
    }
    let written = second.close().unwrap();
    assert_eq!(first.close().unwrap().n_entries, start);
    drop((first, second));
    file.close().unwrap();
    (index.bytes().unwrap().to_vec(), written)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn bytes_depend_on_values_alone(
        batches in prop::collection::vec(1_u64..3000, 1..12),
        flush in prop_oneof![
            (1_u64..30_000).prop_map(Flush::Bytes),
            (1_u64..2000).prop_map(Flush::Entries),
            Just(Flush::Never),
        ],
        buffer_bytes in 1_usize..100_000,
    ) {
        let (alone, _) = written(1, 1 << 20, &batches, flush);
        for n_threads in [0, 1, 2, 8] {
            prop_assert!(written(n_threads, buffer_bytes, &batches, flush).0 == alone, "{n_threads} threads");
        }
        let total: u64 = batches.iter().sum();
        prop_assert!(written(2, buffer_bytes, &vec![1000; 1 + usize::try_from(total / 1000).unwrap()], flush).0.len() >= 100);
        // However the same values come.
        let halves: Vec<u64> = batches.iter().flat_map(|&size| [size / 2, size - size / 2]).collect();
        prop_assert!(written(2, buffer_bytes, &halves, flush).0 == alone);
    }
}

#[test]
fn clusters_of_bytes_come_out_as_large_as_asked_for() {
    let (_, written) = written(2, 1 << 20, &[100_000], Flush::Bytes(20_000));
    let mean = written.stored_bytes / written.n_clusters;
    assert!((15_000..25_000).contains(&mean), "{written:?}");
    assert_eq!(written.memory_bytes, 8 * 100_100);
}

#[test]
fn a_full_disk_reaches_the_producer_and_the_end_and_nothing_is_left() {
    for n_threads in [1, 2, 4] {
        let place = MemoryFile::default();
        let sink = FullDisk::new(Arc::new(MemorySink::create("toy", &place)), 3_000_000);
        let file = file(Arc::new(sink), n_threads, 100_000);
        let mut table =
            TablePipeline::new(&file, Toy { is_bad_at: None, ..Toy::default() }, 1, &settings(Flush::Entries(1000)));
        let noise = |start: u64| {
            let values: Vec<u64> =
                (start..start + 5000).map(|value| value.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            vec![Stored::Numbers { primitive: Primitive::UInt64, values: Buffer::from_vec(values) }]
        };
        let error = (0..1000_u64)
            .find_map(|batch| table.append(noise(batch * 5000), 5000, &mut Manner::helping()).err())
            .unwrap();
        assert!(error.to_string().contains("the disk is full; make room"), "{error}");
        assert!(table.close().unwrap_err().to_string().contains("the disk is full"));
        assert!(file.close().unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(place.bytes(), None);
    }
}

#[test]
fn a_value_that_cannot_be_stored_stops_the_file() {
    for n_threads in [1, 3] {
        let place = MemoryFile::default();
        let file = file(Arc::new(MemorySink::create("toy", &place)), n_threads, 100_000);
        let toy = Toy { is_bad_at: Some(12_345), ..Toy::default() };
        let mut table = TablePipeline::new(&file, toy, 1, &settings(Flush::Entries(1000)));
        let error = (0..100)
            .find_map(|batch| table.append(column(batch * 500..batch * 500 + 500), 500, &mut Manner::helping()).err());
        assert_eq!(error.unwrap().to_string(), "column x, entry 12300: cannot be stored");
        assert_eq!(file.directory("a").unwrap_err().to_string(), "column x, entry 12300: cannot be stored");
        file.close().unwrap_err();
        assert_eq!(place.bytes(), None);
    }
}

#[test]
fn giving_up_ends_whoever_is_writing() {
    for n_threads in [1, 2] {
        let place = MemoryFile::default();
        let file = file(Arc::new(MemorySink::create("toy", &place)), n_threads, 100_000);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut table = TablePipeline::new(&file, Toy::default(), 1, &settings(Flush::Entries(1000)));
                // Until it is told to stop.
                (0_u64..).find_map(|batch| table.append(column(batch..batch + 500), 500, &mut Manner::helping()).err())
            });
            while file.queue().report().n_placed < 3 {
                std::thread::yield_now();
            }
            file.abort();
            let error = writer.join().unwrap().unwrap();
            assert!(matches!(error, Error::Closed { .. }), "{error}");
        });
        assert_eq!(place.bytes(), None);
    }
}
