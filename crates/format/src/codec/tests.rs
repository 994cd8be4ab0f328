use liblzma::stream::{Action, Check, Stream};
use proptest::prelude::*;

use super::*;

const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Zlib, Algorithm::OldDeflate, Algorithm::Lzma, Algorithm::Lz4, Algorithm::Zstd];

/// One block, written as ROOT does.
fn block(algorithm: Algorithm, data: &[u8]) -> Vec<u8> {
    let mut deflate = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(6).unwrap());
    let mut packed = vec![0; data.len() + data.len() / 8 + 1024];
    let (magic, n_bytes) = match algorithm {
        Algorithm::Zlib => (*b"ZL\x08", deflate.zlib_compress(data, &mut packed).unwrap()),
        Algorithm::OldDeflate => (*b"CS\x08", deflate.deflate_compress(data, &mut packed).unwrap()),
        Algorithm::Lzma => {
            let mut stream = Stream::new_easy_encoder(4, Check::Crc32).unwrap();
            stream.process(data, &mut packed, Action::Finish).unwrap();
            (*b"XZ\x00", usize::try_from(stream.total_out()).unwrap())
        }
        Algorithm::Lz4 => {
            let n_bytes = lz4::block::compress_to_buffer(data, None, false, &mut packed[8..]).unwrap();
            let checksum = twox_hash::XxHash64::oneshot(0, &packed[8..8 + n_bytes]);
            packed[..8].copy_from_slice(&checksum.to_be_bytes());
            (*b"L4\x01", n_bytes + 8)
        }
        Algorithm::Zstd => (*b"ZS\x01", zstd_safe::compress(&mut packed[..], data, 5).unwrap()),
    };
    let mut block = magic.to_vec();
    block.extend(&u32::try_from(n_bytes).unwrap().to_le_bytes()[..3]);
    block.extend(&u32::try_from(data.len()).unwrap().to_le_bytes()[..3]);
    block.extend(&packed[..n_bytes]);
    block
}

fn sample(n_bytes: usize) -> Vec<u8> {
    (0..n_bytes).map(|i| u8::try_from(i / 7 % 251).unwrap()).collect()
}

#[test]
fn each_algorithm_fills_its_object() {
    let data = sample(20_000);
    let mut decompressor = Decompressor::new();
    for algorithm in ALGORITHMS {
        let stored = block(algorithm, &data);
        assert_eq!(first_block(&stored), Some(algorithm));
        let mut out = vec![0; data.len()];
        decompressor.decompress(&stored, &mut out).unwrap();
        assert_eq!(out, data, "{algorithm}");
    }
}

#[test]
fn an_object_may_be_in_several_blocks_of_different_algorithms() {
    let parts = [sample(5_000), sample(9_000), sample(1), sample(3_000)];
    let stored: Vec<u8> = parts.iter().zip(ALGORITHMS).flat_map(|(part, algorithm)| block(algorithm, part)).collect();
    let data = parts.concat();
    let mut out = vec![0; data.len()];
    Decompressor::new().decompress(&stored, &mut out).unwrap();
    assert_eq!(out, data);
}

#[test]
fn a_payload_as_long_as_its_object_or_longer_is_plain() {
    let data = sample(100);
    let mut out = vec![0; 90];
    Decompressor::new().decompress(&data, &mut out).unwrap();
    assert_eq!(out, data[..90]);
    Decompressor::new().decompress(&[], &mut []).unwrap();
}

#[test]
fn a_wrong_size_is_an_error_that_says_so() {
    for algorithm in ALGORITHMS {
        let stored = block(algorithm, &sample(20_000));
        for claimed in [19_999_usize, 20_001] {
            let mut wrong = stored.clone();
            wrong[6..9].copy_from_slice(&u32::try_from(claimed).unwrap().to_le_bytes()[..3]);
            let error = Decompressor::new().decompress(&wrong, &mut vec![0; claimed]).unwrap_err();
            assert!(matches!(error, Error::Corrupt(_)), "{algorithm}: {error}");
            let text = error.to_string();
            assert!(text.contains(algorithm.name()) && text.contains("block 1 of"), "{text}");
        }
        let error = Decompressor::new().decompress(&stored, &mut vec![0; 19_999]).unwrap_err();
        assert!(matches!(error, Error::Corrupt(_)), "{algorithm}: {error}");
        let error = Decompressor::new().decompress(&stored, &mut vec![0; 20_001]).unwrap_err();
        assert!(matches!(error, Error::Truncated(_)), "{algorithm}: {error}");
        let cut = &stored[..stored.len() - 1];
        let error = Decompressor::new().decompress(cut, &mut vec![0; 20_000]).unwrap_err();
        assert!(matches!(error, Error::Truncated(_)), "{algorithm}: {error}");
    }
}

