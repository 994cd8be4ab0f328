//! Records that are drawn: written, damaged, and read with a known schema.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-zA-Z_][a-zA-Z0-9_]{0,20}", 1 => "[a-z]{250,300}", 1 => "[ -~äé]{0,8}"]
}

fn leaf() -> impl Strategy<Value = Leaf> {
    let primitives = prop::sample::select(vec![
        Primitive::Bool,
        Primitive::Int8,
        Primitive::UInt8,
        Primitive::Int16,
        Primitive::UInt16,
        Primitive::Int32,
        Primitive::UInt32,
        Primitive::Int64,
        Primitive::UInt64,
        Primitive::Float32,
        Primitive::Float64,
        Primitive::Float16,
        Primitive::Double32,
    ]);
    let number = (name(), primitives, vec(1_u32..9, 0..3), any::<i32>(), any::<u8>());
    let number = number.prop_map(|(name, primitive, dims, offset, maximum)| {
        let mut leaf = Leaf::number(&name, primitive, &dims).unwrap();
        leaf.offset = offset;
        let _ = leaf.set_maximum(maximum.into()); // not all have one
        leaf
    });
    let text = (name(), 0_usize..1000).prop_map(|(name, n_bytes)| {
        let mut leaf = Leaf::text(&name);
        leaf.set_longest_text(n_bytes).unwrap();
        leaf
    });
    let element = (name(), name(), any::<i32>(), any::<i32>());
    let element = element.prop_map(|(name, title, id, type_code)| Leaf::element(&name, &title, id, type_code));
    prop_oneof![3 => number, 1 => text, 1 => element]
}

fn element() -> impl Strategy<Value = ElementPart> {
    (name(), name(), name(), any::<u32>(), any::<i16>(), any::<[i32; 3]>(), 8_u16..=10).prop_map(
        |(class_name, parent_name, clones_name, checksum, class_version, numbers, version)| ElementPart {
            version,
            class_name,
            parent_name,
            clones_name,
            checksum,
            class_version: class_version.into(),
            id: numbers[0],
            node_type: numbers[1],
            streamer_type: numbers[2],
            counter: None,
            second_counter: None,
        },
    )
}

/// A branch without leaves, and the leaves that it will have.
fn branch() -> impl Strategy<Value = (Branch, Vec<Leaf>)> {
    let baskets = vec((1_u64..1 << 50, 1_u32..1 << 31, 1_u32..1000), 0..15);
    let numbers = (any::<[i32; 5]>(), any::<[i64; 2]>(), any::<u8>(), 11_u16..=13, 0_u64..1 << 40);
    (name(), name(), prop::option::of(element()), vec(leaf(), 0..3), baskets, numbers).prop_map(
        |(name, title, element, leaves, baskets, (ints, longs, features, version, first_entry))| {
            let mut branch = match element {
                Some(element) => Branch::of_class(&name, &title, element),
                None => Branch::new(&name, &title),
            };
            let baskets =
                baskets.into_iter().map(|(offset, stored_bytes, n_entries)| basket(offset, stored_bytes, n_entries));
            branch.set_baskets(first_entry, baskets.collect()).unwrap();
            branch.compression = CompressionSetting(ints[0]);
            (branch.basket_bytes, branch.n_entry_offsets, branch.offset) = (ints[1], ints[2], ints[3]);
            (branch.split_level, branch.version, branch.memory_bytes) = (ints[4], version, longs[0]);
            branch.io_features = if version == 13 { features } else { 0 };
            branch.file_name = if longs[1] % 4 == 0 { title } else { String::new() };
            (branch, leaves)
        },
    )
}

