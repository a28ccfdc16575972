//! The parser's part for types and constants.

use coremill_tensor::{DType, Data, Dim, Shape, SymExpr};

use super::lexer::{Tok, unescape};
use super::number::{float_bits, integer};
use super::parser::{Failed, Parser, Result_};
use crate::{Const, TensorType, Type};

/// One element may stand for all of a tensor up to this many elements, so that a short text can't ask for much memory.
const MAX_SPLAT: usize = 1 << 20;

/// Elements as they are read.
enum Elements {
    Bytes(Vec<u8>),
    /// Values of a sub-byte type.
    Small(Vec<i64>),
    Strings(Vec<String>),
}

impl<'a> Parser<'a> {
    /// A type.
    pub(super) fn ty(&mut self) -> Result_<Type> {
        self.nested(Self::ty_inner)
    }

    fn ty_inner(&mut self) -> Result_<Type> {
        let at = self.tok;
        let Tok::Ident(word) = at.tok else { return Err(self.unexpected("a type")) };
        self.bump();
        if !matches!(word, "tensor" | "list" | "tuple" | "dict" | "state") {
            let dtype = word.parse::<DType>().ok();
            return match dtype {
                Some(dtype) => Ok(Type::scalar(dtype)),
                None => Err(self.fail(at, format!("expected a type, found `{word}`, which is none"))),
            };
        }
        self.expect(b'<', "after the word that begins the type")?;
        let ty = match word {
            "tensor" => self.tensor_type()?,
            "list" => {
                let inner = self.ty()?;
                let n = if self.eat(b',') { self.length()? } else { None };
                Type::List(Box::new(inner), n)
            }
            "tuple" => {
                let mut all = Vec::new();
                while !self.is(b'>') && (all.is_empty() || self.comma_or(b'>')?) {
                    all.push(self.ty()?);
                }
                Type::Tuple(all)
            }
            "dict" => {
                let key = self.ty()?;
                self.expect(b',', "after the key type")?;
                Type::Dict(Box::new((key, self.ty()?)))
            }
            _ => Type::State(Box::new(self.ty()?)),
        };
        self.expect(b'>', "after the type")?;
        Ok(ty)
    }

    fn tensor_type(&mut self) -> Result_<Type> {
        let at = self.tok;
        let Tok::Ident(word) = at.tok else { return Err(self.unexpected("an element type")) };
        self.bump();
        let Ok(dtype) = word.parse::<DType>() else {
            return Err(self.fail(at, format!("expected an element type, found `{word}`, which is none")));
        };
        self.expect(b',', "after the element type")?;
        if self.eat(b'?') {
            return Ok(Type::Unranked(dtype));
        }
        self.expect(b'[', "after the element type")?;
        let mut shape = Shape::scalar();
        while !self.is(b']') && (shape.rank() == 0 || self.comma_or(b']')?) {
            let d = self.dim()?;
            shape.push(d);
        }
        self.expect(b']', "after the extents")?;
        Ok(Type::tensor(dtype, shape))
    }

    /// The length of a list: a number or `?`.
    fn length(&mut self) -> Result_<Option<u64>> {
        let at = self.tok;
        match at.tok {
            Tok::Punct(b'?') => {
                self.bump();
                Ok(None)
            }
            Tok::Number(s) => {
                self.bump();
                let n = integer(s).and_then(|n| u64::try_from(n).ok());
                n.map(Some).ok_or_else(|| self.fail(at, format!("`{s}` is no length")))
            }
            _ => Err(self.unexpected("a length or `?`")),
        }
    }

    /// One extent: a number, `?`, or an expression over symbols, which ends at the next `,` or `]` of its level.
    fn dim(&mut self) -> Result_<Dim> {
        let at = self.tok;
        let text = self.raw_until_dim_end();
        match text {
            "" => return Err(self.unexpected("an extent: a number, `?` or an expression over symbols")),
            "?" => return Ok(Dim::Unknown),
            _ => {}
        }
        if let Ok(n) = text.parse::<u64>() {
            return Ok(Dim::Known(n));
        }
        let symbolic = text.parse::<SymExpr>().map(Dim::from_expr);
        match symbolic {
            Ok(d) if d != Dim::Unknown => Ok(d),
            Ok(_) => Err(self.fail(at, format!("`{text}` is no extent: it is negative"))),
            Err(e) => Err(self.fail(at, format!("`{text}` is no extent: {} at byte {} of it", e.what, e.at))),
        }
    }

