//! The central directory of a zip archive: end record, zip64 or not, headers, and the local header of each entry.
//!
//! Every read is checked; nothing is allocated by a claimed count.

use std::ops::Range;

use super::{Entry, MAX_INFLATED, MAX_RATIO, Method};
use crate::error::Problem;

const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR64: &[u8] = b"PK\x06\x07";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

const END_LEN: usize = 22;
const CENTRAL_LEN: usize = 46;
const LOCAL_LEN: usize = 30;
const LOCATOR64_LEN: usize = 20;
const ZIP64_EXTRA: u16 = 1;

/// What a 32-bit field holds when the number is in the zip64 record.
const IN_ZIP64: u64 = 0xffff_ffff;

type Found = (String, Result<Entry, String>);

/// All entries in directory order; folders left out. An entry that is refused comes with the reason.
pub(super) fn read(file: &[u8]) -> Result<Vec<Found>, Problem> {
    let (count, size, start) = end_record(file)?;
    let end = start.checked_add(size).filter(|&e| e <= file.len());
    let Some(end) = end else {
        return Err(zip(start, "the zip directory lies past the end of the file; is the file whole?"));
    };
    let mut at = start;
    let mut found = Vec::new();
    for _ in 0..count {
        let (entry, next) = central_header(file, at, end)?;
        if !entry.0.ends_with('/') {
            found.push(entry);
        }
        at = next;
    }
    if at != end {
        return Err(zip(at, "the zip directory holds more than the entries it counts"));
    }
    Ok(found)
}

fn zip(at: usize, what: &'static str) -> Problem {
    Problem::Zip { at: at as u64, what }
}

/// Entry count, directory size and directory offset.
fn end_record(file: &[u8]) -> Result<(u64, usize, usize), Problem> {
    // The record ends with a comment of at most 65535 bytes.
    let lowest = file.len().saturating_sub(END_LEN + 0xffff);
    let is_end = |&at: &usize| {
        file.get(at..at + 4) == Some(END)
            && u16_at(file, at + 20).is_some_and(|n| at + END_LEN + n as usize == file.len())
    };
    let at = (lowest..file.len().saturating_sub(END_LEN - 1)).rev().find(is_end);
    let Some(at) = at else {
        return Err(zip(file.len(), "no zip directory at the end: this is no .pt2, or it is cut short"));
    };
    let (Some(disk), Some(count), Some(size), Some(start)) =
        (u16_at(file, at + 4), u16_at(file, at + 10), u32_at(file, at + 12), u32_at(file, at + 16))
    else {
        return Err(zip(at, "the zip end record is cut short"));
    };
    let mut record = (u64::from(count), u64::from(size), u64::from(start));
    if record.0 == 0xffff || record.1 == IN_ZIP64 || record.2 == IN_ZIP64 {
        if let Some(r) = end_record64(file, at)? {
            record = r;
        }
    } else if disk != 0 {
        return Err(zip(at, "a zip archive over several disks is not read"));
    }
    match (usize::try_from(record.1), usize::try_from(record.2)) {
        (Ok(size), Ok(start)) => Ok((record.0, size, start)),
        _ => Err(zip(at, "the zip directory lies past the end of the file")),
    }
}

fn end_record64(file: &[u8], end: usize) -> Result<Option<(u64, u64, u64)>, Problem> {
    let Some(locator) = end.checked_sub(LOCATOR64_LEN).filter(|&l| file.get(l..l + 4) == Some(LOCATOR64)) else {
        return Ok(None);
    };
    let at = u64_at(file, locator + 8).and_then(|a| usize::try_from(a).ok()).filter(|&a| a < locator);
    let Some(at) = at.filter(|&a| file.get(a..a + 4) == Some(END64)) else {
        return Err(zip(locator, "the zip64 end record is not where its locator says"));
    };
    match (u64_at(file, at + 32), u64_at(file, at + 40), u64_at(file, at + 48)) {
        (Some(count), Some(size), Some(start)) => Ok(Some((count, size, start))),
        _ => Err(zip(at, "the zip64 end record is cut short")),
    }
}