#[test]
fn a_flipped_bit_in_lz4_data_fails_its_checksum() {
    let mut stored = block(Algorithm::Lz4, &sample(20_000));
    *stored.last_mut().unwrap() ^= 1;
    let error = Decompressor::new().decompress(&stored, &mut vec![0; 20_000]).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn an_unknown_magic_or_method_is_rejected() {
    for magic in [*b"ZX\x08", *b"ZL\x07", *b"XZ\x01"] {
        let mut stored = block(Algorithm::Zlib, &sample(2_000));
        stored[..3].copy_from_slice(&magic);
        assert_eq!(first_block(&stored), None);
        let error = Decompressor::new().decompress(&stored, &mut vec![0; 2_000]).unwrap_err();
        assert!(matches!(error, Error::Corrupt(_)), "{error}");
    }
}

#[test]
fn settings_read_as_users_write_them() {
    let shown = [0, 1, 9, 101, 209, 404, 505, 500, -1, 777].map(|setting| CompressionSetting(setting).to_string());
    let expected = [
        "none",
        "zlib 1",
        "zlib 9",
        "zlib 1",
        "lzma 9",
        "lz4 4",
        "zstd 5",
        "none",
        "inherited",
        "algorithm 7 level 77",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn another_setting_stands_for_one_that_nothing_is_written_with() {
    let chosen = [-1, 301, 777, 0, 505].map(|setting| CompressionSetting(setting).or(CompressionSetting(207)).0);
    assert_eq!(chosen, [207, 207, 207, 0, 505]);
}

proptest! {
    #[test]
    fn what_is_packed_comes_back(data in proptest::collection::vec(0..4_u8, 1..5_000), which in 0..5_usize) {
        let stored = block(ALGORITHMS[which], &data);
        let mut out = vec![0; data.len()];
        if stored.len() < out.len() {
            Decompressor::new().decompress(&stored, &mut out).unwrap();
            prop_assert_eq!(out, data);
        }
    }

    #[test]
    fn damaged_blocks_never_panic(
        which in 0..5_usize, at in 0..200_usize, value: u8, cut in 0..200_usize, n_bytes in 1..5_000_usize,
    ) {
        let mut stored = block(ALGORITHMS[which], &sample(3_000));
        let n_stored = stored.len();
        stored[at % n_stored] = value;
        stored.truncate(n_stored - cut % n_stored);
        let _ = Decompressor::new().decompress(&stored, &mut vec![0; n_bytes]);
    }
}

#[test]
fn what_no_block_can_hold_is_refused_before_memory_is_taken() {
    let data = vec![0; (1 << 24) - 1];
    for algorithm in ALGORITHMS {
        let stored = block(algorithm, &data);
        check_blocks(&stored, data.len()).unwrap();
        let mut short = stored[..BLOCK_HEADER_BYTES + 20].to_vec();
        short[3..6].copy_from_slice(&[20, 0, 0]);
        assert!(matches!(check_blocks(&short, data.len()), Err(Error::Corrupt(_))), "{algorithm}");
    }
}

#[test]
fn every_setting_packs_and_is_unpacked() {
    let mut random = 1_u64;
    let mut noise = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random.to_le_bytes()[7]
    };
    let text: Vec<u8> = (0..300_000).map(|i| if i % 3 == 0 { noise() & 15 } else { 7 }).collect();
    let noise: Vec<u8> = (0..5000).map(|_| noise()).collect();
    let large = vec![3_u8; 0xff_ffff + 5];
    let mut packer = Compressor::new();
    let mut unpacker = Decompressor::new();
    for algorithm in [Algorithm::Zlib, Algorithm::Lzma, Algorithm::Lz4, Algorithm::Zstd] {
        for level in 0..=9 {
            let setting = CompressionSetting::new(algorithm, level).unwrap();
            for (object, shrinks) in [(&text[..], true), (&noise, false), (&[], false), (&[1], false), (&large, true)] {
                if object.len() > 1 << 20 && level % 4 != 1 {
                    continue;
                }
                let mut packed = vec![42];
                let is_smaller = packer.compress(setting, object, &mut packed).unwrap();
                assert_eq!(is_smaller, shrinks && level > 0, "{setting} of {} bytes", object.len());
                assert_eq!(is_smaller, packed.len() - 1 < object.len());
                let mut out = vec![0; object.len()];
                unpacker.decompress(&packed[1..], &mut out).unwrap();
                assert_eq!(out, object, "{setting}");
                if is_smaller {
                    check_blocks(&packed[1..], object.len()).unwrap();
                    assert_eq!(first_block(&packed[1..]), Some(algorithm));
                }
            }
        }
    }
}

#[test]
fn what_is_packed_takes_no_more_memory_than_it_has_bytes() {
    let mut packer = Compressor::new();
    for algorithm in [Algorithm::Zlib, Algorithm::Lzma, Algorithm::Lz4, Algorithm::Zstd] {
        let mut packed = Vec::new();
        packer.compress(CompressionSetting::new(algorithm, 1).unwrap(), &[7; 500_000], &mut packed).unwrap();
        assert!(packed.capacity() < 50_000, "{algorithm}: {} of {}", packed.len(), packed.capacity());
    }
}