    /// A constant with its type: `int32(3)`, `tensor<fp32, [2]>([0x1p+0, 2.5])`.
    pub(super) fn typed_constant(&mut self) -> Result_<Const> {
        let ty = self.ty()?;
        self.expect(b'(', "after the type of a constant")?;
        let c = match (self.tok.tok, &ty) {
            (Tok::Dots, _) => {
                let what = "this constant was left out when the text was printed, and cannot be read back: \
                            print without eliding, or give its elements";
                return Err(self.fail(self.tok, what.to_owned()));
            }
            (Tok::Ident("BLOBFILE"), Type::Tensor(t)) => self.blob(t)?,
            _ => self.value(&ty)?,
        };
        self.expect(b')', "after the constant")?;
        Ok(c)
    }

    fn blob(&mut self, t: &TensorType) -> Result_<Const> {
        let start = self.tok;
        self.bump();
        self.expect(b'(', "after `BLOBFILE`")?;
        let (mut path, mut offset) = (None, None);
        loop {
            let at = self.tok;
            let Tok::Ident(key @ ("path" | "offset")) = at.tok else {
                return Err(self.unexpected("`path` or `offset`"));
            };
            self.bump();
            self.expect(b'=', "after the name")?;
            let at = self.tok;
            let c = self.typed_constant()?;
            let taken = match key {
                "path" => c.as_str().map(|s| path = Some(s.to_owned())),
                _ => c.as_i64().and_then(|n| u64::try_from(n).ok()).map(|n| offset = Some(n)),
            };
            if taken.is_none() {
                return Err(self.fail(at, format!("this is no {key} of a blob file")));
            }
            if !self.comma_or(b')')? {
                break;
            }
        }
        self.expect(b')', "after `BLOBFILE`")?;
        let (Some(path), Some(offset)) = (path, offset) else {
            return Err(self.fail(start, "`BLOBFILE` needs `path` and `offset`".to_owned()));
        };
        let data = self.blobs.blob(&path, offset, t).and_then(|d| {
            let (have, want) = (Type::known(d.dtype(), d.shape()), Type::Tensor(t.clone()));
            if have.compatible(&want) { Ok(d) } else { Err(format!("it holds {have} where {want} is stated")) }
        });
        data.map(Const::Tensor)
            .map_err(|why| self.fail(start, format!("the blob at offset {offset} of `{path}` cannot be had: {why}")))
    }

    /// A constant of a type that stands elsewhere.
    fn value(&mut self, ty: &Type) -> Result_<Const> {
        self.nested(|p| match ty {
            Type::Tensor(t) => p.tensor(t),
            Type::List(inner, n) => {
                let at = p.tok;
                p.expect(b'[', "as the start of a list")?;
                let all = p.sequence(b']', |p| p.value(inner))?;
                if n.is_some_and(|n| n != all.len() as u64) {
                    return Err(p.fail(at, format!("expected {}, found {} elements", ty, all.len())));
                }
                Ok(Const::List((**inner).clone(), all))
            }
            Type::Tuple(types) => {
                let at = p.tok;
                p.expect(b'(', "as the start of a tuple")?;
                let mut types = types.iter();
                let all = p.sequence(b')', |p| match types.next() {
                    Some(ty) => p.value(ty),
                    None => Err(p.unexpected("`)`: the tuple has no more types")),
                })?;
                match types.next() {
                    Some(t) => Err(p.fail(at, format!("this tuple ends before its {t}"))),
                    None => Ok(Const::Tuple(all)),
                }
            }
            Type::Dict(kv) => {
                p.expect(b'{', "as the start of a dictionary")?;
                let all = p.sequence(b'}', |p| {
                    p.expect(b'{', "as the start of an entry")?;
                    let key = p.value(&kv.0)?;
                    p.expect(b',', "after the key")?;
                    let value = p.value(&kv.1)?;
                    p.expect(b'}', "after the entry")?;
                    Ok((key, value))
                })?;
                Ok(Const::Dict(ty.clone(), all))
            }
            Type::Unranked(_) | Type::State(_) => Err(p.fail(p.tok, format!("a constant cannot be of type {ty}"))),
        })
    }

