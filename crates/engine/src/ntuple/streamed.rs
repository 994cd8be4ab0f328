//! How fields that ROOT's streamers wrote are read; a sample of the first objects tells of which classes parts of them are.

use std::sync::{Arc, PoisonError};

use arrowroot_format as format;
use format::Within;
use format::column::{Column, EntryForm, column_of_streamed_field};
use format::rntuple::{ColumnType, Encoding, Page, Shape, SlotId, StreamedField};
use format::streamer::StreamerInfos;

use super::clusters::Cluster;
use super::page::{Checksum, bytes_to_read, index_values, open_page};
use arrowroot_file::{Answers, Elsewhere, PooledScratch, Result, format_error, read_range};

use super::Ntuple;
use crate::sample::{MAX_UNPACKED_BYTES, Sample, resolve_by_sample};
use crate::scan::ColumnId;
use crate::table::Table;

impl Ntuple {
    /// What its values look like.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) if it is not readable, with its type; `Error::Storage` if what tells cannot be read now.
    pub fn shape(&self, id: ColumnId) -> Result<Shape> {
        let (schema, member) = (self.schema(), self.member(id));
        let answers = Answers::default();
        let form_of = |field: StreamedField<'_>| answers.give(self.streamed_form(field))?;
        let shape = self.slots().shape(schema, &schema.chain(member.field()), &form_of);
        let shape = shape.map(|mut shape| {
            if !self.optionals.is_empty() {
                shape.make_optional(&self.optionals);
            }
            shape
        });
        answers.settle(shape)?.map_err(|error| format_error(self.file().source().as_ref(), member.path(), error))
    }

    /// How the objects of a field are read; compiled when first asked for.
    ///
    /// # Errors
    /// Those of reads, which are tried again; what the format says against it is a result.
    fn streamed_form(&self, field: StreamedField<'_>) -> Result<format::Result<Arc<EntryForm>>> {
        let known = || self.inner.streamed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(form) = known().get(&field.id) {
            return Ok(form.clone());
        }
        let form = self.compile_streamed(field)?.and_then(|column| {
            let nothing = || format::Error::unsupported(0, format!("objects of {}", field.type_name));
            column.form.map(Arc::new).ok_or_else(nothing)
        });
        Ok(known().entry(field.id).or_insert(form).clone())
    }

    /// True if a field was met whose objects ROOT's streamers wrote.
    pub(super) fn has_streamed(&self) -> bool {
        !self.inner.streamed.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn compile_streamed(&self, field: StreamedField<'_>) -> Result<format::Result<Column>> {
        let answers = Answers::default();
        let read = || answers.give(self.first_objects(field.ends, field.bytes));
        let column = self.streamer_infos(&answers).and_then(|infos| {
            let resolve = |seen: &_| column_of_streamed_field(field.type_name, field.checksum, infos, seen);
            resolve_by_sample(&resolve, &read)
        });
        answers.settle(column)
    }

    /// What is said of the classes that ROOT's streamers wrote: by the RNTuple itself or, where it says nothing, by the
    /// file.
    fn streamer_infos(&self, answers: &Answers) -> format::Result<&StreamerInfos> {
        let own = self.inner.infos.get_or_init(|| self.schema().streamer_infos());
        match own.as_ref().map_err(Clone::clone)? {
            infos if infos.is_empty() => answers.give(self.file().streamer_infos()).within(|| "streamer info"),
            infos => Ok(infos),
        }
    }

    /// The objects whose ends are in the first page of these that there is.
    fn first_objects(&self, ends: SlotId, bytes: SlotId) -> Result<Sample> {
        // The first cluster has some nearly always: the page lists of the others need not be read.
        for entries in [0..self.n_entries().min(1), 0..self.n_entries()] {
            for cluster in self.clusters_of(&entries)? {
                let sample = self.objects_of(&cluster, ends, bytes)?;
                if !sample.entries.is_empty() {
                    return Ok(sample);
                }
            }
        }
        Ok(Sample::default())
    }

    fn objects_of(&self, cluster: &Cluster, ends: SlotId, bytes: SlotId) -> Result<Sample> {
        let (of_ends, of_bytes) = (self.slot_pages(cluster, ends)?, self.slot_pages(cluster, bytes)?);
        let (Some(page), Some(Encoding::Index { width, is_delta })) =
            (of_ends.pages.first(), of_ends.column.column_type.encoding)
        else {
            return Ok(Sample::default());
        };
        let (mut words, mut values) = (Vec::new(), Vec::new());
        let Some(plain) = self.read_page(ends, page, of_ends.column.column_type, 0)? else {
            return Ok(Sample::default());
        };
        index_values(&plain, page.n_elements as usize, width, is_delta, &mut words, &mut values);
        let mut sample = Sample::default();
        let mut pages = of_bytes.pages.iter();
        let mut start = 0;
        for end in values.into_iter().map(|end| usize::try_from(end).unwrap_or(usize::MAX)) {
            // An end may be wrong, which is told where it is read.
            if end > MAX_UNPACKED_BYTES || !sample.has_room_for(end.saturating_sub(start)) {
                break;
            }
            while end > sample.payload.len() {
                let Some(page) = pages.next() else { return Ok(sample) };
                let plain = self.read_page(bytes, page, of_bytes.column.column_type, sample.payload.len())?;
                let Some(plain) = plain else { return Ok(sample) };
                sample.payload.extend_from_slice(&plain);
            }
            if start < end {
                sample.push(start..end, 0);
            }
            start = end;
        }
        Ok(sample)
    }

    /// The elements of a page, decompressed; `None` if with those before, of `n_before` bytes, they are too many.
    ///
    /// Its checksum is passed over: a page that is wrong is told where its values are read, if whoever reads them cares.
    fn read_page(
        &self,
        slot: SlotId,
        page: &Page,
        column_type: ColumnType,
        n_before: usize,
    ) -> Result<Option<Vec<u8>>> {
        let source = self.file().source().as_ref();
        let in_page = |error: format::Error| format_error(source, &self.slot_path(slot), error.at(page.offset));
        let n_bytes = column_type.page_bytes(u64::from(page.n_elements)).unwrap_or(usize::MAX);
        if n_bytes.saturating_add(n_before) > MAX_UNPACKED_BYTES {
            return Ok(None);
        }
        let stored = read_range(source, page.offset, bytes_to_read(page))?;
        let (mut scratch, mut unpacked) = (PooledScratch::default(), Vec::new());
        let decompressor = &mut scratch.get().decompressor;
        let mut open = |stored: &[u8]| {
            let plain = open_page(stored, Checksum::of(page, false), n_bytes, decompressor, &mut unpacked);
            plain.map(<[u8]>::to_vec).map_err(|error| error.at(page.offset))
        };
        let plain = open(&stored).or_else(|error| {
            let path = self.slot_path(slot);
            let elsewhere = Elsewhere { unverified: None, afresh: self.file().stack().afresh(), path: &path };
            elsewhere.reread(page.offset..page.offset.saturating_add(bytes_to_read(page)), error, open)
        });
        Ok(Some(plain.map_err(in_page)?))
    }
}
