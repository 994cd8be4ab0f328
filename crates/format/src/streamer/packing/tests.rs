use std::f64::consts::PI;

use proptest::prelude::*;

use crate::streamer::{PackedType, Packing, PackingRange};

/// What is appended to something.
fn unpacked_f32(packing: Packing, stored: &[u8]) -> Vec<u8> {
    let mut out = vec![7];
    packing.append_f32(stored, &mut out);
    out.split_off(1)
}

fn unpacked_f64(packing: Packing, stored: &[u8]) -> Vec<u8> {
    let mut out = vec![7];
    packing.append_f64(stored, &mut out);
    out.split_off(1)
}

fn leaf(packed: PackedType, title: &str) -> Packing {
    Packing::new(packed, PackingRange::parse_leaf_title(title))
}

#[test]
fn the_ends_of_a_range_may_be_parts_of_pi() {
    for (title, min, max) in [
        ("[-pi,pi]", -PI, PI),
        ("[ 0, 2pi ]", 0.0, 2.0 * PI),
        ("[0,2*Pi]", 0.0, 2.0 * PI),
        ("[-twopi,TwoPi]", -2.0 * PI, 2.0 * PI),
        ("[-pi/2,pi/4]", -PI / 2.0, PI / 4.0),
        ("[-1.5e1,+.5]", -15.0, 0.5),
        ("[fN] counted [0,1]", 0.0, 1.0),
        ("[0,1] seen, 7 times", 0.0, 1.0),
    ] {
        let range = PackingRange::parse(title);
        assert_eq!((range.min, range.max), (min, max), "{title}");
        assert!(range.factor > 0.0);
    }
}

#[test]
fn steps_follow_from_the_number_of_bits() {
    assert_eq!(PackingRange::parse("[0,100,10]").factor, 10.24);
    assert_eq!(PackingRange::parse("[0,1]").factor, f64::from(u32::MAX));
    assert_eq!(PackingRange::parse("[0,1,31]").factor, f64::from(1_u32 << 31));
    // Numbers of bits that are none mean 32.
    for title in ["[0,1,32]", "[0,1,33]", "[0,1,1]", "[0,1,-7]", "[0,1,x]"] {
        assert_eq!(PackingRange::parse(title).factor, f64::from(u32::MAX), "{title}");
    }
}

#[test]
fn an_annotation_is_said_again_in_numbers() {
    for (title, said) in [
        ("x[3]/d[0,100,10]", "[0,100,10]"),
        ("x/d[-1.5,.5]", "[-1.5,0.5]"),
        ("x/d[0,pi,31]", "[0,3.141592653589793,31]"),
        ("x/f[0,0,10]", "[0,0,10]"),
        ("x[3]", ""),
        ("x", ""),
    ] {
        let range = PackingRange::parse_leaf_title(title);
        assert_eq!(range.annotation(), said, "{title}");
        let again = PackingRange::parse_leaf_title(&format!("/d{said}"));
        let packing = |range| Packing::new(PackedType::Double32, range);
        assert_eq!(packing(again), packing(range), "{title}");
    }
}

#[test]
fn what_follows_the_brackets_is_no_part_of_a_range() {
    for title in ["[0,10] x, 12 bit", "[0,10] pixel, mm", "[0,10],2", "[fN] [0,10] a, b"] {
        let range = PackingRange::parse(title);
        assert_eq!((range.min, range.max), (0.0, 10.0), "{title}");
        assert_eq!(range.factor, f64::from(u32::MAX) / 10.0, "{title}");
    }
    let range = PackingRange::parse("[0,10,8] a, 12 bit");
    assert_eq!((range.min, range.max, range.factor), (0.0, 10.0, 25.6));
}

#[test]
fn titles_without_an_annotation_have_no_range() {
    for title in ["", "a comment", "[n]", "[3][4]", "x[", "a, b", "[n] a, b", "]["] {
        assert_eq!(PackingRange::parse(title), PackingRange::default(), "{title}");
    }
}