    /// Items with commas between, and the end.
    fn sequence<T>(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Result_<T>) -> Result_<Vec<T>> {
        let mut all = Vec::new();
        while !self.is(end) && (all.is_empty() || self.comma_or(end)?) {
            all.push(item(self)?);
        }
        self.expect(end, "after the last item")?;
        Ok(all)
    }

    /// The elements of a tensor in brackets, one pair for each dimension, or one element for all.
    fn tensor(&mut self, t: &TensorType) -> Result_<Const> {
        let mut elements = match t.dtype {
            DType::String => Elements::Strings(Vec::new()),
            d if d.is_sub_byte() => Elements::Small(Vec::new()),
            _ => Elements::Bytes(Vec::new()),
        };
        let start = self.tok;
        let shape = if t.rank() > 0 && !self.is(b'[') {
            self.splat(t, &mut elements)?
        } else {
            self.elements(t, &mut elements)?
        };
        let c = match elements {
            Elements::Bytes(b) => Data::new(t.dtype, &shape, b).ok().map(Const::Tensor),
            Elements::Small(v) => Data::pack(t.dtype, &shape, &v).map(Const::Tensor),
            Elements::Strings(v) => Some(Const::Strings(shape, v.into())),
        };
        c.ok_or_else(|| self.fail(start, "the elements do not make this tensor".to_owned()))
    }

    fn splat(&mut self, t: &TensorType, elements: &mut Elements) -> Result_<Vec<usize>> {
        let start = self.tok;
        self.element(t.dtype, elements)?;
        let (Some(shape), Some(n)) = (t.shape.to_known(), t.shape.elements().filter(|&n| n <= MAX_SPLAT)) else {
            let why = format!("one element stands for all only in a known shape of at most {MAX_SPLAT} elements");
            return Err(self.fail(start, why));
        };
        match elements {
            Elements::Bytes(b) => *b = b.repeat(n),
            Elements::Small(v) => *v = v.repeat(n),
            Elements::Strings(v) => {
                if v.iter().map(String::len).sum::<usize>().saturating_mul(n) > MAX_SPLAT {
                    return Err(self.fail(start, "this string is too long to stand for so many elements".to_owned()));
                }
                *v = std::iter::repeat_n(std::mem::take(v), n).flatten().collect();
            }
        }
        Ok(shape)
    }

    /// Reads nested brackets without recursion; returns the shape they have.
    fn elements(&mut self, t: &TensorType, out: &mut Elements) -> Result_<Vec<usize>> {
        let mut shape: Vec<Option<usize>> =
            t.shape.iter().map(|d| d.known().and_then(|n| usize::try_from(n).ok())).collect();
        let is_empty = t.shape.elements() == Some(0);
        // How many items each open bracket has so far.
        let mut counts: Vec<usize> = Vec::new();
        loop {
            let mut is_item = true;
            if counts.len() == shape.len() {
                self.element(t.dtype, out)?;
            } else {
                self.expect(b'[', "as the start of a row")?;
                counts.push(0);
                if !self.is(b']') {
                    continue;
                }
                is_item = false;
            }
            // Something ended: go on with the next item, or end the rows that end here.
            loop {
                let Some(level) = counts.len().checked_sub(1) else {
                    return Ok(shape.into_iter().map(|d| d.unwrap_or(0)).collect());
                };
                counts[level] += usize::from(is_item);
                is_item = true;
                if counts[level] > 0 && self.eat(b',') {
                    break;
                }
                let (end, count) = (self.tok, counts[level]);
                self.expect(b']', "after the elements")?;
                match shape[level] {
                    Some(want) if want != count && !(count == 0 && is_empty) => {
                        let why = format!(
                            "expected {want} items in dimension {level} of {}, found {count}",
                            Type::Tensor(t.clone())
                        );
                        return Err(self.fail(end, why));
                    }
                    Some(_) => {}
                    None => shape[level] = Some(count),
                }
                counts.pop();
            }
        }
    }