/// Places of what is made in the record, in the order in which it is read: a branch before those inside, these before its
/// leaves.
fn record() -> impl Strategy<Value = TreeRecord> {
    let numbers = (any::<[i64; 6]>(), any::<[i32; 4]>(), any::<u8>(), 16_u16..=20, any::<u32>(), -1e9..1e9);
    let ranges = vec(any::<(i64, i64)>(), 0..3);
    let branches = vec((branch(), vec(branch(), 0..3), any::<prop::sample::Index>()), 0..5);
    (name(), name(), numbers, ranges, branches).prop_map(|(name, title, numbers, ranges, branches)| {
        let (longs, ints, features, version, bits, weight) = numbers;
        let mut record = TreeRecord { version, ..TreeRecord::new(&name, &title) };
        record.bits = bits & !(1 << 4); // kIsReferenced
        record.weight = weight;
        (record.saved_bytes, record.max_entries, record.max_entry_loop) = (longs[0], longs[1], longs[2]);
        (record.max_virtual_bytes, record.auto_save, record.estimate) = (longs[3], longs[4], longs[5]);
        (record.timer_interval, record.scan_field, record.update) = (ints[0], ints[1], ints[2]);
        record.n_entries = u64::from(bits);
        record.auto_flush = if version >= 18 { longs[0] } else { 0 };
        record.flushed_bytes = if version >= 18 { longs[1] } else { 0 };
        record.n_entry_offsets = if version >= 17 { ints[3] } else { 1000 };
        record.cluster_ranges = if version >= 19 { ranges } else { Vec::new() };
        record.io_features = if version >= 20 { features } else { 0 };
        let mut integers: Vec<LeafId> = Vec::new();
        for ((outer, outer_leaves), inner, counter) in branches {
            let outer = record.add_branch(None, outer).unwrap();
            for (branch, leaves) in inner {
                let id = record.add_branch(Some(outer), branch).unwrap();
                for leaf in leaves {
                    record.add_leaf(id, leaf, None).unwrap();
                }
                if let Some(element) = &mut record.branches[id.0 as usize].element {
                    element.counter = Some(outer);
                }
            }
            for leaf in outer_leaves {
                let counter = (!integers.is_empty()).then(|| *counter.get(&integers));
                let id = record.add_leaf(outer, leaf, counter).unwrap();
                integers.push(id);
            }
        }
        record.set_totals();
        record
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(record in record()) {
        let data = written(&record);
        let read = placed(parse(&data).unwrap(), &data);
        prop_assert_eq!(&read, &record);
        prop_assert_eq!(written(&read), data);
    }

    #[test]
    fn what_is_damaged_is_refused_or_read_as_it_is_written(
        record in record(), damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut data = written(&record);
        for (place, byte) in damage {
            *place.get_mut(&mut data) = byte;
        }
        let none = StreamerInfos::default();
        let infos = || Ok(&none);
        let Ok(read) = TreeRecord::parse(&data, "TTree", KEY_BYTES, &infos) else { return Ok(()) };
        let mut output = Output::new(KEY_BYTES);
        if read.write(&data, &mut output).is_ok() {
            let data = output.into_bytes();
            let mut output = Output::new(KEY_BYTES);
            parse(&data).unwrap().write(&data, &mut output).unwrap();
            prop_assert_eq!(output.into_bytes(), data);
        }
    }

    #[test]
    fn a_known_schema_changes_nothing_of_what_is_read(
        record in record(), other in record(), n_baskets in vec(0_u64..40, 8),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..3)
    ) {
        let none = StreamerInfos::default();
        let infos = || Ok(&none);
        let whole = written(&record);
        let (read, schema) = TreeRecord::parse_learning(None, 0, &whole, "TTree", KEY_BYTES, &infos).unwrap();
        prop_assert_eq!(&read, &parse(&whole).unwrap());
        let schema = schema.unwrap();
        let (again, learned) = TreeRecord::parse_learning(Some(&schema), 0, &whole, "TTree", KEY_BYTES, &infos).unwrap();
        prop_assert!(again == read && learned.is_none());
        let mut alike = record;
        for (branch, n_baskets) in alike.branches.iter_mut().zip(n_baskets) {
            branch.set_baskets(0, (0..n_baskets).map(|i| basket(1000 + i, 50, 7)).collect()).unwrap();
            branch.maximum ^= 1;
        }
        let data = written(&alike);
        let mut damaged = data.clone();
        for (place, byte) in damage {
            *place.get_mut(&mut damaged) = byte;
        }
        for data in [&data, &damaged, &written(&other)] {
            let plain = TreeRecord::parse(data, "TTree", KEY_BYTES, &infos);
            match TreeRecord::parse_known(Some(&schema), 0, data, "TTree", KEY_BYTES, &infos) {
                Ok((read, is_known)) => {
                    let plain = plain.unwrap();
                    prop_assert_eq!(format!("{:?}", read), format!("{:?}", plain));
                    prop_assert_eq!(is_known, schema.is_of(&plain));
                    let all_shared = read.branches.iter().zip(&schema.branches);
                    let all_shared = all_shared.filter(|(read, known)| Arc::ptr_eq(&read.description, known)).count();
                    prop_assert!(!is_known || all_shared == read.branches.len());
                }
                Err(error) => prop_assert_eq!(error.to_string(), plain.unwrap_err().to_string()),
            }
        }
    }

    #[test]
    fn heads_of_baskets_are_read_again(
        name in name(), tree in name(), numbers in any::<[u16; 6]>(), seeks in any::<[u64; 2]>(), sizes in any::<bool>()
    ) {
        let mut head = BasketHead::new(&name, &tree).unwrap();
        head.key_bytes += u32::from(sizes);
        let [datime, cycle, n_entries, data_bytes, entry_bytes, pid] = numbers;
        head.datime = crate::container::Datime(datime.into());
        head.cycle = cycle.cast_signed();
        (head.n_entries, head.data_bytes, head.entry_bytes) = (n_entries.into(), data_bytes.into(), u32::from(entry_bytes) + 1);
        (head.payload_bytes, head.stored_bytes) = (head.data_bytes + 8, head.key_bytes + 70);
        (head.seek_key, head.seek_dir, head.pid_offset) = (seeks[0], seeks[1] >> 16, pid);
        (head.offsets_are_sizes, head.offsets_generated) = (sizes, sizes && n_entries % 2 == 0);
        let mut output = Output::new(0);
        head.write(&name, &tree, &mut output).unwrap();
        let bytes = output.into_bytes();
        prop_assert_eq!(bytes.len(), head.key_bytes as usize);
        prop_assert_eq!(BasketHead::parse(&bytes).unwrap(), head);
    }
}
