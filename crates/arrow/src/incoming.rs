//! Arrays of others, taken in before anybody goes by what they say.
//!
//! An array may contradict itself, and its memory may change while it is looked at, as somebody else has it, too. So all that
//! other values are found by is copied first, and the copy is checked: offsets, sizes, views, indices, ends of runs, validity.
//! Times, days and decimals, which have bounds, are copied likewise. Numbers, bools and the bytes of texts and binary values stay
//! where they are, within the bounds of their memory. Whoever copies texts [checks](check_texts) the copy; those of dictionaries,
//! which need not be stored, are checked here.

#![expect(unsafe_code, reason = "arrays are built of buffers that were checked here")]

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::OffsetSizeTrait;
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType as ArrowType, Field, Fields};

use crate::stored::StoreError;

mod texts;
mod unions;
mod values;

pub use texts::check_texts;
use values::check_values;

/// An array as the C interface has it: all that it says, and the memory that it has.
#[derive(Debug)]
pub struct Foreign {
    /// Number of values from `offset` on.
    pub len: usize,
    /// Values before the first one, in all buffers.
    pub offset: usize,
    /// How many values are missing, if it says so.
    pub n_nulls: Option<usize>,
    /// Validity first, where the type has that; each as long as its memory is known to be.
    pub buffers: Vec<Option<Buffer>>,
    /// Items, members, or runs.
    pub children: Vec<Foreign>,
    /// The values of a dictionary.
    pub dictionary: Option<Box<Foreign>>,
}

/// The wrong value: the members that lead to it, its place in the range that was asked for, and what is wrong.
#[derive(Debug)]
struct Fault {
    members: String,
    index: usize,
    what: String,
}

type Result<T> = std::result::Result<T, Fault>;

fn fault<T>(index: usize, what: impl Into<String>) -> Result<T> {
    Err(Fault { members: String::new(), index, what: what.into() })
}

impl Fault {
    fn at(mut self, place_of: impl FnOnce(usize) -> usize) -> Self {
        self.index = place_of(self.index);
        self
    }

    fn of_member(mut self, name: &str) -> Self {
        self.members = format!(".{name}{}", self.members);
        self
    }
}

impl Foreign {
    /// The bytes of a buffer in a range.
    fn bytes(&self, number: usize, range: Range<usize>) -> Result<Buffer> {
        if range.is_empty() {
            return Ok(Buffer::from_vec(Vec::<u8>::new()));
        }
        match self.buffers.get(number) {
            Some(Some(buffer)) if range.end <= buffer.len() => Ok(buffer.slice_with_length(range.start, range.len())),
            Some(Some(buffer)) => {
                fault(0, format!("buffer {number} has {} bytes where {} are needed", buffer.len(), range.end))
            }
            _ => fault(0, format!("buffer {number} is missing")),
        }
    }

    /// A copy of the values of a buffer.
    fn copied<T: ArrowNativeType>(&self, number: usize, range: Range<usize>) -> Result<ScalarBuffer<T>> {
        let width = size_of::<T>();
        let bytes = self.bytes(number, range.start * width..range.end * width)?;
        Ok(Buffer::from_slice_ref(bytes.as_slice()).into())
    }

    /// A copy of the validity of a range; `None` if all values are there.
    fn validity(&self, range: &Range<usize>) -> Result<Option<NullBuffer>> {
        if !matches!(self.buffers.first(), Some(Some(_))) {
            return match self.n_nulls {
                Some(n_nulls) if n_nulls > 0 => {
                    fault(0, format!("{n_nulls} values are said to be missing, and no bits say which"))
                }
                _ => Ok(None),
            };
        }
        let bits = self.offset + range.start..self.offset + range.end;
        let bytes = self.bytes(0, bits.start / 8..bits.end.div_ceil(8))?;
        let bits = BooleanBuffer::new(Buffer::from_slice_ref(bytes.as_slice()), bits.start % 8, range.len());
        let nulls = NullBuffer::new(bits);
        let found = nulls.null_count();
        match self.n_nulls {
            Some(said) if range.len() == self.len && said != found || said == 0 && found > 0 => {
                let index = (0..nulls.len()).find(|&index| nulls.is_null(index)).unwrap_or_default();
                fault(index, format!("{said} values are said to be missing, and {found} are"))
            }
            _ => Ok((found > 0).then_some(nulls)),
        }
    }