    fn element(&mut self, dtype: DType, out: &mut Elements) -> Result_<()> {
        let at = self.tok;
        match out {
            Elements::Strings(v) => {
                let s = self.string()?;
                v.push(s);
            }
            Elements::Small(v) => {
                let n = self.int(dtype)?;
                v.push(n as i64);
            }
            Elements::Bytes(b) => match (dtype, at.tok) {
                (DType::Bool, Tok::Ident(word @ ("true" | "false"))) => {
                    self.bump();
                    b.push(u8::from(word == "true"));
                }
                (DType::Bool, _) => return Err(self.unexpected("`true` or `false`")),
                (DType::Complex64, _) => {
                    self.expect(b'(', "as the start of a complex number")?;
                    let re = self.float(DType::Fp32)?;
                    self.expect(b',', "after the real part")?;
                    let im = self.float(DType::Fp32)?;
                    self.expect(b')', "after the imaginary part")?;
                    b.extend_from_slice(&(re as u32).to_le_bytes());
                    b.extend_from_slice(&(im as u32).to_le_bytes());
                }
                _ => {
                    let is_float = dtype.is_float() && dtype.bits() > 8;
                    let bits = if is_float { self.float(dtype)? } else { self.int(dtype)? as u64 };
                    b.extend_from_slice(bits.to_le_bytes().get(..dtype.bits() / 8).unwrap_or(&[]));
                }
            },
        }
        Ok(())
    }

    /// An integer in the range of the type (of a byte, for the eight-bit floats).
    fn int(&mut self, dtype: DType) -> Result_<i128> {
        let at = self.tok;
        let Tok::Number(s) = at.tok else { return Err(self.unexpected(&format!("a number of type {dtype}"))) };
        self.bump();
        let (low, high) = dtype.int_range().unwrap_or((0, 255));
        match integer(s) {
            Some(n) if (low..=high).contains(&n) => Ok(n),
            Some(_) => Err(self.fail(at, format!("`{s}` is out of the range of {dtype}, {low} to {high}"))),
            None => Err(self.fail(at, format!("expected a number of type {dtype}, found `{s}`"))),
        }
    }

    /// The bits of a float.
    fn float(&mut self, dtype: DType) -> Result_<u64> {
        let at = self.tok;
        let (Tok::Number(s) | Tok::Ident(s @ ("inf" | "nan"))) = at.tok else {
            return Err(self.unexpected(&format!("a number of type {dtype}")));
        };
        self.bump();
        if s == "nan" && self.eat(b'(') {
            let at = self.tok;
            let Tok::Number(s) = at.tok else { return Err(self.unexpected("the bits of a NaN")) };
            self.bump();
            self.expect(b')', "after the bits of a NaN")?;
            let bits =
                integer(s).and_then(|n| u64::try_from(n).ok()).filter(|n| dtype.bits() >= 64 || n >> dtype.bits() == 0);
            return bits.ok_or_else(|| self.fail(at, format!("`{s}` is not the bits of one {dtype}")));
        }
        float_bits(dtype, s).ok_or_else(|| self.fail(at, format!("`{s}` is no number that fits in {dtype}")))
    }

    /// A quoted string.
    pub(super) fn string(&mut self) -> Result_<String> {
        let at = self.tok;
        let Tok::Str(raw) = at.tok else { return Err(self.unexpected("a string in quotes")) };
        self.bump();
        unescape(raw).map_err(|offset| {
            let start = at.start + 1 + offset;
            self.fail_at(
                start,
                start + 2,
                "this is no escape: there are \\\" \\\\ \\n \\r \\t \\0 and \\u{...}".to_owned(),
            );
            Failed
        })
    }
}
