use super::*;
use crate::tree::baskets::tests::branch;
use crate::tree::record::check_paths;

/// The members that `TBranchElement` adds, with so many pointers to counting branches, all null.
fn element(version: u16, n_pointers: usize) -> Result<Branch> {
    let written = ElementPart {
        // What came later is what these lack.
        version: version.max(8),
        class_name: "Track".to_owned(),
        parent_name: "Event".to_owned(),
        checksum: 0xC0FF_EE00,
        class_version: 3,
        id: 7,
        node_type: 31,
        streamer_type: 5,
        ..ElementPart::default()
    };
    let mut output = Output::new(0);
    written.write_numbers(600, &mut output).unwrap();
    (0..n_pointers).for_each(|_| output.null());
    let mut bytes = output.into_bytes();
    if version < 8 {
        let checksum = bytes.windows(4).position(|word| word == 0xC0FF_EE00_u32.to_be_bytes()).unwrap();
        bytes.drain(checksum..checksum + 4);
    }
    let frame = VersionFrame { version, end: Some(bytes.len()) };
    let mut cursor = Cursor::new(&bytes);
    let branch = Branch::of(Arc::default());
    let mut read = ReadBranch { description: ReadDescription::default(), branch };
    read_element(&mut cursor, &mut Reading::new(0, None), &frame, &mut read, 0)?;
    assert_eq!(cursor.remaining(), 0);
    Ok(read.described(None))
}

#[test]
fn elements_of_root_3_have_no_checksum_and_at_first_one_counter() {
    for (version, n_pointers, checksum) in [(5, 1, 0), (6, 2, 0), (7, 2, 0), (8, 2, 0xC0FF_EE00)] {
        let branch = element(version, n_pointers).unwrap();
        let part = branch.element.as_ref().unwrap();
        let found = (part.class_name.as_str(), part.class_version, part.id, part.node_type, part.streamer_type);
        assert_eq!(found, ("Track", 3, 7, 31, 5), "version {version}");
        assert_eq!((part.checksum, branch.maximum), (checksum, 600), "version {version}");
    }
    assert!(element(8, 1).is_err(), "version 8 has two counters");
    assert!(element(4, 1).is_err(), "what version 4 holds is not known");
}

#[test]
fn a_long_name_around_many_branches_is_not_repeated_without_bound() {
    let with = |n_inside: u32| {
        let (inside, _) = branch(0, &[]);
        let branches = (1..=n_inside).map(BranchId).collect();
        let mut outer = inside.clone();
        (outer.name, outer.branches) = ("x".repeat(1 << 20), branches);
        let mut all = vec![outer];
        all.extend((0..n_inside).map(|_| inside.clone()));
        check_paths(&all, &[BranchId(0)])
    };
    with(60).unwrap();
    assert!(matches!(with(64), Err(Error::Unsupported(_))));
}
