//! Text to tokens, one at a time. It knows comments, strings and numbers, and no grammar; it cannot fail: what is
//! no token comes out as [`Tok::Bad`].

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tok<'a> {
    /// A word.
    Ident(&'a str),
    /// A number with its sign; also `-inf` and `-nan`.
    Number(&'a str),
    /// What stands between quotes, escapes as they are.
    Str(&'a str),
    /// One of `( ) [ ] { } < > = , ; ? + - * / %`.
    Punct(u8),
    /// `->`
    Arrow,
    /// `...`
    Dots,
    /// Not a token; what is wrong with it.
    Bad(&'static str),
    /// The end of the text.
    End,
}

/// A token with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) tok: Tok<'a>,
    /// Byte offset of its first byte.
    pub(super) start: usize,
    /// Byte offset behind its last byte.
    pub(super) end: usize,
}

/// The token that begins at or after `from`, which is a character boundary.
pub(super) fn token(text: &str, from: usize) -> Token<'_> {
    let start = skip_space(text, from);
    let rest = text.get(start..).unwrap_or("");
    let bytes = rest.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let (tok, len) = match at(0) {
        0 if bytes.is_empty() => (Tok::End, 0),
        b'"' => quoted(rest),
        b'-' if at(1) == b'>' => (Tok::Arrow, 2),
        b'.' if rest.starts_with("...") => (Tok::Dots, 3),
        b'-' | b'+' if at(1).is_ascii_alphanumeric() || at(1) == b'.' => number(rest),
        b'0'..=b'9' => number(rest),
        b'.' if at(1).is_ascii_digit() => number(rest),
        c if c.is_ascii_alphabetic() || c == b'_' => {
            let len = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            (Tok::Ident(&rest[..len]), len)
        }
        c if b"()[]{}<>=,;?+-*/%".contains(&c) => (Tok::Punct(c), 1),
        _ => (Tok::Bad("no token of MIL text"), rest.chars().next().map_or(0, char::len_utf8)),
    };
    Token { tok, start, end: start + len }
}

/// Spaces and `//` comments.
fn skip_space(text: &str, mut at: usize) -> usize {
    loop {
        let rest = text.get(at..).unwrap_or("");
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if !trimmed.starts_with("//") {
            return at;
        }
        at += trimmed.find('\n').unwrap_or(trimmed.len());
    }
}

fn quoted(rest: &str) -> (Tok<'_>, usize) {
    let mut escaped = false;
    for (i, b) in rest.bytes().enumerate().skip(1) {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return (Tok::Str(&rest[1..i]), i + 1),
            _ => {}
        }
    }
    (Tok::Bad("a string without its closing quote"), rest.len())
}

/// Digits, letters, points, and signs where an exponent may have one. Whether it is a number shows where it is used.
fn number(rest: &str) -> (Tok<'_>, usize) {
    let bytes = rest.as_bytes();
    let unsigned = rest.trim_start_matches(['+', '-']);
    let hex = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let mut len = 1;
    while let Some(&b) = bytes.get(len) {
        let before = bytes.get(len - 1).copied().unwrap_or(0);
        let exponent = if hex { b"pP" } else { b"eE" };
        let part = b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
        let sign = len > 1 && matches!(b, b'+' | b'-') && exponent.contains(&before);
        if !part && !sign {
            break;
        }
        len += 1;
    }
    (Tok::Number(&rest[..len]), len)
}

/// The text a quoted string stands for; `Err` is the byte offset of an escape that is none.
pub(super) fn unescape(raw: &str) -> Result<String, usize> {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.char_indices();
    while let Some((at, c)) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let c = match chars.next() {
            Some((_, c @ ('"' | '\\' | '\''))) => c,
            Some((_, 'n')) => '\n',
            Some((_, 'r')) => '\r',
            Some((_, 't')) => '\t',
            Some((_, '0')) => '\0',
            Some((_, 'u')) => {
                let rest = chars.as_str();
                let hex = rest.strip_prefix('{').and_then(|r| r.split_once('}')).map(|(hex, _)| hex).ok_or(at)?;
                let c = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).ok_or(at)?;
                chars.nth(hex.len() + 1);
                c
            }
            _ => return Err(at),
        };
        out.push(c);
    }
    Ok(out)
}