    /// Where all that it is made of is in memory, and how it is looked at.
    fn identity(&self, parts: &mut Vec<(usize, usize)>) {
        parts.push((self.len, self.offset));
        let address =
            |buffer: &Option<Buffer>| buffer.as_ref().map_or((0, 0), |buffer| (buffer.as_ptr() as usize, buffer.len()));
        parts.extend(self.buffers.iter().map(address));
        self.children.iter().chain(self.dictionary.as_deref()).for_each(|inner| inner.identity(parts));
    }
}

/// Takes in batch after batch.
#[derive(Debug, Default)]
pub struct Incoming {
    copies_all: bool,
    /// The dictionary of the batch before, by column and members.
    dictionaries: HashMap<String, Known>,
    /// Offsets of this batch, by where they are: columns that share them still do.
    offsets: HashMap<(usize, usize, usize, usize), Row>,
    path: String,
    /// Not every value of it need be stored.
    is_in_dictionary: bool,
}

#[derive(Debug)]
struct Known {
    /// Kept, so that nothing else comes to be in its place.
    of: Foreign,
    taken: ArrayData,
}

/// Offsets from 0 on, and where the first and the last one were.
#[derive(Debug, Clone)]
struct Row {
    offsets: Buffer,
    first: usize,
    last: usize,
}

impl Incoming {
    /// `copies_all`: nothing shares memory with what was given.
    #[must_use]
    pub fn new(copies_all: bool) -> Self {
        Incoming { copies_all, ..Incoming::default() }
    }

    /// Takes a batch in: a struct of columns, whose errors count entries from `first_entry` on.
    ///
    /// # Errors
    /// [`StoreError::Spoilt`] for what is not as its type says, [`StoreError::NoLayout`] for a type that nothing is stored of.
    pub fn take(
        &mut self,
        batch: Foreign,
        fields: &Fields,
        first_entry: u64,
    ) -> std::result::Result<ArrayData, StoreError> {
        self.offsets.clear();
        let mut columns = Vec::with_capacity(fields.len());
        let range = batch.offset..batch.offset + batch.len;
        for (field, column) in fields.iter().zip(batch.children) {
            field.name().clone_into(&mut self.path);
            match self.own(column, field.data_type(), range.clone()) {
                Ok(taken) => columns.push(taken),
                Err(Fault { members, index, what }) => {
                    crate::stored::data_type(field)?;
                    let column = format!("{}{members}", field.name());
                    return Err(StoreError::Spoilt { column, entry: first_entry + index as u64, what });
                }
            }
        }
        self.offsets.clear();
        let batch = ArrayData::builder(ArrowType::Struct(fields.clone())).len(range.len()).child_data(columns);
        Ok(built(batch))
    }

