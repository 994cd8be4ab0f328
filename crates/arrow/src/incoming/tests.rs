use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, StringViewBuilder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date64Array, Decimal128Array, DictionaryArray, FixedSizeListArray, Int32Array,
    LargeStringArray, RunArray, StringArray, StructArray, make_array,
};
use proptest::prelude::*;

use super::*;

/// An array as the C interface would give it.
fn foreign(data: &ArrayData) -> Foreign {
    let validity = data.nulls().map(|nulls| nulls.inner().sliced());
    let has_validity = !matches!(data.data_type(), ArrowType::RunEndEncoded(..) | ArrowType::Null);
    let own = data.buffers().iter().cloned().map(Some);
    let (children, dictionary) = match data.data_type() {
        ArrowType::Dictionary(..) => (vec![], data.child_data().first().map(|of| Box::new(foreign(of)))),
        _ => (data.child_data().iter().map(foreign).collect(), None),
    };
    Foreign {
        len: data.len(),
        offset: data.offset(),
        n_nulls: has_validity.then(|| data.null_count()),
        buffers: has_validity.then_some(validity).into_iter().chain(own).collect(),
        children,
        dictionary,
    }
}

fn taken(
    column: Foreign,
    data_type: &ArrowType,
    range: Range<usize>,
    copies_all: bool,
) -> std::result::Result<ArrayRef, String> {
    let fields: Fields = vec![Field::new("x", data_type.clone(), true)].into();
    let batch = Foreign {
        len: range.len(),
        offset: range.start,
        n_nulls: None,
        buffers: vec![],
        children: vec![column],
        dictionary: None,
    };
    let taken = Incoming::new(copies_all).take(batch, &fields, 100).map_err(|error| error.to_string())?;
    Ok(make_array(taken.child_data()[0].clone()))
}

fn texts() -> StringArray {
    StringArray::from(vec![Some("a"), None, Some("äöü and more than is in a view"), Some(""), Some("b€"), Some("c")])
}

fn arrays() -> Vec<ArrayRef> {
    let mut lists = ListBuilder::new(StringBuilder::new());
    let mut maps = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    let mut views = StringViewBuilder::new();
    for (index, text) in texts().iter().enumerate() {
        (0..index).for_each(|_| lists.values().append_option(text));
        lists.append(index != 2);
        maps.keys().append_value("key");
        maps.values().append_option(text);
        maps.append(true).unwrap();
        views.append_option(text);
    }
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4), Some(5), Some(6)]));
    let texts: ArrayRef = Arc::new(texts());
    let fields: Fields = vec![Field::new("n", ArrowType::Int32, true), Field::new("t", ArrowType::Utf8, true)].into();
    let twelve: ArrayRef = Arc::new(Int32Array::from_iter_values(0..12));
    let item = Arc::new(Field::new("item", ArrowType::Int32, true));
    vec![
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true), Some(true), None])),
        Arc::new(LargeStringArray::from_iter(self::texts().iter())),
        Arc::new(views.finish()),
        Arc::new(lists.finish()),
        Arc::new(maps.finish()),
        Arc::new(FixedSizeListArray::new(item, 2, twelve, None)),
        Arc::new(StructArray::new(fields, vec![Arc::clone(&numbers), Arc::clone(&texts)], None)),
        Arc::new(DictionaryArray::<Int8Type>::from_iter(self::texts().iter())),
        Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1, 4, 6]), &self::texts().slice(0, 3)).unwrap()),
        Arc::new(Decimal128Array::from(vec![1, -99, 99, 0, 5, 6]).with_precision_and_scale(2, 0).unwrap()),
        numbers,
        texts,
    ]
}

proptest! {
    #[test]
    fn what_is_taken_in_is_what_came(start in 0_usize..6, end in 0_usize..7, copies_all in any::<bool>()) {
        let range = start.min(end)..start.max(end);
        for array in arrays() {
            let found = taken(foreign(&array.to_data()), array.data_type(), range.clone(), copies_all).unwrap();
            prop_assert_eq!(&found, &array.slice(range.start, range.len()));
            // It is right by another judge, too, and stands alone.
            found.to_data().validate_full().unwrap();
            prop_assert_eq!(found.to_data().offset(), 0);
        }
    }

    #[test]
    fn what_any_bytes_say_is_refused_or_right(
        number in 0_usize..12,
        buffer in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        bytes in any::<[u8; 4]>(),
    ) {
        let array = arrays().swap_remove(number);
        let mut node = foreign(&array.to_data());
        spoil(&mut node, buffer, place, bytes);
        if let Ok(found) = taken(node, array.data_type(), 0..array.len(), false)
            && let Err(error) = found.to_data().validate_full()
        {
            // Who copies texts checks the copy.
            prop_assert!(error.to_string().to_lowercase().contains("utf"), "{error}");
        }
    }
}

/// Writes over four bytes of some buffer.
fn spoil(node: &mut Foreign, buffer: prop::sample::Index, index: prop::sample::Index, bytes: [u8; 4]) {
    fn all<'f>(node: &'f mut Foreign, found: &mut Vec<&'f mut Buffer>) {
        found.extend(node.buffers.iter_mut().flatten().filter(|buffer| buffer.len() >= 4));
        node.children.iter_mut().for_each(|inner| all(inner, found));
        node.dictionary.iter_mut().for_each(|inner| all(inner, found));
    }
    let mut buffers = Vec::new();
    all(node, &mut buffers);
    if buffers.is_empty() {
        return;
    }
    let chosen = buffer.index(buffers.len());
    let mut content = buffers[chosen].to_vec();
    let index = index.index(content.len() / 4) * 4;
    content[index..index + 4].copy_from_slice(&bytes);
    *buffers[chosen] = content.into();
}

#[test]
fn what_is_wrong_is_told_with_its_entry() {
    let days: ArrayRef = Arc::new(Date64Array::from(vec![0, 86_400_000, 5]));
    let told = taken(foreign(&days.to_data()), days.data_type(), 0..3, false).unwrap_err();
    assert_eq!(told, "column \"x\": entry 102 of the data is spoilt: 5 is no whole day in milliseconds");
    let array = arrays().swap_remove(3);
    let mut lists = foreign(&array.to_data());
    lists.children[0].buffers[1] = Some(Buffer::from_slice_ref([0, 1, 2, 3, 4, 5, 6, 7, 3, 9, 10, 11, 12, 13, 14, 15]));
    let told = taken(lists, array.data_type(), 0..array.len(), false).unwrap_err();
    assert_eq!(told, "column \"x\": entry 104 of the data is spoilt: it begins at 7 and ends at 3");
    let array = arrays().swap_remove(6);
    let mut members = foreign(&array.to_data());
    members.children[1].buffers[1] = Some(Buffer::from_slice_ref([0, 1, 1, 9, 5, 6, 7]));
    let told = taken(members, array.data_type(), 0..array.len(), false).unwrap_err();
    assert_eq!(told, "column \"x.t\": entry 103 of the data is spoilt: it begins at 9 and ends at 5");
}
