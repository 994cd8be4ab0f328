use std::sync::Arc;

use arrow_schema::{Fields, IntervalUnit, TimeUnit};
use proptest::prelude::*;

use super::*;
use crate::stored::{BranchColumn, plan_branches};

fn item(data_type: ArrowType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

fn schema_of_many_types() -> Schema {
    let pair = Fields::from(vec![Field::new("k", ArrowType::Utf8, false), Field::new("v", ArrowType::Int8, true)]);
    let dictionary = ArrowType::Dictionary(Box::new(ArrowType::Int16), Box::new(ArrowType::LargeUtf8));
    let runs = ArrowType::RunEndEncoded(
        Arc::new(Field::new("run_ends", ArrowType::Int32, false)),
        Arc::new(Field::new("values", ArrowType::Utf8View, true)),
    );
    let types = [
        ArrowType::Null,
        ArrowType::Float16,
        ArrowType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Zurich".into())),
        ArrowType::Decimal256(70, -3),
        ArrowType::Interval(IntervalUnit::MonthDayNano),
        ArrowType::FixedSizeBinary(5),
        ArrowType::LargeListView(item(ArrowType::FixedSizeList(item(ArrowType::Boolean), 3))),
        ArrowType::Map(Arc::new(Field::new("pairs", ArrowType::Struct(pair), false)), true),
        dictionary,
        runs,
        ArrowType::Struct(Fields::empty()),
    ];
    let field = |(place, data_type): (usize, ArrowType)| {
        let metadata = HashMap::from([("ARROW:extension:name".to_owned(), format!("kind {place}"))]);
        Field::new(format!("column {place}"), data_type, place % 2 == 0).with_metadata(metadata)
    };
    let metadata = HashMap::from([("pandas".to_owned(), "{}".to_owned()), ("é".to_owned(), String::new())]);
    Schema::new_with_metadata(types.into_iter().enumerate().map(field).collect::<Vec<_>>(), metadata)
}

#[test]
fn a_schema_and_its_flags_come_back_from_their_record() {
    let schema = schema_of_many_types();
    let n_flags = validity_flags(&schema).len();
    for keep in [|_| true, |_| false, |index: usize| index.is_multiple_of(3)] {
        let stored = with_validity_flags(&schema, &(0..n_flags).map(keep).collect::<Vec<_>>());
        let recorded = RecordedSchema { schema: schema.clone(), stored, splits: Vec::new() };
        let text = recorded.encode().unwrap();
        assert_eq!(text, recorded.encode().unwrap());
        assert_eq!(RecordedSchema::decode(&text), Ok(recorded));
    }
}

#[test]
fn a_record_without_flags_says_that_all_that_is_nullable_stores_validity() {
    let schema = schema_of_many_types();
    let mut tracker = DictionaryTracker::new(false);
    let message = IpcDataGenerator::default()
        .schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &IpcWriteOptions::default())
        .ipc_message;
    let mut bytes = i32::try_from(message.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(message);
    let read = RecordedSchema::decode(&BASE64_STANDARD.encode(bytes)).unwrap();
    assert_eq!(read, RecordedSchema { stored: schema.clone(), schema, splits: Vec::new() });
}

#[test]
fn a_schema_that_is_nested_too_deeply_is_refused_before_it_is_written() {
    let deep = (0..200).fold(ArrowType::Int8, |inner, _| ArrowType::List(item(inner)));
    let schema = Schema::new(vec![Field::new("shallow", ArrowType::Int8, true), Field::new("deep", deep, true)]);
    let error = RecordedSchema { stored: schema.clone(), schema, splits: Vec::new() }.encode().unwrap_err();
    assert_eq!(error.to_string(), "column \"deep\": no layout holds types that are nested so deeply");
}

#[test]
fn a_small_message_does_not_stand_for_a_large_schema() {
    // Structs of the same two fields in each other, each written once.
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let name = builder.create_string(&"x".repeat(1000));
    let mut children = None;
    for _ in 0..16 {
        let of = arrow_ipc::Struct_::create(&mut builder, &arrow_ipc::Struct_Args {}).as_union_value();
        let arguments = arrow_ipc::FieldArgs {
            name: Some(name),
            type_type: arrow_ipc::Type::Struct_,
            type_: Some(of),
            children,
            ..Default::default()
        };
        let field = arrow_ipc::Field::create(&mut builder, &arguments);
        children = Some(builder.create_vector(&[field, field]));
    }
    let schema =
        arrow_ipc::Schema::create(&mut builder, &arrow_ipc::SchemaArgs { fields: children, ..Default::default() });
    let arguments = arrow_ipc::MessageArgs {
        version: arrow_ipc::MetadataVersion::V5,
        header_type: arrow_ipc::MessageHeader::Schema,
        header: Some(schema.as_union_value()),
        ..Default::default()
    };
    let message = arrow_ipc::Message::create(&mut builder, &arguments);
    builder.finish(message, None);
    let message = builder.finished_data();
    assert!(message.len() < 4000);
    let mut bytes = i32::try_from(message.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend_from_slice(message);
    let error = RecordedSchema::decode(&BASE64_STANDARD.encode(bytes)).unwrap_err();
    assert!(error.contains("Apparent size too large"), "{error}");
}

proptest! {
    #[test]
    fn bytes_that_are_no_record_are_told(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(RecordedSchema::decode(&BASE64_STANDARD.encode(&bytes)).is_err());
        let _ = RecordedSchema::decode(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_damaged_record_is_told_or_says_something(place in 0_usize..2000, byte: u8, end in 0_usize..4000) {
        let schema = schema_of_many_types();
        let text = RecordedSchema { stored: schema.clone(), schema, splits: Vec::new() }.encode().unwrap();
        let mut bytes = BASE64_STANDARD.decode(text).unwrap();
        let n_bytes = bytes.len();
        bytes[place % n_bytes] = byte;
        let _ = RecordedSchema::decode(&BASE64_STANDARD.encode(&bytes[..end.min(n_bytes)]));
    }
}

#[test]
fn flat_columns_that_store_no_validity_need_no_record() {
    let schema = Schema::new(vec![
        Field::new("x", ArrowType::Float32, false),
        Field::new("flag", ArrowType::Boolean, false),
        Field::new("text", ArrowType::Utf8, false),
        Field::new("m", arrow_type(&matrix(), TextForm::Utf8), false),
    ]);
    let record_of = |schema: &Schema| {
        let types: Vec<_> = schema.fields().iter().map(|field| data_type(field).unwrap()).collect();
        let columns: Vec<_> = schema
            .fields()
            .iter()
            .zip(&types)
            .map(|(field, data_type)| BranchColumn::new(field.name(), data_type))
            .collect();
        let recorded = RecordedSchema { schema: schema.clone(), stored: schema.clone(), splits: Vec::new() };
        let branches = plan_branches(&columns).unwrap();
        (recorded.for_tree(&branches).unwrap().is_some(), recorded.for_ntuple(false).unwrap().is_some())
    };
    assert_eq!(record_of(&schema), (false, false));
    let with = |field: Field| Schema::new(schema.fields().iter().cloned().chain([Arc::new(field)]).collect::<Vec<_>>());
    let list = |is_nullable| ArrowType::List(Arc::new(Field::new("item", ArrowType::Int32, is_nullable)));
    assert_eq!(record_of(&with(Field::new("list", list(false), false))), (true, false));
    assert_eq!(record_of(&with(Field::new("list", list(true), false))), (true, false));
    assert_eq!(record_of(&with(Field::new("y", ArrowType::Int32, true))), (true, false));
    assert_eq!(record_of(&with(Field::new("a b", ArrowType::Int32, false))), (true, true));
    assert_eq!(record_of(&with(Field::new("a.b", ArrowType::Int32, false))), (false, true));
    assert_eq!(record_of(&with(Field::new("y", ArrowType::Date32, false))), (true, true));
    assert_eq!(record_of(&with(Field::new("y", ArrowType::Null, true))), (true, true));
    let told = Schema::new_with_metadata(schema.fields().clone(), HashMap::from([("a".to_owned(), "b".to_owned())]));
    assert_eq!(record_of(&told), (true, true));
}

fn matrix() -> DataType {
    let row = DataType::FixedList(Box::new(DataType::Primitive(Primitive::Int16)), 3);
    DataType::FixedList(Box::new(row), 2)
}