    /// The values in a range, in memory of our own but for the plain ones.
    fn own(&mut self, node: Foreign, data_type: &ArrowType, range: Range<usize>) -> Result<ArrayData> {
        if range.end > node.len {
            return fault(
                node.len.saturating_sub(range.start),
                format!("{} values where {} are needed", node.len, range.end),
            );
        }
        let (len, rows) = (range.len(), node.offset + range.start..node.offset + range.end);
        let has_validity = !matches!(data_type, ArrowType::Null | ArrowType::Union(..) | ArrowType::RunEndEncoded(..));
        let nulls = if has_validity { node.validity(&range)? } else { None };
        let builder = ArrayData::builder(data_type.clone()).len(len).nulls(nulls.clone());
        let builder = match data_type {
            ArrowType::Null => builder,
            ArrowType::Boolean => {
                let bytes = node.bytes(1, rows.start / 8..rows.end.div_ceil(8))?;
                builder.add_buffer(self.kept(bytes).bit_slice(rows.start % 8, len))
            }
            ArrowType::Utf8 => self.texts::<i32>(&node, rows, nulls.as_ref(), true, builder)?,
            ArrowType::LargeUtf8 => self.texts::<i64>(&node, rows, nulls.as_ref(), true, builder)?,
            ArrowType::Binary => self.texts::<i32>(&node, rows, nulls.as_ref(), false, builder)?,
            ArrowType::LargeBinary => self.texts::<i64>(&node, rows, nulls.as_ref(), false, builder)?,
            ArrowType::Utf8View | ArrowType::BinaryView => {
                let buffers = node
                    .buffers
                    .iter()
                    .skip(2)
                    .map(|buffer| buffer.clone().unwrap_or_else(|| Buffer::from_vec(Vec::<u8>::new())));
                let buffers: Vec<Buffer> = buffers.collect();
                let views = node.copied::<u128>(1, rows)?;
                let views = texts::checked_views(&views, &buffers, nulls.as_ref(), *data_type == ArrowType::Utf8View)?;
                let (views, buffers) = if self.copies_all { texts::copied(views, &buffers) } else { (views, buffers) };
                builder.add_buffer(Buffer::from_vec(views)).add_buffers(buffers)
            }
            ArrowType::List(item) => self.lists::<i32>(node, rows, item, builder)?,
            ArrowType::LargeList(item) => self.lists::<i64>(node, rows, item, builder)?,
            ArrowType::Map(entries, _) => {
                let builder = self.lists::<i32>(node, rows, entries, builder)?;
                return with_keys(built(builder));
            }
            ArrowType::ListView(item) => self.list_views::<i32>(node, rows, item, builder)?,
            ArrowType::LargeListView(item) => self.list_views::<i64>(node, rows, item, builder)?,
            ArrowType::FixedSizeList(item, n_items) => {
                let n_items = usize::try_from(*n_items).or_else(|_| fault(0, "lists of a negative size"))?;
                let (Some(start), Some(end)) = (rows.start.checked_mul(n_items), rows.end.checked_mul(n_items)) else {
                    return fault(0, "more items than there is memory");
                };
                let items = self.child(node.children, item, start..end);
                builder.add_child_data(items.map_err(|fault| fault.at(|index| index / n_items.max(1)))?)
            }
            ArrowType::Struct(fields) => {
                let mut builder = builder;
                let mut children = node.children.into_iter();
                for field in fields {
                    let Some(child) = children.next() else { return fault(0, "a member is missing") };
                    let member = self.inside(field.name(), |own| own.own(child, field.data_type(), rows.clone()));
                    builder = builder.add_child_data(member.map_err(|fault| fault.of_member(field.name()))?);
                }
                builder
            }
            ArrowType::Dictionary(key, value) => {
                let Some(dictionary) = node.dictionary else { return fault(0, "a dictionary is missing") };
                let n_values = dictionary.len;
                let keys = values::checked_keys(&node.buffers, key, rows, n_values, nulls.as_ref())?;
                let first_with = |value| values::first_with(&keys, key, value).unwrap_or_default();
                let values = self.dictionary(*dictionary, value).map_err(|fault| fault.at(first_with))?;
                builder.add_buffer(keys).add_child_data(values)
            }
            ArrowType::RunEndEncoded(ends, of_values) => {
                let mut children = node.children.into_iter();
                let (Some(runs), Some(of_runs)) = (children.next(), children.next()) else {
                    return fault(0, "runs are missing");
                };
                let (ends, inside) = values::checked_runs(&runs, ends, rows)?;
                let n_values = inside.len();
                let values = self.own(of_runs, of_values.data_type(), inside);
                let first_entry = |index: usize| values::start_of_run(&ends, index.min(n_values));
                let values = values.map_err(|fault| fault.at(first_entry))?;
                builder.child_data(vec![ends, values])
            }
            ArrowType::Union(fields, mode) => self.union(node, rows, fields, *mode, builder)?,
            of => {
                let width = match of {
                    ArrowType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
                    of => of.primitive_width(),
                };
                let Some(width) = width else { return fault(0, format!("no values are known of {of}")) };
                let bytes = node.bytes(1, rows.start * width..rows.end * width)?;
                let bytes = self.kept(bytes);
                builder.add_buffer(check_values(of, bytes, nulls.as_ref())?).align_buffers(true)
            }
        };
        Ok(built(builder))
    }

    /// Bytes that stay where they are, if they may.
    fn kept(&self, bytes: Buffer) -> Buffer {
        if self.copies_all { Buffer::from_slice_ref(bytes.as_slice()) } else { bytes }
    }

    fn inside<T>(&mut self, name: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let n_bytes = self.path.len();
        self.path.push('.');
        self.path.push_str(name);
        let done = work(self);
        self.path.truncate(n_bytes);
        done
    }