/// One header of the directory and the offset of the next.
fn central_header(file: &[u8], at: usize, end: usize) -> Result<(Found, usize), Problem> {
    let cut = || zip(at, "the zip directory is cut short, or counts more entries than it holds");
    let header = file.get(at..end).filter(|h| h.len() >= CENTRAL_LEN).ok_or_else(cut)?;
    if header.get(..4) != Some(CENTRAL) {
        return Err(cut());
    }
    let len16 = |o: usize| u16_at(header, o).map(usize::from).ok_or_else(cut);
    let (name_len, extra_len, comment_len) = (len16(28)?, len16(30)?, len16(32)?);
    let next = CENTRAL_LEN + name_len + extra_len + comment_len;
    let name = header.get(CENTRAL_LEN..CENTRAL_LEN + name_len).ok_or_else(cut)?;
    let extra = header.get(CENTRAL_LEN + name_len..CENTRAL_LEN + name_len + extra_len).ok_or_else(cut)?;
    if next > header.len() {
        return Err(cut());
    }
    let entry = match std::str::from_utf8(name) {
        Ok(n) => (n.to_owned(), check_name(n).and_then(|()| entry(file, header, name, extra, at))),
        Err(_) => (String::from_utf8_lossy(name).into_owned(), Err("its name is not UTF-8".to_owned())),
    };
    Ok((entry, at + next))
}

/// A name that stays inside the archive.
fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("its name is empty".to_owned());
    }
    if name.starts_with('/') || name.contains('\\') || name.contains('\0') || name.as_bytes().get(1) == Some(&b':') {
        return Err("its name is no relative path with `/`".to_owned());
    }
    if name.split('/').any(|part| part == "..") {
        return Err("its name leaves the archive (`..`)".to_owned());
    }
    Ok(())
}

fn entry(file: &[u8], header: &[u8], name: &[u8], extra: &[u8], directory: usize) -> Result<Entry, String> {
    let cut = || "its header is cut short".to_owned();
    let (flags, method) = (u16_at(header, 8).ok_or_else(cut)?, u16_at(header, 10).ok_or_else(cut)?);
    let crc = u32_at(header, 16).ok_or_else(cut)?;
    let wide = |o: usize| u32_at(header, o).map(u64::from).ok_or_else(cut);
    let (mut packed, mut size, mut offset) = (wide(20)?, wide(24)?, wide(42)?);
    // The zip64 field holds, in this order, only the numbers that did not fit.
    let mut field = zip64_field(extra).unwrap_or_default();
    for n in [&mut size, &mut packed, &mut offset] {
        if *n == IN_ZIP64
            && let Some((first, rest)) = field.split_first_chunk::<8>()
        {
            *n = u64::from_le_bytes(*first);
            field = rest;
        }
    }
    if flags & 1 != 0 {
        return Err("is encrypted".to_owned());
    }
    let method = match method {
        0 if packed != size => return Err(format!("is stored, yet has two sizes, {packed} and {size} bytes")),
        0 => Method::Stored,
        8 if size > packed.saturating_mul(MAX_RATIO) => {
            return Err(format!("claims {size} bytes from {packed} deflated ones, more than deflate can pack"));
        }
        8 if size > MAX_INFLATED => {
            return Err(format!(
                "claims {size} bytes deflated, more than the limit of {MAX_INFLATED}; store it instead"
            ));
        }
        8 => Method::Deflated,
        other => return Err(format!("has compression method {other}; only stored and deflated entries are read")),
    };
    let data = local_data(file, name, offset, packed, directory)?;
    Ok(Entry { data, method, size, crc })
}

/// Where the data is, by the entry's local header.
fn local_data(file: &[u8], name: &[u8], offset: u64, packed: u64, before: usize) -> Result<Range<usize>, String> {
    let past = || format!("its {packed} bytes at {offset} lie past the end of the file");
    let at = usize::try_from(offset).map_err(|_| past())?;
    let header = at.checked_add(LOCAL_LEN).and_then(|e| file.get(at..e)).ok_or_else(past)?;
    if header.get(..4) != Some(LOCAL) {
        return Err(format!("there is no entry at byte {offset}, where the directory says"));
    }
    let name_end = at + LOCAL_LEN + u16_at(header, 26).map_or(0, usize::from);
    if file.get(at + LOCAL_LEN..name_end) != Some(name) {
        return Err(format!("the entry at byte {offset}, where the directory says, has another name"));
    }
    let lens = u16_at(header, 26).zip(u16_at(header, 28)).map(|(n, e)| usize::from(n) + usize::from(e));
    let start = lens.and_then(|l| at.checked_add(LOCAL_LEN)?.checked_add(l)).ok_or_else(past)?;
    let end = usize::try_from(packed).ok().and_then(|p| start.checked_add(p)).ok_or_else(past)?;
    if end > before { Err(past()) } else { Ok(start..end) }
}

fn zip64_field(mut extra: &[u8]) -> Option<&[u8]> {
    loop {
        let (id, len) = (u16_at(extra, 0)?, u16_at(extra, 2)? as usize);
        let field = extra.get(4..4 + len)?;
        if id == ZIP64_EXTRA {
            return Some(field);
        }
        extra = extra.get(4 + len..)?;
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}
