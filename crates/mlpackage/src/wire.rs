//! Protobuf fields as raw bytes, for messages that must survive whatever they hold.
//!
//! A message decoded into a struct loses the fields that the struct lacks. The outermost message of a model file
//! and its description are therefore walked field by field and put together again from the very bytes. It promises
//! that each field's bytes are within the message; it does not look into a field's payload.

use bytes::{BufMut, Bytes, BytesMut};

/// A field: its number, its payload, and its bytes with the tag.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    pub(crate) payload: Payload,
    /// Tag and payload as they stand in the message.
    pub(crate) raw: Bytes,
}

/// What a field holds.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    Varint(u64),
    Bytes(Bytes),
    /// A number of fixed width; no field of interest has one.
    Fixed,
}

/// Bytes that are no message: where, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireError {
    pub(crate) offset: usize,
    pub(crate) what: &'static str,
}

impl Field {
    pub(crate) fn bytes(&self) -> Option<&Bytes> {
        match &self.payload {
            Payload::Bytes(b) => Some(b),
            _ => None,
        }
    }

    pub(crate) fn varint(&self) -> Option<u64> {
        match self.payload {
            Payload::Varint(v) => Some(v),
            _ => None,
        }
    }
}

/// The fields of a message in order; they share its bytes.
pub(crate) fn fields(message: &Bytes) -> Result<Vec<Field>, WireError> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < message.len() {
        let start = at;
        let tag = varint(message, &mut at)?;
        let number = u32::try_from(tag >> 3).ok().filter(|&n| n > 0 && n < 1 << 29);
        let number = number.ok_or(WireError { offset: start, what: "a field number is out of range" })?;
        let payload = match tag & 7 {
            0 => Payload::Varint(varint(message, &mut at)?),
            1 => fixed(message, &mut at, 8)?,
            5 => fixed(message, &mut at, 4)?,
            2 => {
                let length_at = at;
                let len = usize::try_from(varint(message, &mut at)?).unwrap_or(usize::MAX);
                let end = at.checked_add(len).filter(|&e| e <= message.len());
                let end =
                    end.ok_or(WireError { offset: length_at, what: "a field claims more bytes than there are" })?;
                let payload = Payload::Bytes(message.slice(at..end));
                at = end;
                payload
            }
            _ => return Err(WireError { offset: start, what: "a field has a wire type that is not in use" }),
        };
        out.push(Field { number, payload, raw: message.slice(start..at) });
    }
    Ok(out)
}

fn fixed(message: &Bytes, at: &mut usize, width: usize) -> Result<Payload, WireError> {
    let end = at.checked_add(width).filter(|&e| e <= message.len());
    *at = end.ok_or(WireError { offset: *at, what: "a number is cut short" })?;
    Ok(Payload::Fixed)
}

fn varint(message: &Bytes, at: &mut usize) -> Result<u64, WireError> {
    let start = *at;
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let &byte = message.get(*at).ok_or(WireError { offset: start, what: "a number is cut short" })?;
        *at += 1;
        if shift == 63 && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(WireError { offset: start, what: "a number has more than 64 bits" })
}

/// Appends a varint field.
pub(crate) fn put_varint(out: &mut BytesMut, number: u32, value: u64) {
    prost::encoding::encode_varint(u64::from(number) << 3, out);
    prost::encoding::encode_varint(value, out);
}

/// Appends the tag and length of a field of `len` bytes.
pub(crate) fn put_header(out: &mut BytesMut, number: u32, len: usize) {
    prost::encoding::encode_varint(u64::from(number) << 3 | 2, out);
    prost::encoding::encode_varint(len as u64, out);
}

/// Appends a field of bytes.
pub(crate) fn put_bytes(out: &mut BytesMut, number: u32, bytes: &[u8]) {
    put_header(out, number, bytes.len());
    out.put_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_what_it_wrote() {
        let mut b = BytesMut::new();
        put_varint(&mut b, 1, u64::MAX);
        put_bytes(&mut b, 502, b"abc");
        let f = fields(&b.freeze()).unwrap();
        assert_eq!((f[0].number, f[0].varint()), (1, Some(u64::MAX)));
        assert_eq!((f[1].number, f[1].bytes().unwrap().as_ref()), (502, &b"abc"[..]));
        assert_eq!(f[1].raw.len(), 6);
    }

    #[test]
    fn refuses_what_is_cut_short() {
        let claim = [0x12, 0xff, 0xff, 0xff, 0xff, 0x07, 1, 2];
        assert_eq!(fields(&Bytes::copy_from_slice(&claim)).unwrap_err().offset, 1);
        for bad in [&[0x08][..], &[0x08, 0x80], &[0x00, 0x00], &[0x0b], &[0x0d, 1, 2, 3], &[0xff; 11]] {
            assert!(fields(&Bytes::copy_from_slice(bad)).is_err(), "{bad:?}");
        }
    }
}
