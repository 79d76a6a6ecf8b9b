//! Decompresses gzip files while they are read. A small file that decompresses to gigabytes is
//! refused instead of read for minutes.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// Every file may decompress to this many bytes.
const MIN_LIMIT: u64 = 64 << 20;
/// A larger file may decompress to this many times its size. Profiles decompress to about ten
/// times, and gzip itself cannot exceed a thousand times.
const MAX_RATIO: u64 = 200;

/// Unpacks a gzip file; an error says that it unpacks to too much.
pub fn gunzip(packed: impl BufRead) -> impl BufRead {
    BufReader::new(Unpacked::new(packed, MIN_LIMIT))
}

/// Counts the bytes that are taken from a reader.
struct Counted<R> {
    inner: R,
    taken: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount as u64;
        self.inner.consume(amount);
    }
}

struct Unpacked<R> {
    decoder: MultiGzDecoder<Counted<R>>,
    written: u64,
    min_limit: u64,
}

impl<R: BufRead> Unpacked<R> {
    fn new(inner: R, min_limit: u64) -> Self {
        Self { decoder: MultiGzDecoder::new(Counted { inner, taken: 0 }), written: 0, min_limit }
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.written += read as u64;
        if self.written > self.min_limit.max(MAX_RATIO * self.decoder.get_ref().taken) {
            let why = format!(
                "it unpacks to more than {MAX_RATIO} times its size, as no profile does; if you trust it, `gunzip` it and pass the \
                 unpacked file"
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn a_bomb_is_refused_long_before_its_end_and_an_honest_file_is_read() {
        const LIMIT: u64 = 1 << 20;
        let read = |packed: &[u8]| {
            let mut unpacked = Unpacked::new(packed, LIMIT);
            let mut bytes = Vec::new();
            unpacked.read_to_end(&mut bytes).map(|_| bytes).map_err(|error| (error.kind(), unpacked.written))
        };
        let zeros = vec![0; 8 << 20];
        let (kind, unpacked) = read(&packed(&zeros)).unwrap_err();
        assert_eq!(kind, io::ErrorKind::FileTooLarge);
        assert!(unpacked < 3 * LIMIT, "{unpacked} bytes were unpacked");
        let few = &zeros[..1 << 20];
        assert_eq!(read(&packed(few)).unwrap().len(), few.len(), "a small file");
        let numbers: Vec<String> =
            (0..400_000_u64).map(|number| (number * number % 99_991).to_string()).collect();
        let text = numbers.join(",");
        assert!(text.len() > 2 << 20);
        assert_eq!(read(&packed(text.as_bytes())).unwrap(), text.as_bytes(), "a file like a profile");
    }
}