#[test]
fn the_two_types_differ_without_annotation() {
    use PackedType::{Double32, Float16};
    assert_eq!(leaf(Float16, "a/f"), Packing::Truncated { n_bits: 12 });
    assert_eq!(leaf(Double32, "a/d"), Packing::Plain);
    assert_eq!(leaf(Float16, "a[n]/f[0,0,15]"), Packing::Truncated { n_bits: 12 });
    assert_eq!(leaf(Double32, "a[n]/d[0,0,15]"), Packing::Plain);
    assert_eq!(leaf(Float16, "f[0,0,14]"), Packing::Truncated { n_bits: 14 });
    assert_eq!(leaf(Double32, "a[2][3]/d[0,0,8]"), Packing::Truncated { n_bits: 8 });
    assert_eq!(leaf(Double32, "d[0,0,2]"), Packing::Truncated { n_bits: 2 });
    assert_eq!(leaf(Float16, "b/f[0,100,10]"), Packing::Scaled { min: 0.0, factor: 10.24 });
    assert!(matches!(leaf(Double32, "d[-pi/2,pi/2]"), Packing::Scaled { .. }));
}

#[test]
fn values_are_unpacked() {
    use PackedType::{Double32, Float16};
    let f32_of = |title, bytes: &[u8]| {
        assert_eq!(leaf(Float16, title).stored_bytes(), bytes.len());
        f32::from_ne_bytes(*unpacked_f32(leaf(Float16, title), bytes).first_chunk().unwrap())
    };
    let f64_of = |title, bytes: &[u8]| {
        assert_eq!(leaf(Double32, title).stored_bytes(), bytes.len());
        f64::from_ne_bytes(*unpacked_f64(leaf(Double32, title), bytes).first_chunk().unwrap())
    };
    assert_eq!(f32_of("a/f", &[0x7f, 0x08, 0x00]), 1.5);
    assert_eq!(f32_of("a/f", &[0x7f, 0x28, 0x00]), -1.5);
    assert_eq!(f32_of("b/f[0,100,10]", &[0, 0, 2, 0]), 50.0);
    assert_eq!(f64_of("c/d", &[0x40, 0x20, 0, 0]), 2.5);
    assert_eq!(f64_of("d/d[0,0,8]", &[0x80, 0x00, 0xc0]), 3.5);
    assert_eq!(f64_of("d/d[0,0,8]", &[0x80, 0x02, 0xc0]), -3.5);
    assert_eq!(f64_of("d/d[-1,1]", &[0xff; 4]), 1.0);
    assert_eq!(f64_of("d/d[-1,1,2]", &[0, 0, 0, 2]), 0.0);
}

proptest! {
    #[test]
    fn any_title_gives_a_packing_that_reads(title in "[\\[\\],0-9pi*/. e+-]{0,40}|\\PC{0,40}", data: [u8; 13]) {
        for packed in [PackedType::Double32, PackedType::Float16] {
            for range in [PackingRange::parse(&title), PackingRange::parse_leaf_title(&title)] {
                let packing = Packing::new(packed, range);
                let n_whole = data.len() / packing.stored_bytes();
                prop_assert_eq!(unpacked_f64(packing, &data).len(), n_whole * 8);
                prop_assert_eq!(unpacked_f32(packing, &data).len(), n_whole * 4);
            }
        }
    }

    #[test]
    fn any_stored_range_gives_a_packing_that_reads(min: f64, factor: f64, data: [u8; 4]) {
        for packed in [PackedType::Double32, PackedType::Float16] {
            let packing = Packing::new(packed, PackingRange { min, max: 0.0, factor });
            prop_assert_eq!(unpacked_f64(packing, &data).len(), 8);
        }
    }

    #[test]
    fn values_in_a_range_come_back_within_a_step(value in -3.0..7.0_f64, n_bits in 2..32_u32) {
        let range = PackingRange::parse(&format!("[-3,7,{n_bits}]"));
        // As TBufferFile::WriteDouble32 packs it.
        let steps = (0.5 + range.factor * (value - range.min)).floor();
        let stored = format!("{steps:.0}").parse::<u32>().unwrap().to_be_bytes();
        let unpacked = unpacked_f64(Packing::new(PackedType::Double32, range), &stored);
        let unpacked = f64::from_ne_bytes(*unpacked.first_chunk().unwrap());
        prop_assert!((unpacked - value).abs() <= 0.500_001 / range.factor);
    }
}
