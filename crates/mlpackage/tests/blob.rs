//! Weight files: the layout, byte by byte.

use bytes::Bytes;
use coremill_mlpackage::{BlobError, BlobFile, BlobWriter};
use coremill_tensor::{DType, Data};

#[test]
fn the_layout_is_core_mls() {
    let mut w = BlobWriter::new();
    let a = Data::from_vec(&[2], vec![1.0f32, 2.0]);
    // Thirteen elements of three bits: 39 bits, 5 bytes, one bit of padding.
    let b = Data::pack(DType::UInt3, &[13], &[7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]).unwrap();
    assert_eq!((w.add(&a), w.add(&b), w.add(&a)), (Ok(64), Ok(192), Ok(64)));
    let file = w.finish().to_bytes();
    assert_eq!(file.len(), 256 + 5);
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    assert_eq!((word(0), word(4), long(8)), (2, 2, 0));
    assert_eq!((word(64), word(68), long(72), long(80), long(88)), (0xDEAD_BEEF, 2, 8, 128, 0));
    assert_eq!((word(192), word(196), long(200), long(208), long(216)), (0xDEAD_BEEF, 12, 5, 256, 1));
    assert!(file[136..192].iter().all(|&b| b == 0));

    let read = BlobFile::new(file).unwrap();
    assert_eq!(read.tensor(64, DType::Fp32, &[2]).unwrap(), a);
    assert_eq!(read.tensor(192, DType::UInt3, &[13]).unwrap(), b);
    let blobs: Vec<_> = read.blobs().map(Result::unwrap).map(|b| (b.record, b.padding_bits)).collect();
    assert_eq!(blobs, [(64, 0), (192, 1)]);
}

#[test]
fn what_is_wrong_is_said() {
    let mut w = BlobWriter::new();
    w.add(&Data::from_vec(&[2], vec![1.0f32, 2.0])).unwrap();
    let good = w.finish().to_bytes();
    let file = BlobFile::new(good.clone()).unwrap();
    assert_eq!(file.blob(0).unwrap_err(), BlobError::NoRecord(0));
    assert_eq!(file.blob(u64::MAX).unwrap_err(), BlobError::NoRecord(u64::MAX));
    assert!(matches!(file.tensor(64, DType::Fp16, &[2]), Err(BlobError::DType { .. })));
    assert!(matches!(file.tensor(64, DType::Fp32, &[3]), Err(BlobError::Size { .. })));
    assert!(matches!(file.tensor(64, DType::Fp32, &[usize::MAX, 2]), Err(BlobError::Size { .. })));
    let changed = |at: usize, bytes: &[u8]| {
        let mut b = good.to_vec();
        b[at..at + bytes.len()].copy_from_slice(bytes);
        BlobFile::new(Bytes::from(b)).and_then(|f| f.blob(64)).unwrap_err()
    };
    assert_eq!(changed(4, &[3]), BlobError::Version(3));
    assert_eq!(changed(68, &[99]), BlobError::UnknownDType { record: 64, code: 99 });
    assert!(matches!(changed(72, &(2u64 << 30).to_le_bytes()), BlobError::PastEnd { size: 2147483648, .. }));
    assert!(matches!(changed(80, &u64::MAX.to_le_bytes()), BlobError::PastEnd { .. }));
    assert_eq!(BlobFile::new(good.slice(..63)).unwrap_err(), BlobError::NoHeader(63));
}
