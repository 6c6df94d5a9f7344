//! Pseudo-random numbers that are the same in every run.

/// A generator of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct PseudoRandom(u64);

impl PseudoRandom {
    /// Creates a generator; each seed gives another sequence.
    #[must_use]
    pub fn new(seed: usize) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ ((seed as u64 + 1) << 20))
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number, below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_number() % end.max(1) as u64).unwrap_or_default()
    }

    /// A line of JSON with up to three bytes removed, inserted or replaced, or with its end cut off.
    pub fn mutated(&mut self, line: &str) -> Vec<u8> {
        let mut line = line.as_bytes().to_vec();
        for _ in 0..self.below(4) {
            let at = self.below(line.len());
            match self.below(4) {
                0 => line.truncate(at),
                1 if !line.is_empty() => line[at] = b"\"{}[]:,0x\xff "[self.below(11)],
                2 if !line.is_empty() => drop(line.remove(at)),
                _ => line.insert(at, b"\"{}[]:,0x\xc3 "[self.below(11)]),
            }
        }
        line.retain(|byte| *byte != b'\n');
        line
    }
}