    /// The items in a range of the only child.
    fn child(&mut self, children: Vec<Foreign>, item: &Field, range: Range<usize>) -> Result<ArrayData> {
        match children.into_iter().next() {
            Some(items) => self.inside("item", |own| own.own(items, item.data_type(), range)),
            None => fault(0, "the items are missing"),
        }
    }

    fn dictionary(&mut self, of: Foreign, value: &ArrowType) -> Result<ArrayData> {
        let identity = |of: &Foreign| {
            let mut parts = Vec::new();
            of.identity(&mut parts);
            parts
        };
        if let Some(known) = self.dictionaries.get(&self.path).filter(|known| identity(&known.of) == identity(&of)) {
            return Ok(known.taken.clone());
        }
        let (path, n_values) = (self.path.clone(), of.len);
        let kept = of.shared();
        let is_inside = std::mem::replace(&mut self.is_in_dictionary, true);
        let taken = self.own(of, value, 0..n_values);
        self.is_in_dictionary = is_inside;
        let taken = taken.map_err(|fault| Fault {
            what: format!("value {} of its dictionary: {}", fault.index, fault.what),
            ..fault
        })?;
        self.dictionaries.insert(path, Known { of: kept, taken: taken.clone() });
        Ok(taken)
    }

    /// Offsets of a range, from 0 on, that do not run backwards and end within so many items.
    fn offsets<O: OffsetSizeTrait>(&mut self, node: &Foreign, rows: &Range<usize>, n_items: usize) -> Result<Row> {
        if rows.is_empty() {
            return Ok(Row { offsets: Buffer::from_slice_ref([O::default()]), first: 0, last: 0 });
        }
        let address = node.buffers.get(1).and_then(Option::as_ref).map_or(0, |buffer| buffer.as_ptr() as usize);
        let key = (address, rows.start, rows.end, size_of::<O>());
        let row = match self.offsets.get(&key) {
            Some(row) => row.clone(),
            None => {
                let row = checked_offsets(&node.copied::<O>(1, rows.start..rows.end + 1)?)?;
                self.offsets.insert(key, row.clone());
                row
            }
        };
        if row.last > n_items {
            let offsets = row.offsets.typed_data::<O>();
            let index = offsets.partition_point(|offset| offset.as_usize() + row.first <= n_items).saturating_sub(1);
            return fault(
                index,
                format!(
                    "it ends at {}, beyond the {n_items} that there are",
                    offsets[index + 1].as_usize() + row.first
                ),
            );
        }
        Ok(row)
    }

    fn texts<O: OffsetSizeTrait>(
        &mut self,
        node: &Foreign,
        rows: Range<usize>,
        nulls: Option<&NullBuffer>,
        are_texts: bool,
        builder: ArrayDataBuilder,
    ) -> Result<ArrayDataBuilder> {
        let n_bytes = node.buffers.get(2).and_then(Option::as_ref).map_or(0, Buffer::len);
        let Row { offsets, first, last } = self.offsets::<O>(node, &rows, n_bytes)?;
        let bytes = node.bytes(2, first..last)?;
        let bytes = self.kept(bytes);
        // Other texts are checked when they are copied, before anything of their batch is written.
        let are_checked = are_texts && self.is_in_dictionary;
        if are_checked && let Some(index) = check_texts(offsets.typed_data::<O>(), &bytes, nulls) {
            return fault(index, texts::NO_TEXT);
        }
        Ok(builder.add_buffer(offsets).add_buffer(bytes))
    }

    fn lists<O: OffsetSizeTrait>(
        &mut self,
        node: Foreign,
        rows: Range<usize>,
        item: &Field,
        builder: ArrayDataBuilder,
    ) -> Result<ArrayDataBuilder> {
        let n_items = node.children.first().map_or(0, |items| items.len);
        let Row { offsets, first, last } = self.offsets::<O>(&node, &rows, n_items)?;
        let list_of = |item: usize| {
            let ends = offsets.typed_data::<O>().get(1..).unwrap_or_default();
            ends.partition_point(|end| end.as_usize() <= item).min(rows.len().saturating_sub(1))
        };
        let items = self.child(node.children, item, first..last).map_err(|fault| fault.at(list_of))?;
        Ok(builder.add_buffer(offsets.clone()).add_child_data(items))
    }

    fn list_views<O: OffsetSizeTrait>(
        &mut self,
        node: Foreign,
        rows: Range<usize>,
        item: &Field,
        builder: ArrayDataBuilder,
    ) -> Result<ArrayDataBuilder> {
        let n_items = node.children.first().map_or(0, |items| items.len);
        let offsets = node.copied::<O>(1, rows.clone())?;
        let sizes = node.copied::<O>(2, rows)?;
        let (mut first, mut last) = (n_items, 0);
        for (index, (offset, size)) in offsets.iter().zip(sizes.iter()).enumerate() {
            let ends = (offset.to_usize(), size.to_usize());
            let (Some(start), Some(size)) = ends else {
                return fault(index, format!("a list of {size:?} items from {offset:?} on"));
            };
            match start.checked_add(size) {
                Some(end) if end <= n_items && size > 0 => (first, last) = (first.min(start), last.max(end)),
                Some(end) if end <= n_items => {}
                _ => return fault(index, format!("a list of {size} items from {start} on, where {n_items} are")),
            }
        }
        first = first.min(last);
        let starts = offsets.iter().zip(sizes.iter()).map(|(offset, size)| match size.as_usize() {
            0 => O::default(),
            _ => O::usize_as(offset.as_usize() - first),
        });
        let starts: Vec<O> = starts.collect();
        let list_of = |item: usize| {
            let has = |index: &usize| {
                (starts[*index].as_usize()..starts[*index].as_usize() + sizes[*index].as_usize()).contains(&item)
            };
            (0..sizes.len()).find(has).unwrap_or_default()
        };
        let items = self.child(node.children, item, first..last).map_err(|fault| fault.at(list_of))?;
        let starts = Buffer::from_vec(starts);
        Ok(builder.add_buffer(starts).add_buffer(sizes.into_inner()).add_child_data(items))
    }
}

impl Foreign {
    /// The same memory once more.
    fn shared(&self) -> Foreign {
        Foreign {
            buffers: self.buffers.clone(),
            children: self.children.iter().map(Foreign::shared).collect(),
            dictionary: self.dictionary.as_ref().map(|of| Box::new(of.shared())),
            ..*self
        }
    }
}

fn checked_offsets<O: OffsetSizeTrait>(offsets: &ScalarBuffer<O>) -> Result<Row> {
    let first = offsets[0];
    if first < O::default() {
        return fault(0, format!("it begins at {first:?}"));
    }
    // All pairs are looked at: that goes by many at once.
    if !offsets.windows(2).fold(true, |is_ordered, pair| is_ordered & (pair[0] <= pair[1])) {
        let index = offsets.windows(2).position(|pair| pair[0] > pair[1]).unwrap_or_default();
        return fault(index, format!("it begins at {:?} and ends at {:?}", offsets[index], offsets[index + 1]));
    }
    let last = offsets[offsets.len() - 1].as_usize();
    let offsets = match first.as_usize() {
        0 => offsets.inner().clone(),
        _ => Buffer::from_vec(offsets.iter().map(|&offset| offset - first).collect::<Vec<_>>()),
    };
    Ok(Row { offsets, first: first.as_usize(), last })
}

/// Maps, of which no key and no pair is missing.
fn with_keys(maps: ArrayData) -> Result<ArrayData> {
    let pairs = &maps.child_data()[0];
    let nulls = [("a pair", pairs.nulls()), ("a key", pairs.child_data().first().and_then(ArrayData::nulls))];
    for (what, nulls) in nulls {
        let missing = nulls.and_then(|nulls| (0..nulls.len()).find(|&index| nulls.is_null(index)));
        if let Some(item) = missing {
            let ends = maps.buffers()[0].typed_data::<i32>().get(1..).unwrap_or_default();
            return fault(ends.partition_point(|end| end.as_usize() <= item), format!("{what} of a map is missing"));
        }
    }
    Ok(maps)
}

fn built(builder: ArrayDataBuilder) -> ArrayData {
    // SAFETY: whoever calls has checked all that values are found by, in memory that nobody else has, and has taken no range
    // of a buffer that its memory does not have.
    unsafe { builder.build_unchecked() }
}

#[cfg(test)]
mod tests;
